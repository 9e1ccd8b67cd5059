/** One client, known or not, does not take what is there for all: processes, whatever it says that it is. */
import { equal, match } from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { gatewayOf, mcpOf } from '#backends/mcp/testing/gateway.ts'
import { QUIET, SERVER } from '#engine/workers/children/rig.fixture.ts'

const MAX = 4
const SHARE = 3
const FULL = /as many of its processes as one client may have/
const stdio = {
  kind: 'stdio',
  name: 'tools',
  cmd: process.execPath,
  args: [QUIET, SERVER, 'polite'],
  env: {},
  cwd: null,
  authorization: null
} as const

interface ToolAnswer {
  readonly status: number
  readonly body: string
  readonly session: string | undefined
}

/** A request from `from`, an address of the loopback network. `begun`: when it is on its way. */
function post(url: string, from: string, message: object, headers: Record<string, string>): Promise<ToolAnswer> {
  const sent = request(url, {
    method: 'POST',
    localAddress: from,
    agent: false,
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers }
  })
  // Those that wait for an answer end with the test.
  sent.on('error', () => undefined)
  sent.end(JSON.stringify({ jsonrpc: '2.0', ...message }))
  return once(sent, 'response').then(async ([response]: IncomingMessage[]) => ({
    status: response!.statusCode!,
    body: await text(response!),
    session: response!.headers['mcp-session-id'] as string | undefined
  }))
}

const VERSION = '2026-07-28'

/** A call of the era without sessions, by a client that calls itself something else each time. */
function call(url: string, from: string, name: string, i: number): Promise<ToolAnswer> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientInfo': { name: `client ${i}`, version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {}
  }
  const headers = { 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/call', 'mcp-name': name }
  return post(url, from, { id: i, method: 'tools/call', params: { name, arguments: {}, _meta } }, headers)
}

const begin = (url: string, from: string, i: number): Promise<ToolAnswer> => {
  const clientInfo = { name: `client ${i}`, version: '1' }
  return post(
    url,
    from,
    { id: i, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } },
    {}
  )
}

test('calls without sessions of one address leave processes to the others', async (t) => {
  const { url } = await gatewayOf(t, mcpOf([stdio]), { childrenMax: MAX })
  // Of which era the server is has been found out.
  match((await call(url, '127.0.0.1', 'echo', 0)).body, /"echo"/)
  const pending = Array.from({ length: SHARE + 1 }, (_, i) => call(url, '127.0.0.1', 'hold', i + 1))
  match((await Promise.race(pending)).body, FULL)
  match((await call(url, '127.0.0.2', 'echo', 9)).body, /"echo"/)
  match((await call(url, '127.0.0.1', 'echo', 10)).body, FULL)
})

test('so do sessions', async (t) => {
  const { url } = await gatewayOf(t, mcpOf([stdio]), { childrenMax: MAX })
  for (let i = 0; i < SHARE; i++) equal(typeof (await begin(url, '127.0.0.1', i)).session, 'string')
  const refused = await begin(url, '127.0.0.1', SHARE)
  equal(refused.session, undefined)
  match(refused.body, FULL)
  equal(typeof (await begin(url, '127.0.0.2', 9)).session, 'string')
})
