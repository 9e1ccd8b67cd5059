/** OpenAI's moderation of texts (API reference, "Create moderation"): what it flags is rejected. */
import type { AiModerationGuard, AiRejection } from '#backends/llm/config/snapshot.ts'
import type { Message } from '#engine/kit/scan/body.ts'
import { isObject } from '#engine/kit/scan/texts.ts'
import { type GuardCall, GuardUnavailable, type Target, type Verdict } from './service-call.ts'

export function moderationTarget(guard: AiModerationGuard, { services }: GuardCall): Target {
  return { service: services.get(guard)!, path: guard.path, headers: {}, timeoutMs: guard.timeoutMs }
}

/** What it is asked. */
export function moderationQuestion(model: string, messages: readonly Message[]): object {
  return { model, input: messages.map(({ content }) => content) }
}

/** `count`: of texts that it got. Throws GuardUnavailable. */
export function moderationVerdict(answer: unknown, count: number, reply: AiRejection): Verdict {
  const results = isObject(answer) ? answer.results : null
  if (!Array.isArray(results) || results.length !== count)
    throw new GuardUnavailable('the guard has not judged all texts')
  let isFlagged = false
  for (const result of results as readonly unknown[]) {
    if (!isObject(result) || typeof result.flagged !== 'boolean')
      throw new GuardUnavailable('the guard answers with no judgement')
    isFlagged ||= result.flagged
  }
  return isFlagged ? { kind: 'reject', reply } : { kind: 'pass' }
}
