import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { runClosed } from './closed.ts'
import { runFirst } from './first.ts'
import { runHold } from './hold.ts'
import type { Expected, Job } from './job.ts'
import { runOpen } from './open.ts'

const BODY = 'ok'
const ANSWER = `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n${BODY}`
const EXPECTED: Expected = { status: 200, body: Buffer.from(BODY) }
const NOTHING = () => ({ cpuNs: 0, rssBytes: 0 })

/** Calls `serve` for every request (they come whole on loopback); counts connections. */
async function serving(serve: (socket: Socket, request: number) => void) {
  let requests = 0
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('data', () => serve(socket, ++requests))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    requests: () => requests,
    connections: () => sockets.size,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    }
  }
}

function job(port: number, more: Partial<Job>): Job {
  const base = {
    mode: 'closed',
    connections: 4,
    hasTls: false,
    fresh: false,
    requests: ['GET / HTTP/1.1\r\n\r\n']
  } as const
  return { ...base, port, warmupMs: 0, windowMs: 50, count: null, rate: 0, graceMs: 2_000, ...more }
}

test('closed: sends exactly the count, over the given connections', async () => {
  const server = await serving((socket) => socket.write(ANSWER))
  const outcome = await runClosed(job(server.port, { count: 200 }), EXPECTED, NOTHING)
  server.close()
  assert.deepEqual(outcome.faults, {})
  assert.equal(outcome.answers, 200)
  assert.equal(outcome.shares, 200)
  assert.equal(server.requests(), 200)
  assert.equal(server.connections(), 4)
})

test('closed: a window of time ends with every answer checked', async () => {
  const server = await serving((socket) => socket.write(ANSWER))
  let observed = 0
  const observe = () => ({ cpuNs: 1_000 * ++observed, rssBytes: 7 })
  const outcome = await runClosed(job(server.port, {}), EXPECTED, observe)
  server.close()
  assert.deepEqual(outcome.faults, {})
  assert.ok(outcome.answers > 0)
  assert.equal(outcome.cpuUs, 1)
  assert.equal(outcome.rssBytes, 7)
})

test('fresh: every request has its own connection, which the server must close', async () => {
  const closing = await serving((socket) => socket.end(ANSWER))
  const outcome = await runClosed(job(closing.port, { fresh: true, count: 20 }), EXPECTED, NOTHING)
  closing.close()
  assert.deepEqual(outcome.faults, {})
  assert.equal(closing.connections(), 20)
  const keeping = await serving((socket) => socket.write(ANSWER))
  const held = await runClosed(job(keeping.port, { fresh: true, count: 4, graceMs: 50 }), EXPECTED, NOTHING)
  keeping.close()
  assert.deepEqual(held.faults, { timeout: 4 })
})

test('faults are counted by kind', async () => {
  const server = await serving((socket, request) => {
    if (request === 1) socket.write(ANSWER.replace('200', '500'))
    else if (request === 2) socket.destroy()
    else if (request === 3) socket.write(ANSWER.replace('ok', 'no'))
    else socket.write(ANSWER)
  })
  const outcome = await runClosed(job(server.port, { connections: 1, count: 10 }), EXPECTED, NOTHING)
  server.close()
  assert.deepEqual(outcome.faults, { status: 1, closed: 1, body: 1 })
  assert.equal(outcome.answers, 7)
  const refused = await runClosed(job(server.port, { connections: 1, count: 2 }), EXPECTED, NOTHING)
  assert.deepEqual(refused.faults, { connect: 2 })
})

test('open: a stall shows in the latency of the requests that were due meanwhile', async () => {
  const server = await serving((socket, request) => {
    if (request !== 20) socket.write(ANSWER)
    else setTimeout(() => socket.write(ANSWER), 100)
  })
  const stalled = job(server.port, { mode: 'open', connections: 1, rate: 200, windowMs: 500 })
  const outcome = await runOpen(stalled, EXPECTED, NOTHING)
  server.close()
  assert.deepEqual(outcome.faults, {})
  assert.equal(server.requests(), 100)
  // Twenty were due in those 100 ms. A generator that waits for answers would show a single slow one.
  assert.ok(outcome.latency!.maxUs >= 99_000, `slowest: ${outcome.latency!.maxUs}`)
  assert.ok(outcome.latency!.p99Us >= 80_000, `p99: ${outcome.latency!.p99Us}`)
})

test('open: requests without an answer are faults', async () => {
  const server = await serving((socket, request) => {
    if (request <= 5) socket.write(ANSWER)
  })
  const silent = job(server.port, { mode: 'open', connections: 2, rate: 100, windowMs: 100, graceMs: 500 })
  const outcome = await runOpen(silent, EXPECTED, NOTHING)
  server.close()
  // Ten are due; on a busy machine some of the five answers come when nobody waits for them any more.
  const { timeout = 0, ...others } = outcome.faults
  assert.deepEqual(others, {})
  assert.ok(timeout >= 5 && timeout <= 10, `${timeout}`)
})

test('hold: keeps every connection, and notices those that were dropped', async () => {
  const server = await serving((socket) => socket.write(ANSWER))
  const outcome = await runHold(job(server.port, { mode: 'hold', connections: 100 }), EXPECTED, NOTHING)
  server.close()
  assert.deepEqual(outcome.faults, {})
  assert.equal(server.connections(), 100)
  const dropping = await serving((socket, request) => (request <= 3 ? socket.end(ANSWER) : socket.write(ANSWER)))
  const lost = await runHold(job(dropping.port, { mode: 'hold', connections: 10 }), EXPECTED, NOTHING)
  dropping.close()
  assert.deepEqual(lost.faults, { closed: 3 })
})

test('first: one by one, to the first byte of the body, and not to the last', async () => {
  let open = 0
  let most = 0
  const server = await serving((socket) => {
    most = Math.max(most, ++open)
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no')
    setTimeout(() => socket.write('k', () => open--), 30)
  })
  const outcome = await runFirst(job(server.port, { mode: 'first', count: 5 }), EXPECTED, NOTHING)
  assert.deepEqual([outcome.faults, outcome.answers, server.requests(), server.connections(), most], [{}, 5, 6, 1, 1])
  assert.ok(outcome.latency!.p50Us < 30_000, `${outcome.latency!.p50Us}`)
  const wrong = await runFirst(job(server.port, { count: 5 }), { status: 201, body: Buffer.from('ok') }, NOTHING)
  assert.deepEqual([wrong.faults, wrong.latency], [{ status: 1 }, null])
  const late = await runFirst(job(server.port, { count: 50, graceMs: 100 }), EXPECTED, NOTHING)
  server.close()
  assert.deepEqual(late.faults, { timeout: 1 })
})

test('open: a low rate does not make requests late', async () => {
  const server = await serving((socket) => socket.write(ANSWER))
  const outcome = await runOpen(
    job(server.port, { mode: 'open', rate: 20, warmupMs: 25, windowMs: 500 }),
    EXPECTED,
    NOTHING
  )
  server.close()
  assert.equal(outcome.answers, 10)
  // Half of 50 ms would be what a clock as slow as the rate adds.
  assert.ok(outcome.latency!.p50Us < 20_000, `${outcome.latency!.p50Us}`)
})
