/** One peer, started for one workload: the thing that is measured. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { processTree, usageOf } from './cpu.ts'
import { type ExpectedName, expectedOf } from './expected.ts'
import type { Order } from './generate.ts'
import { runClosed } from './generator/closed.ts'
import type { Job } from './generator/job.ts'
import type { Peer } from './peers/peer.ts'
import { freePort } from './ports.ts'
import { type Running, start } from './processes.ts'
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
  /** What the generator needs to know to load it. */
  order(timing: Timing): Order
  stop(): Promise<void>
}

/**
 * Starts `peer` for `workload` and waits for its first correct answer. Throws with its error output
 * if there is none.
 */
export async function startSubject(
  peer: Peer,
  workload: Workload,
  upstreamPort: number,
  cores: string | null,
  folder: string
): Promise<Subject> {
  const command = peer.find()
  if ('missing' in command) throw new Error(command.missing)
  const own = join(folder, `${workload.name}-${peer.name}`)
  mkdirSync(own, { recursive: true })
  const port = await freePort()
  const { threads, routes, hasChain, connections, model } = workload
  const args = peer.configure({ port, upstreamPort, threads, routes, hasChain, connections, model, folder: own })
  const process = await start({ program: command.program, args: [...command.args, ...args] }, cores)
  await untilReady(peer, process, port, workload)
  const pids = processTree(process.pid)
  return {
    peer: peer.name,
    workload,
    emptyRssBytes: usageOf(pids).rssBytes,
    order: (timing) => ({ job: { ...jobOf(workload), port, ...timing }, answer: answerOf(peer, workload), pids }),
    stop: process.stop
  }
}

/** What `peer` makes of the backend's answer: only Weir translates. */
function answerOf(peer: Peer, { answer, model }: Workload): ExpectedName {
  if (model !== 'converted' || !peer.translates) return answer
  return answer === 'chat' ? 'convertedChat' : 'convertedEvents'
}

async function untilReady(peer: Peer, process: Running, port: number, workload: Workload): Promise<void> {
  const timing = { mode: 'closed', warmupMs: 0, windowMs: 0, count: 1, rate: 0, graceMs: 2_000 } as const
  const job: Job = { ...jobOf(workload), connections: 1, port, ...timing }
  const expected = expectedOf(answerOf(peer, workload))
  const deadline = Date.now() + READY_MS_MAX
  for (;;) {
    const { answers, faults } = await runClosed(job, expected, () => ({ cpuNs: 0, rssBytes: 0 }))
    if (answers === 1) return
    const refused = faults.connect !== undefined
    if (process.alive() && refused && Date.now() < deadline) await after(READY_RETRY_MS)
    else break
  }
  const why = process.alive() ? 'no right answer' : 'it has ended'
  const error = new Error(`${peer.name} does not serve ${workload.name}: ${why}\n${process.stderr()}`)
  await process.stop()
  throw error
}
