/** A collector of metrics and log records for tests: OTLP over HTTP (node:http) or gRPC (@grpc/grpc-js). */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type handleUnaryCall, Server, ServerCredentials } from '@grpc/grpc-js'
import { ExportLogsServiceRequest } from '#engine/proto/generated/opentelemetry/proto/collector/logs/v1/logs_service.ts'
import { ExportMetricsServiceRequest } from '#engine/proto/generated/opentelemetry/proto/collector/metrics/v1/metrics_service.ts'
import type { AnyValue, KeyValue } from '#engine/proto/generated/opentelemetry/proto/common/v1/common.ts'
import type { Metric } from '#engine/proto/generated/opentelemetry/proto/metrics/v1/metrics.ts'

export type Plain = string | number | boolean | readonly unknown[] | undefined

/** A log record as a test looks at it: ids in hex. */
export interface CollectedRecord {
  readonly event: string
  readonly severity: string
  readonly body: Plain
  readonly at: bigint
  readonly traceId: string
  readonly spanId: string
  readonly attributes: Readonly<Record<string, Plain>>
  readonly resource: Readonly<Record<string, Plain>>
}

/** One data point. */
export interface CollectedPoint {
  readonly name: string
  readonly unit: string
  readonly kind: 'gauge' | 'sum' | 'histogram'
  readonly attributes: Readonly<Record<string, Plain>>
  /** Of a histogram: its count. */
  readonly value: number
  /** Nanoseconds. */
  readonly startedAt: bigint
  readonly at: bigint
  readonly resource: Readonly<Record<string, Plain>>
}

export interface SignalsCollector {
  readonly port: number
  readonly records: readonly CollectedRecord[]
  readonly points: readonly CollectedPoint[]
  /** How many requests have come, taken or not. */
  readonly requests: number
  /** Resolves as soon as `isEnough`. */
  until(isEnough: () => boolean): Promise<void>
  close(): void
}

class Received {
  readonly records: CollectedRecord[] = []
  readonly points: CollectedPoint[] = []
  requests = 0
  #waiting: (() => void)[] = []

  take(path: string, message: Buffer): void {
    this.requests++
    if (/logs/.test(path)) this.records.push(...recordsOf(ExportLogsServiceRequest.decode(message)))
    else if (/metrics/i.test(path)) this.points.push(...pointsOf(ExportMetricsServiceRequest.decode(message)))
    for (const look of this.#waiting) look()
  }

  until(isEnough: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isEnough()) return
        this.#waiting = this.#waiting.filter((other) => other !== look)
        resolve()
      }
      this.#waiting.push(look)
      look()
    })
  }
}

/** `reply` answers request number `index`; absent: 200 for all. */
export async function startHttpSignals(
  reply: (response: ServerResponse, index: number) => void = (response) => void response.end()
): Promise<SignalsCollector> {
  const received = new Received()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const index = received.requests
      received.take(request.url ?? '', Buffer.concat(chunks))
      reply(response, index)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return collector(received, (server.address() as AddressInfo).port, () => {
    server.close()
    server.closeAllConnections()
  })
}

const GRPC_SERVICES = ['logs.v1.LogsService', 'metrics.v1.MetricsService']

export async function startGrpcSignals(): Promise<SignalsCollector> {
  const received = new Received()
  const server = new Server()
  for (const name of GRPC_SERVICES) {
    const path = `/opentelemetry.proto.collector.${name}/Export`
    const bytes = (value: Buffer): Buffer => value
    const method = { path, requestStream: false, responseStream: false } as const
    const codec = { requestSerialize: bytes, requestDeserialize: bytes, responseSerialize: bytes }
    const service = { Export: { ...method, ...codec, responseDeserialize: bytes } }
    const handle: handleUnaryCall<Buffer, Buffer> = (call, done) => {
      received.take(path, call.request)
      done(null, Buffer.alloc(0))
    }
    server.addService(service, { Export: handle })
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error)
    )
  })
  return collector(received, port, () => server.forceShutdown())
}

function collector(received: Received, port: number, close: () => void): SignalsCollector {
  const { records, points } = received
  return {
    port,
    records,
    points,
    get requests() {
      return received.requests
    },
    until: (isEnough) => received.until(isEnough),
    close
  }
}

// --- what came ---

function recordsOf({ resourceLogs }: ExportLogsServiceRequest): CollectedRecord[] {
  return resourceLogs.flatMap(({ resource, scopeLogs }) =>
    scopeLogs.flatMap(({ logRecords }) =>
      logRecords.map((record) => ({
        event: record.eventName,
        severity: record.severityText,
        body: plainOf(record.body),
        at: record.timeUnixNano,
        traceId: record.traceId.toString('hex'),
        spanId: record.spanId.toString('hex'),
        attributes: attributesOf(record.attributes),
        resource: attributesOf(resource?.attributes ?? [])
      }))
    )
  )
}

function pointsOf({ resourceMetrics }: ExportMetricsServiceRequest): CollectedPoint[] {
  return resourceMetrics.flatMap(({ resource, scopeMetrics }) =>
    scopeMetrics.flatMap(({ metrics }) =>
      metrics.flatMap((metric) => pointsOfMetric(metric, attributesOf(resource?.attributes ?? [])))
    )
  )
}

function pointsOfMetric({ name, unit, data }: Metric, resource: CollectedPoint['resource']): CollectedPoint[] {
  if (data?.$case !== 'gauge' && data?.$case !== 'sum' && data?.$case !== 'histogram') return []
  return data.value.dataPoints.map((point) => ({
    name,
    unit,
    kind: data.$case,
    attributes: attributesOf(point.attributes),
    value: Number('count' in point ? point.count : (point.value?.value ?? 0)),
    startedAt: point.startTimeUnixNano,
    at: point.timeUnixNano,
    resource
  }))
}

function attributesOf(all: readonly KeyValue[]): Record<string, Plain> {
  return Object.fromEntries(all.map(({ key, value }) => [key, plainOf(value)]))
}

function plainOf(any: AnyValue | undefined): Plain {
  const value = any?.value
  if (value?.$case === 'arrayValue') return value.value.values.map(plainOf)
  if (value?.$case === 'intValue') return Number(value.value)
  const isPlain = value?.$case === 'stringValue' || value?.$case === 'boolValue' || value?.$case === 'doubleValue'
  return isPlain ? value.value : undefined
}
