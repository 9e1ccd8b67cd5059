/** A gateway before MCP servers, and official clients of it. */
import type { TestContext } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { McpBackend } from '#backends/mcp/config/snapshot.ts'
import type { McpHttpTarget } from '#backends/mcp/targets/remote.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { startGateway, type TestOptions } from '#engine/testing/gateway.ts'

const QUIET = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } }

export const httpTarget = (name: string, port: number, more: Partial<McpHttpTarget> = {}): McpHttpTarget => ({
  kind: 'http',
  name,
  host: '127.0.0.1',
  port,
  path: '/mcp',
  hasTls: false,
  auth: null,
  authorization: null,
  ...more
})

export const mcpOf = (targets: McpBackend['targets'], more: Partial<McpBackend> = {}): McpBackend => ({
  kind: 'mcp',
  targets,
  sessionRouting: 'Stateful',
  prefixMode: 'conditional',
  failureMode: 'failClosed',
  authorization: null,
  session: { key: null, idleMs: 1_800_000 },
  // Far more than a slow machine needs: who tests this bound sets it.
  targetTimeoutMs: 600_000,
  forwardHeaders: [],
  messageBytesMax: 4 * 1024 * 1024,
  policies: {},
  ...more
})

export interface McpGatewayOptions extends TestOptions {
  /** Policies of the route, as in the file. */
  readonly policies?: object
}

export async function gatewayOf(t: TestContext, mcp: McpBackend, options: McpGatewayOptions = {}) {
  const { policies = {}, ...rest } = options
  const routes = [{ policies, backends: [{ host: '127.0.0.1:1' }] }]
  // What a Snapshot has does not change: \`mcp\` may, from one reload to the next.
  const edit = (snapshot: Snapshot): Snapshot => ({
    ...snapshot,
    backends: Object.fromEntries(Object.keys(snapshot.backends).map((name) => [name, { ...mcp }]))
  })
  const file = JSON.stringify({ config: QUIET, binds: [{ port: 0, listeners: [{ routes }] }] })
  const started = await startGateway(file, { edit, ...rest })
  t.after(() => started.close())
  const url = `http://127.0.0.1:${started.port}/mcp`
  /** The same configuration, put in force once more. */
  const again = () => started.reload(file)
  return { ...started, url, again }
}

/** Connected, with what it was told. */
export async function clientOf(
  t: TestContext,
  url: string,
  headers: Record<string, string> = {},
  made = new Client({ name: 'tester', version: '1' })
) {
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
  await made.connect(transport as Parameters<Client['connect']>[0])
  t.after(() => made.close())
  return { client: made, transport }
}

/** One POST, as curl would. */
export function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers
    },
    body: typeof body === 'string' ? body : JSON.stringify(body)
  })
}

export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
}
