/** A gateway in a thread of its own, whose turns are measured while requests pass: started by turns.ts. */
import { openSync, readSync } from 'node:fs'
import { PerformanceObserver, performance } from 'node:perf_hooks'
import { parentPort, workerData } from 'node:worker_threads'
import { startGateway } from '#engine/testing/gateway.ts'
import { OffloadPool } from '#engine/workers/offload.ts'

/** Texts that are longer are noted when JSON.parse or JSON.stringify has them here. */
const LARGE_UNITS = 128 * 1024

/** Of the time between "begin" and "end". */
export interface Turns {
  /** Milliseconds of the longest turn by the clock, and of the one with most time on a processor. */
  readonly longestMs: number
  readonly busiestMs: number
  /** Of garbage collection in the longest turn. */
  readonly collectedMs: number
  /** Of turns above 5 ms. */
  readonly above: number
  /** Large texts that this thread has parsed, or printed, and units of the longest. */
  readonly parsed: number
  readonly printed: number
  readonly longestText: number
  /** Names of what has gone to the pool. */
  readonly jobs: readonly string[]
}

export type ToGateway = 'begin' | 'end' | 'stop'
export type FromGateway = { readonly port: number } | Turns | null

const seen = { parsed: 0, printed: 0, longestText: 0, jobs: [] as string[] }

function note(kind: 'parsed' | 'printed', units: number): void {
  if (units <= LARGE_UNITS) return
  seen[kind]++
  seen.longestText = Math.max(seen.longestText, units)
}

function watch(): void {
  const { parse, stringify } = JSON
  JSON.parse = (text: string, reviver?: Parameters<typeof parse>[1]) => {
    note('parsed', text.length)
    return parse(text, reviver)
  }
  JSON.stringify = ((value: unknown, ...rest: []) => {
    const text = stringify(value, ...rest) as string | undefined
    note('printed', text?.length ?? 0)
    return text
  }) as typeof stringify
  const { run } = OffloadPool.prototype
  OffloadPool.prototype.run = function (this: OffloadPool, job: string, argument: unknown) {
    const kind = (argument as { readonly kind?: string } | null)?.kind
    seen.jobs.push(kind === undefined ? job : `${job} ${kind}`)
    return run.call(this, job, argument)
  }
}

interface Span {
  readonly startMs: number
  readonly ms: number
}

const collections: Span[] = []

const schedule = openSync('/proc/thread-self/schedstat', 'r')
const text = Buffer.alloc(64)

/**
 * Nanoseconds that this thread has been on a processor, in steps of a scheduler's tick (4 ms as a rule): the clock also
 * counts those of others on a busy machine.
 */
function busyNs(): number {
  return Number.parseInt(text.latin1Slice(0, readSync(schedule, text, 0, text.length, 0)), 10)
}

let longest: Span = { startMs: 0, ms: 0 }
let busiestMs = 0
let above = 0
let isOn = false
let at = 0
let busyAt = 0

function ping(): void {
  if (!isOn) return
  const now = performance.now()
  const busy = busyNs()
  const ms = now - at
  const busyMs = (busy - busyAt) / 1e6
  if (ms > longest.ms) longest = { startMs: at, ms }
  if (busyMs > busiestMs) busiestMs = busyMs
  if (busyMs > 5) above++
  at = performance.now()
  busyAt = busyNs()
  setImmediate(ping)
}

function begin(): null {
  Object.assign(seen, { parsed: 0, printed: 0, longestText: 0, jobs: [] })
  longest = { startMs: 0, ms: 0 }
  busiestMs = 0
  above = 0
  collections.length = 0
  isOn = true
  at = performance.now()
  busyAt = busyNs()
  setImmediate(ping)
  return null
}

function end(): Turns {
  isOn = false
  const until = longest.startMs + longest.ms
  const within = collections.filter(({ startMs, ms }) => startMs < until && startMs + ms > longest.startMs)
  const collectedMs = within.reduce((sum, { ms }) => sum + ms, 0)
  return { longestMs: longest.ms, busiestMs, above, collectedMs, ...seen }
}

const gateway = await startGateway(workerData as string, { log: { format: 'json', fd: 2 } })
watch()
new PerformanceObserver((list) => {
  for (const { startTime: startMs, duration: ms } of list.getEntries()) collections.push({ startMs, ms })
}).observe({ entryTypes: ['gc'] })

const port = parentPort!
port.on('message', async (message: ToGateway) => {
  if (message === 'stop') {
    await gateway.close()
    port.close()
  } else if (message === 'begin') port.postMessage(begin() satisfies FromGateway)
  // A collection is reported after its turn.
  else setTimeout(() => port.postMessage(end() satisfies FromGateway), 20)
})
port.postMessage({ port: gateway.port } satisfies FromGateway)
