/** What the service is told, in the messages of Envoy. */
import { toJson, type Value } from '#engine/cel/index.ts'
import type { Evaluation } from '#engine/cel/offload.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { HeaderValue, Metadata } from '#engine/proto/generated/envoy/config/core/v3/base.ts'
import type {
  CommonResponse,
  ProcessingRequest,
  ProcessingResponse,
  ProtocolConfiguration
} from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import type { BodyMode, ProcessingModes } from './schema.ts'
import type { Side } from './side.ts'

/** Under which Envoy sends attributes. */
const ATTRIBUTES = 'envoy.filters.http.ext_proc'

export type NamedValues = readonly { readonly name: string; readonly value: Evaluation }[]

/** The part of one message that says what it is about. */
export type Part = NonNullable<ProcessingRequest['request']>

const BODY_MODES: Readonly<Record<BodyMode, ProtocolConfiguration['requestBodyMode']>> = {
  NONE: 0,
  STREAMED: 1,
  BUFFERED: 2,
  BUFFERED_PARTIAL: 3,
  FULL_DUPLEX_STREAMED: 4
}

/** Told once, with the first message. */
export function protocolOf({ request, response }: ProcessingModes): ProtocolConfiguration {
  return {
    requestBodyMode: BODY_MODES[request.body],
    responseBodyMode: BODY_MODES[response.body],
    sendBodyWithoutWaitingForHeaderResponse: false
  }
}

/** What stands around a part. */
export interface Envelope {
  readonly metadata: Metadata | undefined
  readonly attributes: ProcessingRequest['attributes']
  /** With the first message of an exchange. */
  readonly protocol: ProtocolConfiguration | undefined
  readonly isObserved: boolean
}

export function messageOf(request: Part, { metadata, attributes, protocol, isObserved }: Envelope): ProcessingRequest {
  return { request, metadataContext: metadata, attributes, observabilityMode: isObserved, protocolConfig: protocol }
}

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

/** Attributes by name. An expression that fails leaves its entry out. */
export function attributesOf(ex: Exchange, values: NamedValues, failed: () => void): ProcessingRequest['attributes'] {
  return values.length === 0 ? {} : { [ATTRIBUTES]: plainOf(ex, values, failed) }
}

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
