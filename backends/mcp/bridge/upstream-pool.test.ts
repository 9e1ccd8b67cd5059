/** Who uses a session with a server, and who only waited for it. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { optionsFor, type ScriptedRequest, ScriptedTarget, turns } from '#backends/mcp/testing/scripted.ts'
import { type PoolRequest, UpstreamPool } from './upstream-pool.ts'
import type { UpstreamSession } from './upstream-session.ts'

const IDLE_MS = 60_000
const FACTS = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } }

const poolRequest = (raw: ScriptedTarget, isAnonymous = false): PoolRequest => ({
  raw,
  options: optionsFor('caller', null, { isAnonymous }),
  client: { clientInfo: null, capabilities: {}, logLevel: null },
  timeoutMs: 1000,
  method: 'tools/call',
  needsStream: false
})

/** A pool before a server whose handshake is answered by `begin`. */
function rig() {
  const raw = new ScriptedTarget()
  const handshakes: ScriptedRequest[] = []
  raw.answer = (request) => void handshakes.push(request)
  const begin = async (): Promise<void> => {
    await turns()
    for (const handshake of handshakes.splice(0)) handshake.result(FACTS)
    await turns()
  }
  return { raw, pool: new UpstreamPool(), begin }
}

test('a caller that gives up while a session begins does not end it for others', async () => {
  const { raw, pool, begin } = rig()
  const taken: UpstreamSession[] = []
  const take = () => pool.acquire(poolRequest(raw), (session) => void ('kind' in session || taken.push(session)))
  take()
  take()()
  await begin()
  const [session] = taken
  equal(taken.length, 1)
  equal(session!.users, 1)
  pool.sweep(performance.now() + IDLE_MS)
  equal(raw.closed, 0)
  pool.release(session!)
  equal(session!.users, 0)
  pool.sweep(performance.now() + IDLE_MS)
  equal(raw.closed, 1)
})

test('a session for one request ends when that is given up before it has begun, or before it is handed out', async () => {
  const { raw, pool, begin } = rig()
  const taken: unknown[] = []
  pool.acquire(poolRequest(raw, true), (session) => void taken.push(session))()
  await begin()
  const leave = pool.acquire(poolRequest(raw, true), (session) => {
    taken.push(session)
    leave()
  })
  await begin()
  equal(raw.closed, 1)
  pool.release(taken[0] as UpstreamSession)
  equal(raw.closed, 2)
  equal(pool.size, 0)
})
