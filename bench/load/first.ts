/** What each peer adds to the time to the first token: runs through it and straight to the backend, in turn. */
import { MESSAGES_PATH } from './backend/models.ts'
import type { Order } from './generate.ts'
import type { Faults, Outcome } from './generator/job.ts'
import type { Generator } from './generator.ts'
import type { Row } from './load.ts'
import { inRounds, median } from './stats.ts'
import type { Subject, Timing } from './subject.ts'
import { jobOf, type Workload } from './workloads.ts'

/** Requests of one turn: short, so that noise of the machine falls on all alike. */
const COUNT = 100
const TURNS_PER_ROUND = 2
/** Turns ahead of the measured ones, for compilers at run time. */
const SETTLING = 10
const GRACE_MS = 10_000
const TIMING: Timing = { mode: 'first', warmupMs: 0, windowMs: 0, count: COUNT, rate: 0, graceMs: GRACE_MS }

type Result = Pick<Row, 'faults' | 'latency' | 'cpuUs' | 'addedUs'>

/** Of one workload. */
export async function measureFirst(
  subjects: readonly Subject[],
  backendPort: number,
  rounds: number,
  generator: Generator
): Promise<Row[]> {
  const [first] = subjects
  if (first === undefined) return []
  const direct = directly(first.workload, backendPort)
  const turns = async (count: number): Promise<Turn[]> => {
    const made: Turn[] = []
    for (let i = 0; i < count; i++) {
      const without = await generator.run(direct)
      for (const subject of subjects) {
        made.push({ subject, without, through: await generator.run(subject.order(TIMING)) })
      }
    }
    return made
  }
  const settling = await turns(SETTLING)
  const measured = await turns(rounds * TURNS_PER_ROUND)
  const of = (all: readonly Turn[], subject: Subject) => all.filter((turn) => turn.subject === subject)
  return subjects.map((subject) => ({
    workload: subject.workload.name,
    peer: subject.peer,
    ratio: null,
    rps: null,
    rssBytes: of(measured, subject).at(-1)!.through.rssBytes,
    emptyRssBytes: subject.emptyRssBytes,
    connections: subject.workload.connections,
    ...tell(of(settling, subject), of(measured, subject))
  }))
}

interface Turn {
  readonly subject: Subject
  readonly without: Outcome
  readonly through: Outcome
}

/** The same stream, from the backend itself. */
function directly(workload: Workload, port: number): Order {
  const job = { ...jobOf(workload), ...TIMING, port }
  if (workload.model !== 'converted') return { job, answer: workload.answer, pids: [] }
  const requests = job.requests.map((text) => text.replace(/^POST \S+/, `POST ${MESSAGES_PATH}`))
  return { job: { ...job, requests }, answer: 'messagesAtOnce', pids: [] }
}

function tell(settling: readonly Turn[], measured: readonly Turn[]): Result {
  const faults: { [kind: string]: number } = {}
  for (const outcome of [...settling, ...measured].flatMap(({ through, without }) => [through, without])) {
    for (const [kind, count] of Object.entries(outcome.faults)) faults[kind] = (faults[kind] ?? 0) + count
  }
  const good = measured.flatMap(({ through, without }) =>
    through.latency === null || without.latency === null
      ? []
      : [{ ...through.latency, addedUs: through.latency.p50Us - without.latency.p50Us, cpuUs: through.cpuUs / COUNT }]
  )
  const cpuUs = inRounds(good.map((turn) => turn.cpuUs))
  if (good.length === 0) return { faults, latency: null, cpuUs, addedUs: null }
  const of = (what: keyof (typeof good)[number]) => median(good.map((turn) => turn[what]))
  return {
    faults: faults as Faults,
    latency: { p50Us: of('p50Us'), p99Us: of('p99Us'), p999Us: of('p999Us'), maxUs: of('maxUs'), rate: 0 },
    cpuUs,
    addedUs: of('addedUs')
  }
}
