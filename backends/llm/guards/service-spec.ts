/** What services are asked, and what they say, as bytes: made and read where the body is (job.ts). */
import type { AiRejection } from '#backends/llm/config/snapshot.ts'
import type { Message } from '#engine/kit/scan/body.ts'
import { bufferOf, jsonBytes } from '#engine/kit/shared-bytes.ts'
import { moderationQuestion, moderationVerdict } from './moderation.ts'
import { GuardUnavailable, type Side, type Verdict } from './service-call.ts'
import { webhookQuestion, webhookVerdict } from './webhook.ts'

/** Of a guard that is a service, what its questions and answers depend on. No key. */
export type ServiceSpec =
  | { readonly kind: 'webhook'; readonly side: Side; readonly reply: AiRejection }
  | { readonly kind: 'moderation'; readonly model: string; readonly reply: AiRejection }

/** A JSON text. */
export function questionOf(asks: ServiceSpec, messages: readonly Message[]): Buffer {
  const question =
    asks.kind === 'webhook' ? webhookQuestion(asks.side, messages) : moderationQuestion(asks.model, messages)
  return jsonBytes(question)
}

/** `count`: of texts that the service got. Throws GuardUnavailable when `answer` is none to them. */
export function verdictOf(asks: ServiceSpec, answer: Uint8Array, count: number): Verdict {
  const value = parsed(answer)
  const verdict =
    asks.kind === 'webhook' ? webhookVerdict(value, asks.side, asks.reply) : moderationVerdict(value, count, asks.reply)
  if (verdict.kind === 'replace' && verdict.texts.length !== count)
    throw new GuardUnavailable('the guard answers with more or fewer texts')
  return verdict
}

function parsed(answer: Uint8Array): unknown {
  try {
    return JSON.parse(bufferOf(answer).toString())
  } catch (error) {
    throw new GuardUnavailable('the guard answers with no JSON', { cause: error })
  }
}
