/** The answer of a client whose request, or whose answer, a guard has rejected. */

import type { AiRejection } from '#backends/llm/config/snapshot.ts'
import type { ChatError, FormatName } from '#backends/llm/conversation.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { idFor } from '#backends/llm/formats/request-id.ts'
import { LATER_AGAIN, replaceResponseBody } from '#engine/contract/body.ts'
import type { Exchange, LocalReply } from '#engine/contract/exchange.ts'
import { hasNoContent } from '#engine/http/status.ts'
import { BUFFERS_FULL } from './service-call.ts'

/** As events and bodies of errors have it. */
export function rejectionError({ status, message }: AiRejection): ChatError {
  return { status, type: status === 503 ? 'overloaded' : 'filter', message, code: null, param: null }
}

/** The words of a rejection: an error of the client's format, or the text alone below 400. */
export function rejectionBody(client: FormatName, reply: AiRejection): { body: string; contentType: string } {
  if (reply.status < 400) return { body: reply.message, contentType: 'text/plain; charset=utf-8' }
  return { body: JSON.stringify(FORMATS[client].writeError(rejectionError(reply))), contentType: 'application/json' }
}

/** Fields of a rejection, flat: the id of the request, but none below 400, where it looks like an answer. */
export function rejectionFields(ex: Exchange, client: FormatName, reply: AiRejection): readonly string[] {
  const later = reply === BUFFERS_FULL ? LATER_AGAIN : []
  if (reply.status < 400) return later
  const { field, id } = idFor(ex, client)
  return [...later, field, id]
}

/** Instead of an answer. */
export function writeRejection(ex: Exchange, client: FormatName, refused: AiRejection): void {
  const { body, contentType } = rejectionBody(client, refused)
  ex.error ??= refused === BUFFERS_FULL ? 'BUFFERS_FULL' : 'FORBIDDEN'
  const fields = rejectionFields(ex, client, refused)
  for (let i = 0; i < fields.length; i += 2) ex.response!.set(fields[i]!, fields[i + 1]!)
  // Ahead of the status: some have no body, and what has been rejected must not stay behind one of them.
  const isBare = hasNoContent(refused.status, ex.method)
  replaceResponseBody(ex, Buffer.from(isBare ? '' : body))
  ex.status = refused.status
  if (isBare) for (const name of ['content-length', 'content-type']) ex.response!.remove(name)
  else ex.response!.set('Content-Type', contentType)
}

/** A request that a guard refuses is answered with it. Notes why. */
export function rejectionReply(ex: Exchange, client: FormatName, reply: AiRejection): LocalReply {
  const isCrowded = reply === BUFFERS_FULL
  ex.error = isCrowded ? 'BUFFERS_FULL' : reply.status === 503 ? 'NO_BACKEND' : 'FORBIDDEN'
  return { status: reply.status, ...rejectionBody(client, reply), headers: rejectionFields(ex, client, reply) }
}
