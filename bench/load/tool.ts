/** Workloads whose clients are h2load (nghttp2): HTTP/2 and gRPC. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { usageOf } from './cpu.ts'
import type { Faults } from './generator/job.ts'
import { placement } from './machine.ts'
import { findProgram } from './peers/program.ts'
import { inRounds, median, type Rounds } from './stats.ts'
import type { Workload } from './workloads.ts'

/** One message of gRPC: five bytes of framing and 128 of a string field. */
const MESSAGE = fileURLToPath(new URL('./backend/message.bin', import.meta.url))
const GRPC = ['-H', 'content-type: application/grpc', '-H', 'te: trailers', '-d', MESSAGE]
const BODY_BYTES = 1024

/** As much of a Subject as is needed here. */
interface MeasuredSubject {
  readonly workload: Workload
  readonly port: number
  readonly pids: readonly number[]
}

interface Run {
  readonly answers: number
  readonly seconds: number
  readonly faults: Faults
  readonly cpuUs: number
  readonly rssBytes: number
}

export interface ToolFigures {
  readonly cpuUs: Rounds
  readonly rps: number
  readonly rssBytes: number
  readonly faults: Faults
}

/** Null: it is there. */
export function toolMissing(): string | null {
  return findProgram('h2load') === null ? 'h2load is not installed' : null
}

/** One request, for a server that has just been started. Null: it was answered; else what h2load said. */
export async function askOnce(workload: Workload, port: number): Promise<string | null> {
  const text = await h2load([...argumentsOf({ ...workload, connections: 1, streams: 1 }, port), '-n', '1'])
  return / 1 succeeded, 0 failed/.test(text) ? null : text
}

/** Rounds over `subjects` in turn, behind one that is not counted. */
export async function measureByTool<S extends MeasuredSubject>(
  subjects: readonly S[],
  rounds: number,
  windowMs: number
): Promise<Map<S, ToolFigures>> {
  const runs = new Map<S, Run[]>(subjects.map((subject) => [subject, []]))
  for (let round = -1; round < rounds; round++) {
    for (const subject of subjects) {
      const run = await load(subject, windowMs)
      // A wrong answer counts from the first on.
      if (round >= 0 || Object.keys(run.faults).length > 0) runs.get(subject)!.push(run)
    }
  }
  return new Map([...runs].map(([subject, all]) => [subject, figuresOf(all)]))
}

function figuresOf(all: readonly Run[]): ToolFigures {
  const cpu = all.map(({ cpuUs, answers }) => cpuUs / answers)
  const faults: { [kind: string]: number } = {}
  for (const run of all) {
    for (const [kind, count] of Object.entries(run.faults)) faults[kind] = (faults[kind] ?? 0) + count
  }
  return {
    cpuUs: inRounds(cpu),
    rps: median(all.map(({ answers, seconds }) => answers / seconds)),
    rssBytes: all.at(-1)!.rssBytes,
    faults
  }
}

async function load({ workload, port, pids }: MeasuredSubject, windowMs: number): Promise<Run> {
  const before = usageOf(pids)
  const seconds = Math.max(1, Math.round(windowMs / 1000))
  const text = await h2load([...argumentsOf(workload, port), '-D', String(seconds)])
  const after = usageOf(pids)
  return { ...tell(text, workload), seconds, cpuUs: (after.cpuNs - before.cpuNs) / 1000, rssBytes: after.rssBytes }
}

function argumentsOf({ wire, connections, streams }: Workload, port: number): string[] {
  const path = wire === 'grpc' ? '/bench.Echo/Say' : '/1k'
  const url = `${wire === 'h2' ? 'https' : 'http'}://127.0.0.1:${port}${path}`
  const more = wire === 'grpc' ? GRPC : []
  return ['-t', '1', '-c', String(connections), '-m', String(streams), ...more, url]
}

async function h2load(args: readonly string[]): Promise<string> {
  const program = findProgram('h2load')!
  const cores = placement(1).load
  const [file, list] = cores === null ? [program, args] : ['taskset', ['-c', cores, program, ...args]]
  const child = spawn(file, list, { stdio: ['ignore', 'pipe', 'ignore'] })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  await once(child, 'close')
  return text
}

/** What h2load says of its run. Requests under way when the time is over are neither done nor failed for it. */
function tell(text: string, { wire }: Workload): Pick<Run, 'answers' | 'faults'> {
  const counts = /(\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout/.exec(text)
  const [done, answers, failed, errored, timeout] = (counts ?? []).slice(1).map(Number)
  if (done === undefined || !answers) return { answers: 0, faults: { connect: 1 } }
  const faults: { [kind: string]: number } = {}
  if (done > answers) faults.status = done - answers
  if (failed! + errored! > 0) faults.closed = failed! + errored!
  if (timeout! > 0) faults.timeout = timeout!
  const bytes = Number(/\((\d+)\) data/.exec(text)?.[1] ?? 0)
  // Answers that had begun when the time was over add to the bytes.
  if (wire !== 'grpc' && bytes < answers * BODY_BYTES) faults.body = 1
  return { answers, faults }
}
