/**
 * What workers need of an OpenAPI document: one JSON text per tool, parsed when the tool is used. Compiling a large
 * document takes a second (GitHub's 13 MB: 0.9 s), so it happens once, on the main thread, which serves no traffic.
 * A reload brings every document again, mostly unchanged: those are taken from a cache.
 */
import { createHash } from 'node:crypto'
import { authHeaderOf } from '#engine/contract/backend-auth/auth.ts'
import { ConfigError, type Problem } from '#engine/contract/config-error.ts'
import { Lru } from '#engine/kit/lru.ts'
import type { McpApi, McpOpenApiTarget } from './config.ts'
import { Document } from './document.ts'
import { OperationFilter } from './operation-filter.ts'
import { readOperations } from './operations.ts'
import { shortened } from './schema.ts'

const DOCUMENTS_MAX = 32
const INSTRUCTIONS_CHARS_MAX = 2048
/** More tools than this cause a warning: few models choose well among so many. */
const TOOLS_USUAL = 128

export interface Compiled {
  readonly api: McpApi
  readonly warnings: readonly Problem[]
}

const known = new Lru<string, Compiled>(DOCUMENTS_MAX)

/** `place`: path of the target in the Snapshot, for messages. Throws ConfigError. */
export function compiledApi(target: McpOpenApiTarget, place: string): Compiled {
  const authHeader = target.auth === null ? null : authHeaderOf(target.auth)
  // First of all, because this bounds the document: aliases of YAML may make its JSON text far longer than the source.
  const document = new Document(target.document!, `${place}.document`)
  const text = JSON.stringify([place, authHeader, target.operations ?? null, target.document])
  const key = createHash('sha256').update(text).digest('base64')
  let compiled = known.get(key)
  if (compiled === undefined) {
    compiled = compile(document, target, authHeader, place)
    known.set(key, compiled)
  }
  return compiled
}

function compile(document: Document, target: McpOpenApiTarget, authHeader: string | null, place: string): Compiled {
  const { tools, skipped, unmatched, count } = readOperations(document, {
    authHeader,
    filter: new OperationFilter(target)
  })
  const problems = unmatched.map(({ where, message }) => ({ path: `${place}.${where}`, message }))
  if (count === 0) document.refuse('paths', 'there is no operation, so there would be no tool')
  if (tools.length === 0) throw new ConfigError(problems.length > 0 ? problems : [noneLeft(place, count)])
  const warnings: Problem[] = skipped.map((one) => ({ path: `${place}.document`, message: `${one}: left out` }))
  warnings.push(...problems)
  if (tools.length > TOOLS_USUAL) {
    const message = `${tools.length} tools, among which few models choose well: operations says which are wanted`
    warnings.push({ path: `${place}.document`, message })
  }
  return { api: { facts: JSON.stringify(factsOf(document)), tools }, warnings }
}

const noneLeft = (place: string, count: number): Problem => {
  return { path: `${place}.operations`, message: `none of the ${count} operations of the document is left` }
}

/** The result of `initialize` without the revision. */
function factsOf({ root }: Document): object {
  const info = (typeof root.info === 'object' && root.info !== null ? root.info : {}) as Record<string, unknown>
  const text = (value: unknown, charsMax: number): string | null =>
    typeof value === 'string' && value !== '' ? shortened(value, charsMax) : null
  const instructions = text(info.description, INSTRUCTIONS_CHARS_MAX)
  return {
    capabilities: { tools: {} },
    serverInfo: { name: text(info.title, 128) ?? 'openapi', version: text(info.version, 64) ?? '0' },
    ...(instructions === null ? {} : { instructions })
  }
}
