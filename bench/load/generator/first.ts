/**
 * Time to the first token: one client asks, waits for the whole answer and asks again, so that nothing queues anywhere.
 * What counts is the time from the request to the first byte of the answer's body.
 */
import { connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setTimeout as after } from 'node:timers/promises'
import { build } from 'hdr-histogram-js'
import { AnswerReader, DONE, MORE, type Reading } from './answer.ts'
import type { Expected, Job, Outcome, Usage } from './job.ts'
import { Window } from './window.ts'

const NS_PER_US = 1000

/** Sends job.count requests over one connection, the first of them unmeasured: it opens the way. */
export async function runFirst(job: Job, expected: Expected, observe: () => Usage): Promise<Outcome> {
  const { port, requests, count, graceMs } = job
  const reader = new AnswerReader(expected)
  const window = new Window([{ reader }], expected, observe)
  const histogram = build({ bitBucketSize: 32, numberOfSignificantValueDigits: 3, autoResize: true })
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  const cancel = new AbortController()
  const late = after(graceMs, 'timeout' as const, { signal: cancel.signal }).catch(() => 'timeout' as const)
  window.open()
  for (let i = 0; i <= (count ?? 0); i++) {
    const { firstMs, reading } = await Promise.race([
      exchange(socket, reader, requests[i % requests.length]!),
      late.then((fault) => ({ firstMs: 0, reading: fault }))
    ])
    if (reading !== DONE) {
      window.fault(reading === MORE ? 'closed' : reading)
      break
    }
    if (i === 0) continue
    histogram.recordValue(Math.max(1, Math.round(firstMs * 1000 * NS_PER_US)))
    window.answered()
  }
  window.close()
  cancel.abort()
  socket.destroy()
  const at = (percentile: number) => histogram.getValueAtPercentile(percentile) / NS_PER_US
  const latency = { p50Us: at(50), p99Us: at(99), p999Us: at(99.9), maxUs: histogram.maxValue / NS_PER_US }
  return window.outcome(histogram.totalCount === 0 ? null : latency)
}

interface Exchanged {
  readonly firstMs: number
  /** MORE: the connection ended ahead of the answer. */
  readonly reading: Reading
}

function exchange(socket: Socket, reader: AnswerReader, request: string): Promise<Exchanged> {
  const { promise, resolve } = Promise.withResolvers<Exchanged>()
  const before = reader.bodyBytes
  const sentMs = performance.now()
  let firstMs: number | null = null
  const onData = (chunk: Buffer) => {
    const nowMs = performance.now()
    const reading = reader.read(chunk, 0, chunk.length)
    if (firstMs === null && reader.bodyBytes > before) firstMs = nowMs - sentMs
    if (reading !== MORE) resolve({ firstMs: firstMs ?? 0, reading })
  }
  const onEnd = () => resolve({ firstMs: 0, reading: MORE })
  socket.on('data', onData).on('close', onEnd).on('error', onEnd)
  socket.write(request, 'latin1')
  return promise.finally(() => socket.off('data', onData).off('close', onEnd).off('error', onEnd))
}
