/** What is said of a call of a model: its key, its price, whom it goes to and why. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explainer } from '#engine/testing/explain.ts'
import { type Explanation, exitCodeOf } from './explanation.ts'
import { show } from './show.ts'

const KEY = 'sk-canary-alice-0123456789abcdef'
const FILE = `config:
  prices:
    models:
      - { provider: openai, model: house-1, input: 1, output: 2, batch: { percent: 50 },
          longContext: [{ above: 400, input: 3 }] }
      - { model: cheap-*, input: 0.1, output: 0.1 }
      - { model: dear-*, input: 10, output: 10 }
llm:
  port: 4000
  cache: { ttl: 1h, scope: team }
  models:
    - { name: house-1, provider: openai, params: { apiKey: canary-of-provider } }
    - { name: cheap-1, provider: anthropic, params: { apiKey: canary-of-provider } }
    - { name: dear-1, provider: openai, params: { apiKey: canary-of-provider } }
    - { name: odd-1, provider: openai, params: { apiKey: canary-of-provider } }
  virtualModels:
    - name: least
      routing: { cost: { targets: [{ model: dear-1 }, { model: cheap-1 }, { model: odd-1, priority: 1 }] } }
      fallbacks: [{ on: [context_window, auth], models: [house-1] }]
    - name: tiered
      routing:
        conditional:
          targets:
            - { when: 'request.headers["x-api-token"] == "canary-gold"', model: cheap-1 }
            - { model: dear-1 }
    - { name: busy, routing: { leastBusy: { targets: [{ model: dear-1 }, { model: cheap-1 }] } } }
    - { name: fast, routing: { latency: { targets: [{ model: dear-1 }, { model: cheap-1 }] } } }
    - name: same
      routing: { consistentHash: { key: apiKey.team, targets: [{ model: dear-1 }, { model: cheap-1 }] } }
    - { name: all, routing: { failover: { targets: [{ model: dear-1 }, { model: cheap-1 }] } } }
    - { name: new, routing: { canary: { model: dear-1, to: dear-1, percent: 0, key: 'request.headers["x-user"]' } } }
organisations: [{ name: acme, concurrency: 50, models: ["*-1", least, tiered, busy, fast, same, all, new] }]
teams:
  - { name: research, organisation: acme, budgets: [{ amount: 20, period: Month, timeZone: Europe/Berlin }] }
  - { name: guests, organisation: acme }
keys:
  - name: alice
    key: ${KEY}
    team: research
    owner: Alice
    budgets: [{ amount: 0.5, rolling: 24h }]
    limits: [{ requests: 60, unit: Minutes }, { tokens: 1000, unit: Hours, burst: 5 }]
  - { name: guest, key: ${KEY}-guest, team: guests, models: ["*"] }
`
const explain = explainer(FILE)

async function ask(model: string, { key = KEY, headers = {} as Record<string, string>, text = 'hi' } = {}) {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: text }], max_tokens: 100 })
  const auth = { authorization: `Bearer ${key}` }
  const url = 'http://a:4000/v1/chat/completions'
  const found = await explain({ method: 'POST', url, headers: { ...auth, ...headers }, body })
  assert.doesNotMatch(JSON.stringify(found) + show(found), /canary/)
  return found
}

const callOf = ({ upstream }: Explanation) => upstream!.llm!.call!

test('the key, what it may use, and what counts its calls: never the key itself', async () => {
  const found = await ask('house-1')
  assert.deepEqual(found.key, {
    ...{ id: 'alice', owner: 'Alice', team: 'research', organisation: 'acme' },
    model: { name: 'house-1', isAllowed: true, refusedBy: [] },
    limits: [
      { of: 'key alice', limit: '60 requests per 60s', left: null },
      { of: 'key alice', limit: '1000 tokens per 3600s and a burst of 5', left: null },
      { of: 'organisation acme', limit: '50 requests at a time', left: null }
    ],
    budgets: [
      { of: 'key alice', budget: '0.5 USD in 24h', left: null },
      { of: 'team research', budget: '20 USD per month, Europe/Berlin', left: null }
    ],
    // A token for each byte of the body, 100 of output at 2 dollars per million.
    setAside: callOf(found).price!.atMost
  })
  assert.equal(found.key!.setAside, ((found.upstream!.bodyBytes * 1 + 100 * 2) / 1e6).toFixed(6).replace(/0+$/, ''))
  assert.ok(found.notes.some((note) => /budgets of the key are not judged: .* known only to the gateway/.test(note)))
  assert.match(
    show(found),
    /key {7}alice, owner Alice, team research, organisation acme\n {2}model {3}house-1 is allowed/
  )
  const guest = await ask('house-1', { key: `${KEY}-guest` })
  assert.deepEqual([guest.key!.budgets, guest.key!.setAside, exitCodeOf(guest)], [[], null, 0])
  assert.equal((await ask('house-1', { key: 'sk-nobody' })).key, null)
})

test('a model that some level does not allow, and one without a price, are refused as the gateway does', async () => {
  const code = ({ outcome }: Explanation) => (outcome.kind === 'answer' ? outcome.code : outcome.kind)
  const refused = await ask('gpt-4o')
  assert.deepEqual(refused.key!.model, { name: 'gpt-4o', isAllowed: false, refusedBy: ['organisation acme'] })
  assert.deepEqual([code(refused), exitCodeOf(refused)], ['MODEL_NOT_ALLOWED', 1])
  assert.match(show(refused), /gpt-4o is not allowed by organisation acme\n/)
  assert.equal(code(await ask('odd-1')), 'PRICE_UNKNOWN')
  const free = await ask('odd-1', { key: `${KEY}-guest` })
  assert.deepEqual([code(free), callOf(free).price!.row, callOf(free).price!.atMost], ['upstream', null, null])
  assert.match(callOf(free).price!.note!, /there is no price for "odd-1" of openai: what it costs is not known/)
})

test('the price: its row, where it is from, and the tier that holds for this request', async () => {
  const { row, note, currency } = callOf(await ask('house-1')).price!
  assert.deepEqual(
    [row?.name, row?.tier, row?.rates, currency],
    ['openai house-1', 'usual', 'input 1, output 2', 'USD']
  )
  assert.match(row!.origin, /^of config\.prices/)
  assert.match(note!, /another tier, with prices of its own: batch$/)
  const long = callOf(await ask('house-1', { text: 'x'.repeat(400) })).price!
  assert.deepEqual([long.row?.tier, long.row?.rates], ['above 400 tokens of input', 'input 3, output 2'])
})

test('whom the call goes to, and on what that rests', async () => {
  const cheapest = callOf(await ask('least'))
  assert.deepEqual(
    cheapest.targets.map((one) => [one.provider, one.model, one.priority, one.isChosen, one.usualCost !== null]),
    [
      ['openai', 'dear-1', 1, false, true],
      ['anthropic', 'cheap-1', 1, true, true],
      ['openai', 'odd-1', 2, false, false]
    ]
  )
  const [dear, cheap] = cheapest.targets.map(({ usualCost }) => Number(usualCost))
  assert.equal(Math.round((1e6 * dear!) / (1e6 * cheap!)), 100)
  assert.match(cheapest.choice, /^cost: the lowest/)
  assert.deepEqual(
    cheapest.fallbacks.map(({ on, targets }) => [on, targets]),
    [[['context_window', 'auth'], ['house-1']]]
  )
  for (const [model, choice] of [
    ['busy', /^leastBusy: .* decided by what the worker has seen/],
    ['fast', /^latency: .* decided by what the worker has seen, .* 5 % go to any/],
    ['all', /two by latency and load, decided by what the worker has seen/],
    ['same', /^consistentHash: by apiKey\.team; apiKey\.team is "research"/],
    ['house-1', /^there is one target$/]
  ] as const) {
    const call = callOf(await ask(model))
    assert.match(call.choice, choice)
    assert.equal(call.targets.filter(({ isChosen }) => isChosen).length, 1, model)
  }
})

test('of several models of one name: the condition that is true, or the share', async () => {
  const gold = callOf(await ask('tiered', { headers: { 'x-api-token': 'canary-gold' } }))
  assert.match(gold.branch!, /^tiered: the first condition that is true: .*x-api-token"\] == <redacted>/)
  assert.equal(gold.targets[0]!.model, 'cheap-1')
  assert.match(callOf(await ask('tiered')).branch!, /^tiered: drawn, 100 % of what no condition takes$/)
  const canary = await ask('new', { headers: { 'x-user': 'ann' } })
  assert.match(callOf(canary).branch!, /^new: by request\.headers\["x-user"\]; .* is "ann", 100 %/)
  assert.equal(callOf(await ask('house-1')).branch, null)
})

test('answers that are kept: by what, for whom, and that a hit is not known', async () => {
  const { cache } = callOf(await ask('house-1'))
  assert.deepEqual([cache!.key, cache!.scope], ['the whole body', 'clients of the same team'])
  assert.match(cache!.lookup, /^its answer is looked for; whether it is there is known to the gateway that runs$/)
  const fresh = callOf(await ask('house-1', { headers: { 'cache-control': 'no-cache' } })).cache!
  assert.match(fresh.lookup, /is not looked for, as the client wants/)
  const unkept = callOf(await ask('house-1', { headers: { 'cache-control': 'no-store' } })).cache!
  assert.match(unkept.lookup, /neither looked for nor kept/)
})

test('a server of the cache is named and not asked', async () => {
  const shared = explainer(FILE.replace('ttl: 1h,', 'ttl: 1h, url: "redis://cache.internal:6399/0",'))
  const body = JSON.stringify({ model: 'house-1', messages: [{ role: 'user', content: 'hi' }] })
  const headers = { authorization: `Bearer ${KEY}` }
  const found = await shared({ method: 'POST', url: 'http://a:4000/v1/chat/completions', headers, body })
  assert.deepEqual([found.upstream?.asks, found.outcome.kind], [['the cache at cache.internal:6399'], 'upstream'])
})

test('without prices there is the catalogue; a model that clients name harms no terminal', async () => {
  const plain = explainer(`llm:
  port: 4000
  models: [{ name: "*", provider: openai, params: { apiKey: canary } }]
`)
  const body = (model: string) => JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] })
  const url = 'http://a:4000/v1/chat/completions'
  const known = await plain({ method: 'POST', url, body: body('gpt-4o-mini') })
  assert.deepEqual([known.key, callOf(known).cache, callOf(known).price!.row!.name], [null, null, 'openai gpt-4o-mini'])
  const odd = await plain({ method: 'POST', url, body: body('a\u001b[31m'.padEnd(5_000, 'b')) })
  assert.ok(!show(odd).includes('\u001b'))
  assert.ok(show(odd).length < 4_000)
})

test('of a gateway that runs: what is left of limits and budgets, and who is refused', async () => {
  const used = new Map<string, { used: bigint; spent: bigint; end: number }>()
  const end = Date.now() + 3_600_000
  let left = 12
  const limit = { capacity: 60, bucket: -1, waitMs: 30_000, giveBack() {}, charge() {} }
  const buckets = {
    limit: () => ({ ...limit, take: (_: unknown, need: number, taken: number) => (left < need ? -1 : left - taken) })
  }
  const running = explainer(FILE, '.', { buckets, budgets: async () => used })
  const call = async () => {
    const body = JSON.stringify({ model: 'house-1', messages: [{ role: 'user', content: 'hi' }], max_tokens: 100 })
    const url = 'http://a:4000/v1/chat/completions'
    const found = await running({ method: 'POST', url, headers: { authorization: `Bearer ${KEY}` }, body })
    return { ...found, text: show(found), code: found.outcome.kind === 'answer' ? found.outcome.code : null }
  }
  used.set('key/alice 86400000ms', { used: 300_000_000n, spent: 200_000_000n, end: 8.64e15 })
  const fits = await call()
  assert.equal(fits.code, null)
  assert.match(fits.text, /limit {3}of key alice: 60 requests per 60s \(12 left\)/)
  assert.match(fits.text, /budget {2}of key alice: 0.5 USD in 24h \(0.2 left\)/)
  assert.match(fits.text, /budget {2}of team research: 20 USD per month, Europe\/Berlin \(20 left\)/)
  assert.match(fits.text, /organisation acme: 50 requests at a time \(not judged\)/)
  assert.deepEqual(fits.notes.filter((note) => note.includes('judged')).length, 1)
  used.set('team/research Month Europe/Berlin -', { used: 20_000_000_000n, spent: 20_000_000_000n, end })
  const spent = await call()
  assert.equal(spent.code, 'BUDGET_EXCEEDED')
  assert.match(
    spent.text,
    /the budget of team research \(20 USD per month, Europe\/Berlin\) is used up; it begins anew at/
  )
  left = 0
  const late = await call()
  assert.equal(late.code, 'RATE_LIMITED')
  assert.match(late.text, /60 requests per 60s \(0 left\)/)
})

test('a server of budgets that is away: nothing is judged', async () => {
  const running = explainer(FILE, '.', { budgets: () => Promise.reject(new Error('away')) })
  const url = 'http://a:4000/v1/models'
  const found = await running({ method: 'GET', url, headers: { authorization: `Bearer ${KEY}` } })
  assert.equal(
    found.notes.some((note) => note.startsWith('limits and budgets of the key are not judged')),
    true
  )
})

test('who asks is told that the record has what is said, and where else it goes', async () => {
  const note = async (prompts: string, model = 'm') => {
    const lookAt = explainer(`config: { spendLog: { path: a${prompts} } }
llm:
  port: 4000
  models: [{ name: m, provider: openai, params: { apiKey: canary } }]
`)
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] })
    return (await lookAt({ method: 'POST', url: 'http://a:4000/v1/chat/completions', body })).notes.join()
  }
  assert.match(await note(', prompts: {}'), /^its record has the prompt and the answer, as the guards leave them/)
  assert.match(await note(', prompts: { traces: true }'), /its record and its trace have/)
  assert.doesNotMatch(await note(''), /prompt/)
  assert.doesNotMatch(await note(', prompts: {}', 'other'), /prompt/)
})
