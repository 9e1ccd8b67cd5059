/** How a client is told that a guard has rejected what it asked, or what it was to get. */
import type { ChatError, FormatName } from '#backends/llm/conversation.ts'
import { FORMATS } from '#backends/llm/matrix.ts'
import type { AiRejection } from '#engine/ir/snapshot.ts'

/** As events and bodies of errors have it. */
export function rejectionError({ status, message }: AiRejection): ChatError {
  return { status, type: status === 503 ? 'overloaded' : 'filter', message, code: null, param: null }
}

/** The words of a rejection: an error of the client's format, or the text alone below 400. */
export function rejectionBody(client: FormatName, reply: AiRejection): { body: string; contentType: string } {
  if (reply.status < 400) return { body: reply.message, contentType: 'text/plain; charset=utf-8' }
  return { body: JSON.stringify(FORMATS[client]!.writeError(rejectionError(reply))), contentType: 'application/json' }
}
