import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { ApiServerDouble } from '#engine/kubernetes/testing/api-server/server.ts'
import { ManualTime } from '#engine/testing/manual-time.ts'
import { KubernetesClient } from './client.ts'
import { LEASE, LeaderElection, type Role } from './leader-election.ts'

/** Pauses between attempts are shorter. */
const RETRY_MS_MAX = 2_500
const IN = { namespace: 'weir-system', name: 'weir-controller' }

async function startServer(t: TestContext): Promise<ApiServerDouble> {
  const server = new ApiServerDouble()
  server.add({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: IN.namespace } })
  await server.start()
  t.after(() => server.stop())
  return server
}

/** A controller; its clocks begin where no other one's do. */
function candidate(t: TestContext, server: ApiServerDouble, identity: string, wallMs = 0) {
  const time = new ManualTime()
  time.ms = wallMs
  const client = new KubernetesClient(server.connection(), { time })
  const changes: string[] = []
  let changed = Promise.withResolvers<void>()
  const election = new LeaderElection({
    client,
    ...IN,
    identity,
    time,
    log: () => {},
    onChange: (role) => {
      changes.push(role)
      changed.resolve()
      changed = Promise.withResolvers()
    }
  })
  t.after(async () => {
    await election.stop()
    client.close()
  })
  election.start()
  const until = async (role: Role) => {
    while (election.role !== role) await changed.promise
  }
  /** The attempt that has been made is over, and so is the pause after it. */
  const attempt = () => time.passNext(RETRY_MS_MAX)
  return { election, time, changes, until, attempt }
}

const specOf = (server: ApiServerDouble) => (server.store.list(LEASE, IN.namespace)[0] as KubernetesObject).spec

test('one of two holds the Lease, and the other takes it when it is given back', async (t) => {
  const server = await startServer(t)
  const one = candidate(t, server, 'one')
  await one.until('leading')
  const two = candidate(t, server, 'two')
  for (let i = 0; i < 3; i++) await two.attempt()
  assert.equal(two.election.role, 'following')
  await one.election.stop()
  await two.attempt()
  await two.until('leading')
  assert.deepEqual(one.changes, ['leading', 'waiting'])
  const { holderIdentity, leaseTransitions } = specOf(server) as Record<string, unknown>
  assert.deepEqual([holderIdentity, leaseTransitions], ['two', 1])
})

test('a holder that is silent for the duration loses the Lease, however its clock goes', async (t) => {
  const server = await startServer(t)
  const one = candidate(t, server, 'one', 1e12)
  await one.until('leading')
  // Its wall clock says that the Lease was renewed decades ago.
  const two = candidate(t, server, 'two', 2e12)
  while (two.time.now() < 2e12 + 13_000) await two.attempt()
  assert.equal(two.election.role, 'following')
  await two.attempt()
  await two.attempt()
  await two.until('leading')
})

test('a holder that renews keeps the Lease', async (t) => {
  const server = await startServer(t)
  const one = candidate(t, server, 'one')
  await one.until('leading')
  const two = candidate(t, server, 'two')
  for (let i = 0; i < 20; i++) {
    await one.attempt()
    await two.attempt()
  }
  assert.deepEqual([one.election.role, two.election.role], ['leading', 'following'])
})

test('a holder that cannot renew gives up before another one may take the Lease', async (t) => {
  const server = await startServer(t)
  const one = candidate(t, server, 'one')
  await one.until('leading')
  server.refuse = () => ({ status: 503 })
  while (one.election.role === 'leading') await one.attempt()
  assert.ok(one.time.now() < 15_000)
  server.refuse = () => null
  await one.attempt()
  await one.until('leading')
})

test('an API server that does not answer is no reason to go on as the leader', async (t) => {
  const server = await startServer(t)
  const one = candidate(t, server, 'one')
  await one.until('leading')
  await server.stop()
  while (one.election.role === 'leading') await one.attempt()
  assert.ok(one.time.now() < 15_000)
})

test('of two that take a free Lease at once, one has it', async (t) => {
  const server = await startServer(t)
  const candidates = ['one', 'two', 'three'].map((identity) => candidate(t, server, identity))
  for (let i = 0; i < 3; i++) for (const one of candidates) await one.attempt()
  assert.equal(candidates.filter(({ election }) => election.role === 'leading').length, 1)
})
