/**
 * A document as what workers need of it: texts, one tool each, that are read when they are asked for. A large document
 * takes a second (GitHub's 13 MB: 0.9 s), so it is done once, in the thread that serves nobody, and a
 * reload, which brings every document again, mostly unchanged, takes what is known.
 */
import { createHash } from 'node:crypto'
import type { McpApi, McpOpenApiTarget } from '#engine/ir/snapshot.ts'
import { Lru } from '#engine/kit/lru.ts'
import { Document } from './document.ts'
import { readOperations } from './operations.ts'
import { shortened } from './schema.ts'
import { wantedOf } from './wanted.ts'

const DOCUMENTS_MAX = 32
const INSTRUCTIONS_CHARS_MAX = 2048
/** More than this many tools are named in a warning: few models choose well among so many. */
const TOOLS_USUAL = 128

export interface Compiled {
  readonly api: McpApi
  readonly warnings: readonly string[]
}

const known = new Lru<string, Compiled>(DOCUMENTS_MAX)

/** `place`: of the document, for messages. Throws ConfigError. */
export function compiledApi(given: McpOpenApiTarget, place: string): Compiled {
  const authHeader = given.auth?.header.toLowerCase() ?? null
  const text = JSON.stringify([place, authHeader, given.operations ?? null, given.document])
  const key = createHash('sha256').update(text).digest('base64')
  let compiled = known.get(key)
  if (compiled === undefined) {
    compiled = compile(new Document(given.document!, place), given, authHeader, place)
    known.set(key, compiled)
  }
  return compiled
}

function compile(document: Document, given: McpOpenApiTarget, authHeader: string | null, place: string): Compiled {
  const { byName, skipped } = readOperations(document, { authHeader, wanted: wantedOf(given) })
  const tools = [...byName].map(([name, { tool, ...plan }]) => ({
    name,
    tool: JSON.stringify(tool),
    plan: JSON.stringify(plan)
  }))
  const warnings = skipped.map((one) => `${place}.${one}: left out`)
  if (tools.length > TOOLS_USUAL) {
    warnings.push(
      `${place}: ${tools.length} tools, among which few models choose well: operations says which are wanted`
    )
  }
  return { api: { facts: JSON.stringify(factsOf(document)), tools }, warnings }
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
