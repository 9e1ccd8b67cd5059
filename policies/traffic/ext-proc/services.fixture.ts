/** A processing service for tests, made of the official messages. */
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js'
import {
  type CommonResponse,
  type HeaderMutation,
  ProcessingRequest,
  ProcessingResponse
} from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'

export type Call = ServerDuplexStream<ProcessingRequest, ProcessingResponse | Buffer>

/** What becomes of one message: answers (bytes as they are), or what the function does with the call itself. */
export type Processor = (request: ProcessingRequest, call: Call) => readonly (ProcessingResponse | Buffer)[]

export interface TestProcessor {
  readonly port: number
  readonly requests: ProcessingRequest[]
  process: Processor
  /** Resolves when the stream that is open, or the next one, is over. */
  over: PromiseWithResolvers<void>
  close(): void
}

/** `into`: what becomes the processor. */
export async function startProcessor(process: Processor, into: Partial<TestProcessor> = {}): Promise<TestProcessor> {
  const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 })
  const own: TestProcessor = Object.assign(into, {
    port: 0,
    requests: [],
    process,
    over: Promise.withResolvers(),
    close: () => server.forceShutdown()
  })
  const method = {
    path: '/envoy.service.ext_proc.v3.ExternalProcessor/Process',
    requestStream: true as const,
    responseStream: true as const,
    requestSerialize: (request: ProcessingRequest) => Buffer.from(ProcessingRequest.encode(request).finish()),
    requestDeserialize: (bytes: Buffer) => ProcessingRequest.decode(bytes),
    responseSerialize: (answer: ProcessingResponse | Buffer) =>
      Buffer.isBuffer(answer) ? answer : Buffer.from(ProcessingResponse.encode(answer).finish()),
    responseDeserialize: (bytes: Buffer) => ProcessingResponse.decode(bytes)
  }
  server.addService(
    { process: method },
    {
      process(call: Call) {
        call.on('data', (request: ProcessingRequest) => {
          own.requests.push(request)
          for (const answer of own.process(request, call)) call.write(answer)
        })
        call.on('end', () => {
          call.end()
          own.over.resolve()
        })
        call.on('cancelled', () => own.over.resolve())
        call.on('error', () => own.over.resolve())
      }
    }
  )
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, at) =>
      error === null ? resolve(at) : reject(error)
    )
  })
  return Object.assign(own, { port })
}

export const answer = (
  response: ProcessingResponse['response'],
  more: Partial<ProcessingResponse> = {}
): ProcessingResponse => ({
  response,
  dynamicMetadata: undefined,
  modeOverride: undefined,
  requestDrain: false,
  overrideMessageTimeout: undefined,
  ...more
})

export const common = (more: Partial<CommonResponse> = {}): CommonResponse => ({
  status: 0,
  headerMutation: undefined,
  bodyMutation: undefined,
  trailers: undefined,
  clearRouteCache: false,
  ...more
})

/** Fields as `name: value`, each set with append action `action`; `removed`: names. */
export const mutation = (
  fields: Readonly<Record<string, string>>,
  removed: readonly string[] = [],
  action: 0 | 1 | 2 | 3 = 2
): HeaderMutation => ({
  setHeaders: Object.entries(fields).map(([key, value]) => ({
    header: { key, value: '', rawValue: Buffer.from(value) },
    append: undefined,
    appendAction: action,
    keepEmptyValue: false
  })),
  removeHeaders: [...removed]
})

/** The answer to `request` that goes with its part, with what `more` says of it. */
export function answerTo(
  { request }: ProcessingRequest,
  more: Partial<CommonResponse> = {},
  rest: Partial<ProcessingResponse> = {}
): ProcessingResponse {
  const { $case } = request!
  if ($case === 'requestTrailers' || $case === 'responseTrailers')
    return answer({ $case, value: { headerMutation: more.headerMutation } }, rest)
  return answer({ $case, value: { response: common(more) } }, rest)
}

export const fieldsOf = ({ request }: ProcessingRequest): Record<string, string> => {
  const value = request?.$case === 'requestHeaders' || request?.$case === 'responseHeaders' ? request.value : null
  return Object.fromEntries((value?.headers?.headers ?? []).map(({ key, rawValue }) => [key, rawValue.toString()]))
}
