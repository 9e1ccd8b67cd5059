/** What guards look at in a request: its format says it for chat (formats/<format>/guarded-texts.ts). */

import type { AiRouteType } from '#backends/llm/config/snapshot.ts'
import type { ClientFormat } from '#backends/llm/conversation.ts'
import { requestReach } from '#backends/llm/formats/guarded-texts.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { Reach } from '#engine/kit/scan/body.ts'

/** Of an operation that is no chat, where a format has it; null: its fields are unknown. */
const OTHERS: { readonly [type in AiRouteType]?: { readonly [format in ClientFormat]?: Reach } | null } = {
  Passthrough: null,
  Realtime: null,
  Models: null,
  AnthropicTokenCount: { messages: FORMATS.messages.requestTexts },
  GeminiTokenCount: {
    gemini: below(FORMATS.gemini.requestTexts, ['generateContentRequest', 'generate_content_request'])
  },
  Embeddings: {
    completions: requestReach(['input', 'messages', 'inputs'], []),
    gemini: requestReach(['content', 'title', 'requests'], [])
  }
}

/** The same there, and below the fields `names`. */
function below({ texts, declared, hasNames, isRequest }: Reach, names: readonly string[]): Reach {
  const both = (paths: readonly string[]) =>
    ['', ...names.map((name) => `${name}.`)].flatMap((at) => paths.map((path) => at + path))
  return { texts: both(texts), declared: both(declared), hasNames, isRequest }
}

/** 'nothing': there is nothing in it; 'unknown': guards would see nothing of it. */
export function reachOf(type: AiRouteType, client: ClientFormat): Reach | 'nothing' | 'unknown' {
  const other = OTHERS[type]
  if (other === undefined) return FORMATS[client].requestTexts
  if (type === 'Models') return 'nothing'
  return other?.[client] ?? 'unknown'
}
