/** Guards over a body that is there: one after the other, each over what the one before has left. */
import type { BackendContext } from '#engine/contract/backend.ts'
import type { AiGuard, AiRegexGuard, AiRejection } from '#engine/ir/snapshot.ts'
import {
  type Message,
  NOTHING,
  type Reach,
  runScanJob,
  SCAN_JOB,
  type ScanJob,
  type ScanResult
} from '#engine/kit/scan/job.ts'
import { askModeration } from './moderation.ts'
import { type Call, GuardDown } from './remote.ts'
import { askWebhook } from './webhook.ts'

/** Bytes: an expression takes up to 0.3 us for each, and an event loop is not held for 5 ms. */
export const INLINE_BYTES_MAX = 16 * 1024

const BROKEN_STATUS = { request: 400, response: 502 } as const

/** What guards have decided. */
export type Outcome =
  | { readonly kind: 'pass'; readonly bytes: Buffer; readonly isChanged: boolean }
  | { readonly kind: 'reject'; readonly reply: AiRejection }
  /** Nobody waits for it any more. */
  | { readonly kind: 'over' }

export interface Body {
  readonly bytes: Buffer
  readonly reach: Reach
  readonly side: 'request' | 'response'
}

/** Of a guard that cannot be asked and has to be. */
const DOWN: AiRejection = { status: 503, message: 'a prompt guard cannot be reached' }

export type Scan = (job: ScanJob) => Promise<ScanResult>

/** Small bodies are looked at here and big ones in another thread. */
export function scanIn({ offload }: BackendContext): Scan {
  return async (job) =>
    job.bytes.length <= INLINE_BYTES_MAX ? runScanJob(job) : ((await offload.run(SCAN_JOB, job)) as ScanResult)
}

/** Rejects as runScanJob throws. */
export async function guardBody(guards: readonly AiGuard[], body: Body, scan: Scan, call: Call): Promise<Outcome> {
  let { bytes } = body
  let isChanged = false
  const role = body.side === 'request' ? 'user' : 'assistant'
  const job = (step: ScanJob['step']) => scan({ bytes, reach: body.reach, role, step })
  for (const step of stepsOf(guards)) {
    const result = Array.isArray(step)
      ? await job({ kind: 'search', searches: step.map(({ rules, action }) => ({ rules, action })) })
      : await remote(step, body, job, call)
    if (call.signal.aborted) return { kind: 'over' }
    if (result === 'down') return { kind: 'reject', reply: DOWN }
    if ('reply' in result) return { kind: 'reject', reply: result.reply }
    if (Array.isArray(step) && result.rejectedBy >= 0) return { kind: 'reject', reply: step[result.rejectedBy]!.reply }
    if (result.problem !== null)
      return { kind: 'reject', reply: { status: BROKEN_STATUS[body.side], message: result.problem } }
    if (result.bytes === null) continue
    bytes = Buffer.from(result.bytes.buffer, result.bytes.byteOffset, result.bytes.byteLength)
    isChanged = true
  }
  return { kind: 'pass', bytes, isChanged }
}

/** Rules that follow one another are one step: a body is read and written once for all of them. */
function stepsOf(guards: readonly AiGuard[]): (Remote | AiRegexGuard[])[] {
  const steps: (Remote | AiRegexGuard[])[] = []
  for (const guard of guards) {
    const last = steps.at(-1)
    if (guard.kind !== 'regex') steps.push(guard)
    else if (Array.isArray(last)) last.push(guard)
    else steps.push([guard])
  }
  return steps
}

type Remote = Exclude<AiGuard, { readonly kind: 'regex' }>
type Answer = ScanResult | { readonly reply: AiRejection } | 'down'

async function remote(
  guard: Remote,
  { side }: Body,
  job: (step: ScanJob['step']) => Promise<ScanResult>,
  call: Call
): Promise<Answer> {
  const told = await job({ kind: 'tell' })
  if (told.problem !== null) return told
  if (told.messages.length === 0 || call.signal.aborted) return NOTHING
  try {
    const said = await judge(guard, side, told.messages, call)
    if (said.kind === 'pass') return NOTHING
    if (said.kind === 'reject') return { reply: said.reply }
    return call.signal.aborted ? NOTHING : await job({ kind: 'replace', texts: said.texts })
  } catch (error) {
    // An answer that does not fit is one that has not come.
    if (!(error instanceof GuardDown) && !(error instanceof RangeError) && !(error instanceof SyntaxError)) throw error
    return guard.failOpen ? NOTHING : 'down'
  }
}

/** What a service says of texts. */
export type Verdict =
  | { readonly kind: 'pass' }
  | { readonly kind: 'reject'; readonly reply: AiRejection }
  /** One for each that it was told. */
  | { readonly kind: 'replace'; readonly texts: readonly string[] }

/** Rejects with GuardDown. */
export function judge(guard: Remote, side: Body['side'], messages: readonly Message[], call: Call): Promise<Verdict> {
  return guard.kind === 'webhook' ? askWebhook(guard, side, messages, call) : askModeration(guard, messages, call)
}
