/** A reply that the service makes itself, piece by piece (StreamedImmediateResponse). */
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Answer, AnswerEvents } from '#engine/contract/in-process.ts'
import { httpDate } from '#engine/http/date.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { hasNoContent } from '#engine/http/status.ts'
import type { HeaderMap } from '#engine/proto/generated/envoy/config/core/v3/base.ts'
import type {
  ProcessingResponse,
  StreamedImmediateResponse
} from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import type { Conversation, ReplyListener } from './conversation.ts'
import type { Failed } from './lane.ts'
import { changesOf, type MutationRules, NO_PSEUDO } from './mutation.ts'
import type { Plan } from './plan.ts'
import type { BodyMode } from './schema.ts'

/** It has no content, and yet a framing (RFC 9110 section 15.3.6). */
const RESET_CONTENT = 205

type ReplyPart = StreamedImmediateResponse['response']

interface ReplyHead {
  readonly status: number
  readonly headers: HeaderBlock
  /** Nothing follows. */
  readonly isWhole: boolean
}

/** The head that `part` has to be. `body`: the mode of the request's body. A text says why it is none. */
function replyHead(part: ReplyPart, body: BodyMode, rules: MutationRules): ReplyHead | string {
  if (part?.$case !== 'headersResponse') return 'it streams a reply without a head'
  const { headers, endOfStream } = part.value
  // As in Envoy: the service of another mode owes one answer to each message, and these would be several.
  if (!endOfStream && body !== 'NONE' && body !== 'FULL_DUPLEX_STREAMED')
    return `it streams a reply, which is for bodies of requests in the modes NONE and FULL_DUPLEX_STREAMED: ${body}`
  const fields = settableFields(headers, rules)
  if (typeof fields === 'string') return fields
  const status = statusOf(headers)
  if (status === null) return 'it streams a reply without a status from 200 to 599'
  return { status, headers: fields, isWhole: endOfStream }
}

function statusOf(map: HeaderMap | undefined): number | null {
  const field = map?.headers.find(({ key }) => key === ':status')
  if (field === undefined) return null
  const text = field.value === '' ? Buffer.from(field.rawValue).toString('latin1') : field.value
  return /^[2-5]\d\d$/.test(text) ? Number(text) : null
}

/** Those that a service may set. */
function settableFields(map: HeaderMap | undefined, rules: MutationRules): HeaderBlock | string {
  const setHeaders = (map?.headers ?? [])
    .filter(({ key }) => !key.startsWith(':'))
    .map((header) => ({ header, append: true, appendAction: 0 as const, keepEmptyValue: true }))
  const changes = changesOf({ setHeaders, removeHeaders: [] }, rules, NO_PSEUDO)
  if (typeof changes === 'string') return changes
  const block = new HeaderBlock()
  for (const { name, value } of changes.fields) block.append(name, value)
  return block
}

export interface ReplyOwner {
  /** A message has come. A text says why it cannot be taken. */
  answered(response: ProcessingResponse): string | null
  /** The mode of the request's body, if the service may make the reply: it owes the answer to the request's head. */
  beginsReply(): BodyMode | null
  /** Called before the response hooks see it. */
  replyBegins(): void
  /** All of it has gone out. */
  replyOver(): void
  failed(failed: Failed): void
}

export class StreamedReply implements ReplyListener, AnswerEvents {
  readonly #ex: Exchange
  readonly #plan: Plan
  readonly #conversation: Conversation
  readonly #owner: ReplyOwner
  #answer: Answer | null = null
  /** The client takes more. */
  #hasRoom = true
  #isOver = false

  constructor(ex: Exchange, plan: Plan, conversation: Conversation, owner: ReplyOwner) {
    this.#ex = ex
    this.#plan = plan
    this.#conversation = conversation
    this.#owner = owner
  }

  replyPart(response: ProcessingResponse): boolean {
    const part = response.response?.$case === 'streamedImmediateResponse' ? response.response.value.response : undefined
    const problem =
      this.#owner.answered(response) ?? (this.#answer === null ? this.#begin(response, part) : this.#take(part))
    if (problem !== null) this.#conversation.fail(problem)
    return this.#hasRoom
  }

  #begin(response: ProcessingResponse, part: ReplyPart): string | null {
    const lane = this.#conversation.request
    const body = this.#owner.beginsReply()
    if (body === null || !lane.awaitsNext) return 'it streams a reply to something else than the head of a request'
    const head = replyHead(part, body, this.#plan.rules)
    if (typeof head === 'string') return head
    this.#owner.replyBegins()
    lane.take(response)
    const { status, headers } = head
    const { client, method } = this.#ex
    const isEmpty = head.isWhole || status === RESET_CONTENT || hasNoContent(status, method)
    if (!headers.has('date')) headers.append('Date', httpDate())
    // Over HTTP/1 a message without a length ends with its connection.
    if (isEmpty && client.httpVersion !== '2' && !hasNoContent(status, method)) headers.append('Content-Length', '0')
    this.#answer = this.#plan.bodies.answer(this.#ex, status, headers, !isEmpty, this)
    if (isEmpty) this.#end('')
    return null
  }

  #take(part: ReplyPart): string | null {
    if (part?.$case === 'trailersResponse') {
      const fields = settableFields(part.value, this.#plan.rules)
      if (typeof fields === 'string') return fields
      this.#end(fields.lines())
      return null
    }
    if (part?.$case !== 'bodyResponse') return 'it streams a second head of a reply'
    const { body, endOfStream } = part.value
    if (body.length > 0) this.#hasRoom = this.#answer!.write(body)
    if (endOfStream) this.#end('')
    return null
  }

  #end(trailers: string): void {
    this.#isOver = true
    this.#answer!.end(trailers)
    this.#owner.replyOver()
  }

  replyEnded(how: Failed | null): void {
    if (this.#answer === null || this.#isOver) return
    this.#isOver = true
    this.#owner.failed(how ?? this.#conversation.failure('it ends the stream within a reply'))
  }

  writable(): void {
    this.#hasRoom = true
    this.#conversation.resumeReply()
  }

  gone(): void {
    this.#isOver = true
    this.#conversation.cancel()
  }
}
