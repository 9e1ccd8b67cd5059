/** What HTTP asks of clients: each request that cannot be taken, and what it is told. */
import { deepEqual, equal } from 'node:assert/strict'
import { request } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import {
  gatewayOf,
  httpTarget,
  INITIALIZE,
  type McpGatewayOptions,
  mcpOf,
  post
} from '#backends/mcp/testing/gateway.ts'
import { startMcp } from '#backends/mcp/testing/servers.ts'

async function started(t: TestContext, options: McpGatewayOptions = {}, more: Parameters<typeof mcpOf>[1] = {}) {
  const { port } = await startMcp(t, {
    isJson: true,
    setUp: (made) => void made.registerTool('x', {}, () => ({ content: [] }))
  })
  const { url } = await gatewayOf(t, mcpOf([httpTarget('one', port)], more), options)
  const begun = await post(url, INITIALIZE)
  await begun.text()
  return { url, session: begun.headers.get('mcp-session-id') ?? '' }
}

const summaryOf = async (response: Response) => {
  const text = await response.text()
  return [response.status, text === '' ? null : JSON.parse(text)] as const
}
const error = (code: number, message: string, id?: number) => ({
  jsonrpc: '2.0',
  ...(id === undefined ? {} : { id }),
  error: { code, message }
})
const PING = { jsonrpc: '2.0', id: 7, method: 'ping' }

describe('requests that are not taken', () => {
  it('for what their fields say', async (t) => {
    const { url, session } = await started(t)
    const own = { 'mcp-session-id': session }
    const accept = 'Not Acceptable: Accept must list both application/json and text/event-stream'
    deepEqual(await summaryOf(await post(url, PING, { ...own, accept: 'application/json' })), [
      406,
      error(-32000, accept)
    ])
    const type = 'Unsupported Media Type: Content-Type must be application/json'
    for (const contentType of ['text/plain', 'application/jsonp'])
      deepEqual(await summaryOf(await post(url, PING, { ...own, 'content-type': contentType })), [
        415,
        error(-32000, type)
      ])
    const missing = 'Bad Request: Mcp-Session-Id header is required'
    deepEqual(await summaryOf(await post(url, PING)), [400, error(-32000, missing, 7)])
    for (const version of ['1999-01-01', 'x', '2025-11-25, 2025-06-18']) {
      const [status, body] = await summaryOf(await post(url, PING, { ...own, 'mcp-protocol-version': version }))
      deepEqual([status, body.id, body.error.code], [400, 7, -32000])
    }
    const get = await fetch(url, { headers: { ...own, accept: 'application/json' } })
    equal(get.status, 406)
    const put = await fetch(url, { method: 'PUT', headers: own })
    deepEqual([put.status, put.headers.get('allow')], [405, 'GET, POST, DELETE'])
  })

  it('for what their body says', async (t) => {
    const { url, session } = await started(t)
    const own = { 'mcp-session-id': session }
    const cases: readonly (readonly [unknown, number, number | undefined])[] = [
      ['{', -32700, undefined],
      ['', -32700, undefined],
      [[PING], -32600, undefined],
      [`${'['.repeat(5000)}${']'.repeat(5000)}`, -32600, undefined],
      ['null', -32600, undefined],
      [{ ...PING, jsonrpc: '1.0' }, -32600, 7],
      [{ ...PING, id: null }, -32600, undefined],
      [{ ...PING, id: 1.5 }, -32600, undefined],
      [{ ...PING, id: {} }, -32600, undefined],
      [{ ...PING, method: 4 }, -32600, 7],
      [{ ...PING, params: [] }, -32600, 7],
      [{ ...PING, result: {} }, -32600, 7],
      [{ jsonrpc: '2.0', id: 7, result: {}, error: {} }, -32600, 7],
      [{ jsonrpc: '2.0', id: 7 }, -32600, 7],
      [{ jsonrpc: '2.0', id: 7, error: { code: 'x', message: '' } }, -32600, 7]
    ]
    for (const [body, code, id] of cases) {
      const [status, answer] = await summaryOf(await post(url, body, own))
      deepEqual([status, answer.error.code, answer.id], [400, code, id], JSON.stringify(body).slice(0, 80))
    }
  })

  it('stateless: only POST, and no session is given out', async (t) => {
    const { url, session } = await started(t, {}, { sessionRouting: 'Stateless' })
    equal(session, '')
    for (const method of ['GET', 'DELETE']) {
      const response = await fetch(url, { method, headers: { accept: 'text/event-stream' } })
      deepEqual([response.status, response.headers.get('allow')], [405, 'POST'])
    }
    const listed = await post(url, { jsonrpc: '2.0', id: 1, method: 'tools/list' })
    equal((await summaryOf(listed))[1].result.tools[0].name, 'x')
    equal((await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' })).status, 202)
  })
})

describe('Origin', () => {
  const ask = async (url: string, origin: string | null) => {
    const response = await post(url, INITIALIZE, origin === null ? {} : { origin })
    await response.text()
    return response.status
  }

  /** As a browser whose page has its name turned into this address: Host and Origin agree. */
  const rebound = (url: string) =>
    new Promise<number>((resolve, reject) => {
      const { port } = new URL(url)
      const headers = {
        host: `evil.test:${port}`,
        origin: `http://evil.test:${port}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json'
      }
      const sent = request(url, { method: 'POST', headers }, (response) => {
        response.resume()
        resolve(response.statusCode!)
      })
      sent.on('error', reject)
      sent.end(JSON.stringify(INITIALIZE))
    })

  it('of a page that is not of this machine is refused, even where its name means this machine', async (t) => {
    const { url } = await started(t)
    const { port } = new URL(url)
    for (const fine of [null, 'http://localhost:1234', 'http://127.0.0.1:9', 'https://[::1]'])
      equal(await ask(url, fine), 200)
    equal(await rebound(url), 403)
    for (const bad of ['http://evil.test', `http://evil.test:${port}`, 'null', 'file://', 'http://localhost.evil.test'])
      equal(await ask(url, bad), 403, bad)
  })

  it('that cors allows is fine', async (t) => {
    const policies = { cors: { allowOrigins: ['https://app.test'] } }
    const { url } = await started(t, { policies })
    deepEqual([await ask(url, 'https://app.test'), await ask(url, 'https://other.test')], [200, 403])
    const everyone = await started(t, { policies: { cors: { allowOrigins: ['*'] } } })
    equal(await ask(everyone.url, 'https://any.test'), 200)
  })
})
