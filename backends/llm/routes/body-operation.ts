import type { Loss } from '#backends/llm/formats/format.ts'
import { LARGE_BYTES } from '#backends/llm/offload/threshold.ts'
import type { ResolvedProvider } from '#backends/llm/plan/request-plan.ts'
import type { Provider } from '#backends/llm/providers/provider.ts'
import { isForm } from '#backends/llm/request/multipart.ts'
import { address } from '#backends/llm/request/provider-request.ts'
import { droppedOf } from '#backends/llm/translate/dropped-fields.ts'
import { changesOperation } from '#backends/llm/translate/tolerance.ts'
import { passingForm } from '#backends/llm/uploads/passing-form.ts'
import { replaceRequestBody } from '#engine/contract/body.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { bufferOf, jsonBytes } from '#engine/kit/shared-bytes.ts'
import { LargeOperation } from './large-operation.ts'
import type { ActiveOperation, BodyOperationKind, OperationSource, ReadOperation, SentOperation } from './operation.ts'
import { bodyOperation } from './operations.ts'

/** As OperationPlan, printed. Plain data. */
export interface PrintedOperation extends SentOperation {
  readonly bytes: Uint8Array | null
  readonly contentType: string
  readonly target: string
}

const JSON_TYPE = 'application/json'

/** Throws FormatError. */
export const readOperation = (source: OperationSource): ReadOperation => bodyOperation(source.type).read(source)

/** Throws FormatError; RangeError when it is nested too deeply. */
export function printOperation(
  read: ReadOperation,
  { type, contentType }: Pick<OperationSource, 'type' | 'contentType'>,
  to: ResolvedProvider
): PrintedOperation {
  const { body, lost, ...rest } = read.plan(to)
  const { tolerated } = bodyOperation(type)
  const kinds = lost.map((path): Loss => (changesOperation(tolerated, path) ? 'meaning' : 'harmless'))
  const isJson = body === null ? !isForm(contentType) : !Buffer.isBuffer(body)
  return {
    ...rest,
    lost: droppedOf(lost, kinds),
    bytes: body === null || Buffer.isBuffer(body) ? body : jsonBytes(body),
    contentType: isJson ? JSON_TYPE : contentType
  }
}

/** Makes ex the request that printOperation, here or elsewhere, has made of `source`. */
export function applyOperation(
  ex: Exchange,
  source: OperationSource,
  provider: Provider,
  printed: PrintedOperation
): void {
  const { bytes, target, isNative, contentType } = printed
  const body = bytes === null ? source.bytes : bufferOf(bytes)
  if (source.passing == null) replaceRequestBody(ex, body)
  else source.passing.send(body)
  address(ex, provider, { target, query: isNative ? source.query : '', isNative, contentType })
}

/** Throws FormatError. `bytes`: a large body is not parsed here. */
export function operationFor(kind: BodyOperationKind, ex: Exchange, bytes: Buffer): ActiveOperation | LargeOperation {
  const { type, isStrict, name, listen, streamTap } = kind
  const contentType = ex.request.get('content-type') ?? ''
  const passing = passingForm(ex)
  const source = { type, bytes: passing?.form.bytes ?? bytes, contentType, path: ex.path, query: ex.query, passing }
  const client = kind.client(ex)
  if (passing === null && bytes.length > LARGE_BYTES) return new LargeOperation(client, kind, source)
  const read = kind.read(source)
  const write = (ex: Exchange, to: ResolvedProvider): SentOperation => {
    const printed = printOperation(read, source, to)
    applyOperation(ex, source, to.provider, printed)
    return printed
  }
  return { client, isStrict, name, listen, streamTap, write }
}
