/** What a server declares to one caller takes nothing from another (2026-07-28), whatever era the server is of. */
import { equal, match } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, it, type TestContext } from 'node:test'
import { gatewayOf, httpTarget, mcpOf, post } from '#backends/mcp/testing/gateway.ts'

const VERSION = '2026-07-28'
const SERVER = { name: 's', version: '1' }
const TOOLS = { tools: [{ name: 't', inputSchema: { type: 'object' } }] }
const HINTS = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }

/** Has prompts for one caller only, and breaks for others that ask for them. */
async function serve(t: TestContext, isStateless: boolean) {
  const requests: string[] = []
  const answer = (message: { method: string }, { headers }: IncomingMessage): object => {
    const isAdmin = headers.authorization === 'Bearer admin'
    requests.push(`${isAdmin ? 'admin' : 'user'} ${message.method}`)
    const capabilities = isAdmin ? { tools: {}, prompts: {} } : { tools: {} }
    if (message.method === 'server/discover' && isStateless)
      return { result: { ...HINTS, supportedVersions: [VERSION], capabilities, serverInfo: SERVER } }
    if (message.method === 'initialize' && !isStateless)
      return { result: { protocolVersion: '2025-11-25', capabilities, serverInfo: SERVER } }
    if (message.method === 'tools/list') return { result: { ...HINTS, ...TOOLS } }
    if (message.method === 'prompts/list' && isAdmin) return { result: { ...HINTS, prompts: [{ name: 'theirs' }] } }
    const code = message.method === 'prompts/list' ? -32_603 : -32_601
    return { error: { code, message: 'no' } }
  }
  let sessions = 0
  const http = createServer((request, response) => {
    void text(request).then((body) => {
      const message = JSON.parse(body === '' ? '{}' : body) as { id?: number; method: string }
      if (message.id === undefined) response.writeHead(request.method === 'POST' ? 202 : 405).end()
      else {
        const fields = message.method === 'initialize' ? { 'mcp-session-id': `s${++sessions}` } : {}
        response.writeHead(200, { 'content-type': 'application/json', ...fields })
        response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer(message, request) }))
      }
    })
  })
  await once(http.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    http.closeAllConnections()
    http.close()
  })
  return { port: (http.address() as AddressInfo).port, requests }
}

async function listed(url: string, who: string, method: string): Promise<string> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {}
  }
  const fields = { authorization: `Bearer ${who}`, 'mcp-protocol-version': VERSION, 'mcp-method': method }
  return (await post(url, { jsonrpc: '2.0', id: 1, method, params: { _meta } }, fields)).text()
}

for (const isStateless of [false, true]) {
  describe(`a server ${isStateless ? 'of 2026-07-28' : 'with sessions'} that declares by caller`, () => {
    for (const count of [1, 2]) {
      it(`is asked for what it has declared to this one: ${count} targets`, async (t) => {
        const servers = await Promise.all(Array.from({ length: count }, () => serve(t, isStateless)))
        const targets = servers.map(({ port }, i) => httpTarget(`t${i}`, port))
        const { url } = await gatewayOf(t, mcpOf(targets, { forwardHeaders: ['authorization'] }))
        match(await listed(url, 'admin', 'prompts/list'), /theirs/)
        match(await listed(url, 'user', 'tools/list'), /"t"|t0_t/)
        match(await listed(url, 'admin', 'prompts/list'), /theirs/)
        equal((await listed(url, 'user', 'prompts/list')).includes('theirs'), false)
        match(await listed(url, 'admin', 'prompts/list'), /theirs/)
      })

      it(`is found by who comes second, and has more: ${count} targets`, async (t) => {
        const servers = await Promise.all(Array.from({ length: count }, () => serve(t, isStateless)))
        const targets = servers.map(({ port }, i) => httpTarget(`t${i}`, port))
        const { url } = await gatewayOf(t, mcpOf(targets, { forwardHeaders: ['authorization'] }))
        match(await listed(url, 'user', 'tools/list'), /"t"|t0_t/)
        match(await listed(url, 'user', 'prompts/list'), /-32601/)
        match(await listed(url, 'admin', 'prompts/list'), /theirs/)
        for (const { requests } of servers) equal(requests.includes('user prompts/list'), false)
      })
    }
  })
}
