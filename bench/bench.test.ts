/** Benches that do not run rot: every micro file and one small load run with the tests. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { AnswerName } from './load/backend/answers.ts'
import { startBackend } from './load/backend.ts'
import type { Job } from './load/generator/job.ts'
import { startGenerator } from './load/generator.ts'
import { PEERS } from './load/peers/index.ts'
import { jobOf, WORKLOADS } from './load/workloads.ts'
import { microFiles, runMicro } from './micro.ts'

process.env.WEIR_BENCH_ROUTES = '20'
process.env.WEIR_BENCH_BATCH = '10'
for (const file of microFiles()) {
  test(`micro ${file.pathname.split('/').at(-1)} runs`, async () => {
    const rows = await runMicro(file, { ms: 0, warmupMs: 0, iterations: 1 })
    assert.ok(rows.length > 0)
    for (const row of rows) assert.ok(row.medianNs >= 0, row.task)
  })
}

test('a task runs for its time by the clock, whatever it says it took, and calls are divided out', async () => {
  const file = `export const calls = 10
    export function register(bench) {
      bench.add('fast', () => ({ overriddenDuration: 0.000001 }))
    }`
  const [row] = await runMicro(new URL(`data:text/javascript,${encodeURIComponent(file)}`), {
    ms: 5,
    warmupMs: 1,
    iterations: 1
  })
  assert.equal(row?.task, 'fast')
  assert.ok(Math.abs(row.medianNs - 0.1) < 0.001, `${row.medianNs}`)
  // By its own account the task would have to run five million times.
  assert.ok(row.samples < 1_000_000, `${row.samples}`)
})

test('200 requests of every kind against the own backend, each answer checked', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-bench-test-'))
  const backend = await startBackend(folder, null, null)
  const generator = startGenerator(null)
  try {
    const counts: [string, number][] = [
      ['get-1k', 200],
      ['post-4k', 200],
      ['answer-1m', 20],
      ['sse-200', 200],
      ['routes-100', 200]
    ]
    for (const [name, count] of counts) {
      const workload = WORKLOADS.find((one) => one.name === name)!
      const timing = { mode: 'closed', warmupMs: 0, windowMs: 0, count, rate: 0, graceMs: 20_000 } as const
      const port = workload.answer === 'events' ? backend.streamPort : backend.fixedPort
      const job: Job = { ...jobOf(workload), port, ...timing }
      const outcome = await generator.run({ job, answer: workload.answer, pids: [process.pid] })
      assert.deepEqual(outcome.faults, {}, name)
      assert.equal(outcome.answers, count, name)
      assert.ok(outcome.rssBytes > 0, name)
    }
    const answer: AnswerName = 'kilobyte'
    const gone = {
      mode: 'closed',
      connections: 1,
      hasTls: false,
      fresh: false,
      requests: ['x'],
      port: backend.fixedPort
    } as const
    const job: Job = { ...gone, warmupMs: 0, windowMs: 0, count: 1, rate: 0, graceMs: 10 }
    await assert.rejects(generator.run({ job, answer, pids: [2 ** 30] }), /ENOENT/)
  } finally {
    await Promise.all([generator.stop(), backend.stop()])
    rmSync(folder, { recursive: true })
  }
})

test('every peer writes its configuration, for one worker, many routes and every way to reach it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-bench-test-'))
  const certificate = { chain: 'chain.pem', key: 'key.pem', both: 'both.pem' }
  for (const [peer, wire] of PEERS.flatMap((peer) =>
    ['http' as const, ...(peer.wires ?? [])].map((wire) => [peer, wire] as const)
  )) {
    const args = peer.configure({
      port: 1,
      upstreamPort: 2,
      threads: 1,
      routes: 3,
      hasChain: true,
      isLogged: true,
      checkPort: 3,
      model: null,
      isAtOnce: false,
      wire,
      certificate,
      connections: 64,
      streams: 16,
      folder
    })
    // One is told its settings with each request.
    const isPassed = args.some((arg) => arg.startsWith(folder)) || peer.fields !== undefined
    assert.ok(isPassed, peer.name)
  }
  rmSync(folder, { recursive: true })
})

test('the command line answers', () => {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url))
  const bench = (...args: string[]) =>
    execFileSync(process.execPath, [main, ...args], { encoding: 'utf8', stdio: 'pipe' })
  assert.match(bench('--help'), /^Usage: npm run bench/)
  assert.match(bench('--list'), /^workload .*\nget-1k /)
  assert.throws(() => bench('--only', 'nothing'), /bench: --only: unknown nothing/)
})
