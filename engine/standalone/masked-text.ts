/**
 * The text of a configuration without its secrets, for a page: each stands there as a mask, and what comes back with
 * masks gets them again. Judged by names and looks (kit/sensitive.ts), which hides too much rather than too little.
 * Who may change a configuration can get at its secrets anyway; pages, answers and what is copied from them should
 * still have none.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { isAlias, isMap, isScalar, isSeq, type Node, parseAllDocuments, type Scalar } from 'yaml'
import { isSensitive, redactText, withoutKeys } from '#engine/kit/sensitive.ts'

const MASK_CHARS = 16
const MASK = /<secret-[0-9a-f]{16}>/g
/** From the environment, as a whole. */
const REFERENCE = /^\$(?:\w+|\{\w+\})$/
/** Of a secret in a map of its own: "apiKey: { value: ... }". */
const VALUE_NAME = /^(?:value|inline|text|data|literal|env)$/i
/** Shorter values stand in other words by chance. */
const REPEATED_CHARS_MIN = 6
const COMMENT = /(#.*)/

interface Hidden {
  readonly from: number
  readonly to: number
  readonly value: string
}

export class Masks {
  /** Of this process: masks say nothing of what they stand for. */
  readonly #key = randomBytes(32)

  #maskOf(source: string): string {
    return `<secret-${createHmac('sha256', this.#key).update(source).digest('hex').slice(0, MASK_CHARS)}>`
  }

  /** Null: it is no YAML, so that nothing in it can be told apart. */
  masked(text: string): string | null {
    return this.#read(text)?.shown ?? null
  }

  /** The text with the secrets of `others` in place of their masks; null: one of them has none. */
  unmasked(text: string, others: Iterable<string>): string | null {
    const missing = new Set(text.match(MASK) ?? [])
    const sources = new Map<string, string>()
    for (const other of missing.size === 0 ? [] : others) {
      for (const [mask, source] of this.#read(other)?.sources ?? []) if (missing.delete(mask)) sources.set(mask, source)
      if (missing.size === 0) break
    }
    return missing.size > 0 ? null : text.replace(MASK, (mask) => sources.get(mask) ?? mask)
  }

  #read(text: string): { readonly shown: string; readonly sources: ReadonlyMap<string, string> } | null {
    const hidden = hiddenIn(text)
    if (hidden === null) return null
    const sources = new Map<string, string>()
    const kept: string[] = []
    let at = 0
    const hide = (source: string) => {
      const mask = this.#maskOf(source)
      sources.set(mask, source)
      return mask
    }
    const values = new Values(hidden.map(({ value }) => value))
    for (const { from, to } of [...hidden, { from: text.length, to: text.length }]) {
      kept.push(besides(text.slice(at, from), values, hide))
      if (to > from) kept.push(hide(text.slice(from, to)))
      at = to
    }
    return { shown: kept.join(''), sources }
  }
}

/** What is left of a text: comments, which may have secrets too, and values that stand somewhere else again. */
function besides(text: string, values: Values, hide: (source: string) => string): string {
  const shown = (piece: string, isComment: boolean) =>
    values
      .split(piece)
      .map((part, i) => (i % 2 === 1 ? hide(part) : isComment ? part.replace(/\S+/g, word) : part))
      .join('')
  const word = (one: string) => (isHiddenText(one) ? hide(one) : one)
  return text
    .split(COMMENT)
    .map((piece, i) => shown(piece, i % 2 === 1))
    .join('')
}

/** Values by how they begin: a text is gone through once, however many there are. */
class Values {
  readonly #byStart = new Map<string, string[]>()

  constructor(values: Iterable<string>) {
    for (const value of new Set(values)) {
      if (value.length < REPEATED_CHARS_MIN) continue
      const start = value.slice(0, REPEATED_CHARS_MIN)
      const others = this.#byStart.get(start)
      if (others === undefined) this.#byStart.set(start, [value])
      else others.push(value)
    }
    for (const some of this.#byStart.values()) some.sort((a, b) => b.length - a.length)
  }

  /** Every second piece is one of them. */
  split(text: string): readonly string[] {
    const pieces: string[] = []
    let at = 0
    for (let i = 0; i + REPEATED_CHARS_MIN <= text.length; i++) {
      const found = this.#byStart.get(text.slice(i, i + REPEATED_CHARS_MIN))?.find((value) => text.startsWith(value, i))
      if (found === undefined) continue
      pieces.push(text.slice(at, i), found)
      at = i + found.length
      i = at - 1
    }
    pieces.push(text.slice(at))
    return pieces
  }
}

/** In the order of the text; null: it has mistakes of syntax. */
function hiddenIn(text: string): readonly Hidden[] | null {
  const search = new Search()
  for (const document of parseAllDocuments(text, { logLevel: 'silent' })) {
    if (!('errors' in document) || document.errors.length > 0) return null
    search.walk(document.contents as Node | null, '', '')
  }
  return search.found().map(({ range, value }) => {
    const [from, to] = range!
    // The line end of a block stays.
    return { from, to: text[to - 1] === '\n' ? to - 1 : to, value: String(value) }
  })
}

class Search {
  readonly #hidden = new Set<Scalar>()
  readonly #anchors = new Map<string, Scalar[]>()
  /** Names of anchors that stand for a secret somewhere. */
  readonly #aliases = new Set<string>()

  /** `name`: the key that `node` stands under; `outer`: that of the map around it. */
  walk(node: Node | null, name: string, outer: string): void {
    if (isMap(node)) {
      for (const { key, value } of node.items) {
        // A secret may stand in the place of a key by mistake.
        if (isScalar(key) && isHiddenText(String(key.value))) this.#hidden.add(key)
        this.walk(value as Node | null, isScalar(key) ? String(key.value) : '', name)
      }
    } else if (isSeq(node)) for (const item of node.items) this.walk(item as Node | null, name, outer)
    else if (isAlias(node) && isOfSecret(name, outer)) this.#aliases.add(node.source)
    else if (isScalar(node)) {
      if (node.anchor !== undefined) this.#anchors.set(node.anchor, [...(this.#anchors.get(node.anchor) ?? []), node])
      if (isHidden(node, name, outer)) this.#hidden.add(node)
    }
  }

  /** In the order of the text, without what is empty. */
  found(): readonly Scalar[] {
    const anchored = [...this.#aliases].flatMap((name) => this.#anchors.get(name) ?? [])
    for (const node of anchored) if (isSecretValue(node)) this.#hidden.add(node)
    const written = [...this.#hidden].filter(({ range }) => range != null && range[1] > range[0])
    return written.toSorted((a, b) => a.range![0] - b.range![0])
  }
}

function isHidden(node: Scalar, name: string, outer: string): boolean {
  return isSecretValue(node) && (isOfSecret(name, outer) || isHiddenText(String(node.value)))
}

function isSecretValue({ value }: Scalar): boolean {
  return value !== null && typeof value !== 'boolean' && value !== '' && !REFERENCE.test(String(value))
}

const isOfSecret = (name: string, outer: string): boolean =>
  isSensitive(name) || (isSensitive(outer) && VALUE_NAME.test(name))

const isHiddenText = (text: string): boolean => redactText(text) !== text || withoutKeys(text) !== text
