/** Targets that are silent: who waits for them, and how often. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gatewayOf, httpTarget, INITIALIZE, mcpOf, post } from '#backends/mcp/testing/gateway.ts'
import { gently, TargetRest } from './circuit-breaker.ts'
import { hostile } from './http/hostile.fixture.ts'
import type { LinkFailure } from './target.ts'

const LATE: LinkFailure = { kind: 'timeout', status: null, message: 'late' }
const [RESTS, ASK, PROBE] = [0, 1, 2]

describe('a target that is silent', () => {
  it('rests for longer and longer, and is asked by one between', () => {
    const said: string[] = []
    const rest = new TargetRest({ log: (level, message) => void said.push(`${level} ${message}`) })
    equal(rest.enter(0), ASK)
    equal(rest.enter(0), ASK)
    rest.settled(LATE, 100)
    // The other one had been asked before.
    rest.settled(LATE, 110)
    deepEqual([rest.enter(1_099), rest.enter(1_101), rest.enter(1_102)], [RESTS, PROBE, RESTS])
    rest.left()
    equal(rest.enter(1_103), PROBE)
    rest.settled(LATE, 1_200)
    deepEqual([rest.enter(3_199), rest.enter(3_201)], [RESTS, PROBE])
    let now = 3_201
    for (let i = 0; i < 30; i++) {
      rest.settled(LATE, now)
      equal(rest.enter(now + 60_001), PROBE)
      now += 60_001
    }
    rest.settled({ ...LATE, kind: 'refused' }, now)
    equal(rest.enter(now), ASK)
    deepEqual(said, ['warn does not answer in time: lists are without it until it does', 'info answers again'])
  })

  it('rests in all workers, until one of them hears of it', () => {
    const told: [number, number][] = []
    const here = new TargetRest({ log: () => {}, tell: (...word) => void told.push(word) })
    const there = new TargetRest({ log: () => {} })
    here.settled(LATE, 100)
    deepEqual(told, [[1, 1_000]])
    there.learn(1, 1_000, 5_000)
    deepEqual([there.enter(5_900), there.enter(6_100)], [RESTS, PROBE])
    equal(here.enter(1_200), PROBE)
    here.settled(null, 1_300)
    there.learn(...told.at(-1)!, 6_200)
    equal(there.enter(6_200), ASK)
  })

  it('is asked aside when it has rested: nobody waits for that', async () => {
    let now = 0
    const rest = new TargetRest({ log: () => {} })
    rest.settled(LATE, performance.now() - 2_000)
    const failed = Promise.withResolvers<LinkFailure>()
    let settle: (failure: LinkFailure | null) => void = () => {}
    const asked: boolean[] = []
    gently(rest, failed.resolve, (settled, isWaited) => {
      asked.push(isWaited)
      settle = settled
      return () => void now++
    })
    equal((await failed.promise).kind, 'timeout')
    settle(null)
    gently(rest, failed.reject, (_settled, isWaited) => {
      asked.push(isWaited)
      return () => void now++
    })
    deepEqual([asked, now], [[false, true], 0])
  })

  it('is waited for once: lists come at once without it', async (t) => {
    const json = { 'content-type': 'application/json' }
    const good = await hostile(t, (body, response) => {
      if (!body.includes('tools/list')) response.writeHead(202).end()
      else {
        const result = { tools: [{ name: 'x' }] }
        response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, result }))
      }
    })
    const silent = await hostile(t, (body, response) => {
      if (!body.includes('tools/list')) response.writeHead(202).end()
    })
    const { url } = await gatewayOf(
      t,
      mcpOf([httpTarget('good', good.port), httpTarget('silent', silent.port)], {
        failureMode: 'failOpen',
        targetTimeoutMs: 400
      })
    )
    const begun = await post(url, INITIALIZE)
    await begun.text()
    const session = { 'mcp-session-id': begun.headers.get('mcp-session-id')! }
    const list = async () => {
      const before = performance.now()
      match(await (await post(url, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, session)).text(), /"good_x"/)
      return performance.now() - before
    }
    const asked = () => silent.seen.filter(({ body }) => body.includes('tools/list')).length
    equal((await list()) >= 390, true)
    for (let i = 0; i < 3; i++) await list()
    equal(asked(), 1)
  })
})
