/** One peer, started for one workload: the thing that is measured. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { processTree, usageOf } from './cpu.ts'
import type { Order } from './generate.ts'
import type { Job, Outcome } from './generator/job.ts'
import type { Placement } from './machine.ts'
import type { Peer } from './peers/peer.ts'
import { freePort } from './ports.ts'
import { type Running, run, start } from './processes.ts'
import { jobOf, type Workload } from './workloads.ts'

/** A peer must answer its first request within this time. */
const READY_MS_MAX = 10_000
const READY_RETRY_MS = 20

/** What a job needs beside what the workload gives. */
export type Timing = Pick<Job, 'mode' | 'warmupMs' | 'windowMs' | 'count' | 'rate' | 'graceMs'>

export interface Subject {
  readonly peer: string
  readonly workload: Workload
  /** Resident bytes after its first answer. */
  readonly emptyRssBytes: number
  /** Sends load and gives what came of it. */
  load(timing: Timing): Promise<Outcome>
  stop(): Promise<void>
}

/** Starts `peer` for `workload` and waits for its first correct answer. Throws with its error output otherwise. */
export async function startSubject(
  peer: Peer,
  workload: Workload,
  upstreamPort: number,
  place: Placement,
  folder: string
): Promise<Subject> {
  const command = peer.find()
  if ('missing' in command) throw new Error(command.missing)
  const own = join(folder, `${workload.name}-${peer.name}`)
  mkdirSync(own, { recursive: true })
  const port = await freePort()
  const { threads, routes, connections } = workload
  const args = peer.configure({ port, upstreamPort, threads, routes, connections, folder: own })
  const process = await start({ program: command.program, args: [...command.args, ...args] }, place.proxy)
  await untilReady(peer, process, port, workload, place)
  const pids = processTree(process.pid)
  return {
    peer: peer.name,
    workload,
    emptyRssBytes: usageOf(pids).rssBytes,
    load: (timing) =>
      generate({ job: { ...jobOf(workload), port, ...timing }, answer: workload.answer, pids }, place.load),
    stop: process.stop
  }
}

async function untilReady(
  peer: Peer,
  process: Running,
  port: number,
  workload: Workload,
  place: Placement
): Promise<void> {
  const timing = { mode: 'closed', warmupMs: 0, windowMs: 0, count: 1, rate: 0, graceMs: 2_000 } as const
  const job: Job = { ...jobOf(workload), connections: 1, port, ...timing }
  const deadline = Date.now() + READY_MS_MAX
  for (;;) {
    const outcome = await generate({ job, answer: workload.answer, pids: [] }, place.load)
    if (outcome.answers === 1) return
    const faults = Object.keys(outcome.faults).join(', ')
    const refused = outcome.faults.connect !== undefined
    if (process.alive() && refused && Date.now() < deadline) await after(READY_RETRY_MS)
    else throw new Error(`${peer.name} does not serve ${workload.name} (${faults})\n${process.stderr()}`)
  }
}

/** Runs the generator as a process of its own. */
export async function generate(order: Order, cores: string | null): Promise<Outcome> {
  const program = fileURLToPath(new URL('./generate.ts', import.meta.url))
  const { warmupMs, windowMs, graceMs } = order.job
  const args = ['--disable-warning=ExperimentalWarning', program]
  const msMax = warmupMs + windowMs + graceMs + 10_000
  return JSON.parse(await run({ program: process.execPath, args }, cores, JSON.stringify(order), msMax)) as Outcome
}
