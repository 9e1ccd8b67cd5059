/** Which arguments of which tool a server wants as fields, as far as its lists have told. */

import type { JsonObject, RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import { type MirroredParameter, mirroredParameters, parameterFields } from '#backends/mcp/protocol/parameters.ts'
import { isObject } from '#backends/mcp/protocol/stateless.ts'
import { Lru } from '#engine/kit/lru.ts'

const TOOLS_MAX = 4096

export class ToolFields {
  readonly #tools = new Lru<string, readonly MirroredParameter[]>(TOOLS_MAX)

  /** Learns from a page of tools/list. */
  learn(result: JsonObject): void {
    if (!Array.isArray(result.tools)) return
    for (const tool of result.tools) {
      if (!isObject(tool) || typeof tool.name !== 'string') continue
      const parameters = mirroredParameters(tool.inputSchema)
      if (parameters !== null && parameters.length > 0) this.#tools.set(tool.name, parameters)
      else this.#tools.delete(tool.name)
    }
  }

  /** Fields of a call, flat: name, value, name, value. */
  of(message: RpcRequest): string[] {
    const name = message.method === 'tools/call' ? message.params?.name : undefined
    const parameters = typeof name === 'string' ? this.#tools.get(name) : undefined
    return parameters === undefined ? [] : parameterFields(parameters, message.params?.arguments)
  }
}
