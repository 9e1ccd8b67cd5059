/**
 * Environment variables in a configuration file: $NAME, ${NAME}, ${NAME:-default}, and $$ for "$". Password
 * hashes as crypt(3) writes them ($apr1$salt$digest) stand for themselves: lines of htpasswd are pasted as they are,
 * and no part of one is called a variable that is not set.
 *
 * The text is masked before YAML sees it: every reference becomes as many neutral characters. So
 * positions stay those of the file, a value can never change the structure around it, and references
 * work where "{" and ":" would mean something (flow lists, JSON). Values are put in afterwards, into
 * scalars; what stands in a comment is never looked at.
 */
import type { Expanded } from '#engine/ir/expanded.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface Reference {
  /** Offset of "$". */
  readonly start: number
  /** As written. */
  readonly text: string
}

export type Expansion = { readonly value: string } | { readonly problem: string; readonly hint?: string }

// Private-use characters: plain text to YAML. Those that the file itself has are treated as references to themselves.
const FIRST = '\ue000'
const REST = '\ue001'
const MASK = /\ue000\ue001*/g
const REFERENCE =
  /\$(?:2[aby]|apr1|[156])\$(?:rounds=\d{1,10}\$)?[./0-9A-Za-z]{0,16}\$[./0-9A-Za-z]{8,}|\$\$|\$[A-Za-z_][A-Za-z0-9_]*|\$\{[^{}"'\n]*\}|\$\{|[\ue000\ue001]/g
const HASH = /^\$[0-9a-z]+\$./
const BRACED = /^\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?\}$/
/** In a default these would mean something to the reader that they do not mean here. */
const ODD_DEFAULT = /[\\$]/

export class References {
  /** The text with every reference masked; as long as the original. */
  readonly masked: string
  readonly #all: readonly Reference[]

  /** `isPlain`: nothing in the text is meant as one. */
  constructor(text: string, isPlain = false) {
    const all: Reference[] = []
    const mask = (match: string, start: number): string => {
      all.push({ start, text: match })
      return FIRST + REST.repeat(match.length - 1)
    }
    this.masked = isPlain ? text : text.replace(REFERENCE, mask)
    this.#all = all
  }

  get count(): number {
    return this.#all.length
  }

  /** References that begin in [from, to), in order. */
  within(from: number, to: number): readonly Reference[] {
    const first = this.#firstFrom(from)
    let end = first
    while (end < this.#all.length && this.#all[end]!.start < to) end++
    return this.#all.slice(first, end)
  }

  #firstFrom(offset: number): number {
    let low = 0
    let high = this.#all.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#all[middle]!.start < offset) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Puts the texts of `parts` where the masks are, in order. */
export function fill(masked: string, parts: readonly string[]): string {
  let next = 0
  return masked.replace(MASK, (mask) => parts[next++] ?? mask)
}

/** A scalar, of which `masked` had the masks of `references`, whose values `parts` are. */
export function expandedOf(
  masked: string,
  value: string,
  references: readonly Reference[],
  parts: readonly string[]
): Expanded {
  const written = references.map(({ text }) => text)
  const variables = parts.map((part, i) => ({ written: written[i]!, value: part }))
  return {
    written: fill(masked, written),
    value,
    variables: variables.filter(({ written: text, value: part }) => isFromOutside(text, part))
  }
}

/** Not for what stands in the file: "$$", hashes of passwords, a default. */
function isFromOutside(reference: string, value: string): boolean {
  return reference !== value && reference !== '$$' && !reference.endsWith(`:-${value}}`)
}

/** The value of a reference. */
export function expand(reference: string, env: Environment): Expansion {
  if (reference === '$$') return { value: '$' }
  if (!reference.startsWith('$') || HASH.test(reference)) return { value: reference }
  const [, braced, fallback] = BRACED.exec(reference) ?? []
  const name = reference.startsWith('${') ? braced : reference.slice(1)
  if (name === undefined) {
    return { problem: `"${reference}" is no reference to a variable`, hint: `write \${NAME}, or $$ for a dollar sign` }
  }
  if (fallback !== undefined && ODD_DEFAULT.test(fallback)) {
    return { problem: `the default of ${name} is plain text: it cannot have backslashes and "$"` }
  }
  const value = Object.hasOwn(env, name) ? env[name] : undefined
  // As in a shell, ":-" also stands in for a variable that is empty.
  if (fallback !== undefined && (value === undefined || value === '')) return { value: fallback }
  if (value !== undefined) return { value }
  return {
    problem: `environment variable ${name} is not set`,
    hint: `write \${${name}:-default} to give a default, or $$ for a dollar sign`
  }
}

/** What YAML (1.2, core schema) makes of an unquoted scalar: $PORT gives a number when PORT is one. */
export function plainValue(text: string): string | number | boolean | null {
  if (/^(?:|~|null|Null|NULL)$/.test(text)) return null
  if (/^(?:true|True|TRUE)$/.test(text)) return true
  if (/^(?:false|False|FALSE)$/.test(text)) return false
  if (/^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$/.test(text)) return Number(text)
  if (/^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/.test(text)) return Number(text)
  return text
}
