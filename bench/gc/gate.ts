/**
 * The garbage gate: how often V8 collects the young generation while the gateway answers a fixed
 * number of GETs. On a noisy machine time varies by a factor of two and this by less than one percent
 * (docs/performance.md), so this is what may fail a change.
 *
 *   node bench/gc/gate.ts            compare with bench/gc/expected.json
 *   node bench/gc/gate.ts --update   write the measured numbers there
 *   node bench/gc/gate.ts --prove    show that one closure, and one promise, more per request is seen
 */
import { type ChildProcess, fork } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { answerOf, end } from '#bench/forked.ts'
import { CHAIN, CREDENTIALS } from '#engine/testing/chain.ts'
import type { Extra, Garbage, SubjectArgs } from './subject.ts'

/** Named where it fails. */
const PROCESS = 'a process of the garbage gate'

/** 1 MB: the smallest young generation that V8 allows, so that every megabyte of garbage counts. */
const FLAGS = ['--min-semi-space-size=1', '--max-semi-space-size=1']
/**
 * One request at a time: then every request takes the same path through the event loop, and two
 * runs differ by less than 0.1 % (measured: 250 and 250 scavenges; with 16 connections 244 to 252,
 * which would hide the 6 that one promise more per request adds).
 */
const CONNECTIONS = 1

export interface GateSize {
  /** GETs before the count starts: optimised code allocates less than interpreted code. */
  readonly warmup: number
  readonly gets: number
}

export const FULL: GateSize = { warmup: 30_000, gets: 100_000 }

/** What is measured: a route, and what a request carries to pass it. */
export interface Course {
  readonly name: 'plain' | 'chain'
  readonly policies: object
  readonly credentials: string
}

const PLAIN: Course = { name: 'plain', policies: {}, credentials: 'Bearer 0123456789abcdef' }
const COURSES: readonly Course[] = [PLAIN, { name: 'chain', policies: CHAIN, credentials: CREDENTIALS }]

/** What bench/gc/expected.json holds. */
interface ExpectedFile {
  readonly gets: number
  /** Part of the scavenges by which a run may exceed them. */
  readonly tolerance: number
  readonly scavenges: { readonly [course in Course['name']]: number }
}

export interface ExpectedGarbage {
  readonly course: Course['name']
  readonly gets: number
  readonly tolerance: number
  readonly scavenges: number
}

export interface GateResult extends ExpectedGarbage {
  readonly measured: number
  readonly bytesPerGet: number
  readonly passed: boolean
}

const EXPECTED = new URL('./expected.json', import.meta.url)
const GATEWAY = import.meta.resolve('#engine/testing/gateway.ts')
/** A promise more per request is 1.8 % of what the forwarding path makes; runs differ by 1 %. */
const TOLERANCE = 0.015

/** Garbage of the gateway that `module` starts, over size.gets GETs. Throws when an answer is wrong. */
export async function countGarbage(
  size: GateSize,
  module = GATEWAY,
  extra: Extra | null = null,
  flags: readonly string[] = [],
  { policies, credentials } = PLAIN
): Promise<Garbage> {
  const client = launch(new URL('./client.ts', import.meta.url), [], [])
  try {
    const { backendPort } = await answerOf<{ backendPort: number }>(client, PROCESS)
    const args: SubjectArgs = { module, backendPort, policies, extra }
    const subject = launch(new URL('./subject.ts', import.meta.url), [JSON.stringify(args)], [...FLAGS, ...flags])
    try {
      const { port } = await answerOf<{ port: number }>(subject, PROCESS)
      await load(client, port, size.warmup, credentials)
      await ask<Garbage>(subject, 'count')
      await load(client, port, size.gets, credentials)
      return await ask<Garbage>(subject, 'count')
    } finally {
      await end(subject)
    }
  } finally {
    await end(client)
  }
}

/** Measures the gateway against the committed numbers; null when there are none, or no gateway, yet. */
export async function runGate(): Promise<GateResult[] | null> {
  if (!existsSync(EXPECTED) || !existsSync(fileURLToPath(GATEWAY))) return null
  const { gets, tolerance, scavenges } = JSON.parse(readFileSync(EXPECTED, 'utf8')) as ExpectedFile
  const results: GateResult[] = []
  for (const course of COURSES) {
    const garbage = await countGarbage({ ...FULL, gets }, GATEWAY, null, [], course)
    results.push(judge(garbage, { course: course.name, gets, tolerance, scavenges: scavenges[course.name] }))
  }
  return results
}

export function judge({ scavenges, bytes }: Garbage, expected: ExpectedGarbage): GateResult {
  const passed = scavenges <= expected.scavenges * (1 + expected.tolerance)
  return { ...expected, measured: scavenges, bytesPerGet: Math.round(bytes / expected.gets), passed }
}

export function gateText({ course, gets, measured, bytesPerGet, scavenges, tolerance, passed }: GateResult): string {
  const allowed = `${scavenges} are expected, ${tolerance * 100} % more are allowed`
  const better = measured < scavenges * (1 - tolerance) ? '; commit the lower number (--update)' : ''
  return `gc: ${course}: ${measured} scavenges per ${gets} GETs (${bytesPerGet} bytes per GET); ${allowed}: ${passed ? 'ok' : 'FAILED'}${better}`
}

async function load(client: ChildProcess, port: number, count: number, credentials: string): Promise<void> {
  const reply = await ask<'done' | { failed: string }>(client, { port, connections: CONNECTIONS, count, credentials })
  if (reply !== 'done') throw new Error(`the garbage gate got a wrong answer: ${reply.failed}`)
}

/** A child with a channel: it ends when the channel does, so none outlives this process. */
function launch(file: URL, args: readonly string[], flags: readonly string[]): ChildProcess {
  return fork(fileURLToPath(file), args, {
    execArgv: ['--disable-warning=ExperimentalWarning', ...flags]
  })
}

function ask<T>(child: ChildProcess, message: object | string): Promise<T> {
  const reply = answerOf<T>(child, PROCESS)
  child.send(message)
  return reply
}

/** Prints what each extra allocation adds; true when every one of them would fail the gate. */
async function prove(): Promise<boolean> {
  const control = await countGarbage(FULL, GATEWAY, 'none')
  console.log(`one call, no allocation, more per request: ${control.scavenges} scavenges`)
  const expected = { course: PLAIN.name, gets: FULL.gets, scavenges: control.scavenges, tolerance: TOLERANCE }
  let seen = true
  for (const extra of ['closure', 'promise'] as const) {
    const { measured, passed } = judge(await countGarbage(FULL, GATEWAY, extra), expected)
    console.log(`one ${extra} more per request: ${measured} scavenges, ${passed ? 'NOT seen' : 'seen'}`)
    if (passed) seen = false
  }
  return seen
}

async function main(): Promise<boolean> {
  const options = { update: { type: 'boolean' }, prove: { type: 'boolean' } } as const
  const { values } = parseArgs({ options })
  if (values.prove === true) return prove()
  if (values.update === true) {
    const counts: { [name: string]: number } = {}
    for (const course of COURSES) {
      counts[course.name] = (await countGarbage(FULL, GATEWAY, null, [], course)).scavenges
    }
    const expected = { gets: FULL.gets, tolerance: TOLERANCE, scavenges: counts }
    writeFileSync(EXPECTED, `${JSON.stringify(expected, null, 2)}\n`)
  }
  const results = await runGate()
  if (results === null) console.log('gc: there are no committed numbers yet (--update writes them)')
  for (const result of results ?? []) console.log(gateText(result))
  return results?.every(({ passed }) => passed) ?? false
}

if (import.meta.main && !(await main())) process.exitCode = 1
