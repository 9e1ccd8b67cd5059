/** The operations of an OpenAPI document that become tools. */

import { ConfigError } from '#engine/contract/config-error.ts'
import { ArgumentSchemas } from './arguments.ts'
import type { McpApi } from './config.ts'
import { type Document, isNode, LimitError, type Node } from './document.ts'
import { OperationReader } from './operation.ts'
import type { Operation } from './plan.ts'
import { fromSwagger } from './swagger.ts'
import type { Idle, Named, Wanted } from './wanted.ts'
export interface Operations {
  readonly byName: ReadonlyMap<string, Operation>
  /** The same as texts. */
  readonly tools: McpApi['tools']
  /** What has become no tool, or no argument of one, though it should, and why. */
  readonly skipped: readonly string[]
  /** What is wanted or not, and there is not. */
  readonly idle: readonly Idle[]
  /** How many the document has, wanted or not. */
  readonly count: number
}

export interface ReadOptions {
  /** The field of the target's key, lower case: no argument of a tool. */
  readonly authHeader: string | null
  readonly wanted: Wanted
}

/** GitHub has 1,223, Kubernetes 1,062. */
export const OPERATIONS_MAX = 4096
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']

/** What is left out is named as often; of a document full of mistakes the rest is counted. */
const SKIPPED_MAX = 256

/** What is wrong with one operation costs that one. Throws ConfigError where it costs all of them. */
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
  readonly #all: Named[] = []
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
    const { authHeader, wanted } = this.#options
    const shared = document.node(item, `paths["${path}"]`)
    const said = shared === null ? null : document.node(shared[method], where)
    if (said === null) return
    const named = { path, method, given: said }
    this.#all.push(named)
    if (!wanted.has(named)) return
    if (this.#byName.size >= OPERATIONS_MAX) {
      document.exceed('paths', `more than ${OPERATIONS_MAX} operations`)
    }
    const given = document.isSwagger ? fromSwagger(document, said, shared!, where) : said
    const own = { path, method, where, given, shared: document.isSwagger ? NOTHING : shared!, authHeader }
    const told = (what: string): void => this.#skip(`${where}: ${what}`)
    const operation = new OperationReader(document, own, this.#schemas, told).read(this.#byName)
    const { tool: shown, ...rest } = operation
    const { name } = shown
    const texts = { name, tool: JSON.stringify(shown), plan: JSON.stringify(rest) }
    document.spendChars(texts.tool.length + texts.plan.length, where)
    this.#byName.set(name, operation)
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
    const idle = this.#options.wanted.idle(this.#all)
    return { byName: this.#byName, tools: this.#tools, skipped, idle, count: this.#all.length }
  }
}

const NOTHING: Node = {}

function pathItems({ root }: Document): { path: string; item: unknown }[] {
  const paths = Object.entries(isNode(root.paths) ? root.paths : {})
  return paths.filter(([path]) => !path.startsWith('x-')).map(([path, item]) => ({ path, item }))
}
