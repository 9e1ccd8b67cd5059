/** Guards over a body that is there: one after the other, each over what the one before has left. */
import type { FormatName } from '#backends/llm/conversation.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { AiGuard, AiRejection } from '#engine/ir/snapshot.ts'
import { type Message, NOTHING, runScanJob, SCAN_JOB, type ScanJob, type ScanResult } from '#engine/kit/scan/job.ts'
import { askModeration } from './moderation.ts'
import { type Call, GuardDown } from './remote.ts'
import { askWebhook } from './webhook.ts'

/** Where texts are in what a client asks. */
export const ASKED: { readonly [format in FormatName]: readonly string[] } = {
  completions: ['messages', 'prediction'],
  messages: ['system', 'messages'],
  responses: ['instructions', 'input', 'prompt'],
  gemini: ['systemInstruction', 'system_instruction', 'contents'],
  converse: ['system', 'messages']
}

/** And in what a provider answers. */
export const ANSWERED: { readonly [format in FormatName]: readonly string[] } = {
  completions: ['choices'],
  messages: ['content'],
  responses: ['output'],
  gemini: ['candidates'],
  converse: ['output']
}

/** Bytes: an expression takes up to 0.3 us for each, and an event loop is not held for 5 ms. */
const INLINE_BYTES_MAX = 16 * 1024

const BROKEN_STATUS = { request: 400, response: 502 } as const

/** What guards have decided. */
export type Outcome =
  | { readonly kind: 'pass'; readonly bytes: Buffer; readonly isChanged: boolean }
  | { readonly kind: 'reject'; readonly reply: AiRejection }

export interface Body {
  readonly bytes: Buffer
  readonly roots: readonly string[]
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
  const job = (step: ScanJob['step']) => scan({ bytes, roots: body.roots, role, step })
  for (const guard of guards) {
    const result =
      guard.kind === 'regex'
        ? await job({ kind: 'search', rules: guard.rules, action: guard.action })
        : await remote(guard, body, job, call)
    if (result === null) return { kind: 'reject', reply: guard.reply }
    if (result === 'down') return { kind: 'reject', reply: DOWN }
    if (guard.kind === 'regex' && guard.action === 'reject' && result.isHit)
      return { kind: 'reject', reply: guard.reply }
    if ('reply' in result) return { kind: 'reject', reply: result.reply }
    if (result.problem !== null)
      return { kind: 'reject', reply: { status: BROKEN_STATUS[body.side], message: result.problem } }
    if (result.bytes === null) continue
    bytes = Buffer.from(result.bytes.buffer, result.bytes.byteOffset, result.bytes.byteLength)
    isChanged = true
  }
  return { kind: 'pass', bytes, isChanged }
}

type Remote = Exclude<AiGuard, { readonly kind: 'regex' }>
type Answer = ScanResult | { readonly reply: AiRejection; readonly isHit: true; readonly bytes: null } | 'down' | null

/** Null: it rejects. */
async function remote(
  guard: Remote,
  { side }: Body,
  job: (step: ScanJob['step']) => Promise<ScanResult>,
  call: Call
): Promise<Answer> {
  const told = await job({ kind: 'tell' })
  if (told.problem !== null) return told
  if (told.messages.length === 0) return NOTHING
  try {
    const said = await judge(guard, side, told.messages, call)
    if (said.kind === 'pass') return NOTHING
    if (said.kind === 'reject') return { reply: said.reply, isHit: true, bytes: null }
    return await job({ kind: 'replace', texts: said.texts })
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
