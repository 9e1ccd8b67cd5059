/** What is made of the suite's scores; the fixture, as the clients of both eras meet it. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { type Comparison, differing, isWorse, printMcp, type Score } from './conformance.ts'
import { authConfiguration, authScenarios, eachOnce } from './conformance-auth.ts'
import { startFixture } from './fixture.ts'

const score = (passed: number, failed: number): Score => ({
  passed,
  failed,
  faults: Array.from({ length: failed }, (_, i) => `FAILURE check-${i}: why`)
})

function compared(direct: Record<string, Score>, through: Record<string, Score>): Comparison {
  return { revision: 'R', direct: new Map(Object.entries(direct)), through: new Map(Object.entries(through)) }
}

describe('scores', () => {
  it('that are equal are one line, also where both fail', () => {
    const same = compared({ a: score(2, 0), b: score(0, 3) }, { a: score(2, 0), b: score(0, 3) })
    deepEqual(printMcp(same, true), ['mcp R: direct 2 passed, 3 failed; through 2 passed, 3 failed'])
    equal(isWorse(same), false)
  })

  it('that differ are listed, with reasons on request', () => {
    const one = compared({ a: score(2, 0), b: score(2, 0), c: score(1, 1) }, { a: score(1, 1), c: score(2, 0) })
    deepEqual(differing(one), ['a', 'b', 'c'])
    deepEqual(printMcp(one, true), [
      'mcp R: direct 5 passed, 1 failed; through 3 passed, 1 failed',
      '  a: direct 2/0, through 1/1 (passed/failed)',
      '    FAILURE check-0: why',
      '  b: direct 2/0, through not run (passed/failed)',
      '  c: direct 1/1, through 2/0 (passed/failed)'
    ])
    equal(printMcp(one, false).length, 4)
  })

  it('are worse where the gateway fails more, or is not asked at all', () => {
    equal(isWorse(compared({ a: score(2, 0) }, { a: score(1, 1) })), true)
    equal(isWorse(compared({ a: score(2, 0) }, {})), true)
    // A check that does not apply to a server that answers without a stream is none that it fails.
    equal(isWorse(compared({ a: score(2, 0) }, { a: score(1, 0) })), false)
    equal(isWorse(compared({ a: score(1, 1) }, { a: score(2, 0) })), false)
  })
})

describe('scenarios of authorization', () => {
  it('are those that the suite requires of clients', () => {
    const [older, newer] = [authScenarios('2025-11-25'), authScenarios('2026-07-28')]
    deepEqual([older.length, newer.length], [14, 25])
    for (const name of older) ok(newer.includes(name), name)
  })

  it('count a check once, however often it ran, and one failure is a failure', () => {
    const check = (id: string, status: string) => ({ id, status })
    const made = [check('a', 'SUCCESS'), check('a', 'SUCCESS'), check('b', 'SUCCESS'), check('b', 'FAILURE')]
    deepEqual(eachOnce([...made, check('c', 'INFO')]), [check('b', 'FAILURE'), check('a', 'SUCCESS')])
  })

  it('meet a gateway that is there for the server, and for what the server says of itself', () => {
    const text = authConfiguration(new URL('http://localhost:9/mcp'))
    const { routes } = JSON.parse(text).binds[0].listeners[0]
    deepEqual(routes[0].matches, [{ path: { exact: '/mcp' } }])
    deepEqual(routes[1].backends, [{ host: 'localhost:9' }])
  })
})

describe('the fixture', () => {
  it('serves clients of both eras', async (t) => {
    const fixture = await startFixture()
    t.after(() => fixture.close())
    const url = new URL(`http://127.0.0.1:${fixture.port}/mcp`)
    const client = new Client({ name: 'test', version: '1' })
    // The SDK's own types do not agree under exactOptionalPropertyTypes.
    await client.connect(new StreamableHTTPClientTransport(url) as Parameters<Client['connect']>[0])
    const modern = new ModernClient(
      { name: 'test', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } }
    )
    await modern.connect(new ModernTransport(url))
    const names = (await client.listTools()).tools.map(({ name }) => name)
    ok(names.includes('test_sampling'))
    deepEqual(
      (await modern.listTools()).tools.map(({ name }) => name),
      names
    )
    for (const one of [client, modern]) {
      const { content } = await one.callTool({ name: 'test_simple_text', arguments: {} })
      deepEqual(content, [{ type: 'text', text: 'This is a simple text response for testing.' }])
    }
    await client.close()
    await modern.close()
  })
})
