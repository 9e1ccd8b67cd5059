/** Responses that the gateway makes itself: what an error code says, and the message that carries it. */
import { endAttemptHeaders } from '#engine/contract/attempt-headers.ts'
import { replyBytes } from '#engine/contract/body.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import { BODY_LENGTH, BODY_NONE, type Exchange, type LocalReply, STEP_SENDING } from '#engine/contract/exchange.ts'
import { refusalMessage, refusalStatus } from '#engine/contract/refuse.ts'
import { REPLACEMENT } from '#engine/contract/replace-answer.ts'
import { requestIdField } from '#engine/contract/request-id.ts'
import { httpDate } from '#engine/http/date.ts'
import { GRPC_DEADLINE_EXCEEDED, grpcMessage, grpcStatusOf, isGrpc, readGrpcStatus } from '#engine/http/grpc.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { STILL } from '#engine/socket/memory.ts'
import { cutResponse } from './body-processors.ts'

/** The reply that `code` leads to. */
export function replyFor(ex: Exchange, code: ErrorCode): LocalReply {
  const { message, code: known } = refusalMessage(ex, code)
  const status = refusalStatus(ex, code)
  const { refusalHeaders: headers } = ex
  const dialect = ex.dialect ?? ex.route?.dialect?.(ex, true) ?? ex.listener?.dialect?.(ex, false) ?? null
  if (dialect === null) {
    const all = [...(headers ?? []), ...requestIdField(ex)]
    return { status, body: `${message}\n`, contentType: null, headers: all }
  }
  const rendered = dialect(status, message, known)
  const all = [...(headers ?? []), ...(rendered.headers ?? requestIdField(ex))]
  return { status, body: rendered.body, contentType: 'application/json', headers: all }
}

/** Makes the response of ex out of the reply: status, fields and framing. */
export function buildReply(ex: Exchange, reply: LocalReply): void {
  ex.grpcStatus = -1
  // gRPC needs HTTP/2: a client that tries over HTTP/1 gets an HTTP answer, which it can read.
  if (ex.client.httpVersion === '2' && isGrpc(ex.method, ex.request)) buildGrpcReply(ex, reply)
  else buildHttpReply(ex, reply)
}

/** Longest grpc-message, in characters of the reply: a page for people is no message for programs. */
const MESSAGE_CHARS_MAX = 1024

/**
 * The reply as a gRPC client understands it: "Trailers-Only" (PROTOCOL-HTTP2.md), a head without a body that says
 * what has happened. Fields of the reply, such as Retry-After, stay.
 */
function buildGrpcReply(ex: Exchange, reply: LocalReply): void {
  const { headers, body } = reply
  const block = new HeaderBlock()
  block.receive('Date', httpDate())
  block.receive('Content-Type', 'application/grpc')
  // For a caller with a deadline this is its end; "unavailable" would make it try again.
  const isLate = ex.error === 'REQUEST_TIMEOUT' || ex.error === 'UPSTREAM_TIMEOUT'
  ex.grpcStatus = reply.grpcStatus ?? (isLate ? GRPC_DEADLINE_EXCEEDED : grpcStatusOf(reply.status))
  block.receive('grpc-status', String(ex.grpcStatus))
  const text = body === null ? '' : body.toString('utf8').trim().slice(0, MESSAGE_CHARS_MAX)
  if (text !== '') block.receive('grpc-message', grpcMessage(text))
  if (headers !== null) for (let i = 0; i < headers.length; i += 2) addGrpcField(block, headers[i]!, headers[i + 1]!)
  ex.grpcStatus = readGrpcStatus(block.get('grpc-status'))
  ex.localReply = { ...reply, body: null }
  ex.status = 200
  ex.response = block
  ex.responseBody = BODY_NONE
  ex.responseLength = 0
}

/** What a reply says itself under the names of gRPC goes before what is made of its status: there is one of each. */
function addGrpcField(block: HeaderBlock, name: string, value: string): void {
  const lower = name.toLowerCase()
  if (lower !== 'grpc-status' && lower !== 'grpc-message') block.receive(name, value)
  else if (lower === 'grpc-message' || readGrpcStatus(value) >= 0) block.set(lower, value)
}

function buildHttpReply(ex: Exchange, reply: LocalReply): void {
  const block = new HeaderBlock()
  block.receive('Date', httpDate())
  const length = lengthOf(reply.body)
  if (length > 0) block.receive('Content-Type', reply.contentType ?? 'text/plain; charset=utf-8')
  if (reply.status !== 204 && reply.status !== 304) block.receive('Content-Length', String(length))
  const { headers } = reply
  if (headers !== null) for (let i = 0; i < headers.length; i += 2) block.receive(headers[i]!, headers[i + 1]!)
  ex.status = reply.status
  ex.response = block
  ex.responseBody = length > 0 ? BODY_LENGTH : BODY_NONE
  ex.responseLength = length
}

function lengthOf(body: LocalReply['body']): number {
  if (body === null) return 0
  if (typeof body === 'string' || Buffer.isBuffer(body)) return Buffer.byteLength(body)
  let length = 0
  for (const piece of body) length += piece.length
  return length
}

/** Sends the body of the gateway's own reply, or what has been made of it. */
export function sendReply(ex: Exchange): void {
  const reply = ex.localReply!
  if (ex.responseBytes === null && Array.isArray(reply.body)) {
    for (const piece of reply.body as readonly Buffer[]) ex.client.sendBody(ex, piece, 0, piece.length, STILL)
    return
  }
  const bytes = ex.responseBytes ?? replyBytes(reply)
  if (bytes.length > 0) ex.client.sendBody(ex, bytes, 0, bytes.length, null)
}

/** What `ex` waits for or holds of its backend goes: the gateway answers itself. */
export function dropServer(ex: Exchange): void {
  if (ex.slots !== null) endAttemptHeaders(ex)
  if (ex.step < STEP_SENDING) cutResponse(ex)
  const { server, pending } = ex
  ex.server = null
  ex.pending = null
  ex.heldRequest = null
  ex.heldResponse = null
  ex.requestCollector = null
  ex.responseCollector = null
  ex.answerHook = null
  // What was collected of the backend's answer is not the body of the gateway's own.
  ex.responseBytes = null
  ex.responsePrefix = null
  server?.abort()
  pending?.abort()
}

/** The answer that a response hook wants instead of the one at hand (contract/replace-answer.ts). */
export function takeReplacement(ex: Exchange): void {
  const replacement = REPLACEMENT.get(ex)
  if (replacement === null) return
  REPLACEMENT.set(ex, null)
  const { code, reply } = replacement
  if (code !== null) ex.error = code
  dropServer(ex)
  ex.localReply = reply ?? replyFor(ex, code ?? 'INTERNAL')
  buildReply(ex, ex.localReply)
}
