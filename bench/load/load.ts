/** Runs the workloads: peers interleaved round by round, then each once at a rate that all sustain. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PACED } from './backend/answers.ts'
import { type Backend, startBackend } from './backend.ts'
import { makeCertificate } from './certificate.ts'
import { measureFirst } from './first.ts'
import type { Faults, Latency, Outcome } from './generator/job.ts'
import { type Generator, startGenerator } from './generator.ts'
import { filesMax, placement } from './machine.ts'
import { PEERS } from './peers/index.ts'
import type { Certificate, Peer } from './peers/peer.ts'
import { inRounds, interleave, median, type Rounds, ratioOfRounds } from './stats.ts'
import { type Subject, startSubject, type Timing } from './subject.ts'
import { measureByTool, toolMissing } from './tool.ts'
import { obstacle, WORKLOADS, type Workload } from './workloads.ts'

/** Latency is taken at this part of what the slowest peer of the workload reached. */
const OPEN_RATE_PART = 0.3
/** For workloads that need none. */
const NO_CERTIFICATE: Certificate = { chain: '', key: '', both: '' }
/** Answers that are under way at the end of a window may take this long. */
const GRACE_MS = 5_000
/** Opening the idle connections may take this long. */
const OPENING_MS_MAX = 30_000
/** Idle connections rest this long before memory is read. */
const REST_MS = 1_000

export interface Plan {
  /** Names of workloads; empty: all. */
  readonly only: readonly string[]
  /** Names of peers; empty: all that are installed. */
  readonly peers: readonly string[]
  readonly rounds: number
  /** Load before the first round: a compiler at run time has its work behind it then. */
  readonly settleMs: number
  /** Unmeasured part of every run: connections are made. */
  readonly warmupMs: number
  readonly windowMs: number
}

/** One line of a table: one peer on one workload. */
export interface Row {
  readonly workload: string
  readonly peer: string
  /** CPU time per answer, all threads; null for idle connections. */
  readonly cpuUs: Rounds | null
  /** Round against round (ratioOfRounds; idle: memory per connection); null: there is nothing to compare with. */
  readonly ratio: number | null
  /** Answers per second of the closed loop, median. */
  readonly rps: number | null
  /** From the open loop, at `rate` requests per second; 0: one by one, to the first token. */
  readonly latency: (Latency & { readonly rate: number }) | null
  /** Only of the time to the first token: what the median has over that of the backend without a proxy. */
  readonly addedUs: number | null
  readonly rssBytes: number
  /** Resident bytes before the load: idle connections are judged by the difference. */
  readonly emptyRssBytes: number
  readonly connections: number
  /** Any fault fails the row. */
  readonly faults: Faults
}

export interface Reporter {
  note(line: string): void
  table(rows: readonly Row[]): void
}

/** Runs what `plan` names; gives all rows. Tables are handed to `report` as they are ready. */
export async function runLoad(plan: Plan, report: Reporter): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-bench-'))
  const clean = () => rmSync(folder, { recursive: true, force: true })
  process.on('exit', clean)
  const backend = await startBackend(folder, placement(1).load)
  report.note(`${placement(1).note}; backend: ${backend.kind}`)
  noteMissing(report)
  const certificate = makeCertificate(folder)
  const rows: Row[] = []
  try {
    for (const [name, workloads] of groupsOf(plan, certificate, report)) {
      const where = { folder: join(folder, name), certificate: certificate ?? NO_CERTIFICATE }
      const found = await runGroup(workloads, plan, backend, where, report)
      rows.push(...found)
      if (found.length > 0) report.table(found)
    }
  } finally {
    await backend.stop()
    process.off('exit', clean)
    clean()
  }
  return rows
}

/** The chosen workloads by group, with the base of each; notes why one is left out. */
function groupsOf(plan: Plan, certificate: Certificate | null, report: Reporter): Map<string, Workload[]> {
  const wanted = new Set(plan.only.length > 0 ? plan.only : WORKLOADS.map((workload) => workload.name))
  for (const { name, base } of WORKLOADS) if (wanted.has(name) && base !== null) wanted.add(base)
  const groups = new Map<string, Workload[]>()
  const files = filesMax()
  for (const workload of WORKLOADS) {
    if (!wanted.has(workload.name)) continue
    const reason = obstacle(workload, files) ?? toolsMissing(workload, certificate)
    if (reason !== null) report.note(`${workload.name}: skipped, ${reason}`)
    else groups.set(workload.group, [...(groups.get(workload.group) ?? []), workload])
  }
  return groups
}

function toolsMissing({ wire, mode }: Workload, certificate: Certificate | null): string | null {
  if ((wire === 'https' || wire === 'h2') && certificate === null) return 'openssl is not installed'
  return mode === 'tool' ? toolMissing() : null
}

/** What the subjects of a group get. */
interface Where {
  readonly folder: string
  readonly certificate: Certificate
}

async function runGroup(
  workloads: readonly Workload[],
  plan: Plan,
  backend: Backend,
  { folder, certificate }: Where,
  report: Reporter
): Promise<Row[]> {
  const subjects: Subject[] = []
  const threads = Math.max(...workloads.map((workload) => workload.threads))
  const generator = startGenerator(placement(threads).load)
  try {
    for (const workload of workloads) {
      for (const peer of peersOf(workload, plan)) {
        const ports = { upstream: portOf(backend, workload), check: workload.isChecked ? backend.grpcPort : null }
        const cores = placement(workload.threads).proxy
        const started = startSubject(peer, workload, ports, cores, folder, certificate)
        const subject = await started.catch((error: Error) => {
          // What some peers cannot do is no reason to measure none.
          if (peer.asks === undefined) throw error
          report.note(error.message.split('\n')[0]!)
          return null
        })
        if (subject !== null) subjects.push(subject)
      }
    }
    const rows: Row[] = []
    const idle = subjects.filter((subject) => subject.workload.mode === 'idle')
    for (const subject of idle) rows.push(await measureIdle(subject, generator))
    const first = subjects.filter((subject) => subject.workload.mode === 'first')
    rows.push(...(await measureFirst(first, backend.streamPort, plan.rounds, generator)))
    const multiplexed = subjects.filter((subject) => subject.workload.mode === 'tool')
    rows.push(...(await measureMultiplexed(multiplexed, plan)))
    const busy = subjects.filter((subject) => subject.workload.mode === 'throughput')
    rows.push(...(await measureThroughput(busy, plan, generator)))
    return rows.map((row) => ({ ...row, ratio: ratioOf(row, rows) }))
  } finally {
    await Promise.all([generator.stop(), ...subjects.map((subject) => subject.stop())])
  }
}

function portOf(backend: Backend, { wire, answer }: Workload): number {
  if (wire === 'grpc') return backend.grpcPort
  return PACED.has(answer) ? backend.streamPort : backend.fixedPort
}

/** The chosen peers that can be started here. */
function peersOf(workload: Workload, plan: Plan): Peer[] {
  return PEERS.filter((peer) => {
    const isMeasured =
      (workload.peer ?? peer.name) === peer.name && (peer.asks === undefined || workload.model !== null)
    const serves = isMeasured && (workload.wire === 'http' || peer.wires?.has(workload.wire) === true)
    const hasLog = !workload.isLogged || peer.logs === true
    const isAble = hasLog && (!workload.isChecked || peer.checks === true)
    const chosen = plan.peers.length === 0 || plan.peers.includes(peer.name)
    return serves && isAble && chosen && !('missing' in peer.find())
  })
}

function noteMissing(report: Reporter): void {
  for (const peer of PEERS) {
    const found = peer.find()
    if ('missing' in found) report.note(`${peer.name} skipped: ${found.missing}`)
  }
}

async function measureIdle(subject: Subject, generator: Generator): Promise<Row> {
  const timing: Timing = { mode: 'hold', warmupMs: 0, windowMs: REST_MS, count: null, rate: 0, graceMs: OPENING_MS_MAX }
  const outcome = await generator.run(subject.order(timing))
  return {
    workload: subject.workload.name,
    peer: subject.peer,
    cpuUs: null,
    ratio: null,
    rps: null,
    latency: null,
    addedUs: null,
    rssBytes: outcome.rssBytes,
    emptyRssBytes: subject.emptyRssBytes,
    connections: subject.workload.connections,
    faults: outcome.faults
  }
}

async function measureMultiplexed(subjects: readonly Subject[], { rounds, windowMs }: Plan): Promise<Row[]> {
  const figures = await measureByTool(subjects, rounds, windowMs)
  return [...figures].map(([{ workload, peer, emptyRssBytes }, result]) => ({
    workload: workload.name,
    peer,
    ratio: null,
    latency: null,
    addedUs: null,
    emptyRssBytes,
    connections: workload.connections,
    ...result
  }))
}

async function measureThroughput(subjects: readonly Subject[], plan: Plan, generator: Generator): Promise<Row[]> {
  const { warmupMs, windowMs } = plan
  const closed: Timing = { mode: 'closed', warmupMs, windowMs, count: null, rate: 0, graceMs: GRACE_MS }
  const settled = new Map<Subject, Outcome>()
  const outcomes = new Map<Subject, Outcome[]>(subjects.map((subject) => [subject, []]))
  // A wrong answer counts from the first on.
  for (const subject of subjects) {
    const settle: Timing = { ...closed, warmupMs: 0, windowMs: plan.settleMs * subject.workload.settles }
    settled.set(subject, await generator.run(subject.order(settle)))
  }
  for (const subject of interleave(subjects, plan.rounds)) {
    outcomes.get(subject)!.push(await generator.run(subject.order(closed)))
  }
  const rps = (subject: Subject) => median(outcomes.get(subject)!.map((outcome) => outcome.shares / outcome.seconds))
  const rate = Math.max(1, Math.floor(Math.min(...subjects.map(rps)) * OPEN_RATE_PART))
  const rows: Row[] = []
  for (const subject of subjects) {
    const open = await generator.run(subject.order({ ...closed, mode: 'open', rate }))
    const all = outcomes.get(subject)!
    const cpu = all.map((outcome) => outcome.cpuUs / outcome.shares)
    rows.push({
      workload: subject.workload.name,
      peer: subject.peer,
      cpuUs: inRounds(cpu),
      ratio: null,
      rps: rps(subject),
      latency: open.latency === null ? null : { ...open.latency, rate },
      addedUs: null,
      rssBytes: all.at(-1)!.rssBytes,
      emptyRssBytes: subject.emptyRssBytes,
      connections: subject.workload.connections,
      faults: sumFaults([settled.get(subject)!, ...all, open])
    })
  }
  return rows
}

function ratioOf(row: Row, rows: readonly Row[]): number | null {
  const { base, reference } = WORKLOADS.find((workload) => workload.name === row.workload)!
  const other = rows.find(({ workload, peer }) =>
    base === null ? workload === row.workload && peer === reference : workload === base && peer === row.peer
  )
  if (other === undefined) return null
  if (row.cpuUs !== null) return other.cpuUs === null ? null : ratioOfRounds(row.cpuUs, other.cpuUs)
  return (row.rssBytes - row.emptyRssBytes) / (other.rssBytes - other.emptyRssBytes)
}

function sumFaults(outcomes: readonly Outcome[]): Faults {
  const sum: Record<string, number> = {}
  for (const { faults } of outcomes) {
    for (const [kind, count] of Object.entries(faults)) sum[kind] = (sum[kind] ?? 0) + count
  }
  return sum
}
