/** Keys of clients at a route: who passes, and what expressions read of them. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { problemsOf } from '#engine/testing/policy.ts'
import { virtualKeys } from './virtual-keys.ts'

async function stand(t: TestContext, file: string | object) {
  const gateway = await startGateway(typeof file === 'string' ? file : JSON.stringify(file))
  t.after(() => gateway.close())
  const ask = async (headers: Record<string, string> = {}, path = '/') => {
    const response = await fetch(`http://127.0.0.1:${gateway.port}${path}`, { headers })
    return { status: response.status, text: await response.text(), headers: response.headers }
  }
  return { gateway, ask }
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const site = (policy: object, more: object = {}) => ({
  binds: [
    {
      port: 0,
      listeners: [
        {
          routes: [
            {
              policies: {
                virtualKeys: policy,
                directResponse: {
                  status: 200,
                  bodyExpression:
                    "has(apiKey.name) ? apiKey.name + ' ' + apiKey.?team.orValue('-') + ' ' + apiKey.?plan.orValue('-') : 'none'"
                }
              }
            }
          ]
        }
      ]
    }
  ],
  ...more
})

test('the example does what it says', async (t) => {
  const { ask } = await stand(
    t,
    readFileSync(join(import.meta.dirname, '../../docs/examples', 'virtual-keys.yaml'), 'utf8')
  )
  const alice = await ask(bearer('sk-alice-0001'))
  assert.deepEqual([alice.status, alice.text, alice.headers.get('x-ratelimit-remaining-requests')], [200, 'in\n', '99'])
  assert.equal((await ask()).status, 401)
  const revoked = await ask(bearer('sk-bob-retired'))
  assert.deepEqual([revoked.status, revoked.text], [401, 'the key has been revoked\n'])
})

test('expressions read who calls; metadata cannot say otherwise', async (t) => {
  const keys = [{ name: 'a', key: 'sk-a-0000001', team: 'ml', metadata: { plan: 'gold', team: 'other', name: 'root' } }]
  const { ask } = await stand(t, site({}, { keys, teams: [{ name: 'ml' }] }))
  assert.equal((await ask(bearer('sk-a-0000001'))).text, 'a ml gold')
})

test('keys of secrets are valid where their policy stands, by their own names or those of their entries', async (t) => {
  const secrets = [
    {
      name: 's',
      labels: { of: 'chat' },
      entries: { one: 'sk-one-00001', two: '{"key":"sk-two-00001","name":"second","metadata":{"plan":"x"}}' }
    }
  ]
  const own = site(
    { secretSelector: { matchLabels: { of: 'chat' } } },
    { secrets, keys: [{ name: 'top', key: 'sk-top-00001' }] }
  )
  const { ask } = await stand(t, own)
  assert.equal((await ask(bearer('sk-one-00001'))).text, 's.one - -')
  assert.equal((await ask(bearer('sk-two-00001'))).text, 'second - x')
  assert.equal((await ask(bearer('sk-top-00001'))).status, 401)
  const { ask: top } = await stand(t, site({}, { keys: [{ name: 'top', key: 'sk-top-00001' }] }))
  assert.equal((await top(bearer('sk-one-00001'))).status, 401)
})

test('a reload gives, takes away and revokes keys, and forgets nothing that was counted', async (t) => {
  const limits = [{ requests: 2, unit: 'Days' }]
  const file = (keys: object[]) => JSON.stringify(site({}, { keys }))
  const alice = { name: 'alice', key: 'sk-alice-0001', limits }
  const { ask, gateway } = await stand(t, site({}, { keys: [alice] }))
  assert.equal((await ask(bearer('sk-alice-0001'))).status, 200)
  await gateway.reload(
    file([
      { ...alice, key: 'sk-alice-0002' },
      { name: 'bob', key: 'sk-bob-00001' }
    ])
  )
  assert.equal((await ask(bearer('sk-alice-0001'))).status, 401)
  assert.equal((await ask(bearer('sk-bob-00001'))).status, 200)
  assert.equal((await ask(bearer('sk-alice-0002'))).status, 200)
  assert.equal((await ask(bearer('sk-alice-0002'))).status, 429)
  await gateway.reload(file([{ ...alice, revoked: true }]))
  assert.equal((await ask(bearer('sk-alice-0001'))).text, 'the key has been revoked\n')
  assert.equal((await ask(bearer('sk-bob-00001'))).status, 401)
})

test('who shows nothing passes where that is optional, and a wrong key does not', async (t) => {
  const { ask } = await stand(t, site({ mode: 'Optional' }, { keys: [{ name: 'a', key: 'sk-a-0000001' }] }))
  assert.equal((await ask()).status, 200)
  const wrong = await ask(bearer('sk-b-0000001'))
  assert.deepEqual([wrong.status, wrong.headers.get('www-authenticate')], [401, 'Bearer realm="Restricted"'])
})

test('every constraint is a mistake with its place', () => {
  const one = (key: object) => problemsOf(virtualKeys, { keys: [{ name: 'a', key: 'sk-a-0000001', ...key }] })
  assert.deepEqual(one({}), [])
  assert.match(one({ key: 'short' })[0]!, /keys\.0\.key: must have at least 8 characters/)
  assert.match(
    one({ budgets: [{ amount: 0, period: 'Month' }] })[0]!,
    /budgets\.0\.amount: must be an amount of money above 0/
  )
  assert.match(one({ budgets: [{ amount: '1.0000000001', period: 'Month' }] })[0]!, /amount: must be an amount/)
  assert.match(one({ budgets: [{ amount: 1 }] })[0]!, /must have exactly one of period, rolling/)
  assert.match(one({ budgets: [{ amount: 1, rolling: '10s' }] })[0]!, /rolling: must be from 1m to 8784h/)
  assert.match(
    one({ budgets: [{ amount: 1, period: 'Day', timeZone: 'Mars/Base' }] })[0]!,
    /timeZone: must be the name of a time zone/
  )
  const twice = [
    { amount: 1, period: 'Day' },
    { amount: 2, period: 'Day' }
  ]
  assert.match(one({ budgets: twice })[0]!, /must not have two budgets for the same period/)
  assert.match(one({ expires: 'tomorrow' })[0]!, /expires: must be a time such as/)
  assert.match(one({ team: 'a', organisation: 'b' })[0]!, /organisation: is that of the team/)
  assert.match(
    problemsOf(virtualKeys, { keys: [{ name: 'a', key: 'sk-a-0000001' }], secretRef: { name: 's' } }).join(),
    /must have at most one of keys, secretRef, secretSelector/
  )
  assert.match(problemsOf(virtualKeys, { unknownPrice: 'Maybe' })[0]!, /^unknownPrice: /)
})
