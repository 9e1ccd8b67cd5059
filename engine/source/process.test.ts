import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryLimit } from '#engine/kit/memory-limit.ts'
import { good, mistakes } from '#engine/standalone/testing/fakes.ts'
import { translateProcess } from './process.ts'

const FILE = `config:
  adminAddr: localhost:1
  statsAddr: localhost:2
  readinessAddr: localhost:3
  workerThreads: 2
  logging: { level: warn, format: text }
  connectionTerminationDeadline: 30s
  connectionMinTerminationDeadline: 1s
  maxBufferedBytes: 2097152
`

test('environment variables win over the file', () => {
  const { process } = good(FILE, {
    ADMIN_ADDR: 'off',
    STATS_ADDR: '[::]:4',
    READINESS_ADDR: 'unix:/ready',
    WORKER_THREADS: '3',
    LOG_LEVEL: 'debug',
    LOG_FORMAT: 'json',
    CONNECTION_TERMINATION_DEADLINE: '1m',
    CONNECTION_MIN_TERMINATION_DEADLINE: '2s',
    RUST_LOG: 'trace'
  })
  const { upstream, ...rest } = process
  assert.equal(upstream.connectTimeoutMs, 10_000)
  assert.deepEqual(rest, {
    adminAddr: 'off',
    statsAddr: '[::]:4',
    readinessAddr: 'unix:/ready',
    workerThreads: 3,
    bufferedBytesMax: 2_097_152,
    logging: { level: 'debug', format: 'json' },
    terminationDeadlineMs: 60_000,
    terminationMinDeadlineMs: 2_000
  })
})

test('an empty variable is none', () => {
  assert.equal(good(FILE, { ADMIN_ADDR: '', WORKER_THREADS: '' }).process.adminAddr, 'localhost:1')
})

test('buffers: a quarter of the memory, within bounds', () => {
  const kept = (memoryBytes: number) => translateProcess(undefined, {}, { processors: 1, memoryBytes }).bufferedBytesMax
  assert.equal(kept(2 ** 31), 2 ** 29)
  assert.equal(kept(2 ** 26), 2 ** 26)
  assert.equal(kept(2 ** 40), 2 ** 30)
  assert.equal(memoryLimit(2 ** 29, 2 ** 34), 2 ** 29)
  assert.equal(memoryLimit(0, 2 ** 34), 2 ** 34)
  assert.equal(memoryLimit(2 ** 63, 2 ** 34), 2 ** 34)
})

test('threads: a number, a share of the processors, at least one', () => {
  const count = (text: string, env: Record<string, string> = {}) => good(text, env).process.workerThreads
  assert.equal(count('binds: []'), 8)
  assert.equal(count('config: { workerThreads: 25% }'), 2)
  assert.equal(count('config: { workerThreads: 1% }'), 1)
  assert.equal(count('config: { workerThreads: 64 }'), 64)
  assert.equal(count('binds: []', { CPU_LIMIT: '4' }), 4)
  assert.equal(count('config: { workerThreads: 50% }', { CPU_LIMIT: '4' }), 2)
  assert.equal(count('binds: []', { WORKER_THREADS: '50%', CPU_LIMIT: '4' }), 2)
})

test('the longest drain ends before the grace period does', () => {
  const ms = (seconds: string) =>
    good('binds: []', { TERMINATION_GRACE_PERIOD_SECONDS: seconds }).process.terminationDeadlineMs
  assert.equal(ms('60'), 55_000)
  assert.equal(ms('10'), 9_000)
  assert.equal(ms('0'), 0)
  assert.equal(good(FILE, { TERMINATION_GRACE_PERIOD_SECONDS: '60' }).process.terminationDeadlineMs, 30_000)
})

test('a variable that is wrong is named, at the place that it would change', () => {
  assert.deepEqual(mistakes(FILE, { WORKER_THREADS: 'all', LOG_FORMAT: 'xml', ADMIN_ADDR: '1', CPU_LIMIT: 'x' }), [
    '2:3: config.adminAddr: environment variable ADMIN_ADDR must be "host:port", "[::]:port", "unix:/path" or "off"',
    '5:3: config.workerThreads: ' +
      'environment variable WORKER_THREADS must be a whole number from 1 to 1024, ' +
      'or a share of the processors such as "50%"',
    '5:3: config.workerThreads: environment variable CPU_LIMIT must be a whole number',
    '6:27: config.logging.format: environment variable LOG_FORMAT must be one of text, json'
  ])
  assert.deepEqual(mistakes('binds: []', { LOG_LEVEL: 'loud' }), [
    '1:1: config.logging.level: ' +
      'environment variable LOG_LEVEL must be a level (off, error, warn, info, debug, trace) ' +
      'or a list such as "info,upstream=debug"'
  ])
})
