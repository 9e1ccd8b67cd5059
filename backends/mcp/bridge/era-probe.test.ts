import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { JsonObject, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import type { Era } from '#backends/mcp/protocol/revisions.ts'
import { TARGET_KINDS } from '#backends/mcp/targets/index.ts'
import type { LinkFailure } from '#backends/mcp/targets/target.ts'
import { optionsFor, ScriptedTarget, turns } from '#backends/mcp/testing/scripted.ts'
import { EraCache, eraByAnswer, eraByFailure } from './era-probe.ts'

const responseWith = (result: JsonObject): RpcResponse => ({ jsonrpc: '2.0', id: 1, result })
const refused = (code: number, data?: JsonObject): RpcResponse => ({
  jsonrpc: '2.0',
  id: 1,
  error: data === undefined ? { code, message: '' } : { code, message: '', data }
})
const failed = (kind: LinkFailure['kind'], status: number | null = null): LinkFailure => ({ kind, status, message: '' })

describe('the era of a server', () => {
  const answers: [string, RpcResponse, Era | 'refused'][] = [
    ['a discovery', responseWith({ supportedVersions: ['2026-07-28'], capabilities: {} }), 'stateless'],
    [
      'a discovery of other revisions',
      responseWith({ supportedVersions: ['2027-01-01'], capabilities: {} }),
      'stateful'
    ],
    ['another result', responseWith({}), 'stateful'],
    ['unknown method', refused(-32601), 'stateful'],
    ['an error of its own', refused(-32000), 'stateful'],
    ['header mismatch', refused(-32020), 'stateless'],
    ['missing capability', refused(-32021), 'stateless'],
    ['another version, this too', refused(-32022, { supported: ['2026-07-28'] }), 'stateless'],
    ['newer versions and old ones', refused(-32022, { supported: ['2027-01-01', '2025-11-25'] }), 'stateful'],
    ['newer versions only', refused(-32022, { supported: ['2027-01-01'] }), 'refused'],
    ['versions that are none', refused(-32022, { supported: 7 }), 'refused']
  ]
  for (const [what, response, era] of answers) {
    it(`is known by the answer: ${what}`, () => {
      const known = eraByAnswer(response)
      equal(typeof known === 'string' ? known : known.kind, era)
    })
  }

  const failures: [LinkFailure, 'http' | 'stdio', Era | LinkFailure['kind']][] = [
    [failed('refused', 400), 'http', 'stateful'],
    [failed('refused', 404), 'http', 'stateful'],
    [failed('refused', 405), 'http', 'stateful'],
    [failed('refused', 401), 'http', 'refused'],
    [failed('refused', 429), 'http', 'refused'],
    [failed('refused', 503), 'http', 'refused'],
    [failed('timeout'), 'http', 'timeout'],
    [failed('unreachable'), 'http', 'unreachable'],
    [failed('timeout'), 'stdio', 'stateful'],
    [failed('broken'), 'stdio', 'stateful'],
    [failed('unreachable'), 'stdio', 'unreachable']
  ]
  for (const [why, kind, era] of failures) {
    it(`is known by the failure: ${kind} ${why.kind} ${why.status ?? ''}`, () => {
      const known = eraByFailure(why, kind === 'stdio')
      equal(typeof known === 'string' ? known : known.kind, era)
    })
  }

  it('is asked for once, and remembered', async () => {
    const raw = new ScriptedTarget()
    raw.answer = (request) => request.result({ supportedVersions: ['2026-07-28'], capabilities: {} })
    const eras = new EraCache(raw.traits)
    const outcomes: unknown[] = []
    for (let i = 0; i < 3; i++) eras.probe(raw, optionsFor('k', null), 1000, (era) => outcomes.push(era))
    await turns()
    deepEqual(outcomes, ['stateless', 'stateless', 'stateless'])
    equal(raw.requests.length, 1)
    equal(eras.known, 'stateless')
    eras.forget()
    equal(eras.known, null)
  })

  it('is asked for again when it failed for one of several', async () => {
    const raw = new ScriptedTarget()
    raw.answer = (request) => {
      if (raw.requests.length === 1) request.fail(failed('refused', 401))
      else request.error(-32601, 'no')
    }
    const eras = new EraCache(raw.traits)
    const outcomes: unknown[] = []
    for (let i = 0; i < 3; i++) eras.probe(raw, optionsFor('k', null), 1000, (era) => outcomes.push(era))
    await turns()
    deepEqual(outcomes, [failed('refused', 401), 'stateful', 'stateful'])
  })

  it('is no question for what cannot be of the new one', () => {
    for (const kind of ['openapi', 'sse'] as const)
      equal(new EraCache(TARGET_KINDS.get(kind)!.traits).known, 'stateful')
  })
})
