/** Whose session, and how long: over real gateways, with requests as curl makes them. */
import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { gatewayOf, httpTarget, INITIALIZE, mcpOf, post } from '#backends/mcp/testing/gateway.ts'
import { startMcp } from '#backends/mcp/testing/servers.ts'
import { SharedRevocations } from '#engine/workers/shared.ts'
import { Seal } from './seal.ts'
import { newSessionKey, SessionStore } from './store.ts'

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' }
const NOT_FOUND = { jsonrpc: '2.0', id: 1, error: { code: -32001, message: 'Session not found' } }

async function begin(url: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await post(url, INITIALIZE, headers)
  equal(response.status, 200)
  await response.text()
  return response.headers.get('mcp-session-id')!
}

async function ping(url: string, session: string, headers: Record<string, string> = {}): Promise<number> {
  const response = await post(url, PING, { 'mcp-session-id': session, ...headers })
  const body = await response.json()
  if (response.status === 404) deepEqual(body, NOT_FOUND)
  return response.status
}

const server = (t: TestContext) =>
  startMcp(t, { isJson: true, setUp: (made) => void made.registerTool('x', {}, () => ({ content: [] })) })

describe('a session', () => {
  it('is opened by another gateway with the same key, and by none with another', async (t) => {
    const { port } = await server(t)
    const keyed = (key: string) => gatewayOf(t, mcpOf([httpTarget('one', port)], { session: { key, idleMs: 1000 } }))
    const [a, b, c] = [await keyed('one key'), await keyed('one key'), await keyed('another key')]
    const session = await begin(a.url)
    deepEqual([await ping(a.url, session), await ping(b.url, session), await ping(c.url, session)], [200, 200, 404])
  })

  it('is opened by another worker of the process, and not after a restart without a key', async (t) => {
    const { port } = await server(t)
    const secret = randomBytes(32)
    const mcp = mcpOf([httpTarget('one', port)])
    const [a, b, c] = [
      await gatewayOf(t, mcp, { secret }),
      await gatewayOf(t, mcp, { secret }),
      await gatewayOf(t, mcp)
    ]
    const session = await begin(a.url)
    deepEqual([await ping(b.url, session), await ping(c.url, session)], [200, 404])
  })

  it('that is forged, cut or changed is unknown', async (t) => {
    const { port } = await server(t)
    const { url } = await gatewayOf(t, mcpOf([httpTarget('one', port)]))
    const session = await begin(url)
    const flipped = `${session.slice(0, 40)}${session[40] === 'A' ? 'B' : 'A'}${session.slice(41)}`
    const forged = ['x', randomBytes(200).toString('base64url'), session.slice(0, -4), `${session}A`, flipped]
    for (const id of [...forged, `${session}=`, 'A'.repeat(7000)]) equal(await ping(url, id), 404, id.slice(0, 50))
    equal(await ping(url, session), 200)
  })

  it('belongs to its caller', async (t) => {
    const { port } = await server(t)
    const policies = { apiKeyAuthentication: { keys: [{ key: 'key-a' }, { key: 'key-b' }], mode: 'Optional' } }
    const { url } = await gatewayOf(t, mcpOf([httpTarget('one', port)]), { policies })
    const [a, b] = [{ authorization: 'Bearer key-a' }, { authorization: 'Bearer key-b' }]
    const session = await begin(url, a)
    deepEqual([await ping(url, session, a), await ping(url, session, b), await ping(url, session)], [200, 404, 404])
    const nobodys = await begin(url)
    deepEqual([await ping(url, nobodys), await ping(url, nobodys, a)], [200, 404])
  })

  it('that the client has ended is over, here and in other workers', async (t) => {
    const { port, sessions } = await server(t)
    const shared = { secret: randomBytes(32), revocations: new SharedRevocations() }
    const { url } = await gatewayOf(t, mcpOf([httpTarget('one', port)]), shared)
    const other = await gatewayOf(t, mcpOf([httpTarget('one', port)]), shared)
    const session = await begin(url)
    equal(await ping(other.url, session), 200)
    const ended = await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': session } })
    equal(ended.status, 200)
    deepEqual([await ping(url, session), await ping(other.url, session)], [404, 404])
    equal(sessions.size, 0)
  })

  it('that is idle is ended at the server too, unless another replica may have it', async (t) => {
    const [ours, shared] = [await server(t), await server(t)]
    for (const [{ port }, key] of [[ours, null] as const, [shared, 'a key of several'] as const]) {
      const { url } = await gatewayOf(t, mcpOf([httpTarget('one', port)], { session: { key, idleMs: 200 } }))
      const deleted = ours.until('DELETE')
      const session = await begin(url)
      if (key === null) await deleted
      else equal(await ping(url, session), 200)
    }
    deepEqual([ours.sessions.size, shared.sessions.size], [0, 1])
  })

  it('says nothing of what is in it', async (t) => {
    const { port, sessions } = await server(t)
    const { url } = await gatewayOf(t, mcpOf([httpTarget('one', port)]))
    const session = await begin(url)
    const clear = Buffer.from(session, 'base64url').toString('latin1')
    for (const id of [...sessions.keys(), 'one', 'raw', '2025']) equal(clear.includes(id), false)
    notEqual(session, await begin(url))
  })
})

describe('Sessions', () => {
  const seal = new Seal('k', new Uint8Array(32), 'here')
  const made = (capabilities = {}) => ({
    key: newSessionKey(),
    version: '2025-11-25',
    params: { clientInfo: { name: 'c', version: '1', icons: ['x'.repeat(9000)] }, capabilities },
    caller: 'me',
    servers: new Map()
  })

  it('end by lying idle, counted from the last use', () => {
    const sessions = new SessionStore(seal, 1000, new SharedRevocations())
    const { id } = sessions.create(made(), true, 0)!
    notEqual(sessions.find(id!, 'me', 900), null)
    notEqual(sessions.find(id!, 'me', 1800), null)
    equal(sessions.find(id!, 'me', 2801), null)
    equal(sessions.find(id!, 'me', 2802), null)
  })

  it('are found by the sweep when they are idle, and reported', () => {
    const sessions = new SessionStore(seal, 1000, new SharedRevocations())
    const idle: unknown[] = []
    sessions.onIdle = (session) => {
      idle.push(session.id)
      sessions.end(session)
    }
    const [old, young] = [sessions.create(made(), true, 0)!, sessions.create(made(), true, 1500)!]
    sessions.sweep(2000)
    deepEqual(idle, [old.id])
    notEqual(sessions.find(young.id!, 'me', 2001), null)
  })

  it('do not end while another worker has them in use', () => {
    const memory = SharedRevocations.create()
    const [one, two] = [0, 1].map(() => new SessionStore(seal, 1000, new SharedRevocations(memory)))
    const { id } = one!.create(made(), true, 0)!
    for (const now of [0, 800, 1600, 2400]) notEqual(two!.find(id!, 'me', now), null)
    notEqual(one!.find(id!, 'me', 2500), null)
    notEqual(two!.find(id!, 'me', 3200), null)
    equal(one!.find(id!, 'me', 4600), null)
    equal(two!.find(id!, 'me', 4600), null)
  })

  it('do not end while a stream is open or a call runs', () => {
    const sessions = new SessionStore(seal, 1000, new SharedRevocations())
    const session = sessions.create(made(), true, 0)!
    session.running.set(1, ['a'])
    notEqual(sessions.find(session.id!, 'me', 5000), null)
    session.running.clear()
    session.streams++
    notEqual(sessions.find(session.id!, 'me', 9000), null)
  })

  it('keep of the client what another initialisation needs, and no more than fits', () => {
    const sessions = new SessionStore(seal, 1000, new SharedRevocations())
    const { id } = sessions.create(made({ roots: {} }), true, 0)!
    const found = new SessionStore(seal, 1000, new SharedRevocations()).find(id!, 'me', 0)!
    deepEqual(found.client, { info: { name: 'c', version: '1' }, capabilities: { roots: {} } })
    equal(sessions.create(made({ experimental: 'x'.repeat(3000) }), true, 0), null)
  })

  it('are not those of another place', () => {
    const { id } = new SessionStore(seal, 1000, new SharedRevocations()).create(made(), true, 0)!
    equal(
      new SessionStore(new Seal('k', new Uint8Array(32), 'there'), 1000, new SharedRevocations()).find(id!, 'me', 0),
      null
    )
  })
})
