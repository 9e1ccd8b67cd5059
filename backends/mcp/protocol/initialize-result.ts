/** What servers say of themselves in the result of `initialize`; of several servers, as one. */

import { isObject, type JsonObject, type JsonValue } from './json-rpc.ts'
/** From the response to `initialize` or `server/discover`. */
export interface ServerFacts {
  readonly protocolVersion: string
  readonly capabilities: JsonObject
  readonly serverInfo: JsonObject
  readonly instructions: string | null
}

/** Null: it is no InitializeResult. */
export function readInitializeResult(result: JsonObject): ServerFacts | null {
  const { protocolVersion, capabilities, serverInfo, instructions } = result
  if (typeof protocolVersion !== 'string' || protocolVersion.length > 32) return null
  return {
    protocolVersion,
    capabilities: isObject(capabilities) ? capabilities : {},
    serverInfo: isObject(serverInfo) ? serverInfo : {},
    instructions: typeof instructions === 'string' ? instructions : null
  }
}

/** `facts`: by target, in the order of the configuration; at least one. `own`: the gateway's serverInfo. */
export function mergeFacts(facts: ReadonlyMap<string, ServerFacts>, own: JsonObject): ServerFacts {
  const all = [...facts.values()]
  const instructions = [...facts]
    .filter(([, { instructions: text }]) => text !== null && text !== '')
    .map(([target, { instructions: text }]) => `[${target}]\n${text}`)
  return {
    // The oldest: dates are ordered as text is.
    protocolVersion: all.map(({ protocolVersion }) => protocolVersion).sort()[0]!,
    capabilities: all.map(({ capabilities }) => capabilities).reduce((a, b) => union(a, b, 0)),
    serverInfo: own,
    instructions: instructions.length === 0 ? null : instructions.join('\n\n')
  }
}

/** Everything that any of them can do. Where two disagree on a value other than false, the first one's counts. */
function union(a: JsonObject, b: JsonObject, depth: number): JsonObject {
  const merged: Record<string, JsonValue> = { ...a }
  for (const [key, value] of Object.entries(b)) {
    const known = Object.hasOwn(merged, key) ? merged[key] : undefined
    if (isObject(known) && isObject(value) && depth < 8) merged[key] = union(known, value, depth + 1)
    else if (known === undefined || known === false) merged[key] = value
  }
  return merged
}
