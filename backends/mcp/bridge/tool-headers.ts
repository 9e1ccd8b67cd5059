/** Arguments of tools that a server wants mirrored as headers, as its lists say. */

import { isObject, type JsonObject, type RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import { type MirroredParameter, mirroredParameters, parameterFields } from '#backends/mcp/protocol/parameters.ts'
import { Lru } from '#engine/kit/lru.ts'

const TOOLS_MAX = 4096

export class ToolHeaders {
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

  /** Headers of a call, flat: name, value, name, value. */
  of(message: RpcRequest): string[] {
    const name = message.method === 'tools/call' ? message.params?.name : undefined
    const parameters = typeof name === 'string' ? this.#tools.get(name) : undefined
    return parameters === undefined ? [] : parameterFields(parameters, message.params?.arguments)
  }
}
