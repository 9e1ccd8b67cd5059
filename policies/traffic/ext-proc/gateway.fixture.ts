/** A gateway with the policy, the service that it asks and the backend behind it, for the tests of one file. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, beforeEach } from 'node:test'
import type {
  ImmediateResponse,
  ProcessingRequest
} from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { answer, answerTo, type Processor, startProcessor, type TestProcessor } from './services.fixture.ts'

/** A request as the backend has seen it. */
export interface Seen {
  readonly line: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
  readonly trailers: Readonly<Record<string, string | undefined>>
}

export const goOn: Processor = (request) => [answerTo(request)]

/** Answers the messages of one kind otherwise. */
export const at =
  (kind: string, process: Processor): Processor =>
  (request, call) =>
    request.request?.$case === kind ? process(request, call) : goOn(request, call)

export const send = (gateway: TestGateway, lines = 'GET / HTTP/1.1', body = ''): Promise<string> =>
  exchangeRaw(gateway.port, `${lines}\r\nHost: a.test\r\nConnection: close\r\n\r\n${body}`)

export const post = (gateway: TestGateway, body: string): Promise<string> =>
  send(gateway, `POST / HTTP/1.1\r\nContent-Length: ${body.length}`, body)

export const statusOf = (text: string): number => Number(text.slice(9, 12))

export const immediate = (more: Partial<ImmediateResponse>) =>
  answer({
    $case: 'immediateResponse',
    value: { status: undefined, headers: undefined, body: Buffer.alloc(0), grpcStatus: undefined, details: '', ...more }
  })

/** What replaces a body that was told. */
export const body = (value: string) => ({
  bodyMutation: { mutation: { $case: 'body' as const, value: Buffer.from(value) } }
})

/** A piece of a body that is streamed both ways. */
export const piece = (value: string, endOfStream = false) => ({
  bodyMutation: {
    mutation: {
      $case: 'streamedResponse' as const,
      value: { body: Buffer.from(value), endOfStream, endOfStreamWithoutMessage: false, grpcMessageCompressed: false }
    }
  }
})

/** The piece of a body in `message`, and whether it is the last one; null: it has none. */
export const bodyIn = ({ request }: ProcessingRequest): readonly [string, boolean] | null =>
  request?.$case === 'requestBody' || request?.$case === 'responseBody'
    ? [request.value.body.toString(), request.value.endOfStream]
    : null

/** Calls of services that are over, each with its result. */
export function callsEnded(gateway: TestGateway): number {
  const lines = gateway.metrics().match(/^weir_service_calls_total\{.*/gm) ?? []
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

export interface Harness {
  readonly seen: Seen[]
  readonly service: TestProcessor
  /** Called when the test is over. */
  readonly stops: (() => unknown)[]
  backendPort(): number
  /** `more`: fields of the policy; `others`: policies beside it. */
  start(more?: string, others?: string, port?: number, behind?: number): Promise<TestGateway>
  /** Of the messages that the service was sent. */
  kinds(): string[]
  /** Pieces of one body, and whether the last one was marked. */
  sentBody(kind: 'requestBody' | 'responseBody'): readonly [string, boolean]
}

/** For the tests of the file that calls it. */
export function harness(): Harness {
  const seen: Seen[] = []
  const stops: (() => unknown)[] = []
  const service = {} as TestProcessor
  const backend = createServer(async (request, response) => {
    let text = ''
    // One that breaks off is no request that was seen.
    request.on('data', (part: Buffer) => {
      text += part.toString()
    })
    await new Promise((resolve) => request.once('end', resolve))
    seen.push({
      line: `${request.method} ${request.url}`,
      headers: request.headers,
      body: text,
      trailers: request.trailers
    })
    response
      .writeHead(200, { 'x-from': 'backend', 'x-secret': 's', 'content-type': 'text/plain' })
      .end('from the backend')
  })
  before(async () => {
    await startProcessor(goOn, service)
    await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve))
  })
  beforeEach(() => {
    seen.length = 0
    service.requests.length = 0
    service.process = goOn
    service.over = Promise.withResolvers()
  })
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop()
  })
  after(() => {
    service.close()
    backend.close()
    backend.closeAllConnections()
  })
  const backendPort = () => (backend.address() as AddressInfo).port
  return {
    seen,
    service,
    stops,
    backendPort,
    async start(more = '', others = '', port = service.port, behind = backendPort()) {
      // Slow machines are slower than 200 ms.
      const timeout = more.includes('messageTimeout') ? '' : 'messageTimeout: 60s, '
      const gateway = await startGateway(`
backends: [{ name: processor, host: "127.0.0.1:${port}" }]
binds:
  - port: 0
    listeners:
      - routes:
          - policies: { extProc: { backendRef: { name: processor }, ${timeout}${more} }${others} }
            backends: [{ host: "127.0.0.1:${behind}" }]
`)
      stops.push(() => gateway.close())
      return gateway
    },
    kinds: () => service.requests.map(({ request }) => request!.$case),
    sentBody(kind) {
      const pieces = service.requests
        .filter(({ request }) => request?.$case === kind)
        .map((message) => bodyIn(message)!)
      return [pieces.map(([text]) => text).join(''), pieces.at(-1)?.[1] ?? false]
    }
  }
}
