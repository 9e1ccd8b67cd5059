/** The answer of a client whose request, or whose answer, a guard has rejected. */

import { clientError } from '#backends/llm/answer/vendor-errors.ts'
import type { AiRejection } from '#backends/llm/config/snapshot.ts'
import type { ChatError, FormatName } from '#backends/llm/conversation.ts'
import { idFor } from '#backends/llm/formats/request-id.ts'
import { LATER_AGAIN, replaceResponseBody } from '#engine/contract/body.ts'
import type { Exchange, LocalReply } from '#engine/contract/exchange.ts'
import { hasNoContent } from '#engine/http/status.ts'
import { BUFFERS_FULL, GUARD_DOWN } from './service-call.ts'

/** As events and bodies of errors have it. */
export function rejectionError({ status, message }: AiRejection): ChatError {
  return { status, type: status === 503 ? 'overloaded' : 'filter', message, code: null, param: null }
}

interface Written {
  readonly body: string
  readonly contentType: string
  /** Flat. */
  readonly fields: readonly string[]
}

/** An error of the client's format with the id of the request; below 400 the text alone, which looks like an answer. */
function written(ex: Exchange, client: FormatName, reply: AiRejection): Written {
  const later = reply === BUFFERS_FULL || reply === GUARD_DOWN ? LATER_AGAIN : []
  if (reply.status < 400) return { body: reply.message, contentType: 'text/plain; charset=utf-8', fields: later }
  const { field, id } = idFor(ex, client)
  const body = clientError(ex, client, rejectionError(reply), id)
  return { body: JSON.stringify(body), contentType: 'application/json', fields: [...later, field, id] }
}

/** Instead of an answer. */
export function writeRejection(ex: Exchange, client: FormatName, refused: AiRejection): void {
  const { body, contentType, fields } = written(ex, client, refused)
  ex.error ??= refused === BUFFERS_FULL ? 'BUFFERS_FULL' : 'FORBIDDEN'
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
  const { body, contentType, fields } = written(ex, client, reply)
  return { status: reply.status, body, contentType, headers: fields }
}
