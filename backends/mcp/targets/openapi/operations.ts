/** The operations of an OpenAPI document that become tools. */
import { ConfigError } from '#engine/contract/config-error.ts'
import { type Document, isNode, type Node } from './document.ts'
import { OperationReader } from './operation.ts'
import type { Operation } from './plan.ts'
import { fromSwagger } from './swagger.ts'
import type { Idle, Named, Wanted } from './wanted.ts'

export interface Operations {
  readonly byName: ReadonlyMap<string, Operation>
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

/** What is wrong with one operation costs that one. Throws ConfigError where it costs all of them. */
export function readOperations(document: Document, { authHeader, wanted }: ReadOptions): Operations {
  const byName = new Map<string, Operation>()
  const skipped: string[] = []
  const all: Named[] = []
  let first: ConfigError | null = null
  for (const { path, item } of pathItems(document)) {
    for (const method of METHODS) {
      const where = `paths["${path}"].${method}`
      try {
        const shared = document.node(item, `paths["${path}"]`)
        const said = shared === null ? null : document.node(shared[method], where)
        if (said === null) continue
        const named = { path, method, given: said }
        all.push(named)
        if (!wanted.has(named)) continue
        if (byName.size >= OPERATIONS_MAX) break
        const given = document.isSwagger ? fromSwagger(document, said, shared!, where) : said
        const own = { path, method, where, given, shared: document.isSwagger ? NOTHING : shared!, authHeader }
        const operation = new OperationReader(document, own, skipped).read(byName)
        byName.set(operation.tool.name, operation)
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error
        first ??= error
        skipped.push(...error.problems.map((problem) => `${document.within(problem.path)}: ${problem.message}`))
      }
    }
  }
  if (byName.size >= OPERATIONS_MAX) {
    document.refuse('paths', `more than ${OPERATIONS_MAX} operations: say which are wanted (operations)`)
  }
  if (first !== null && byName.size === 0) throw first
  return { byName, skipped, idle: wanted.idle(all), count: all.length }
}

const NOTHING: Node = {}

function pathItems({ root }: Document): { path: string; item: unknown }[] {
  const paths = Object.entries(isNode(root.paths) ? root.paths : {})
  return paths.filter(([path]) => !path.startsWith('x-')).map(([path, item]) => ({ path, item }))
}
