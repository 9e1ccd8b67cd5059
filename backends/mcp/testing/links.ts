/** A link of a target, asked by hand: what tests of targets have in common. */

import type { JsonObject, RpcNotification, RpcRequest, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import type { Link, LinkFailure, LinkOptions } from '#backends/mcp/targets/target.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
export interface Heard {
  readonly response?: RpcResponse & { readonly result?: JsonObject }
  readonly failure?: LinkFailure
  readonly messages: (RpcRequest | RpcNotification)[]
}

export function optionsOf(sessionKey: string, upstreamSession: string | null = null): LinkOptions {
  return { sessionKey, upstreamSession, version: null, headers: new HeaderBlock() }
}

let ids = 0

export function ask(link: Link, method: string, params: JsonObject = {}, timeoutMs = 600_000): Promise<Heard> {
  const messages: (RpcRequest | RpcNotification)[] = []
  return new Promise((resolve) => {
    const events = {
      message: (message: RpcRequest | RpcNotification) => void messages.push(message),
      answered: (response: RpcResponse) => resolve({ response, messages }),
      failed: (failure: LinkFailure) => resolve({ failure, messages })
    }
    link.request({ jsonrpc: '2.0', id: `t${++ids}`, method, params }, events, timeoutMs)
  })
}

/** Begins the conversation as a client of `capabilities`; gives the answer. */
export async function initialize(link: Link, capabilities: JsonObject = {}): Promise<Heard> {
  const clientInfo = { name: 'weir-test', version: '1' }
  const heard = await ask(link, 'initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo })
  if (heard.failure === undefined) await link.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  return heard
}

/** Calls a tool; gives the text of the first part of its answer. */
export async function callTool(link: Link, name: string, args: JsonObject): Promise<string> {
  const { response, failure } = await ask(link, 'tools/call', { name, arguments: args })
  if (failure !== undefined) throw new Error(failure.message)
  const content = response?.result?.content as readonly { text?: string }[] | undefined
  return content?.[0]?.text ?? JSON.stringify(response)
}
