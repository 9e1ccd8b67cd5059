/**
 * Requests with a body that is read, and that are no chat: from plain data to plain data, so that a large one can be
 * written in another thread (large/job.ts). Small ones are written here, by the same functions.
 */
import type { FormatName, JsonObject } from '#backends/llm/conversation.ts'
import type { Loss } from '#backends/llm/formats/format.ts'
import { LARGE_BYTES } from '#backends/llm/offload/large-body.ts'
import type { ResolvedProvider } from '#backends/llm/plan/request-plan.ts'
import type { Provider } from '#backends/llm/providers/index.ts'
import { address } from '#backends/llm/request/request.ts'
import { droppedOf } from '#backends/llm/translate/dropped-fields.ts'
import { changesMeaning } from '#backends/llm/translate/tolerance.ts'
import { replaceRequestBody } from '#engine/contract/body.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { bufferOf, jsonBytes } from '#engine/kit/shared-bytes.ts'
import { Count } from './count.ts'
import { Embeddings, embeddingsClient } from './embeddings.ts'
import type { ActiveOperation, Operation, SentOperation } from './operation.ts'

const KINDS = {
  AnthropicTokenCount: { isStrict: false, name: null },
  GeminiTokenCount: { isStrict: false, name: null },
  Embeddings: { isStrict: true, name: 'embeddings' }
} as const

export type BodyOperationType = keyof typeof KINDS

export const isBodyOperation = (type: string): type is BodyOperationType => Object.hasOwn(KINDS, type)

/** As it came. */
export interface OperationSource {
  readonly type: BodyOperationType
  readonly bytes: Buffer
  readonly path: string
  readonly query: string
}

/** What one provider is sent. */
export interface OperationPlan extends Omit<SentOperation, 'lost'> {
  /** Fields that it is not told. */
  readonly lost: readonly string[]
  /** Null: the client's own bytes will do. */
  readonly body: JsonObject | null
  /** Path, and query where the API needs one. */
  readonly target: string
}

/** As CallDraft, printed. */
export interface PrintedOperation extends SentOperation {
  readonly bytes: Uint8Array | null
  readonly target: string
}

/** A request that has been read. */
export interface ReadOperation {
  /** Throws FormatError when this provider cannot be asked. */
  plan(to: ResolvedProvider): OperationPlan
}

/** The format in which the client is told of errors. */
export function operationClient(type: BodyOperationType, path: string): FormatName {
  if (type === 'Embeddings') return embeddingsClient(path)
  return type === 'GeminiTokenCount' ? 'gemini' : 'messages'
}

/** Throws FormatError, whoever is asked. */
export function readOperation(call: OperationSource): ReadOperation {
  if (call.type === 'Embeddings') return new Embeddings(call)
  return new Count(call.type === 'GeminiTokenCount' ? 'gemini' : 'messages', call)
}

/** Throws FormatError; RangeError when it is nested too deeply. */
export function printOperation(read: ReadOperation, to: ResolvedProvider): PrintedOperation {
  const { body, lost, ...rest } = read.plan(to)
  const kinds = lost.map((path): Loss => (changesMeaning('embeddings', path, {}, null) ? 'meaning' : 'harmless'))
  return { ...rest, lost: droppedOf(lost, kinds), bytes: body === null ? null : jsonBytes(body) }
}

/** Makes ex the request that printCall, here or elsewhere, has made of `call`. */
export function applyOperation(
  ex: Exchange,
  call: OperationSource,
  provider: Provider,
  printed: PrintedOperation
): void {
  const { bytes, target, isNative } = printed
  replaceRequestBody(ex, bytes === null ? call.bytes : bufferOf(bytes))
  address(ex, provider, { target, query: isNative ? call.query : '', isNative })
}

/** A request that has been read here. */
class SmallOperation implements ActiveOperation {
  readonly client: FormatName
  readonly isStrict: boolean
  readonly name: string | null
  readonly #call: OperationSource
  readonly #read: ReadOperation

  /** Throws FormatError. */
  constructor(call: OperationSource) {
    this.client = operationClient(call.type, call.path)
    this.isStrict = KINDS[call.type].isStrict
    this.name = KINDS[call.type].name
    this.#call = call
    this.#read = readOperation(call)
  }

  write(ex: Exchange, to: ResolvedProvider): SentOperation {
    const printed = printOperation(this.#read, to)
    applyOperation(ex, this.#call, to.provider, printed)
    return printed
  }
}

/** A request that is not read here. */
export class LargeOperation implements Operation {
  readonly client: FormatName
  readonly isStrict: boolean
  readonly name: string | null
  readonly source: OperationSource

  constructor(call: OperationSource) {
    this.client = operationClient(call.type, call.path)
    this.isStrict = KINDS[call.type].isStrict
    this.name = KINDS[call.type].name
    this.source = call
  }
}

/** Throws FormatError. A large body is not read. */
export function operationFor(call: OperationSource): ActiveOperation | LargeOperation {
  return call.bytes.length <= LARGE_BYTES ? new SmallOperation(call) : new LargeOperation(call)
}
