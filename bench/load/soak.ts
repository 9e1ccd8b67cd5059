/** A long run of chat requests through Weir, streamed and not, to see whether its memory grows with them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PACED } from './backend/answers.ts'
import { startBackend } from './backend.ts'
import { startGenerator } from './generator.ts'
import { placement } from './machine.ts'
import { weir } from './peers/weir.ts'
import { startSubject } from './subject.ts'
import { WORKLOADS } from './workloads.ts'

/** Translations, and streams that are there at once: what allocates most per request. */
const SOAKED = ['chat-converted', 'chat-native', 'chat-first-converted']
const SAMPLES = 20
/** Samples ahead of these are of a program that still warms up. */
const SETTLED = 5
const GRACE_MS = 600_000

export interface Soak {
  readonly workload: string
  readonly requests: number
  /** Resident bytes after each part. */
  readonly rssBytes: readonly number[]
  /** Least squares over the settled part: bytes that stay per request. */
  readonly bytesPerRequest: number
  readonly faults: number
}

export async function runSoak(requests: number): Promise<Soak[]> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-soak-'))
  const backend = await startBackend(folder, placement(1).load)
  const generator = startGenerator(placement(1).load)
  const soaks: Soak[] = []
  try {
    for (const workload of WORKLOADS.filter(({ name }) => SOAKED.includes(name))) {
      const upstream = PACED.has(workload.answer) ? backend.streamPort : backend.fixedPort
      const subject = await startSubject(weir, workload, upstream, placement(1).proxy, folder)
      const count = Math.max(1, Math.floor(requests / SAMPLES))
      const timing = { mode: 'closed', warmupMs: 0, windowMs: 0, count, rate: 0, graceMs: GRACE_MS } as const
      const rssBytes: number[] = []
      let faults = 0
      for (let i = 0; i < SAMPLES; i++) {
        const outcome = await generator.run(subject.order(timing))
        rssBytes.push(outcome.rssBytes)
        faults += Object.values(outcome.faults).reduce((sum, n) => sum + n, 0)
      }
      await subject.stop()
      const bytesPerRequest = slopeOf(rssBytes.slice(SETTLED)) / count
      soaks.push({ workload: workload.name, requests: count * SAMPLES, rssBytes, bytesPerRequest, faults })
    }
  } finally {
    await Promise.all([generator.stop(), backend.stop()])
    rmSync(folder, { recursive: true, force: true })
  }
  return soaks
}

/** Rise per step of the line that fits `values` best. */
export function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const rise = values.reduce((sum, value, i) => sum + (i - middle) * (value - mean), 0)
  const run = values.reduce((sum, _, i) => sum + (i - middle) ** 2, 0)
  return run === 0 ? 0 : rise / run
}

export function soakText({ workload, requests, rssBytes, bytesPerRequest, faults }: Soak): string {
  const mb = (bytes: number) => (bytes / 2 ** 20).toFixed(0)
  const seen = `RSS ${mb(rssBytes[0]!)} MB first, ${mb(rssBytes.at(-1)!)} MB last, ${mb(Math.max(...rssBytes))} MB at most`
  return `${workload}: ${requests} requests, ${seen}; ${bytesPerRequest.toFixed(1)} bytes per request; ${faults} faults`
}
