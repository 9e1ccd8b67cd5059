/** How far failover goes (docs/routing.md): its budget, how long providers rest, and those that checks find away. */
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { at, gateway, gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { startGateway } from '#engine/testing/gateway.ts'

const CHAT = '/v1/chat/completions'
const ASK = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }

/** Two groups of one provider each; the first one fails. */
async function failing(t: TestContext, failover: object, headers: Record<string, string> = {}) {
  const [first, second] = await Promise.all([provider(t), provider(t)])
  first.instead = (_, response) => {
    response.writeHead(500, headers).end('{}')
    return true
  }
  const groups = [first, second].map((models, i) => ({ providers: [{ name: `p${i}`, ...at('openai', models) }] }))
  const { ask } = await gateway(t, { groups, failover })
  return {
    ask: async () => (await ask(CHAT, ASK)).status,
    counts: () => [first.requests.length, second.requests.length]
  }
}

test('a budget bounds what failover adds: half of the calls, and none without one', async (t) => {
  const half = { retryBudget: { percent: 50, minPerSecond: 0 }, cooldown: { failures: 100 } }
  const some = await failing(t, half)
  const statuses: number[] = []
  for (let i = 0; i < 4; i++) statuses.push(await some.ask())
  deepEqual(statuses, [500, 200, 500, 200])
  const none = await failing(t, { retryBudget: { percent: 0, minPerSecond: 0 } })
  equal(await none.ask(), 500)
  deepEqual(none.counts(), [1, 0])
})

test('a provider is left alone after so many failures in a row, and at once when it asks for it', async (t) => {
  const cooldown = { failures: 3, first: '1h', max: '1h' }
  const patient = await failing(t, { cooldown })
  for (let i = 0; i < 5; i++) equal(await patient.ask(), 200)
  deepEqual(patient.counts(), [3, 5])
  const asking = await failing(t, { cooldown }, { 'retry-after': '3600' })
  for (let i = 0; i < 3; i++) equal(await asking.ask(), 200)
  deepEqual(asking.counts(), [1, 3])
})

test('a provider whose list of models says that it is away gets no calls, and its key goes with the check', async (t) => {
  const [away, other] = await Promise.all([provider(t), provider(t)])
  const checks: Array<string | undefined> = []
  let checked = (): void => {}
  const twice = new Promise<void>((resolve) => {
    checked = () => {
      if (checks.length === 2) resolve()
    }
  })
  away.instead = ({ path, headers }, response) => {
    if (path !== '/v1/models') return false
    checks.push(headers.authorization)
    response.writeHead(503).end(checked)
    return true
  }
  const active = { http: { path: '/v1/models' }, interval: '100ms', timeout: '60s', unhealthyThreshold: 1 }
  const groups = [away, other].map((models, i) => {
    const policies = { auth: { key: 'secret' } }
    return { providers: [{ name: `p${i}`, ...at('openai', models), policies }] }
  })
  const backend = { ai: { groups }, policies: { health: { active } } }
  const { ask } = await gatewayOf(t, { binds: [{ port: 0, listeners: [{ routes: [{ backends: [backend] }] }] }] })
  await twice
  equal((await ask(CHAT, ASK)).status, 200)
  equal(away.requests.filter(({ path }) => path === CHAT).length, 0)
  equal(other.requests.filter(({ path }) => path === CHAT).length, 1)
  deepEqual(checks.slice(0, 2), ['Bearer secret', 'Bearer secret'])
})

test('settings that say nothing, or what cannot be, are refused with their place', async () => {
  const file = (failover: object) =>
    startGateway(JSON.stringify({ llm: { port: 4000, models: [{ name: 'a', provider: 'openai' }], failover } }))
  await rejects(file({}), /failover/)
  await rejects(file({ cooldown: { failures: 0 } }), /failover\.cooldown\.failures/)
  await rejects(file({ retryBudget: { percent: 101 } }), /failover\.retryBudget\.percent/)
})
