/** The operations of an OpenAPI document that become tools. */

import { ConfigError } from '#engine/contract/config-error.ts'
import { ArgumentSchemas } from './arguments.ts'
import type { McpApi } from './config.ts'
import { type Document, isNode, LimitError, type Node } from './document.ts'
import { OperationReader } from './operation.ts'
import type { OperationEntry, OperationFilter, UnmatchedPattern } from './operation-filter.ts'
import type { Operation } from './plan.ts'
import { fromSwagger } from './swagger.ts'
export interface Operations {
  readonly byName: ReadonlyMap<string, Operation>
  /** The same as JSON. */
  readonly tools: McpApi['tools']
  /** Operations and parameters that were left out, with the reason. */
  readonly skipped: readonly string[]
  /** Patterns that match no operation. */
  readonly unmatched: readonly UnmatchedPattern[]
  /** All operations of the document, whether selected or not. */
  readonly count: number
}

export interface ReadOptions {
  /** Header name of the target's key, lower case: never an argument of a tool. */
  readonly authHeader: string | null
  readonly filter: OperationFilter
}

/** GitHub has 1,223, Kubernetes 1,062. */
export const OPERATIONS_MAX = 4096
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']

/** Messages about parts that were left out; more are only counted. */
const SKIPPED_MAX = 256

/** An invalid operation is left out. Throws ConfigError if all are invalid, or a limit is exceeded. */
export function readOperations(document: Document, options: ReadOptions): Operations {
  const reading = new Reading(document, options)
  for (const { path, item } of pathItems(document)) for (const method of METHODS) reading.add(path, method, item)
  return reading.end()
}

class Reading {
  readonly #document: Document
  readonly #options: ReadOptions
  readonly #schemas: ArgumentSchemas
  readonly #byName = new Map<string, Operation>()
  readonly #tools: McpApi['tools'][number][] = []
  readonly #skipped: string[] = []
  readonly #all: OperationEntry[] = []
  #unnamed = 0
  #first: ConfigError | null = null

  constructor(document: Document, options: ReadOptions) {
    this.#document = document
    this.#options = options
    this.#schemas = new ArgumentSchemas(document)
  }

  add(path: string, method: string, item: unknown): void {
    const where = `paths["${path}"].${method}`
    try {
      this.#read(path, method, item, where)
    } catch (error) {
      if (!(error instanceof ConfigError) || error instanceof LimitError) throw error
      this.#first ??= error
      for (const problem of error.problems) this.#skip(`${this.#document.within(problem.path)}: ${problem.message}`)
    }
  }

  #read(path: string, method: string, item: unknown, where: string): void {
    const document = this.#document
    const { authHeader, filter } = this.#options
    const shared = document.node(item, `paths["${path}"]`)
    const found = shared === null ? null : document.node(shared[method], where)
    if (found === null) return
    const named = { path, method, operation: found }
    this.#all.push(named)
    if (!filter.has(named)) return
    if (this.#byName.size >= OPERATIONS_MAX) {
      document.exceed('paths', `more than ${OPERATIONS_MAX} operations`)
    }
    const operation = document.isSwagger ? fromSwagger(document, found, shared!, where) : found
    const own = { path, method, where, operation, shared: document.isSwagger ? NOTHING : shared!, authHeader }
    const skipped = (what: string): void => this.#skip(`${where}: ${what}`)
    const read = new OperationReader(document, own, this.#schemas, skipped).read(this.#byName)
    const { tool: shown, ...plan } = read
    const { name } = shown
    const texts = { name, tool: JSON.stringify(shown), plan: JSON.stringify(plan) }
    document.spendChars(texts.tool.length + texts.plan.length, where)
    this.#byName.set(name, read)
    this.#tools.push(texts)
  }

  #skip(what: string): void {
    if (this.#skipped.length < SKIPPED_MAX) this.#skipped.push(what)
    else this.#unnamed++
  }

  end(): Operations {
    if (this.#first !== null && this.#byName.size === 0) throw this.#first
    const more = this.#unnamed === 0 ? [] : [`${this.#unnamed} more operations and parameters`]
    const skipped = [...this.#skipped, ...more]
    const unmatched = this.#options.filter.unmatched(this.#all)
    return { byName: this.#byName, tools: this.#tools, skipped, unmatched, count: this.#all.length }
  }
}

const NOTHING: Node = {}

function pathItems({ root }: Document): { path: string; item: unknown }[] {
  const paths = Object.entries(isNode(root.paths) ? root.paths : {})
  return paths.filter(([path]) => !path.startsWith('x-')).map(([path, item]) => ({ path, item }))
}
