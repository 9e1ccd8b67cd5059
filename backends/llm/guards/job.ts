/**
 * One step of the guards over a body that is there, or over a stream that has been kept: it is searched, or a service
 * is asked. Plain data in and out: a large body goes to another thread (guard-body.ts), a small one stays here.
 */

import type { AiRegexGuard, AiRejection } from '#backends/llm/config/snapshot.ts'
import type { FormatName } from '#backends/llm/conversation.ts'
import { isJson } from '#backends/llm/formats/fields.ts'
import { FormatError, type WireEvent } from '#backends/llm/formats/format.ts'
import { framingOf } from '#backends/llm/stream/framing.ts'
import { frame } from '#backends/llm/stream/translating-tap.ts'
import { type Reach, type ScanResult, scanBody } from '#engine/kit/scan/body.ts'
import { maskText, rulesOf } from '#engine/kit/scan/rules.ts'
import { maskJsonText } from '#engine/kit/scan/stream-json.ts'
import { bufferOf, textBytes } from '#engine/kit/shared-bytes.ts'
import { CollectedTexts, eventsOf, itemsOf, searched } from './collected-stream.ts'
import { GuardUnavailable } from './service-call.ts'
import { type Question, questionsOf, type ServiceSpec, verdictOf } from './service-spec.ts'

/** What bytes are. */
export type Shape =
  | {
      readonly kind: 'json'
      readonly reach: Reach
      /** Of who says so nowhere. */
      readonly role: string
    }
  /** A stream, framed as its content type says. */
  | { readonly kind: 'events'; readonly format: FormatName; readonly contentType: string }
  /** Gemini without alt=sse: the events of a stream are the items of a list. */
  | { readonly kind: 'list'; readonly format: FormatName }
  /** An error of a provider: JSON of any form, or text. Nothing in it is known to be none of a text. */
  | { readonly kind: 'text' }

/** As what a stream goes on from its first step: server-sent events; a list stays one. */
export const PRINTED_TYPE = 'text/event-stream'

export type Step =
  /** One after the other, each over what the one before has left. A stream is always printed anew. */
  | { readonly kind: 'search'; readonly guards: readonly AiRegexGuard[] }
  | { readonly kind: 'ask'; readonly asks: ServiceSpec }
  /** `part`: of the question; `count`: of its texts. */
  | {
      readonly kind: 'answer'
      readonly asks: ServiceSpec
      readonly part: string
      readonly answer: Uint8Array
      readonly count: number
    }

export interface GuardJob {
  readonly bytes: Uint8Array
  readonly shape: Shape
  readonly step: Step
}

export type StepResult =
  /** `isUnjudged`: nobody has looked at it, and it may go on nevertheless. */
  | { readonly kind: 'pass'; readonly isUnjudged?: true }
  /** `by`: which of those of a search have changed it; absent: a service has. */
  | { readonly kind: 'changed'; readonly bytes: Uint8Array; readonly by?: readonly number[] }
  /** `guard`, `rule`: which of those of a search, and which rule of it; absent: a service has rejected it. */
  | { readonly kind: 'reject'; readonly reply: AiRejection; readonly guard?: number; readonly rule?: number }
  /** Nothing can be said of the body. */
  | { readonly kind: 'problem'; readonly message: string }
  | { readonly kind: 'questions'; readonly questions: readonly Question[]; readonly count: number }
  /** An answer that does not fit is one that has not come. */
  | { readonly kind: 'down'; readonly why: string }

const PASS: StepResult = { kind: 'pass' }

/**
 * Throws SyntaxError when the body is no JSON, RangeError when it is nested too deeply, SseTooLong when an event is too
 * long.
 */
export function runGuardJob({ bytes, shape, step }: GuardJob): StepResult {
  try {
    if (step.kind !== 'answer') return work(bytes, shape, step)
    const verdict = verdictOf(step.asks, step.part, step.answer, step.count)
    return verdict.kind === 'replace' ? work(bytes, shape, verdict) : verdict
  } catch (error) {
    if (error instanceof GuardUnavailable) return { kind: 'down', why: error.message }
    // Its class would not come back from another thread.
    if (error instanceof FormatError) return { kind: 'problem', message: error.message }
    throw error
  }
}

type Work = Exclude<Step, { readonly kind: 'answer' }> | { readonly kind: 'replace'; readonly texts: readonly string[] }

function work(bytes: Uint8Array, shape: Shape, todo: Work): StepResult {
  if (shape.kind === 'json') return inBody(bytes, shape, todo)
  return shape.kind === 'text' ? inText(bytes, todo) : inStream(bytes, shape, todo)
}

function inText(bytes: Uint8Array, work: Work): StepResult {
  const text = bufferOf(bytes).toString()
  if (work.kind === 'ask') return questionStep(work.asks, text === '' ? [] : [{ role: 'assistant', content: text }])
  // A reader of JSON would take digits at the beginning of other text for numbers.
  const mask = isJson(text) ? maskJsonText : maskText
  const by: number[] = []
  const searched = (guards: readonly AiRegexGuard[]): string =>
    guards.reduce((left, { rules }, i) => {
      const masked = mask(left, rulesOf(rules))
      if (masked !== left) by.push(i)
      return masked
    }, text)
  const changed = work.kind === 'replace' ? work.texts[0]! : searched(work.guards)
  if (changed === text) return PASS
  if (work.kind === 'replace' && isJson(text) && !isJson(changed))
    throw new GuardUnavailable('the guard answers with an error that is no JSON')
  return { kind: 'changed', bytes: textBytes(changed), ...(work.kind === 'search' ? { by } : {}) }
}

function inBody(bytes: Uint8Array, { reach, role }: Shape & { readonly kind: 'json' }, work: Work): StepResult {
  const scan = { bytes, reach, role }
  if (work.kind === 'search') {
    const searches = work.guards.map(({ rules, action }) => ({ rules, action }))
    const result = scanBody({ ...scan, step: { kind: 'search', searches } })
    const { rejectedBy: guard, rejectingRule: rule } = result
    return guard < 0 ? outcomeOf(result) : { kind: 'reject', reply: work.guards[guard]!.reply, guard, rule }
  }
  if (work.kind === 'replace') return outcomeOf(replaced({ ...scan, step: work }))
  const scanned = scanBody({ ...scan, step: { kind: 'tell' } })
  return scanned.problem === null ? questionStep(work.asks, scanned.messages) : outcomeOf(scanned)
}

function outcomeOf({ bytes, problem, maskedBy: by }: ScanResult): StepResult {
  if (problem !== null) return { kind: 'problem', message: problem }
  if (bytes === null) return PASS
  return { kind: 'changed', bytes, ...(by.length > 0 ? { by } : {}) }
}

function replaced(scan: Parameters<typeof scanBody>[0]): ScanResult {
  try {
    return scanBody(scan)
  } catch (error) {
    if (error instanceof SyntaxError) throw new GuardUnavailable('the guard answers with arguments that are no JSON')
    throw error
  }
}

function inStream(
  bytes: Uint8Array,
  shape: Exclude<Shape, { readonly kind: 'json' | 'text' }>,
  work: Work
): StepResult {
  const { format } = shape
  const buffer = bufferOf(bytes)
  const events = shape.kind === 'list' ? itemsOf(buffer) : eventsOf(buffer, framingOf(shape.contentType)!)
  if (work.kind === 'search') {
    const { events: left, by } = searched(format, events, work.guards)
    return { ...printed(shape, left), by }
  }
  const collected = new CollectedTexts(format, events)
  if (work.kind === 'replace') return printed(shape, collected.replaced(work.texts))
  return questionStep(
    work.asks,
    collected.texts.map((content) => ({ role: 'assistant', content }))
  )
}

function printed({ kind }: Shape, events: readonly WireEvent[]) {
  const text = kind === 'list' ? `[${events.map(({ data }) => data).join(',\n')}]` : events.map(frame).join('')
  return { kind: 'changed', bytes: textBytes(text) } as const
}

function questionStep(asks: ServiceSpec, messages: Parameters<typeof questionsOf>[1]): StepResult {
  if (messages.length === 0) return PASS
  return { kind: 'questions', questions: questionsOf(asks, messages), count: messages.length }
}
