/**
 * An OpenAPI document, 3.0 to 3.2 (spec.openapis.org/oas), or Swagger 2.0, as parsed data. It is untrusted: whatever
 * breaks the specification is either reported as a problem of the configuration, with its place, or treated as
 * absent.
 */

import { isObject } from '#backends/mcp/protocol/json-rpc.ts'
import { ConfigError, type Problem } from '#engine/contract/config-error.ts'
export type Node = Readonly<Record<string, unknown>>

/** Values of a document. A value is counted each time it is visited, so aliases of YAML count again. */
const VALUES_MAX = 1_000_000
/** Characters of all texts and keys, counted in the same way. */
const CHARS_MAX = 32 * 1024 * 1024
const DEPTH_MAX = 128
/** Length of a chain of references. */
const CHAIN_MAX = 16
/** For all tools together: schema values that are visited, and characters of the tools and their plans as JSON. */
const STEPS_MAX = 2_000_000
const TOOLS_CHARS_MAX = 16 * 1024 * 1024
/** Characters of a place in messages: paths may be of any length. */
const PLACE_CHARS_MAX = 300

export const isNode: (value: unknown) => value is Node = isObject

/** The value that a reference leads to. */
export interface Found {
  readonly value: unknown
  /** The last reference of the chain ("#/components/schemas/Pet"); null: the value was not a reference. */
  readonly ref: string | null
}

/** A limit of the whole document was exceeded, whichever operation happened to exceed it. */
export class LimitError extends ConfigError {}

export class Document {
  readonly root: Node
  readonly isSwagger: boolean
  /** 3.0 and before: schemas have `nullable`, and siblings of a reference are ignored. */
  readonly isLegacy: boolean
  readonly #place: string
  readonly #parts = new Map<string, unknown>()
  readonly #texts = new WeakMap<object, string>()
  #steps = 0
  #toolChars = 0

  /** `place`: path of the document in the configuration. Throws ConfigError. */
  constructor(root: Node, place: string) {
    this.root = root
    this.#place = place
    const version = root.openapi
    this.isSwagger = root.swagger === '2.0'
    if (!this.isSwagger && (typeof version !== 'string' || !/^3\.[012]\.\d+/.test(version))) {
      const hint = typeof root.swagger === 'string' ? ` (this is Swagger ${root.swagger.slice(0, 8)})` : ''
      this.refuse('openapi', `only OpenAPI 3.0 to 3.2 and Swagger 2.0 are understood${hint}`)
    }
    this.isLegacy = this.isSwagger || String(version).startsWith('3.0.')
    this.#measure()
  }

  refuse(where: string, message: string): never {
    throw new ConfigError([this.#problem(where, message)])
  }

  #problem(where: string, message: string): Problem {
    const shown = where.length > PLACE_CHARS_MAX ? `${where.slice(0, PLACE_CHARS_MAX)}\u2026` : where
    return { path: `${this.#place}.${shown}`, message }
  }

  /** Charges the work for the operation at `where` to the document's budget. Throws LimitError. */
  spend(steps: number, where: string): void {
    this.#steps += steps
    if (this.#steps > STEPS_MAX) this.exceed(where, `to make tools of the document takes more than ${STEPS_MAX} steps`)
  }

  /** The same for the characters of the finished tool. */
  spendChars(chars: number, where: string): void {
    this.#toolChars += chars
    if (this.#toolChars > TOOLS_CHARS_MAX) {
      this.exceed(where, `the tools of the document have more than ${TOOLS_CHARS_MAX} characters`)
    }
  }

  /** Reports that a limit of the whole document is exceeded. */
  exceed(where: string, message: string): never {
    throw new LimitError([this.#problem(where, `${message}: say which operations are wanted (operations)`)])
  }

  /** A part of the document as JSON, serialized once. */
  textOf(part: unknown): string {
    if (typeof part !== 'object' || part === null) return JSON.stringify(part) ?? ''
    const known = this.#texts.get(part)
    if (known !== undefined) return known
    const text = JSON.stringify(part)
    this.#texts.set(part, text)
    return text
  }

  /** The path of a problem, relative to the document. */
  within(path: string): string {
    return path.startsWith(`${this.#place}.`) ? path.slice(this.#place.length + 1) : path
  }

  /** Follows references until there is a value. `where`: place of the reference. */
  follow(value: unknown, where: string): Found {
    let at = value
    let ref: string | null = null
    for (let i = 0; isNode(at) && typeof at.$ref === 'string'; i++) {
      if (i >= CHAIN_MAX) this.refuse(where, `$ref ${quoted(ref)}: it refers to itself, or through too many others`)
      ref = at.$ref
      at = this.#lookUp(ref, where)
    }
    return { value: at, ref }
  }

  /** The same for a value that must be an object; null: it is none. */
  node(value: unknown, where: string): Node | null {
    const found = this.follow(value, where).value
    return isNode(found) ? found : null
  }

  #lookUp(ref: string, where: string): unknown {
    if (ref === '#') return this.root
    if (this.#parts.has(ref)) return this.#parts.get(ref)
    if (!ref.startsWith('#/'))
      this.refuse(where, `$ref ${quoted(ref)}: only "#/..." within the document is followed: bundle it`)
    let at: unknown = this.root
    for (const step of ref.slice(2).split('/')) {
      const key = unescaped(step)
      // Own properties only: "#/constructor" leads nowhere.
      if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) {
        this.refuse(where, `$ref ${quoted(ref)}: the document has no such part`)
      }
      at = (at as Node)[key]
    }
    this.#parts.set(ref, at)
    return at
  }

  /** Bounds the document, so that everything after this may recurse. */
  #measure(): void {
    let values = 0
    let chars = 0
    const walk = (value: unknown, depth: number): void => {
      if (++values > VALUES_MAX) this.refuse('openapi', `the document has more than ${VALUES_MAX} values`)
      if (typeof value === 'string') chars += value.length
      if (chars > CHARS_MAX) this.refuse('openapi', `the document has more than ${CHARS_MAX} characters`)
      if (typeof value !== 'object' || value === null) return
      if (depth > DEPTH_MAX) this.refuse('openapi', `the document is nested deeper than ${DEPTH_MAX}`)
      for (const [key, item] of Object.entries(value)) {
        chars += key.length
        walk(item, depth + 1)
      }
    }
    walk(this.root, 0)
  }
}

/** A token of a JSON pointer in a URI fragment (RFC 6901 section 6). */
function unescaped(step: string): string {
  return percentDecoded(step).replaceAll('~1', '/').replaceAll('~0', '~')
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A malformed escape is taken literally; no part has such a name.
    return text
  }
}

function quoted(ref: string | null): string {
  return JSON.stringify((ref ?? '').slice(0, 200))
}
