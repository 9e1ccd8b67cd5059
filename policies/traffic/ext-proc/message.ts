/** Parts of what the service is told, and of what it answers, in the messages of Envoy. */
import { toJson, type Value } from '#engine/cel/index.ts'
import type { Evaluation } from '#engine/cel/offload.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { HeaderValue } from '#engine/proto/generated/envoy/config/core/v3/base.ts'
import type {
  CommonResponse,
  ProcessingRequest,
  ProcessingResponse
} from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import type { Side } from './side.ts'

export type NamedValues = readonly { readonly name: string; readonly value: Evaluation }[]

/** The part of one message that says what it is about. */
export type Part = NonNullable<ProcessingRequest['request']>

/** Octets of a field need not be UTF-8: they are bytes, as Envoy sends them. */
function field(key: string, value: string): HeaderValue {
  return { key: key.toLowerCase(), value: '', rawValue: Buffer.from(value, 'latin1') }
}

export function headersOf(ex: Exchange, side: Side): Part {
  const headers: HeaderValue[] = []
  const start = side.start(ex)
  for (let i = 0; i < start.length; i += 2) headers.push(field(start[i]!, start[i + 1]!))
  side.block(ex).forEach((name, value) => {
    headers.push(field(name, value))
  })
  const value = { headers: { headers }, attributes: {}, endOfStream: !side.hasBody(ex) }
  return { $case: side.headersCase, value }
}

export function bodyOf(side: Side, body: Buffer, endOfStream: boolean): Part {
  const value = { body, endOfStream, endOfStreamWithoutMessage: false, grpcMessageCompressed: false }
  return { $case: side.bodyCase, value }
}

export function trailersOf(side: Side, lines: string): Part {
  const headers = lines
    .split('\r\n')
    .filter((line) => line.includes(':'))
    .map((line) => field(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()))
  return { $case: side.trailersCase, value: { trailers: { headers } } }
}

/** By name. An expression that fails leaves its entry out. */
export function plainOf(ex: Exchange, values: NamedValues, failed: () => void): Record<string, unknown> {
  const plain: Record<string, unknown> = {}
  for (const { name, value } of values) {
    const json = toJson(value.program.run(ex) as Value)
    if (typeof json !== 'string') failed()
    // Values of expressions are views of the exchange; this is what they say, once.
    else plain[name] = JSON.parse(json) as unknown
  }
  return plain
}

/** What an answer says of headers or of a body. */
export function commonOf({ response }: ProcessingResponse): CommonResponse | undefined {
  switch (response?.$case) {
    case 'requestHeaders':
    case 'responseHeaders':
    case 'requestBody':
    case 'responseBody':
      return response.value.response
    default:
      return undefined
  }
}
