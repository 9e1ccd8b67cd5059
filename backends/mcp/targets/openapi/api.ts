/**
 * A document as what workers need of it: texts, one tool each, that are read when they are asked for. A large document
 * takes a second (GitHub's 13 MB: 0.9 s), so it is done once, in the thread that serves nobody, and a
 * reload, which brings every document again, mostly unchanged, takes what is known.
 */
import { createHash } from 'node:crypto'
import { ConfigError, type Problem } from '#engine/contract/config-error.ts'
import { Lru } from '#engine/kit/lru.ts'
import type { McpApi, McpOpenApiTarget } from './config.ts'
import { Document } from './document.ts'
import { readOperations } from './operations.ts'
import { shortened } from './schema.ts'
import { Wanted } from './wanted.ts'

const DOCUMENTS_MAX = 32
const INSTRUCTIONS_CHARS_MAX = 2048
/** More than this many tools are named in a warning: few models choose well among so many. */
const TOOLS_USUAL = 128

export interface Compiled {
  readonly api: McpApi
  readonly warnings: readonly Problem[]
}

const known = new Lru<string, Compiled>(DOCUMENTS_MAX)

/** `place`: of the target in the Snapshot, for messages. Throws ConfigError. */
export function compiledApi(given: McpOpenApiTarget, place: string): Compiled {
  const authHeader = given.auth?.header.toLowerCase() ?? null
  // Before anything else: what YAML repeats is as long as it says only here.
  const document = new Document(given.document!, `${place}.document`)
  const text = JSON.stringify([place, authHeader, given.operations ?? null, given.document])
  const key = createHash('sha256').update(text).digest('base64')
  let compiled = known.get(key)
  if (compiled === undefined) {
    compiled = compile(document, given, authHeader, place)
    known.set(key, compiled)
  }
  return compiled
}

function compile(document: Document, given: McpOpenApiTarget, authHeader: string | null, place: string): Compiled {
  const { tools, skipped, idle, count } = readOperations(document, { authHeader, wanted: new Wanted(given) })
  const unmatched = idle.map(({ where, message }) => ({ path: `${place}.${where}`, message }))
  if (count === 0) document.refuse('paths', 'there is no operation, so there would be no tool')
  if (tools.length === 0) throw new ConfigError(unmatched.length > 0 ? unmatched : [noneLeft(place, count)])
  const warnings: Problem[] = skipped.map((one) => ({ path: `${place}.document`, message: `${one}: left out` }))
  warnings.push(...unmatched)
  if (tools.length > TOOLS_USUAL) {
    const message = `${tools.length} tools, among which few models choose well: operations says which are wanted`
    warnings.push({ path: `${place}.document`, message })
  }
  return { api: { facts: JSON.stringify(factsOf(document)), tools }, warnings }
}

const noneLeft = (place: string, count: number): Problem => {
  return { path: `${place}.operations`, message: `none of the ${count} operations of the document is left` }
}

/** What `initialize` says, but for the revision. */
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
