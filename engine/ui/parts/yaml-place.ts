/** Where in a YAML text a place is, as far as completion needs it: by indentation, and by brackets within one line. */

export interface YamlPlace {
  /** Keys from the outermost on; null: an item of a list. */
  readonly path: readonly (string | null)[]
  /** What is written there: a key, or the value of the last key of the path. */
  readonly kind: 'key' | 'value'
  /** Its letters so far. */
  readonly word: string
}

interface Line {
  readonly indent: number
  /** Of items that begin in it: "- - a" has two. */
  readonly items: readonly number[]
  readonly rest: string
}

const KEY = /^(?:"([^"]*)"|'([^']*)'|([^\s:#{}[\],&*!|>'"%@`-][^:#]*?|-?[\w$./*-]+))\s*:(?=\s|$)/

export function placeIn(text: string, offset: number): YamlPlace {
  const before = text.slice(0, offset).split('\n')
  const current = lineOf(before.at(-1) ?? '')
  const path = [...parentsOf(before.slice(0, -1).map(lineOf), current), ...current.items.map(() => null)]
  return inLine(current.rest, path)
}

function lineOf(text: string): Line {
  let at = /^ */.exec(text)![0].length
  const indent = at
  const items: number[] = []
  while (/^-(?:\s|$)/.test(text.slice(at))) {
    items.push(at)
    at += 1 + /^\s*/.exec(text.slice(at + 1))![0].length
  }
  return { indent: items.length > 0 ? at : indent, items, rest: text.slice(at) }
}

/** Keys and items of the lines above that the line lies in. */
function parentsOf(lines: readonly Line[], current: Line): (string | null)[] {
  const path: (string | null)[] = []
  // Where the line itself begins: its first dash, or its text.
  let limit = current.items[0] ?? current.indent
  let isItem = current.items.length > 0
  for (const { indent, items, rest } of lines.toReversed()) {
    if (rest.trim() === '' || rest.startsWith('#')) continue
    const key = keyOf(rest)
    // The items of a list may stand as far left as the key that has them.
    if (key !== null && (indent < limit || (isItem && indent === limit && items.length === 0))) {
      path.unshift(key)
      limit = indent
      isItem = false
    }
    for (const dash of items.toReversed()) {
      if (dash >= limit) continue
      path.unshift(null)
      limit = dash
      isItem = true
    }
    if (limit === 0 && !isItem) break
  }
  return path
}

function keyOf(rest: string): string | null {
  const found = KEY.exec(rest)
  return found === null ? null : (found[1] ?? found[2] ?? found[3] ?? null)
}

/** Brackets of the line that are open at its end, and what is written behind them. */
function inLine(text: string, outer: readonly (string | null)[]): YamlPlace {
  const path = [...outer]
  /** How long the path was when each bracket opened. */
  const open: { readonly base: number; readonly isList: boolean }[] = []
  let rest = text
  for (;;) {
    rest = rest.trimStart()
    const key = keyOf(rest)
    if (key !== null) {
      path.push(key)
      rest = rest.slice(KEY.exec(rest)![0].length)
      continue
    }
    if (rest.startsWith('{') || rest.startsWith('[')) {
      const isList = rest.startsWith('[')
      open.push({ base: path.length, isList })
      if (isList) path.push(null)
      rest = rest.slice(1)
      continue
    }
    // A plain or a quoted value, or nothing, up to what ends it.
    const end = /^(?:"[^"]*"|'[^']*'|[^,{}[\]])*?(?=[,}\]])/.exec(rest)
    if (end === null) break
    const isNext = rest[end[0].length] === ','
    const bracket = isNext ? open.at(-1) : open.pop()
    path.length = bracket === undefined ? outer.length : bracket.base
    if (isNext && bracket?.isList === true) path.push(null)
    rest = rest.slice(end[0].length + 1)
  }
  const isValue = path.length > outer.length && path.at(-1) !== null && open.at(-1)?.base !== path.length
  return { path, kind: isValue ? 'value' : 'key', word: rest }
}
