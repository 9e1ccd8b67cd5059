/**
 * Requests with a body that is read, and that are no chat: from plain data to plain data, so that a large one can be
 * written in another thread (offload/job.ts). Small ones are written here, by the same functions.
 */
import type { ClientFormat } from '#backends/llm/conversation.ts'
import type { Loss } from '#backends/llm/formats/format.ts'
import { LARGE_BYTES } from '#backends/llm/offload/threshold.ts'
import type { ResolvedProvider } from '#backends/llm/plan/request-plan.ts'
import type { Provider } from '#backends/llm/providers/provider.ts'
import { address } from '#backends/llm/request/provider-request.ts'
import { droppedOf } from '#backends/llm/translate/dropped-fields.ts'
import { changesMeaning } from '#backends/llm/translate/tolerance.ts'
import { replaceRequestBody } from '#engine/contract/body.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { bufferOf, jsonBytes } from '#engine/kit/shared-bytes.ts'
import { Count } from './count.ts'
import { Embeddings, embeddingsClient } from './embeddings.ts'
import type {
  ActiveOperation,
  BodyOperationType,
  Operation,
  OperationSource,
  ReadOperation,
  SentOperation
} from './operation.ts'

const KINDS = {
  AnthropicTokenCount: { isStrict: false, name: null },
  GeminiTokenCount: { isStrict: false, name: null },
  Embeddings: { isStrict: true, name: 'embeddings' }
} as const satisfies Record<BodyOperationType, Pick<Operation, 'isStrict' | 'name'>>

export const isBodyOperation = (type: string): type is BodyOperationType => Object.hasOwn(KINDS, type)

/** As OperationPlan, printed. Plain data. */
export interface PrintedOperation extends SentOperation {
  readonly bytes: Uint8Array | null
  readonly target: string
}

/** The format of errors for the client. */
export function operationClient(type: BodyOperationType, path: string): ClientFormat {
  if (type === 'Embeddings') return embeddingsClient(path)
  return type === 'GeminiTokenCount' ? 'gemini' : 'messages'
}

/** Throws FormatError. */
export function readOperation(source: OperationSource): ReadOperation {
  if (source.type === 'Embeddings') return new Embeddings(source)
  return new Count(source.type === 'GeminiTokenCount' ? 'gemini' : 'messages', source)
}

/** Throws FormatError; RangeError when it is nested too deeply. */
export function printOperation(read: ReadOperation, to: ResolvedProvider): PrintedOperation {
  const { body, lost, ...rest } = read.plan(to)
  const kinds = lost.map((path): Loss => (changesMeaning('embeddings', path, {}, null) ? 'meaning' : 'harmless'))
  return { ...rest, lost: droppedOf(lost, kinds), bytes: body === null ? null : jsonBytes(body) }
}

/** Makes ex the request that printOperation, here or elsewhere, has made of `source`. */
export function applyOperation(
  ex: Exchange,
  source: OperationSource,
  provider: Provider,
  printed: PrintedOperation
): void {
  const { bytes, target, isNative } = printed
  replaceRequestBody(ex, bytes === null ? source.bytes : bufferOf(bytes))
  address(ex, provider, { target, query: isNative ? source.query : '', isNative })
}

const factsOf = ({ type, path }: OperationSource) => ({ client: operationClient(type, path), ...KINDS[type] })

/** An operation whose body is parsed in the pool. */
export class LargeOperation implements Operation {
  readonly client: ClientFormat
  readonly isStrict: boolean
  readonly name: string | null
  readonly source: OperationSource

  constructor(source: OperationSource) {
    const { client, isStrict, name } = factsOf(source)
    this.client = client
    this.isStrict = isStrict
    this.name = name
    this.source = source
  }
}

/** A large body is not parsed here. Throws FormatError. */
export function operationFor(source: OperationSource): ActiveOperation | LargeOperation {
  if (source.bytes.length > LARGE_BYTES) return new LargeOperation(source)
  const read = readOperation(source)
  const write = (ex: Exchange, to: ResolvedProvider): SentOperation => {
    const printed = printOperation(read, to)
    applyOperation(ex, source, to.provider, printed)
    return printed
  }
  return { ...factsOf(source), write }
}
