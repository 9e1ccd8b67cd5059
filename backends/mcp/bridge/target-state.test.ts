/** What is kept with targets outlives configurations that have them, and nothing outlives the last one. */
import { equal, notEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { configDigest } from '#backends/mcp/targets/config-digest.ts'
import type { McpStdioTarget } from '#backends/mcp/targets/stdio.ts'
import { optionsFor, ScriptedTarget, turns } from '#backends/mcp/testing/scripted.ts'
import { TargetState, TargetStates } from './target-state.ts'
import type { PoolRequest } from './upstream-pool.ts'
import type { UpstreamSession } from './upstream-session.ts'

const HOUR_MS = 3_600_000
const TARGET: McpStdioTarget = {
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
  raw.answer = (request) =>
    request.result({ protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } })
  return raw
}

const poolRequest = (raw: ScriptedTarget): PoolRequest => ({
  raw,
  options: optionsFor('caller', null),
  client: { clientInfo: null, capabilities: {}, logLevel: null },
  timeoutMs: 1000,
  method: 'tools/call',
  needsStream: false
})

const TRAITS = server().traits

async function taken({ pool }: TargetState, raw: ScriptedTarget): Promise<UpstreamSession> {
  return new Promise((resolve, reject) => {
    pool.acquire(poolRequest(raw), (session) =>
      'kind' in session ? reject(new Error(session.message)) : resolve(session)
    )
  })
}

test('targets that are configured alike are one, whatever the rules about them', () => {
  const targets = new TargetStates()
  const one = targets.of('backend', TARGET, TRAITS)
  equal(targets.of('backend', structuredClone(TARGET), TRAITS), one)
  equal(targets.of('backend', { ...TARGET, authorization: { allow: [], deny: [], require: [] } as never }, TRAITS), one)
  notEqual(targets.of('other', TARGET, TRAITS), one)
  const other: McpStdioTarget = { ...TARGET, args: ['more'] }
  notEqual(targets.of('backend', other, TRAITS), one)
})

test('the environment of a process is part of the configuration digest', () => {
  const shown = (KEY: string): McpStdioTarget => ({ ...TARGET, env: { KEY } })
  const [first, second] = ['1', '2'].map((key) => configDigest(shown(key)))
  notEqual(first, second)
})

test('a session is kept while one configuration has its target, and ends with the last', async () => {
  const raw = server()
  const kept = new TargetState(raw.traits)
  kept.activate(HOUR_MS)
  const session = await taken(kept, raw)
  // Another configuration takes the place of the first.
  kept.activate(HOUR_MS)
  kept.deactivate()
  kept.pool.sweep(performance.now() + HOUR_MS - 1)
  equal(await taken(kept, raw), session)
  kept.deactivate()
  kept.pool.sweep(performance.now())
  equal(raw.closed, 0, 'in use')
  kept.pool.release(session)
  kept.pool.release(session)
  kept.pool.sweep(performance.now())
  equal(raw.closed, 1)
  await turns()
})

test('a target that comes back in time finds its sessions', async () => {
  const raw = server()
  const kept = new TargetState(raw.traits)
  kept.activate(HOUR_MS)
  const session = await taken(kept, raw)
  kept.pool.release(session)
  kept.deactivate()
  kept.activate(HOUR_MS)
  kept.pool.sweep(performance.now())
  equal(await taken(kept, raw), session)
  equal(raw.closed, 0)
})
