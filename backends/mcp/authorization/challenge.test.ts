/** Servers that want to see tokens of the clients: who is told so, and who is not. */

import { deepEqual, equal, match } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { hostile } from '#backends/mcp/targets/http/hostile.fixture.ts'
import { gatewayOf, httpTarget, INITIALIZE, mcpOf, post } from '#backends/mcp/testing/gateway.ts'
import { keyAuth } from '#engine/contract/backend-auth/schema.ts'

const CHALLENGE = 'Bearer resource_metadata="http://here/.well-known/oauth-protected-resource/mcp", scope="a"'

/** Answers every call, note and stream with `status`. */
async function wanting(t: TestContext, status: number, more: Parameters<typeof mcpOf>[1], auth: string | null = null) {
  const server = await hostile(t, (_body, response) => {
    response.writeHead(status, { 'www-authenticate': CHALLENGE }).end('secret words')
  })
  const key = auth === null ? null : keyAuth(auth)
  const { url } = await gatewayOf(t, mcpOf([httpTarget('h', server.port, { auth: key })], more))
  const begun = await post(url, INITIALIZE)
  await begun.text()
  return { url, session: { 'mcp-session-id': begun.headers.get('mcp-session-id')! }, seen: server.seen }
}

const TOKENS = { forwardHeaders: ['authorization'] }
const CALL = { jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'x' } }

describe('a server that wants a token', () => {
  it('tells the client, whose token it is that is shown', async (t) => {
    for (const [status, words] of [
      [401, 'Unauthorized'],
      [403, 'Forbidden']
    ] as const) {
      const { url, session, seen } = await wanting(t, status, TOKENS)
      const response = await post(url, CALL, { ...session, authorization: 'Bearer t' })
      deepEqual([response.status, response.headers.get('www-authenticate')], [status, CHALLENGE])
      deepEqual(await response.json(), { jsonrpc: '2.0', id: 5, error: { code: -32000, message: words } })
      equal(seen.at(-1)!.headers.authorization, 'Bearer t')
      const note = await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, session)
      deepEqual([note.status, note.headers.get('www-authenticate')], [status, CHALLENGE])
      const stream = await fetch(url, { headers: { ...session, accept: 'text/event-stream' } })
      deepEqual([stream.status, stream.headers.get('www-authenticate')], [status, CHALLENGE])
    }
  })

  it('names no metadata where the token is the gateway’s, or there is none', async (t) => {
    for (const [more, auth] of [
      [{}, null],
      [TOKENS, 'Bearer own']
    ] as const) {
      const { url, session } = await wanting(t, 401, more, auth)
      const response = await post(url, CALL, session)
      deepEqual([response.status, response.headers.get('www-authenticate')], [200, null])
      match(await response.text(), /-32603.*target h: answered with status 401/)
    }
  })

  it('tells the client before there is a session', async (t) => {
    const { port } = await hostile(
      t,
      () => undefined,
      (response) => {
        response.writeHead(401, { 'www-authenticate': CHALLENGE }).end()
      }
    )
    const { url } = await gatewayOf(t, mcpOf([httpTarget('h', port)], TOKENS))
    const begun = await post(url, INITIALIZE)
    deepEqual([begun.status, begun.headers.get('www-authenticate')], [401, CHALLENGE])
    equal(begun.headers.get('mcp-session-id'), null)
  })
})
