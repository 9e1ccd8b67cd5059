/**
 * A copy of a value for people to read, without its secrets. It prefers to hide too much: marked
 * secrets (engine/kit/secret.ts), instances of a class named Secret, text under a name that sounds
 * like a secret, and credentials inside other text (an Authorization value, the user part of a URL).
 */
import { isSecret } from '#engine/kit/secret.ts'
import { isSensitive, REDACTED, redactText } from '#engine/kit/sensitive.ts'
import type { Unexpand } from './unexpand.ts'

const HEADER_NAME = /^[\w-]+$/
/** How an object spells a named value: { name: "authorization", value: ... }. */
const NAME_FIELDS = ['name', 'header'] as const

/** Deeper than any configuration; ends a cycle instead of the process. */
const DEPTH_MAX = 64

/**
 * The copy: plain data, ready for JSON.stringify. Numbers and booleans are never secret. `unexpand`: what came from the
 * environment becomes a reference to it, but for addresses (ADDRESSES).
 */
export function redact(value: unknown, unexpand: Unexpand | null = null): unknown {
  return new Copy(unexpand).copy(value, false, 0)
}

/** Names of fields that say where something is: harmless, and needed for debugging. */
const ADDRESSES: ReadonlySet<string> = new Set([
  'host',
  'hostname',
  'hostnames',
  'address',
  'adminAddr',
  'statsAddr',
  'readinessAddr'
])

/** What a field of a Snapshot is called; names that the file gives may be values. */
const FIELD = /^[A-Za-z]+$/

class Copy {
  readonly #unexpand: Unexpand | null

  constructor(unexpand: Unexpand | null) {
    this.#unexpand = unexpand
  }

  copy(value: unknown, hidden: boolean, depth: number, isAddress = false): unknown {
    if (typeof value === 'string') return hidden ? REDACTED : redactText(isAddress ? value : this.#text(value))
    if (value === null || typeof value === 'number' || typeof value === 'boolean') return value
    if (typeof value !== 'object') return value === undefined ? undefined : String(typeof value)
    if (isSecret(value) || value.constructor?.name === 'Secret' || ArrayBuffer.isView(value)) return REDACTED
    if (depth >= DEPTH_MAX) return '<too deep>'
    if (Array.isArray(value)) return this.#list(value, hidden, depth, isAddress)
    if (value instanceof Map) return this.#object(Object.fromEntries(value), hidden, depth)
    if (value instanceof Set) return this.#list([...value], hidden, depth, isAddress)
    return this.#object(value, hidden, depth)
  }

  /** Flat header lists put the value behind its name, so text behind a sensitive name is hidden. */
  #list(list: readonly unknown[], hidden: boolean, depth: number, isAddress: boolean): unknown[] {
    return list.map((item, i) => {
      const before = i === 0 ? '' : list[i - 1]
      const follows = typeof before === 'string' && HEADER_NAME.test(before) && isSensitive(before)
      return this.copy(item, hidden || follows, depth + 1, isAddress)
    })
  }

  #object(from: object, hidden: boolean, depth: number): Record<string, unknown> {
    const entries = Object.entries(from)
    const named =
      entries.some(([key, v]) => isNameField(key) && typeof v === 'string' && isSensitive(v)) || isKeyInHeader(from)
    const isMcpTarget = 'args' in from || 'hasTls' in from
    const out: [string, unknown][] = entries.map(([key, value]) => {
      // The name itself stays readable: it says what is hidden.
      if (named && isNameField(key) && !hidden) return [key, this.copy(value, false, depth + 1)]
      const shown = isMcpTarget ? shownOfTarget(key, value) : null
      if (shown !== null) return [key, this.#text(shown)]
      const hides = hidden || named || key === 'env' || (isSensitive(key) && !areRules(key, value))
      return [FIELD.test(key) ? key : this.#text(key), this.copy(value, hides, depth + 1, ADDRESSES.has(key))]
    })
    // Object.fromEntries defines own properties: a key "__proto__" stays data.
    return Object.fromEntries(out)
  }

  #text(text: string): string {
    return this.#unexpand?.(text) ?? text
  }
}

/** What an MCP target is shown: a key, whatever its header is called. */
function isKeyInHeader(from: object): boolean {
  return 'header' in from && typeof from.header === 'string' && 'value' in from && typeof from.value === 'string'
}

/**
 * Of an MCP target, what may be a secret under any name: arguments of a command, of which only the number is shown, and
 * the values of the query in its path. Null: nothing of the kind.
 */
function shownOfTarget(key: string, value: unknown): string | null {
  if (key === 'args' && Array.isArray(value)) return `<${value.length} redacted>`
  if (key !== 'path' || typeof value !== 'string') return null
  const at = value.indexOf('?')
  if (at < 0) return null
  const hidden = value
    .slice(at + 1)
    .split('&')
    .map((part) => {
      const end = part.indexOf('=')
      return end < 0 ? REDACTED : `${part.slice(0, end)}=${REDACTED}`
    })
  return `${value.slice(0, at)}?${hidden.join('&')}`
}

function isNameField(key: string): boolean {
  return (NAME_FIELDS as readonly string[]).includes(key)
}

/** The policy `authorization` of a Snapshot names a header and holds no secret: it is shown for debugging. */
function areRules(key: string, value: unknown): boolean {
  return key === 'authorization' && (Array.isArray(value) ? value.every(isRule) : areItemRules(value))
}

/** Of MCP servers. */
function areItemRules(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'allow' in value && 'deny' in value && 'require' in value
}

function isRule(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'action' in value && 'expressions' in value
}
