/** A collector of traces for tests: OTLP over HTTP (node:http) or gRPC (@grpc/grpc-js), read by the official protos. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import {
  type handleUnaryCall,
  type Metadata,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type ServiceError
} from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'

const NAME = 'opentelemetry.proto.collector.trace.v1.TraceService'
const FILE = 'opentelemetry/proto/collector/trace/v1/trace_service.proto'
const FOLDER = fileURLToPath(new URL('../proto', import.meta.url))
// Values that are not there stay away: only what was sent is compared.
const OPTIONS = { includeDirs: [FOLDER], longs: String, enums: String, keepCase: false }
const SERVICE = loadSync(FILE, OPTIONS)[NAME] as unknown as ServiceDefinition
const { requestDeserialize } = SERVICE.Export!

type Attribute = string | number | boolean | readonly string[] | undefined

/** A span as a test looks at it: ids in hex, times in nanoseconds. */
export interface CollectedSpan {
  readonly name: string
  /** SPAN_KIND_SERVER, SPAN_KIND_CLIENT, ... */
  readonly kind: string
  readonly traceId: string
  readonly spanId: string
  /** '': none. */
  readonly parentSpanId: string
  readonly traceState: string
  readonly flags: number
  readonly startedAt: bigint
  readonly endedAt: bigint
  readonly attributes: Readonly<Record<string, Attribute>>
  /** Names of attributes that were written as doubles. */
  readonly doubles: readonly string[]
  readonly isError: boolean
  readonly message: string
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly resource: Readonly<Record<string, Attribute>>
  readonly scope: string
}

export interface Export {
  readonly spans: readonly CollectedSpan[]
  readonly headers: IncomingHttpHeaders | Metadata
  readonly path: string
}

export interface Collector {
  readonly port: number
  /** Requests that have come, taken or not. */
  readonly exports: readonly Export[]
  /** Of all requests. */
  readonly spans: readonly CollectedSpan[]
  /** Resolves with all spans as soon as `isEnough` of them have come. */
  until(isEnough: (spans: readonly CollectedSpan[]) => boolean): Promise<readonly CollectedSpan[]>
  close(): void
}

/** Spans of one request as they are; waits for `count`. */
export const atLeast =
  (count: number) =>
  (spans: readonly CollectedSpan[]): boolean =>
    spans.length >= count

class Received {
  readonly exports: Export[] = []
  #waiting: (() => void)[] = []

  get spans(): readonly CollectedSpan[] {
    return this.exports.flatMap(({ spans }) => spans)
  }

  add(one: Export): void {
    this.exports.push(one)
    for (const look of this.#waiting) look()
  }

  until(isEnough: (spans: readonly CollectedSpan[]) => boolean): Promise<readonly CollectedSpan[]> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isEnough(this.spans)) return
        this.#waiting = this.#waiting.filter((other) => other !== look)
        resolve(this.spans)
      }
      this.#waiting.push(look)
      look()
    })
  }
}

/** `reply` answers request number `index`; absent: 200 for all. */
export async function startHttpCollector(
  reply: (response: ServerResponse, index: number) => void = (response) => void response.end(),
  port = 0
): Promise<Collector> {
  const received = new Received()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { headers, url = '' } = request
      const index = received.exports.length
      received.add({ spans: spansOf(requestDeserialize(Buffer.concat(chunks))), headers, path: url })
      reply(response, index)
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return collector(received, (server.address() as AddressInfo).port, () => {
    server.close()
    server.closeAllConnections()
  })
}

/** `fault`: the error for request number `index`; null or absent: it is taken. */
export async function startGrpcCollector(
  fault: (index: number) => Partial<ServiceError> | null = () => null
): Promise<Collector> {
  const received = new Received()
  const server = new Server()
  server.addService(SERVICE, {
    Export: ((call, done) => {
      const error = fault(received.exports.length)
      received.add({ spans: spansOf(call.request), headers: call.metadata, path: '' })
      done(error, error === null ? {} : null)
    }) satisfies handleUnaryCall<unknown, object>
  })
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error)
    )
  })
  return collector(received, port, () => server.forceShutdown())
}

function collector(received: Received, port: number, close: () => void): Collector {
  return {
    port,
    exports: received.exports,
    get spans() {
      return received.spans
    },
    until: (isEnough) => received.until(isEnough),
    close
  }
}

// --- what came ---

interface AnyValue {
  readonly stringValue?: string
  readonly intValue?: string
  readonly doubleValue?: number
  readonly boolValue?: boolean
  readonly arrayValue?: { readonly values?: readonly AnyValue[] }
}

type KeyValues = readonly { readonly key: string; readonly value: AnyValue }[]

interface WireSpan {
  readonly name?: string
  readonly kind?: string
  readonly traceId: Buffer
  readonly spanId: Buffer
  readonly parentSpanId?: Buffer
  readonly traceState?: string
  readonly flags?: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes?: KeyValues
  readonly links?: readonly { readonly traceId: Buffer; readonly spanId: Buffer }[]
  readonly status?: { readonly code?: string; readonly message?: string }
}

interface WireExport {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: KeyValues }
    readonly scopeSpans?: readonly {
      readonly scope?: { readonly name?: string }
      readonly spans?: readonly WireSpan[]
    }[]
  }[]
}

function spansOf(request: unknown): CollectedSpan[] {
  // The loader's messages are plain objects of this shape.
  const { resourceSpans = [] } = request as WireExport
  return resourceSpans.flatMap(({ resource, scopeSpans = [] }) =>
    scopeSpans.flatMap(({ scope, spans = [] }) =>
      spans.map((span) => spanOf(span, attributesOf(resource?.attributes ?? []), scope?.name ?? ''))
    )
  )
}

function spanOf(span: WireSpan, resource: CollectedSpan['resource'], scope: string): CollectedSpan {
  const hex = (bytes: Buffer | undefined): string => (bytes === undefined ? '' : Buffer.from(bytes).toString('hex'))
  return {
    name: span.name ?? '',
    kind: span.kind ?? '',
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentSpanId: hex(span.parentSpanId),
    traceState: span.traceState ?? '',
    flags: span.flags ?? 0,
    startedAt: BigInt(span.startTimeUnixNano),
    endedAt: BigInt(span.endTimeUnixNano),
    attributes: attributesOf(span.attributes ?? []),
    doubles: (span.attributes ?? []).filter(({ value }) => value.doubleValue !== undefined).map(({ key }) => key),
    isError: span.status?.code === 'STATUS_CODE_ERROR',
    message: span.status?.message ?? '',
    links: (span.links ?? []).map((link) => ({ traceId: hex(link.traceId), spanId: hex(link.spanId) })),
    resource,
    scope
  }
}

function attributesOf(all: KeyValues): Record<string, Attribute> {
  return Object.fromEntries(all.map(({ key, value }) => [key, plainOf(value)]))
}

function plainOf(value: AnyValue): Attribute {
  if (value.intValue !== undefined) return Number(value.intValue)
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(({ stringValue = '' }) => stringValue)
  return value.stringValue ?? value.boolValue ?? value.doubleValue
}
