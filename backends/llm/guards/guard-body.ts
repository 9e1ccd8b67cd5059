/** Guards over a body that is there, or a stream that has been kept: one after the other, each over what is left. */

import type { AiGuard, AiRegexGuard, AiRejection } from '#backends/llm/config/snapshot.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { clientKey, type HasClient } from '#engine/contract/client-key.ts'
import { isKeptBack } from '#engine/contract/outbound.ts'
import { bufferOf } from '#engine/kit/shared-bytes.ts'
import { cloudTarget } from './cloud.ts'
import { type GuardJob, PRINTED_TYPE, runGuardJob, type Shape, type StepResult } from './job.ts'
import { GUARD_JOB } from './job-name.ts'
import { moderationTarget } from './moderation.ts'
import {
  BUFFERS_FULL,
  GUARD_DOWN,
  GuardBuffersFull,
  type GuardCall,
  GuardUnavailable,
  post,
  type Side,
  type Target
} from './service-call.ts'
import { type Question, type ServiceSpec, verdictOf } from './service-spec.ts'
import { webhookTarget } from './webhook.ts'

/** Bytes: an expression takes up to 0.3 us for each, and an event loop is not held for 5 ms. */
export const INLINE_BYTES_MAX = 16 * 1024

const BROKEN_STATUS = { request: 400, response: 502 } as const

/** What guards have decided. */
export type Outcome =
  | { readonly kind: 'pass'; readonly bytes: Buffer; readonly isChanged: boolean; readonly acted: Acted }
  | Rejected
  /** It is no longer wanted. */
  | { readonly kind: 'over' }

/** Which guards have changed it, and which may be left out and were. */
export type Acted = readonly { readonly guard: number; readonly action: 'mask' | 'skipped' }[]

export interface Rejected {
  readonly kind: 'reject'
  /** Ahead of it. */
  readonly acted: Acted
  readonly reply: AiRejection
  /** Which guard, and which rule of it (rulesOf); -1: none by itself. */
  readonly guard: number
  readonly rule: number
  /** Why a service has not judged. */
  readonly failure?: string
}

export interface Body {
  readonly bytes: Buffer
  readonly shape: Shape
  readonly side: Side
}

export type Run = (job: GuardJob) => Promise<StepResult>

/** Small bodies are looked at here and big ones in another thread, in the turn of the client of `ex`. */
export function runIn({ offload }: Pick<BackendContext, 'offload'>, ex: HasClient): Run {
  return async (job) => {
    const length = job.bytes.length + (job.step.kind === 'answer' ? job.step.answer.length : 0)
    return length <= INLINE_BYTES_MAX
      ? runGuardJob(job)
      : ((await offload.run(GUARD_JOB, job, clientKey(ex))) as StepResult)
  }
}

/** A stream that passes has been printed anew. Rejects as runGuardJob throws, or when too much waits. */
export async function guardBody(guards: readonly AiGuard[], body: Body, run: Run, call: GuardCall): Promise<Outcome> {
  let { bytes, shape } = body
  let isChanged = false
  const acted: Acted[number][] = []
  for (const step of stepsOf(guards, shape)) {
    const judged = Array.isArray(step)
      ? await run({ bytes, shape, step: { kind: 'search', guards: step } })
      : await remote(step, { bytes, shape, side: body.side }, run, call)
    if (call.signal.aborted) return { kind: 'over' }
    if (judged.kind === 'down') {
      const guard = Array.isArray(step) ? -1 : guards.indexOf(step)
      return { kind: 'reject', acted, reply: GUARD_DOWN, guard, rule: -1, failure: judged.why }
    }
    if (judged.kind === 'reject') {
      const { reply, guard = 0, rule = -1 } = judged
      const by = Array.isArray(step) ? step[guard]! : step
      // Buffers that are full are nobody's verdict.
      return { kind: 'reject', acted, reply, guard: reply === BUFFERS_FULL ? -1 : guards.indexOf(by), rule }
    }
    if (judged.kind === 'problem') {
      const reply = { status: BROKEN_STATUS[body.side], message: judged.message }
      return { kind: 'reject', acted, reply, guard: -1, rule: -1 }
    }
    if (judged.kind === 'pass' && judged.isUnjudged && !Array.isArray(step))
      acted.push({ guard: guards.indexOf(step), action: 'skipped' })
    if (judged.kind !== 'changed') continue
    const changed = Array.isArray(step) ? (judged.by ?? []).map((i) => step[i]!) : [step]
    for (const guard of changed) acted.push({ guard: guards.indexOf(guard), action: 'mask' })
    bytes = bufferOf(judged.bytes)
    isChanged = true
    if (shape.kind === 'events') shape = { ...shape, contentType: PRINTED_TYPE }
  }
  return { kind: 'pass', bytes, isChanged, acted }
}

/** Rules that follow one another are one step: a body is read and written once for all of them. */
function stepsOf(guards: readonly AiGuard[], { kind }: Shape): (Remote | AiRegexGuard[])[] {
  // Parts of a stream that guards do not read (comments, ids) go no further, also where a service judges first.
  const steps: (Remote | AiRegexGuard[])[] = kind === 'json' || kind === 'text' ? [] : [[]]
  for (const guard of guards) {
    const last = steps.at(-1)
    if (guard.kind !== 'regex') steps.push(guard)
    else if (Array.isArray(last)) last.push(guard)
    else steps.push([guard])
  }
  return steps
}

type Remote = Exclude<AiGuard, { readonly kind: 'regex' }>

async function remote(guard: Remote, body: Body, run: Run, call: GuardCall): Promise<StepResult> {
  const asks = asksOf(guard, body.side)
  const step = await run({ bytes: body.bytes, shape: body.shape, step: { kind: 'ask', asks } })
  if (step.kind !== 'questions' || call.signal.aborted) return step
  let isUnjudged = false
  for (const question of step.questions) {
    const judged = await answered(guard, { ...question, count: step.count }, body, run, call)
    const isSkipped = judged.kind === 'down' && guard.failOpen
    isUnjudged ||= isSkipped
    if (isSkipped) continue
    // One that changes texts is asked once, about all of them.
    if (judged.kind !== 'pass' || call.signal.aborted) return judged
  }
  return isUnjudged ? { kind: 'pass', isUnjudged } : { kind: 'pass' }
}

async function answered(
  guard: Remote,
  { part, bytes: question, count }: Question & { readonly count: number },
  { bytes, shape, side }: Body,
  run: Run,
  call: GuardCall
): Promise<StepResult> {
  const asks = asksOf(guard, side)
  const target = targetOf(guard, side, part, call)
  if (isKeptBack(`POST ${'url' in target ? target.url : `${target.service.name} ${target.path}`}`))
    return { kind: 'pass' }
  try {
    const answer = await post(target, bufferOf(question), call)
    if (call.signal.aborted) return { kind: 'pass' }
    if (answer.length <= INLINE_BYTES_MAX) {
      // What needs no look at the body needs no other thread.
      const verdict = verdictOf(asks, part, answer, count)
      if (verdict.kind !== 'replace') return verdict
    }
    return await run({ bytes, shape, step: { kind: 'answer', asks, part, answer, count } })
  } catch (error) {
    if (error instanceof GuardUnavailable) return { kind: 'down', why: error.message }
    if (error instanceof GuardBuffersFull) return { kind: 'reject', reply: BUFFERS_FULL }
    throw error
  }
}

function targetOf(guard: Remote, side: Side, part: string, call: GuardCall): Target {
  if (guard.kind === 'cloud') return cloudTarget(guard, side, part, call)
  return guard.kind === 'webhook' ? webhookTarget(guard, side, call) : moderationTarget(guard, call)
}

function asksOf(guard: Remote, side: Side): ServiceSpec {
  const { kind, reply } = guard
  if (kind === 'moderation') return { kind, model: guard.model, reply }
  return kind === 'webhook' ? { kind, side, reply } : { kind, side, asks: guard.asks, reply }
}
