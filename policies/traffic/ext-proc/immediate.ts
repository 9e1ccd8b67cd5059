/** The answer that a service gives in place of all others. */
import { placeOf } from '#engine/contract/detail.ts'
import type { Detail, Exchange, LocalReply } from '#engine/contract/exchange.ts'
import { withRequestIdField } from '#engine/contract/request-id.ts'
import type { ImmediateResponse } from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import { changesOf, flatFields, type MutationRules, NO_PSEUDO } from './mutation.ts'

/** A text says why it is none. */
export function replyOf(
  { status, headers, body, grpcStatus }: ImmediateResponse,
  rules: MutationRules
): LocalReply | string {
  const changes = changesOf(headers, rules, NO_PSEUDO)
  if (typeof changes === 'string') return changes
  const fields = flatFields(changes)
  const at = fields.indexOf('content-type')
  const contentType = at >= 0 && at % 2 === 0 ? fields[at + 1]! : null
  const code: number = status?.code ?? 0
  return {
    // As Envoy: what is no status of an answer is 200.
    status: code >= 200 && code <= 599 ? code : 200,
    body: body.length === 0 ? null : body,
    contentType,
    headers: fields.filter((_, i) => fields[i - (i % 2)] !== 'content-type'),
    grpcStatus: grpcStatus?.status
  }
}

/** What the policy is to blame for, for the log. */
export function because(reason: string): Detail {
  return (ex) => `${placeOf(ex, 'extProc')}: ${reason}`
}

/** The log says whose reply it is, and a client that is refused gets the id of its request. */
export function explained(ex: Exchange, reply: LocalReply): LocalReply {
  // An error that has come before is the reason for the answer that the service replaces.
  if (ex.error === null) ex.errorDetail = because(`the service answers with ${reply.status}`)
  return reply.status < 400 ? reply : { ...reply, headers: withRequestIdField(reply.headers ?? [], ex) }
}
