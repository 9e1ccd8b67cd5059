/**
 * The text of a configuration file -> plain data that remembers where each value stood. YAML 1.2 (of
 * which JSON is a part); environment variables are expanded in scalars after parsing, so positions
 * are those of the file and a value can never change the file's structure.
 */
import {
  type Alias,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  visit
} from 'yaml'

/** One step into the data: a key or an index. */
export type Path = readonly (string | number)[]

export interface Position {
  readonly line: number
  readonly column: number
}

/** Something wrong in the text itself. */
export interface TextError extends Position {
  readonly message: string
}

export type Env = Readonly<Record<string, string | undefined>>

/** Aliases may multiply a document by this much; more is an attack or a mistake. */
const ALIASES_MAX = 100
const VARIABLE = /\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|([A-Za-z_][A-Za-z0-9_]*))/g

export class ConfigDocument {
  readonly errors: TextError[] = []
  /** Plain data, or null when `errors` says why there is none. */
  readonly data: unknown
  readonly #document: Document
  readonly #lines = new LineCounter()

  constructor(text: string, env: Env) {
    this.#document = parseDocument(text, { lineCounter: this.#lines, merge: true, prettyErrors: false })
    for (const { message, pos } of this.#document.errors) {
      this.errors.push({ message: plain(message), ...this.#at(pos[0]) })
    }
    if (this.errors.length === 0) this.#checkAliases()
    if (this.errors.length === 0) this.#expand(env)
    this.data = this.errors.length === 0 ? this.#toData() : null
  }

  /** Where the value at `path` stands; of what is missing, where its nearest parent stands. */
  locate(path: Path): Position {
    let node: unknown = this.#document.contents
    let found: Node | null = isNode(node) ? node : null
    for (const step of path) {
      const child = this.#child(node, step)
      if (child === null) break
      node = child
      found = child
    }
    return this.#at(found?.range?.[0] ?? 0)
  }

  /** Where the key itself stands, for keys that should not be there. */
  locateKey(path: Path, key: string): Position {
    const parent = path.reduce<unknown>((node, step) => this.#child(node, step), this.#document.contents)
    const map = this.#resolved(parent)
    const pair = isMap(map) ? map.items.find((item) => keyOf(item) === key) : undefined
    return isNode(pair?.key) ? this.#at(pair.key.range?.[0] ?? 0) : this.locate(path)
  }

  #child(parent: unknown, step: string | number): Node | null {
    const node = this.#resolved(parent)
    if (!isCollection(node)) return null
    const child = isMap(node)
      ? node.items.find((item) => keyOf(item) === String(step))?.value
      : node.items[Number(step)]
    return isNode(child) ? child : null
  }

  #resolved(node: unknown): unknown {
    return isAlias(node) ? node.resolve(this.#document) : node
  }

  #at(offset: number): Position {
    const { line, col } = this.#lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }

  #checkAliases(): void {
    visit(this.#document, {
      Alias: (_key, alias: Alias) => {
        if (alias.resolve(this.#document) !== undefined) return
        this.errors.push({ message: `nothing is anchored as &${alias.source}`, ...this.#at(alias.range?.[0] ?? 0) })
      }
    })
  }

  #expand(env: Env): void {
    visit(this.#document, {
      Scalar: (key, scalar: Scalar) => {
        if (key === 'key' || typeof scalar.value !== 'string' || !scalar.value.includes('$')) return
        const expanded = this.#expandText(scalar.value, env, scalar.range?.[0] ?? 0)
        // An unquoted variable may hold a number, as it would if it had been written there.
        scalar.value = scalar.type === 'PLAIN' ? typed(expanded) : expanded
      }
    })
  }

  #expandText(text: string, env: Env, offset: number): string {
    return text.replace(VARIABLE, (match, braced?: string, fallback?: string, bare?: string) => {
      if (match === '$$') return '$'
      const name = braced ?? bare ?? ''
      const value = env[name]
      if (value !== undefined && (value !== '' || fallback === undefined)) return value
      if (fallback !== undefined) return fallback
      this.errors.push({
        message: `environment variable ${name} is not set; set it, give a default with \${${name}:-value}, or write $$ for a dollar sign`,
        ...this.#at(offset)
      })
      return ''
    })
  }

  #toData(): unknown {
    try {
      return this.#document.toJS({ maxAliasCount: ALIASES_MAX })
    } catch (error) {
      this.errors.push({ message: plain((error as Error).message), line: 1, column: 1 })
      return null
    }
  }
}

function isNode(value: unknown): value is Node {
  return isScalar(value) || isCollection(value) || isAlias(value)
}

function keyOf(pair: Pair): string | null {
  return isScalar(pair.key) ? String(pair.key.value) : null
}

function typed(text: string): unknown {
  if (/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/.test(text)) return Number(text)
  if (text === 'true' || text === 'false') return text === 'true'
  if (text === 'null' || text === '~' || text === '') return null
  return text
}

/** The library's messages start with a capital and may show the source over several lines. */
function plain(message: string): string {
  const first = message.split('\n')[0] ?? message
  return first.charAt(0).toLowerCase() + first.slice(1)
}
