/**
 * Requests with a body that is read, and that are no chat: from plain data to plain data, so that a large one can be
 * written in another thread (large/job.ts). Small ones are written here, by the same functions.
 */
import type { FormatName, JsonObject } from '#backends/llm/conversation.ts'
import type { Loss } from '#backends/llm/formats/format.ts'
import { LARGE_BYTES } from '#backends/llm/offload/large-body.ts'
import type { Writer } from '#backends/llm/plan/request-plan.ts'
import type { Provider } from '#backends/llm/providers/index.ts'
import { address } from '#backends/llm/request/request.ts'
import { droppedOf } from '#backends/llm/translate/dropped-fields.ts'
import { changesMeaning } from '#backends/llm/translate/tolerance.ts'
import { replaceRequestBody } from '#engine/contract/body.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { bufferOf, jsonBytes } from '#engine/kit/shared-bytes.ts'
import { Count } from './count.ts'
import { Embeddings, embeddingsClient } from './embeddings.ts'
import type { Asking, Operation, Sent } from './operation.ts'

const KINDS = {
  AnthropicTokenCount: { isStrict: false, name: null },
  GeminiTokenCount: { isStrict: false, name: null },
  Embeddings: { isStrict: true, name: 'embeddings' }
} as const

export type CallType = keyof typeof KINDS

export const isCall = (type: string): type is CallType => Object.hasOwn(KINDS, type)

/** As it came. */
export interface Call {
  readonly type: CallType
  readonly bytes: Buffer
  readonly path: string
  readonly query: string
}

/** What one provider is sent. */
export interface CallDraft extends Omit<Sent, 'lost'> {
  /** Fields that it is not told. */
  readonly lost: readonly string[]
  /** Null: the client's own bytes will do. */
  readonly body: JsonObject | null
  /** Path, and query where the API needs one. */
  readonly target: string
}

/** As CallDraft, printed. */
export interface PrintedCall extends Sent {
  readonly bytes: Uint8Array | null
  readonly target: string
}

/** A request that has been read. */
export interface ReadCall {
  /** Throws FormatError when this provider cannot be asked. */
  draft(to: Writer): CallDraft
}

/** The format in which the client is told of errors. */
export function callClient(type: CallType, path: string): FormatName {
  if (type === 'Embeddings') return embeddingsClient(path)
  return type === 'GeminiTokenCount' ? 'gemini' : 'messages'
}

/** Throws FormatError, whoever is asked. */
export function readCall(call: Call): ReadCall {
  if (call.type === 'Embeddings') return new Embeddings(call)
  return new Count(call.type === 'GeminiTokenCount' ? 'gemini' : 'messages', call)
}

/** Throws FormatError; RangeError when it is nested too deeply. */
export function printCall(read: ReadCall, to: Writer): PrintedCall {
  const { body, lost, ...rest } = read.draft(to)
  const kinds = lost.map((path): Loss => (changesMeaning('embeddings', path, {}, null) ? 'meaning' : 'harmless'))
  return { ...rest, lost: droppedOf(lost, kinds), bytes: body === null ? null : jsonBytes(body) }
}

/** Makes ex the request that printCall, here or elsewhere, has made of `call`. */
export function sendCall(ex: Exchange, call: Call, provider: Provider, printed: PrintedCall): void {
  const { bytes, target, isNative } = printed
  replaceRequestBody(ex, bytes === null ? call.bytes : bufferOf(bytes))
  address(ex, provider, { target, query: isNative ? call.query : '', isNative })
}

/** A request that has been read here. */
class SmallCall implements Asking {
  readonly client: FormatName
  readonly isStrict: boolean
  readonly name: string | null
  readonly #call: Call
  readonly #read: ReadCall

  /** Throws FormatError. */
  constructor(call: Call) {
    this.client = callClient(call.type, call.path)
    this.isStrict = KINDS[call.type].isStrict
    this.name = KINDS[call.type].name
    this.#call = call
    this.#read = readCall(call)
  }

  write(ex: Exchange, to: Writer): Sent {
    const printed = printCall(this.#read, to)
    sendCall(ex, this.#call, to.provider, printed)
    return printed
  }
}

/** A request that is not read here. */
export class LargeCall implements Operation {
  readonly client: FormatName
  readonly isStrict: boolean
  readonly name: string | null
  readonly call: Call

  constructor(call: Call) {
    this.client = callClient(call.type, call.path)
    this.isStrict = KINDS[call.type].isStrict
    this.name = KINDS[call.type].name
    this.call = call
  }
}

/** Throws FormatError. A large body is not read. */
export function callIn(call: Call): Asking | LargeCall {
  return call.bytes.length <= LARGE_BYTES ? new SmallCall(call) : new LargeCall(call)
}
