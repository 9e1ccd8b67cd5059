/** OpenAI's moderation of texts (API reference, "Create moderation"): what it flags is rejected. */
import type { AiModerationGuard } from '#engine/ir/snapshot.ts'
import type { Message } from '#engine/kit/scan/job.ts'
import { isObject } from '#engine/kit/scan/texts.ts'
import { type Call, GuardDown, post } from './remote.ts'
import type { Verdict } from './whole.ts'

/** Rejects with GuardDown. */
export async function askModeration(
  { origin, path, model, key, timeoutMs, reply }: AiModerationGuard,
  messages: readonly Message[],
  call: Call
): Promise<Verdict> {
  const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` }
  const body = { model, input: messages.map(({ content }) => content) }
  const answer = await post({ url: origin + path, headers, body, timeoutMs }, call)
  const results = isObject(answer) ? answer.results : null
  if (!Array.isArray(results) || results.length !== messages.length)
    throw new GuardDown('the guard has not judged all texts')
  let isFlagged = false
  for (const result of results as readonly unknown[]) {
    if (!isObject(result) || typeof result.flagged !== 'boolean')
      throw new GuardDown('the guard answers with no judgement')
    isFlagged ||= result.flagged
  }
  return isFlagged ? { kind: 'reject', reply } : { kind: 'pass' }
}
