/**
 * Calls of guards that are services. Backends of the file are asked as policies ask them. Addresses are asked through
 * Node's own client and its pool of connections, not through the engine's upstream client, which carries exchanges and
 * their bodies as streams (docs/design/017-prompt-guards.md).
 */

import type { AiGuard, AiRejection } from '#backends/llm/config/snapshot.ts'
import { Collector } from '#engine/contract/body.ts'
import { ERRORS } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { whenOver } from '#engine/contract/exchange-signal.ts'
import { hold, letGo } from '#engine/contract/held-bytes.ts'
import type { HttpService } from '#engine/contract/service.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { bufferOf, isShared } from '#engine/kit/shared-bytes.ts'

/** The answer may hold all texts again, and be masked: longer ones are none. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** Of a long question, what is written at once. */
const PIECE_BYTES = 256 * 1024

/** Which body a guard judges. */
export type Side = 'request' | 'response'

/** What a service says of texts. */
export type Verdict =
  | { readonly kind: 'pass' }
  | { readonly kind: 'reject'; readonly reply: AiRejection }
  /** One for each text of the question. */
  | { readonly kind: 'replace'; readonly texts: readonly string[] }

/** Of one exchange. */
export interface GuardCall {
  /** Whose what is asked and answered is, on the account of what is kept. */
  readonly ex: Exchange
  /** As the client sent them: those of the exchange have the key of a provider, once it has been asked. */
  readonly fields: HeaderBlock
  /** Of guards that are asked as services. */
  readonly services: GuardServices
  /** Set off when the client has gone. */
  readonly signal: AbortSignal
}

export type GuardServices = ReadonlyMap<AiGuard, HttpService>

/** The service cannot be reached, is too slow, or its answer is invalid. The message shows nothing of it. */
export class GuardUnavailable extends Error {}

/** There is no room for what it is asked, or answers: no guard has failed, and nothing passes for that. */
export class GuardBuffersFull extends Error {}

/** The message for the client then. */
export const BUFFERS_FULL: AiRejection = { status: ERRORS.BUFFERS_FULL.status, message: ERRORS.BUFFERS_FULL.message }

/** The same of a guard that cannot be asked and has to be. */
export const GUARD_DOWN: AiRejection = { status: 503, message: 'a prompt guard cannot be reached' }

interface TargetUrl {
  readonly url: string
}

interface TargetService {
  readonly service: HttpService
  readonly path: string
  /** With its leading "?"; absent: none. */
  readonly query?: string
}

/** Where a service is asked. */
export type Target = (TargetUrl | TargetService) & {
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
}

/**
 * What is answered to `question`, a JSON text. Both are on the account until then; the answer as long as its exchange
 * keeps anything. Rejects with GuardUnavailable, or GuardBuffersFull.
 */
export async function post(target: Target, question: Buffer, call: GuardCall): Promise<Buffer> {
  const { ex } = call
  if (!hold(ex, question.length)) throw new GuardBuffersFull()
  try {
    return await ('service' in target ? fetchAnswer(target, question, call) : answerTo(target, question, call))
  } finally {
    letGo(ex, question.length)
  }
}

const FRAMING = { 'content-type': 'application/json', accept: 'application/json' }

function fetchAnswer(
  { service, path, query = '', headers, timeoutMs }: Target & TargetService,
  body: Buffer,
  { ex }: GuardCall
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const block = new HeaderBlock()
  for (const [name, value] of Object.entries({ ...headers, ...FRAMING })) block.set(name, value)
  const bounds = { timeoutMs, answerBytesMax: ANSWER_BYTES_MAX, ex }
  service.request({ method: 'POST', path, query, headers: block, body, ...bounds }, (answer) => {
    if (answer.error === 'NO_ROOM') reject(new GuardBuffersFull())
    else if (answer.error !== null)
      reject(new GuardUnavailable(`the guard cannot be asked: ${answer.error}, ${answer.detail}`))
    else if (answer.status !== 200) reject(new GuardUnavailable(`the guard answers with status ${answer.status}`))
    else resolve(answer.body)
  })
  return promise
}

async function answerTo(
  { url, headers, timeoutMs }: Target & TargetUrl,
  question: Buffer,
  { ex, signal }: GuardCall
): Promise<Buffer> {
  const { body, ...framed } = framedBody(question)
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, ...framed.headers, ...FRAMING },
      body,
      duplex: 'half',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      redirect: 'manual'
    })
    if (response.status !== 200) {
      await response.body?.cancel()
      throw new GuardUnavailable(`the guard answers with status ${response.status}`)
    }
    return await bytesOf(response, ex)
  } catch (error) {
    if (error instanceof GuardUnavailable || error instanceof GuardBuffersFull) throw error
    throw new GuardUnavailable('the guard cannot be asked', { cause: error })
  }
}

/** fetch takes shared memory only in pieces, which are written as they are. Their length is sent all the same. */
function framedBody(bytes: Buffer) {
  if (!isShared(bytes)) return { body: bytes, headers: {} }
  return { body: ReadableStream.from(piecesOf(bytes)), headers: { 'content-length': String(bytes.length) } }
}

function* piecesOf(bytes: Buffer): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
}

async function bytesOf({ body, headers }: Response, ex: Exchange): Promise<Buffer> {
  let answer: Buffer | null = Buffer.alloc(0)
  // Of a coded answer it is another length.
  const expected = headers.has('content-encoding') ? 0 : Number(headers.get('content-length'))
  let isCrowded = false
  const collector = new Collector({ max: ANSWER_BYTES_MAX, expected, ex }, null, (bytes, why) => {
    answer = bytes
    isCrowded = bytes === null && why === 'full'
  })
  if (body !== null) {
    for await (const piece of body) {
      collector.take(bufferOf(piece), 0, piece.length)
      if (isCrowded) throw new GuardBuffersFull()
      if (answer === null) throw new GuardUnavailable('the answer of the guard is too long')
    }
  }
  collector.end()
  return answer
}

/** Runs `work` with a signal that is set off when `ex` is over before it is done. */
export async function withAbortSignal<T>(
  ex: Exchange,
  { fields, services }: Pick<GuardCall, 'fields' | 'services'>,
  work: (call: GuardCall) => Promise<T>
): Promise<T> {
  const controller = new AbortController()
  const callOff = whenOver(ex, () => controller.abort())
  try {
    return await work({ ex, fields, services, signal: controller.signal })
  } finally {
    callOff()
  }
}
