/**
 * The garbage gate: how often V8 collects the young generation while the gateway answers a fixed
 * number of GETs. On a noisy machine time varies by a factor of two and this by less than one percent
 * (docs/performance.md), so this is what may fail a change.
 *
 *   node bench/gc/gate.ts            compare with bench/gc/expected.json
 *   node bench/gc/gate.ts --update   write the measured number there
 *   node bench/gc/gate.ts --prove    show that one closure, and one promise, more per request is seen
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { EXTRAS, type Extra, type SubjectArgs } from './subject.ts'

/** 1 MB: the smallest young generation that V8 allows, so that every megabyte of garbage counts. */
const FLAGS = ['--min-semi-space-size=1', '--max-semi-space-size=1', '--disable-warning=ExperimentalWarning']
/** Connections of the client, each with one request under way. */
const CONNECTIONS = 16

export interface GateSize {
  /** GETs before the count starts: optimised code allocates less than interpreted code. */
  readonly warmup: number
  readonly gets: number
}

export const FULL: GateSize = { warmup: 60_000, gets: 100_000 }

/** What bench/gc/expected.json holds. */
export interface ExpectedGarbage {
  readonly gets: number
  readonly scavenges: number
  /** Part of `scavenges` by which a run may exceed it. */
  readonly tolerance: number
}

export interface GateResult extends ExpectedGarbage {
  readonly measured: number
  readonly passed: boolean
}

const EXPECTED = new URL('./expected.json', import.meta.url)
const GATEWAY = import.meta.resolve('#engine/testing/gateway.ts')
const TOLERANCE = 0.03

/** Scavenges of the gateway that `module` starts, over size.gets GETs. Throws when an answer is wrong. */
export async function countScavenges(size: GateSize, module = GATEWAY, extra: Extra | null = null): Promise<number> {
  const client = launch('./client.ts', [], [])
  try {
    const { backendPort } = await answer<{ backendPort: number }>(client)
    const args: SubjectArgs = { module, backendPort, extra }
    const subject = launch('./subject.ts', [JSON.stringify(args)], FLAGS)
    try {
      const { port } = await answer<{ port: number }>(subject)
      await load(client, port, size.warmup)
      await ask<{ scavenges: number }>(subject, 'count')
      await load(client, port, size.gets)
      const { scavenges } = await ask<{ scavenges: number }>(subject, 'count')
      return scavenges
    } finally {
      await end(subject)
    }
  } finally {
    await end(client)
  }
}

/** Measures the gateway against the committed number; null when there is no number, or no gateway, yet. */
export async function runGate(): Promise<GateResult | null> {
  if (!existsSync(EXPECTED) || !existsSync(fileURLToPath(GATEWAY))) return null
  const expected = JSON.parse(readFileSync(EXPECTED, 'utf8')) as ExpectedGarbage
  return judge(await countScavenges({ ...FULL, gets: expected.gets }), expected)
}

export function judge(measured: number, expected: ExpectedGarbage): GateResult {
  return { ...expected, measured, passed: measured <= expected.scavenges * (1 + expected.tolerance) }
}

export function gateText({ gets, measured, scavenges, tolerance, passed }: GateResult): string {
  const allowed = `${scavenges} are expected, ${tolerance * 100} % more are allowed`
  const better = measured < scavenges * (1 - tolerance) ? '; commit the lower number (--update)' : ''
  return `gc: ${measured} scavenges per ${gets} GETs; ${allowed}: ${passed ? 'ok' : 'FAILED'}${better}`
}

async function load(client: ChildProcess, port: number, count: number): Promise<void> {
  const reply = await ask<'done' | { failed: string }>(client, { port, connections: CONNECTIONS, count })
  if (reply !== 'done') throw new Error(`the garbage gate got a wrong answer: ${reply.failed}`)
}

/** A child with a channel: it ends when the channel does, so none outlives this process. */
function launch(file: string, args: readonly string[], flags: readonly string[]): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: [...flags, FLAGS.at(-1)!] })
}

function ask<T>(child: ChildProcess, message: object | string): Promise<T> {
  const reply = answer<T>(child)
  child.send(message)
  return reply
}

async function answer<T>(child: ChildProcess): Promise<T> {
  const cancel = new AbortController()
  const { signal } = cancel
  const ended = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`a process of the garbage gate ended with ${code}`)
  })
  const message = once(child, 'message', { signal }).then(([value]) => value as T)
  try {
    return await Promise.race([message, ended])
  } finally {
    cancel.abort()
    await Promise.allSettled([message, ended])
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.disconnect()
  await gone
}

/** Prints what each extra allocation adds; true when every one of them would fail the gate. */
async function prove(): Promise<boolean> {
  const counts = new Map<Extra, number>()
  for (const extra of EXTRAS) {
    counts.set(extra, await countScavenges(FULL, GATEWAY, extra))
    console.log(`one ${extra === 'none' ? 'call, no allocation' : extra} more per request: ${counts.get(extra)}`)
  }
  const expected = { gets: FULL.gets, scavenges: counts.get('none')!, tolerance: TOLERANCE }
  return EXTRAS.every((extra) => extra === 'none' || !judge(counts.get(extra)!, expected).passed)
}

async function main(): Promise<boolean> {
  const options = { update: { type: 'boolean' }, prove: { type: 'boolean' } } as const
  const { values } = parseArgs({ options })
  if (values.prove === true) return prove()
  if (values.update === true) {
    const expected = { gets: FULL.gets, scavenges: await countScavenges(FULL), tolerance: TOLERANCE }
    writeFileSync(EXPECTED, `${JSON.stringify(expected, null, 2)}\n`)
  }
  const result = await runGate()
  console.log(result === null ? 'gc: there is no committed number yet (--update writes one)' : gateText(result))
  return result?.passed ?? false
}

if (import.meta.main && !(await main())) process.exitCode = 1
