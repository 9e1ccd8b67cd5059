/** What guards look at in a request: its format says it for chat (formats/<format>/guarded-texts.ts). */

import type { AiRouteType } from '#backends/llm/config/snapshot.ts'
import type { ClientFormat } from '#backends/llm/conversation.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { isOperation, operationKind } from '#backends/llm/routes/operations.ts'
import type { Reach } from '#engine/kit/scan/body.ts'

/** 'nothing': there is nothing in it; 'unknown': guards would see nothing of it. */
export function reachOf(
  type: AiRouteType,
  client: ClientFormat,
  guardsAnswers: boolean
): Reach | 'nothing' | 'unknown' {
  if (type === 'Passthrough') return 'unknown'
  if (!isOperation(type)) return FORMATS[client].requestTexts
  const { guarded, hidesAnswer } = operationKind(type)
  return guardsAnswers && hidesAnswer === true ? 'unknown' : (guarded(client) ?? 'unknown')
}
