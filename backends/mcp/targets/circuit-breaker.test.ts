/** Targets that are silent: who waits for them, and how often. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gatewayOf, httpTarget, INITIALIZE, mcpOf, post } from '#backends/mcp/testing/gateway.ts'
import { TargetBreaker, throughBreaker } from './circuit-breaker.ts'
import { hostile } from './http/hostile.fixture.ts'
import type { LinkFailure } from './target.ts'

const LATE: LinkFailure = { kind: 'timeout', status: null, message: 'late' }

describe('a target that is silent', () => {
  it('rests for longer and longer, and is asked by one between', () => {
    const logged: string[] = []
    const rest = new TargetBreaker({ log: (level, message) => void logged.push(`${level} ${message}`) })
    equal(rest.admit(0), 'closed')
    equal(rest.admit(0), 'closed')
    rest.record(LATE, 100)
    // The other one had been asked before.
    rest.record(LATE, 110)
    deepEqual([rest.admit(1_099), rest.admit(1_101), rest.admit(1_102)], ['open', 'probe', 'open'])
    rest.abandonProbe()
    equal(rest.admit(1_103), 'probe')
    rest.record(LATE, 1_200)
    deepEqual([rest.admit(3_199), rest.admit(3_201)], ['open', 'probe'])
    let now = 3_201
    for (let i = 0; i < 30; i++) {
      rest.record(LATE, now)
      equal(rest.admit(now + 60_001), 'probe')
      now += 60_001
    }
    rest.record({ ...LATE, kind: 'refused' }, now)
    equal(rest.admit(now), 'closed')
    deepEqual(logged, ['warn does not answer in time: lists are without it until it does', 'info answers again'])
  })

  it('rests in all workers, until one of them hears of it', () => {
    const published: [number, number][] = []
    const here = new TargetBreaker({ log: () => {}, publish: (...values) => void published.push(values) })
    const there = new TargetBreaker({ log: () => {} })
    here.record(LATE, 100)
    deepEqual(published, [[1, 1_000]])
    there.adopt(1, 1_000, 5_000)
    deepEqual([there.admit(5_900), there.admit(6_100)], ['open', 'probe'])
    equal(here.admit(1_200), 'probe')
    here.record(null, 1_300)
    there.adopt(...published.at(-1)!, 6_200)
    equal(there.admit(6_200), 'closed')
  })

  it('is probed in the background after its pause: no request waits for the probe', async () => {
    let now = 0
    const rest = new TargetBreaker({ log: () => {} })
    rest.record(LATE, performance.now() - 2_000)
    const failed = Promise.withResolvers<LinkFailure>()
    let settle: (failure: LinkFailure | null) => void = () => {}
    const answers: boolean[] = []
    throughBreaker(rest, failed.resolve, (settled, isWaited) => {
      answers.push(isWaited)
      settle = settled
      return () => void now++
    })
    equal((await failed.promise).kind, 'timeout')
    settle(null)
    throughBreaker(rest, failed.reject, (_settled, isWaited) => {
      answers.push(isWaited)
      return () => void now++
    })
    deepEqual([answers, now], [[false, true], 0])
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
    const requests = () => silent.seen.filter(({ body }) => body.includes('tools/list')).length
    equal((await list()) >= 390, true)
    for (let i = 0; i < 3; i++) await list()
    equal(requests(), 1)
  })
})
