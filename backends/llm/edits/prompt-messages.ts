/** Messages that every conversation gets, in the client's format (docs/specification.md#policies-for-models). */
import type { AiPrompt } from '#backends/llm/config/snapshot.ts'
import type { ClientFormat, FormatName, JsonObject } from '#backends/llm/conversation.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'

/** `body` with the messages of `prompt` around its own. Throws FormatError. */
export function enrich(
  client: ClientFormat,
  providerFormat: FormatName,
  body: JsonObject,
  prompt: AiPrompt
): JsonObject {
  // Instructions behind a conversation: only OpenAI's formats have them there.
  const hasEnd = providerFormat === 'completions' || providerFormat === 'responses'
  return FORMATS[client].withPrompt(body, prompt, hasEnd)
}
