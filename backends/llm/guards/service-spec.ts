/** What services are asked, and what they say, as bytes: made and read where the body is (job.ts). */
import type { AiRejection, CloudGuardSpec } from '#backends/llm/config/snapshot.ts'
import type { Message } from '#engine/kit/scan/body.ts'
import { bufferOf, jsonBytes } from '#engine/kit/shared-bytes.ts'
import { cloudQuestions, cloudVerdict } from './cloud.ts'
import { moderationQuestion, moderationVerdict } from './moderation.ts'
import { GuardUnavailable, type Side, type Verdict } from './service-call.ts'
import { webhookQuestion, webhookVerdict } from './webhook.ts'

/** Of a guard that is a service, what its questions and answers depend on. No key. */
export type ServiceSpec =
  | { readonly kind: 'webhook'; readonly side: Side; readonly reply: AiRejection }
  | { readonly kind: 'moderation'; readonly model: string; readonly reply: AiRejection }
  | { readonly kind: 'cloud'; readonly side: Side; readonly asks: CloudGuardSpec; readonly reply: AiRejection }

export interface Question {
  /** Of the service; most have one. */
  readonly part: string
  /** A JSON text. */
  readonly bytes: Uint8Array
}

/** At least one: the first that is answered by anything but a pass decides. */
export function questionsOf(asks: ServiceSpec, messages: readonly Message[]): Question[] {
  if (asks.kind === 'cloud') {
    const all = cloudQuestions(asks.asks, asks.side, messages)
    return all.map(({ part, body }) => ({ part, bytes: jsonBytes(body) }))
  }
  const question =
    asks.kind === 'webhook' ? webhookQuestion(asks.side, messages) : moderationQuestion(asks.model, messages)
  return [{ part: '', bytes: jsonBytes(question) }]
}

/** `count`: of texts that the service got. Throws GuardUnavailable when `answer` is none to them. */
export function verdictOf(asks: ServiceSpec, part: string, answer: Uint8Array, count: number): Verdict {
  const verdict = judged(asks, part, parsed(answer), count)
  if (verdict.kind === 'replace' && verdict.texts.length !== count)
    throw new GuardUnavailable('the guard answers with more or fewer texts')
  return verdict
}

function judged(asks: ServiceSpec, part: string, value: unknown, count: number): Verdict {
  if (asks.kind === 'cloud') return cloudVerdict(asks.asks, part, value, count, asks.reply)
  return asks.kind === 'webhook'
    ? webhookVerdict(value, asks.side, asks.reply)
    : moderationVerdict(value, count, asks.reply)
}

function parsed(answer: Uint8Array): unknown {
  try {
    return JSON.parse(bufferOf(answer).toString())
  } catch (error) {
    throw new GuardUnavailable('the guard answers with no JSON', { cause: error })
  }
}
