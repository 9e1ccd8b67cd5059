/** What is kept with targets outlives configurations that have them, and nothing outlives the last one. */
import { equal, notEqual } from 'node:assert/strict'
import { test } from 'node:test'
import type { McpTarget } from '#backends/mcp/config/snapshot.ts'
import { optionsFor, ScriptedTarget, turns } from '#backends/mcp/testing/scripted.ts'
import { KeptTarget, KeptTargets, markOf } from './target-state.ts'
import type { Asked } from './upstream-pool.ts'
import type { UpstreamSession } from './upstream-session.ts'

const HOUR_MS = 3_600_000
const TARGET: McpTarget = {
  kind: 'stdio',
  name: 'one',
  cmd: 'serve',
  args: [],
  env: {},
  cwd: null,
  authorization: null
}

function server(): ScriptedTarget {
  const raw = new ScriptedTarget()
  raw.answer = (given) =>
    given.result({ protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } })
  return raw
}

const asked = (raw: ScriptedTarget): Asked => ({
  raw,
  options: optionsFor('caller', null),
  claim: { clientInfo: null, capabilities: {}, logLevel: null },
  timeoutMs: 1000,
  method: 'tools/call',
  hears: false
})

async function taken({ pool }: KeptTarget, raw: ScriptedTarget): Promise<UpstreamSession> {
  return new Promise((resolve, reject) => {
    pool.take(asked(raw), (session) => ('kind' in session ? reject(new Error(session.message)) : resolve(session)))
  })
}

test('targets that are configured alike are one, whatever the rules about them', () => {
  const targets = new KeptTargets()
  const one = targets.of('backend', TARGET)
  equal(targets.of('backend', structuredClone(TARGET)), one)
  equal(targets.of('backend', { ...TARGET, authorization: { allow: [], deny: [], require: [] } as never }), one)
  notEqual(targets.of('other', TARGET), one)
  notEqual(targets.of('backend', { ...TARGET, args: ['more'] }), one)
})

test('what a server is shown is part of its mark', () => {
  const [first, second] = ['1', '2'].map((key) => markOf({ ...TARGET, env: { KEY: key } }))
  notEqual(first, second)
})

test('a session is kept while one configuration has its target, and ends with the last', async () => {
  const raw = server()
  const kept = new KeptTarget(raw.kind)
  kept.hold(HOUR_MS)
  const session = await taken(kept, raw)
  // Another configuration takes the place of the first.
  kept.hold(HOUR_MS)
  kept.leave()
  kept.pool.sweep(performance.now() + HOUR_MS - 1)
  equal(await taken(kept, raw), session)
  kept.leave()
  kept.pool.sweep(performance.now())
  equal(raw.closed, 0, 'in use')
  kept.pool.free(session)
  kept.pool.free(session)
  kept.pool.sweep(performance.now())
  equal(raw.closed, 1)
  await turns()
})

test('a target that comes back in time finds its sessions', async () => {
  const raw = server()
  const kept = new KeptTarget(raw.kind)
  kept.hold(HOUR_MS)
  const session = await taken(kept, raw)
  kept.pool.free(session)
  kept.leave()
  kept.hold(HOUR_MS)
  kept.pool.sweep(performance.now())
  equal(await taken(kept, raw), session)
  equal(raw.closed, 0)
})
