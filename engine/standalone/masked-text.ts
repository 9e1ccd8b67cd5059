/**
 * The text of a configuration without its secrets, for a page: each stands there as a mask, and what comes back with
 * masks gets them again. Judged by names and looks (kit/sensitive.ts), which hides too much rather than too little.
 * Who may change a configuration can get at its secrets anyway; pages, answers and what is copied from them should
 * still have none.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { isMap, isScalar, isSeq, type Node, parseAllDocuments, type Scalar } from 'yaml'
import { isSensitive, redactText, withoutKeys } from '#engine/kit/sensitive.ts'

const MASK_CHARS = 16
const MASK = /<secret-[0-9a-f]{16}>/g
/** From the environment, as a whole. */
const REFERENCE = /^\$(?:\w+|\{\w+\})$/
/** Of a secret in a map of its own: "apiKey: { value: ... }". */
const VALUE_NAME = /^(?:value|inline|text|data|literal|env)$/i
/** Shorter values stand in other words by chance. */
const REPEATED_CHARS_MIN = 6

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
    const values = hidden.map(({ value }) => value).filter(({ length }) => length >= REPEATED_CHARS_MIN)
    for (const { from, to } of [...hidden, { from: text.length, to: text.length }]) {
      kept.push(besides(text.slice(at, from), values, hide))
      if (to > from) kept.push(hide(text.slice(from, to)))
      at = to
    }
    return { shown: kept.join(''), sources }
  }
}

/** What is left of a text: comments, which may have secrets too, and values that stand somewhere else again. */
function besides(text: string, values: readonly string[], hide: (source: string) => string): string {
  let shown = text
  for (const value of values) if (shown.includes(value)) shown = shown.replaceAll(value, hide)
  return shown.replace(/#.*/g, (comment) => {
    const words = comment.split(/(\s+)/)
    return words.map((word) => (isHiddenText(word) && !word.startsWith('<secret-') ? hide(word) : word)).join('')
  })
}

/** In the order of the text; null: it has mistakes of syntax. */
function hiddenIn(text: string): readonly Hidden[] | null {
  const found: Hidden[] = []
  for (const document of parseAllDocuments(text, { logLevel: 'silent' })) {
    if (!('errors' in document) || document.errors.length > 0) return null
    walk(document.contents as Node | null, '', '', found)
  }
  for (const one of found) if (text.slice(one.from, one.to).endsWith('\n')) Object.assign(one, { to: one.to - 1 })
  return found.toSorted((a, b) => a.from - b.from)
}

function walk(node: Node | null, name: string, outer: string, found: Hidden[]): void {
  if (isMap(node)) {
    for (const { key, value } of node.items) {
      // A secret may stand in the place of a key by mistake.
      if (isScalar(key) && isHiddenText(String(key.value))) hide(key, found)
      walk(value as Node | null, isScalar(key) ? String(key.value) : '', name, found)
    }
  } else if (isSeq(node)) for (const item of node.items) walk(item as Node | null, name, outer, found)
  else if (isScalar(node) && isHidden(node, name, outer)) hide(node, found)
}

function hide({ range, value }: Scalar, found: Hidden[]): void {
  const [from, to] = range ?? [0, 0]
  if (to > from) found.push({ from, to, value: String(value) })
}

function isHidden({ value }: Scalar, name: string, outer: string): boolean {
  if (value === null || typeof value === 'boolean' || value === '') return false
  const text = String(value)
  if (REFERENCE.test(text)) return false
  return isSensitive(name) || (isSensitive(outer) && VALUE_NAME.test(name)) || isHiddenText(text)
}

const isHiddenText = (text: string): boolean => redactText(text) !== text || withoutKeys(text) !== text
