/** `auth.passthrough` on targets: the client's credential goes to the targets that are shown it, and nowhere else. */
import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { hour, keySet, signingKey, token } from '#engine/testing/tokens.ts'
import { clientOf } from './testing/gateway.ts'
import { answerOf, type Received, SERVER_KINDS, serverOf, targetOf } from './testing/plain-servers.ts'
import { statelessClientOf } from './testing/stateless.ts'

const KEY = signingKey('ES256')
const JWT = { jwtAuth: { issuer: 'https://issuer.example', jwks: keySet([KEY]) } }
const bearerOf = async (sub: string, more: object = {}) => `Bearer ${await token(KEY, hour({ sub, ...more }))}`

const fileOf = (mcp: object, policies: object = JWT) =>
  JSON.stringify({ binds: [{ port: 0, listeners: [{ routes: [{ policies, backends: [{ mcp }] }] }] }] })

async function gatewayOf(t: TestContext, mcp: object, policies?: object): Promise<TestGateway & { url: string }> {
  const gateway = await startGateway(fileOf(mcp, policies))
  t.after(() => gateway.close())
  return { ...gateway, url: `http://127.0.0.1:${gateway.port}/mcp` }
}

/** Distinct values of a field, in the order in which they came first. */
const valuesOf = (seen: readonly Received[], name = 'authorization') => [
  ...new Set(seen.map(({ headers }) => headers[name]))
]

const ERAS = ['stateful', 'stateless'] as const
type Era = (typeof ERAS)[number]

/** What both SDKs can. */
interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>
  callTool(call: { name: string }): Promise<unknown>
}

/** Connected. `headers` may change later. */
async function clientOfEra(t: TestContext, era: Era, url: string, headers: Record<string, string>): Promise<AnyClient> {
  return era === 'stateful' ? (await clientOf(t, url, headers)).client : await statelessClientOf(t, url, {}, headers)
}

async function useAll(client: AnyClient): Promise<void> {
  const { tools } = await client.listTools()
  equal(tools.length, 3)
  for (const { name } of tools) await client.callTool({ name })
}

for (const kind of SERVER_KINDS) {
  const three = async (t: TestContext) => {
    const server = () => serverOf(t, answerOf(kind))
    const [passed, open, keyed] = [await server(), await server(), await server()]
    const targets = [
      targetOf(kind, passed.port, 'passed', { passthrough: {} }),
      targetOf(kind, open.port, 'open'),
      targetOf(kind, keyed.port, 'keyed', { key: 'canary', location: { header: { name: 'X-Key' } } })
    ]
    return { passed, open, keyed, targets }
  }

  for (const era of ERAS) {
    for (const sessionRouting of ['Stateful', 'Stateless']) {
      test(`${kind}, ${era} clients, ${sessionRouting}: one target is shown each client's own token`, async (t) => {
        const { passed, open, keyed, targets } = await three(t)
        const { url } = await gatewayOf(t, { targets, sessionRouting })
        const shown: string[] = []
        for (const sub of ['ann', 'bob']) {
          const authorization = await bearerOf(sub)
          shown.push(authorization)
          await useAll(await clientOfEra(t, era, url, { authorization }))
        }
        deepEqual([valuesOf(passed.seen), valuesOf(open.seen), valuesOf(keyed.seen)], [shown, [undefined], [undefined]])
        deepEqual([valuesOf(keyed.seen, 'x-key'), valuesOf(open.seen, 'x-key')], [['canary'], [undefined]])
      })
    }
  }

  for (const era of ERAS) {
    test(`${kind}, ${era} clients: a token that is refreshed within a session is the one that is shown`, async (t) => {
      const { passed, targets } = await three(t)
      const { url } = await gatewayOf(t, { targets })
      const [first, second] = [await bearerOf('ann', { n: 1 }), await bearerOf('ann', { n: 2 })]
      notEqual(first, second)
      const headers = { authorization: first }
      const client = await clientOfEra(t, era, url, headers)
      await useAll(client)
      const before = passed.seen.length
      headers.authorization = second
      await useAll(client)
      deepEqual(valuesOf(passed.seen.slice(0, before)), [first])
      const later = passed.seen.slice(before)
      deepEqual([later.length > 0, valuesOf(later)], [true, [second]])
    })
  }

  test(`${kind}: what a policy has taken goes to no target by forwardHeaders`, async (t) => {
    const { passed, open, keyed, targets } = await three(t)
    const { url } = await gatewayOf(t, { targets, forwardHeaders: ['authorization'] })
    const authorization = await bearerOf('ann')
    await useAll((await clientOf(t, url, { authorization })).client)
    deepEqual(
      [valuesOf(passed.seen), valuesOf(open.seen), valuesOf(keyed.seen)],
      [[authorization], [undefined], [undefined]]
    )
  })

  test(`${kind}: a target with a key of its own is shown no credential of the client`, async (t) => {
    const { passed, open, keyed, targets } = await three(t)
    const forwardHeaders = ['authorization', 'x-api-key', 'x-tenant']
    const { url } = await gatewayOf(t, { targets, forwardHeaders }, {})
    const own = { authorization: 'Bearer of-the-client', 'x-api-key': 'of-the-client', 'x-tenant': 'blue' }
    await useAll((await clientOf(t, url, own)).client)
    const received = (seen: readonly Received[]) => Object.keys(own).map((name) => valuesOf(seen, name))
    const all = Object.values(own).map((value) => [value])
    deepEqual([received(passed.seen), received(open.seen)], [all, all])
    deepEqual([received(keyed.seen), valuesOf(keyed.seen, 'x-key')], [[[undefined], [undefined], ['blue']], ['canary']])
  })
}
