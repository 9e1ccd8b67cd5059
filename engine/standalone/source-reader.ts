/** The text of a configuration file -> plain values, each with its place, and every mistake in them. */
import type { Expanded } from '#engine/ir/expanded.ts'
import type { Path } from '#engine/schema/placed.ts'
import { UNREADABLE } from '#engine/source/validate.ts'
import { type Environment, expand, expandedOf, fill, plainValue, type References } from './expand.ts'
import type { Problem } from './problems.ts'
import { syntaxProblems } from './source-syntax.ts'
import { parseYaml, type YamlNode } from './yaml-parser.ts'
import { NotRead } from './yaml-scalars.ts'

export const TEXT_LENGTH_MAX = 16 * 1024 * 1024
/** Real files have 20 levels. */
const DEPTH_MAX = 100
/** Values that aliases may add to those that are written out (an "alias bomb" adds billions). */
const ALIASED_VALUES_MAX = 100_000

export interface Source {
  readonly value: unknown
  /** Mistakes of syntax, variables that are not set, keys given twice, ... */
  readonly problems: readonly Problem[]
  /** The text could not be understood as a whole: there is nothing to validate. */
  readonly broken: boolean
  readonly warnings: readonly { readonly offset: number; readonly message: string }[]
  /** By the offset at which they begin. */
  readonly expanded: ReadonlyMap<number, Expanded>
  /** Offset of the key or the value at `path`, or of the nearest thing around it that exists. */
  locate(path: Path, what: 'key' | 'value'): number
  /** Line and column (from 1) of an offset. */
  position(offset: number): { readonly line: number; readonly column: number }
}

const SCALAR_TAGS = /^tag:yaml\.org,2002:(?:str|int|float|bool|null)$/
const STRING_TAG = 'tag:yaml.org,2002:str'

/** Of a list: the offset of each entry. Of a map: name, offset of the key, offset of the value, name, ... */
type Places = readonly (string | number)[]

/** Never throws, whatever the text is. `references`: those of the text. */
export function readText(text: string, references: References, env: Environment): Source {
  return new Reader(text, references, env).run()
}

class Reader {
  readonly #text: string
  readonly #env: Environment
  readonly #references: References
  readonly #problems: Problem[] = []
  readonly #places = new Map<unknown, Places>()
  /** What each anchor stands for; 'open' while the anchored value itself is being read. */
  readonly #anchors = new Map<string, { readonly value: unknown; readonly size: number } | 'open'>()
  readonly #expanded = new Map<number, Expanded>()
  /** Of the value at hand. */
  readonly #path: PropertyKey[] = []
  #lines: readonly number[] | null = null
  #values = 0
  #aliased = 0
  #isBroken = false

  constructor(text: string, references: References, env: Environment) {
    this.#text = text
    this.#env = env
    this.#references = references
  }

  run(): Source {
    const { value, warnings } = this.#document()
    return {
      value,
      problems: this.#problems,
      broken: this.#isBroken || this.#aliased > ALIASED_VALUES_MAX,
      warnings,
      locate: (path, what) => locate(this.#places, value, path, what),
      position: (offset) => this.#position(offset),
      expanded: this.#expanded
    }
  }

  #document(): Pick<Source, 'value' | 'warnings'> {
    const nothing = { value: null, warnings: [] }
    if (this.#text.length > TEXT_LENGTH_MAX) return this.#broken(0, `is larger than ${TEXT_LENGTH_MAX} characters`)
    // What reading a file as UTF-8 puts where the bytes are none: carried on, it would be served to clients.
    const odd = this.#text.indexOf('\uFFFD')
    if (odd >= 0) return this.#broken(odd, 'is not UTF-8 text', 'save the file as UTF-8, without odd bytes')
    // A line end to YAML 1.2.2 (5.4), and text to most parsers.
    const alone = /\r(?!\n)/.exec(this.#text)
    if (alone !== null) return this.#broken(alone.index, 'is a carriage return alone', 'end lines with LF or CR LF')
    try {
      const { root, warnings } = parseYaml(this.#references.masked)
      return root === null ? { ...nothing, warnings } : { value: this.#read(root), warnings }
    } catch (error) {
      if (!(error instanceof NotRead)) throw error
      this.#problems.push(...syntaxProblems(this.#references.masked, error))
      this.#isBroken = true
      return nothing
    }
  }

  #broken(offset: number, message: string, hint?: string): Pick<Source, 'value' | 'warnings'> {
    this.#report(offset, message, hint)
    this.#isBroken = true
    return { value: null, warnings: [] }
  }

  // --- values ---

  #read(node: YamlNode): unknown {
    this.#values++
    if (this.#aliased > ALIASED_VALUES_MAX) return UNREADABLE
    if (node.type === 'alias') return this.#alias(node)
    const { tag, anchor, start } = node
    if (tag !== null && !isTagOf(tag, node)) {
      const isLocal = tag.startsWith('!')
      const hint = isLocal ? 'to mean a text that begins with "!", put all of it in quotes' : undefined
      const offset = isLocal ? this.#text.lastIndexOf(tag, start) : start
      this.#report(Math.max(0, offset), `the tag ${tag} is not supported`, hint)
      return UNREADABLE
    }
    if (this.#path.length > DEPTH_MAX) {
      this.#report(start, `is nested deeper than ${DEPTH_MAX} levels`)
      return UNREADABLE
    }
    if (anchor === null) return this.#readPlain(node)
    const before = this.#values
    this.#anchors.set(anchor, 'open')
    const value = this.#readPlain(node)
    this.#anchors.set(anchor, { value, size: this.#values - before + 1 })
    return value
  }

  #readPlain(node: YamlNode): unknown {
    if (node.type === 'map') return this.#map(node)
    if (node.type === 'list') return this.#list(node)
    return node.type === 'empty' ? (node.tag === STRING_TAG ? '' : null) : this.#scalar(node)
  }

  #list({ items }: YamlNode): unknown[] {
    const out: unknown[] = []
    this.#places.set(
      out,
      items.map(({ start }) => start)
    )
    items.forEach((item, i) => {
      this.#path.push(i)
      out.push(this.#read(item))
      this.#path.pop()
    })
    return out
  }

  #map({ items }: YamlNode): Record<string, unknown> {
    const out: Record<string, unknown> = {}
    const places: (string | number)[] = []
    this.#places.set(out, places)
    for (let i = 0; i < items.length; i += 2) {
      const key = items[i]!
      const value = items[i + 1]!
      const name = this.#key(key)
      if (name === null) continue
      this.#path.push(name)
      if (Object.hasOwn(out, name)) {
        const line = this.#position(places[indexOfName(places, name) + 1] as number).line
        this.#report(key.start, 'is given twice', `the first is in line ${line}: keep one of them`)
      } else if (name === '__proto__') this.#report(key.start, 'is not allowed as a key')
      else {
        places.push(name, key.start, value.type === 'empty' ? key.start : value.start)
        out[name] = this.#read(value)
      }
      this.#path.pop()
    }
    return out
  }

  #key(node: YamlNode): string | null {
    if (node.type === 'empty' && node.tag === STRING_TAG) return ''
    if (node.type !== 'plain' && node.type !== 'quoted' && node.type !== 'block') {
      this.#report(node.start, 'a key must be a plain word')
      return null
    }
    // The key by which JSON files name their schema for editors; not a variable.
    if (this.#path.length === 0 && /^["']?\$schema\b/.test(this.#text.slice(node.start, node.start + 9))) {
      return '$schema'
    }
    const text = this.#expand(node)
    return text === UNREADABLE ? null : (text ?? node.text)
  }

  #scalar(node: YamlNode): unknown {
    const text = this.#expand(node)
    const isPlain = node.type === 'plain' && node.tag === null
    if (text === null) return isPlain || isWordTag(node) ? wordValue(node.text) : node.text
    return text === UNREADABLE || !isPlain ? text : plainValue(text)
  }

  #alias({ text: name, start }: YamlNode): unknown {
    const anchored = this.#anchors.get(name)
    if (anchored === undefined) this.#unknownAlias(name, start)
    else if (anchored === 'open') this.#report(start, `the alias "${name}" stands inside of what it repeats`)
    if (anchored === undefined || anchored === 'open') return UNREADABLE
    this.#aliased += anchored.size
    this.#values += anchored.size
    if (this.#aliased > ALIASED_VALUES_MAX) {
      this.#report(start, `aliases add more than ${ALIASED_VALUES_MAX} values`)
    }
    return anchored.value
  }

  /** Most are no aliases: a host such as *.example.com, or a star alone. */
  #unknownAlias(name: string, offset: number): void {
    if (name === '') this.#isBroken = true
    const hint = `to mean a text that begins with "*", put it in quotes: "*${name}"`
    if (/^(?:[.-].*)?$/.test(name)) this.#report(offset, 'without quotes, * begins an alias of YAML', hint)
    else this.#report(offset, `there is no anchor "${name}" above this alias`, hint)
  }

  /** The scalar's text with its references replaced; null when it has none. */
  #expand({ start, from, end, text: masked }: YamlNode): string | typeof UNREADABLE | null {
    if (this.#references.count === 0) return null
    const references = this.#references.within(from, end)
    if (references.length === 0) return null
    const parts: string[] = []
    for (const reference of references) {
      const expansion = expand(reference.text, this.#env)
      if ('value' in expansion) parts.push(expansion.value)
      else this.#report(reference.start, expansion.problem, expansion.hint)
    }
    if (parts.length < references.length) return UNREADABLE
    const value = fill(masked, parts)
    this.#expanded.set(start, expandedOf(masked, value, references, parts))
    return value
  }

  // --- places ---

  #report(offset: number, message: string, hint?: string): void {
    this.#problems.push({ path: [...this.#path], offset, message, hint })
  }

  #position(offset: number): { line: number; column: number } {
    this.#lines ??= lineStarts(this.#text)
    let low = 0
    let high = this.#lines.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (this.#lines[middle]! <= offset) low = middle
      else high = middle
    }
    return { line: low + 1, column: offset - this.#lines[low]! + 1 }
  }
}

function isTagOf(tag: string, { type }: YamlNode): boolean {
  if (type === 'map' || type === 'list') return tag === `tag:yaml.org,2002:${type === 'map' ? 'map' : 'seq'}`
  return SCALAR_TAGS.test(tag)
}

const isWordTag = ({ tag }: YamlNode): boolean => tag !== null && tag !== STRING_TAG

/** The value of an unquoted scalar (YAML 1.2.2, 10.3.2). A variable's value is read so except for the infinities. */
function wordValue(text: string): unknown {
  // Most are words, which their first letter tells.
  if (!/^[-+.~0-9nNtTfF]/.test(text)) return text
  const value = plainValue(text)
  if (typeof value !== 'string' || !/^(?:[-+]?\.(?:inf|Inf|INF)|\.nan|\.NaN|\.NAN)$/.test(text)) return value
  if (text.endsWith('n') || text.endsWith('N')) return Number.NaN
  return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
}

function locate(all: ReadonlyMap<unknown, Places>, root: unknown, path: Path, what: 'key' | 'value'): number {
  let container = root
  let key = 0
  let value = 0
  for (const step of path) {
    const places = all.get(container)
    // A key that is missing is missing from the value around it, which begins at that value's key.
    if (places === undefined) return key
    if (Array.isArray(container)) {
      const offset = typeof step === 'number' ? places[step] : undefined
      if (typeof offset !== 'number') return key
      key = value = offset
    } else {
      const at = indexOfName(places, step)
      if (at < 0) return key
      key = places[at + 1] as number
      value = places[at + 2] as number
    }
    container = (container as Record<PropertyKey, unknown>)[step]
  }
  return what === 'key' ? key : value
}

function indexOfName(places: Places, name: PropertyKey): number {
  for (let i = 0; i < places.length; i += 3) if (places[i] === name) return i
  return -1
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}
