/** One peer, started for one workload. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { TEXTS } from './backend/models.ts'
import { processTree, usageOf } from './cpu.ts'
import { type ExpectedName, expectedOf } from './expected.ts'
import type { Order } from './generate.ts'
import { runClosed } from './generator/closed.ts'
import type { Job } from './generator/job.ts'
import { type Learned, learn } from './learned.ts'
import type { Certificate, Peer, Setup } from './peers/peer.ts'
import { freePort } from './ports.ts'
import { type Running, start } from './processes.ts'
import { askOnce } from './tool.ts'
import { jobOf, type Workload } from './workloads.ts'

/** A peer must answer its first request within this time. */
const READY_MS_MAX = 10_000
const READY_RETRY_MS = 20
/** One that loads a thousand files first may take longer. */
const LEARN_MS_MAX = 90_000

/** What a job needs beside what the workload gives. */
export type Timing = Pick<Job, 'mode' | 'warmupMs' | 'windowMs' | 'count' | 'rate' | 'graceMs'>

/** Where a peer finds its backend, and the service that requests are checked with. */
export interface Ports {
  readonly upstream: number
  readonly check: number | null
}

export interface Subject {
  readonly peer: string
  readonly workload: Workload
  /** Resident bytes after its first answer. */
  readonly emptyRssBytes: number
  readonly port: number
  readonly pids: readonly number[]
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
  ports: Ports,
  cores: string | null,
  folder: string,
  certificate: Certificate
): Promise<Subject> {
  const command = peer.find()
  if ('missing' in command) throw new Error(command.missing)
  const own = join(folder, `${workload.name}-${peer.name}`)
  mkdirSync(own, { recursive: true })
  const port = await freePort()
  const { threads, routes, hasChain, isLogged, connections, streams, model, answer, wire } = workload
  const isAtOnce = answer === 'chatAtOnce'
  const how = { threads, routes, hasChain, isLogged, connections, streams, model, isAtOnce, wire, certificate }
  const setup = { port, upstreamPort: ports.upstream, checkPort: ports.check, ...how, folder: own }
  const args = peer.configure(setup)
  const output = isLogged ? { stdoutFile: join(own, 'stdout.log') } : {}
  const process = await start({ program: command.program, args: [...command.args, ...args], ...output }, cores)
  const job = { ...jobOf(workload), requests: requestsOf(peer, setup, workload) }
  const expected =
    peer.asks === undefined ? answerOf(peer, workload) : await learnt(peer, process, port, workload, job.requests[0]!)
  if (workload.mode === 'tool') await untilAnswered(peer, process, port, workload)
  else await untilReady(peer, process, { ...job, port }, workload, expected)
  const pids = processTree(process.pid)
  return {
    peer: peer.name,
    workload,
    port,
    pids,
    emptyRssBytes: usageOf(pids).rssBytes,
    order: (timing) => ({ job: { ...job, port, ...timing }, answer: expected, pids }),
    stop: process.stop
  }
}

/** The workload's, with what the peer needs from clients. */
function requestsOf(peer: Peer, setup: Setup, { requests }: Workload): readonly string[] {
  if (peer.asks === undefined) return requests
  const fields = peer.fields?.(setup) ?? ''
  // One of them would compress its answers, which no other does for them.
  return requests.map((text) => text.replace('\r\n', `\r\n${fields}`).replace(/Accept-Encoding: .*\r\n/, ''))
}

async function learnt(
  peer: Peer,
  running: Running,
  port: number,
  workload: Workload,
  request: string
): Promise<Learned> {
  const pieces = workload.answer === 'chat' ? TEXTS.whole : TEXTS.streamed
  try {
    return await learn(port, request, pieces, running.alive, LEARN_MS_MAX)
  } catch (error) {
    const failure = new Error(`${peer.name} does not serve ${workload.name}: ${error}\n${running.stderr()}`)
    await running.stop()
    throw failure
  }
}

/** What `peer` makes of the backend's answer: only Weir translates. */
function answerOf(peer: Peer, { answer, model }: Workload): ExpectedName {
  if (model !== 'converted' || !peer.translates) return answer
  return answer === 'chat' ? 'convertedChat' : 'convertedEvents'
}

async function untilReady(
  peer: Peer,
  process: Running,
  target: Pick<Job, 'requests' | 'hasTls' | 'fresh' | 'port'>,
  workload: Workload,
  answer: ExpectedName | Learned
): Promise<void> {
  const timing = { mode: 'closed', warmupMs: 0, windowMs: 0, count: 1, rate: 0, graceMs: 2_000 } as const
  const job: Job = { ...target, connections: 1, ...timing }
  const expected = expectedOf(answer)
  const deadline = Date.now() + READY_MS_MAX
  for (;;) {
    const { answers, faults } = await runClosed(job, expected, () => ({ cpuNs: 0, rssBytes: 0 }))
    if (answers === 1) return
    const refused = faults.connect !== undefined
    if (process.alive() && refused && Date.now() < deadline) await after(READY_RETRY_MS)
    else break
  }
  throw await unserved(peer, process, workload)
}

/** The same for what h2load asks. */
async function untilAnswered(peer: Peer, process: Running, port: number, workload: Workload): Promise<void> {
  const deadline = Date.now() + READY_MS_MAX
  for (;;) {
    if ((await askOnce(workload, port)) === null) return
    if (process.alive() && Date.now() < deadline) await after(READY_RETRY_MS)
    else throw await unserved(peer, process, workload)
  }
}

async function unserved(peer: Peer, process: Running, workload: Workload): Promise<Error> {
  const why = process.alive() ? 'no right answer' : 'it has ended'
  const error = new Error(`${peer.name} does not serve ${workload.name}: ${why}\n${process.stderr()}`)
  await process.stop()
  return error
}
