/** Export requests on their way to a collector: OTLP over HTTP and over gRPC (OTLP specification 1.9). */

import type { ExportOutcome, OtlpTransport } from '#engine/contract/otlp.ts'
import type {
  GrpcAnswer,
  GrpcService,
  HttpService,
  HttpServiceAnswer,
  ServiceFailure
} from '#engine/contract/service.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { reveal, type Secret } from '#engine/kit/secret.ts'
import { partialSuccessOf, retryAfterOf, type Signal } from './export-response.ts'

/** A response has a message for people at most. */
const ANSWER_BYTES_MAX = 64 * 1024
/** Statuses of HTTP after which a request may be sent again ("Failures"). */
const REPEATABLE: ReadonlySet<number> = new Set([429, 502, 503, 504])
/** The same of gRPC: CANCELLED, DEADLINE_EXCEEDED, ABORTED, OUT_OF_RANGE, UNAVAILABLE, DATA_LOSS. */
const REPEATABLE_GRPC: ReadonlySet<number> = new Set([1, 4, 10, 11, 14, 15])
const RESOURCE_EXHAUSTED = 8

const GRPC_PATHS: Readonly<Record<Signal, string>> = {
  traces: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  metrics: '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
  logs: '/opentelemetry.proto.collector.logs.v1.LogsService/Export'
}

/** Names in lower case. */
type Headers = readonly (readonly [name: string, value: Secret])[]

/** `path` may have a query. `more`: headers of the configuration. */
export function otlpOverHttp(service: HttpService, signal: Signal, path: string, more: Headers = []): OtlpTransport {
  const question = path.indexOf('?')
  const target = question < 0 ? { path, query: '' } : { path: path.slice(0, question), query: path.slice(question) }
  return {
    name: service.name,
    send(message, timeoutMs, done) {
      const headers = new HeaderBlock()
      headers.append('Content-Type', 'application/x-protobuf')
      for (const [name, value] of more) headers.append(name, reveal(value))
      const request = { method: 'POST', ...target, headers, body: message, timeoutMs, ex: null }
      return service.request({ ...request, answerBytesMax: ANSWER_BYTES_MAX }, (answer) => done(ofHttp(signal, answer)))
    }
  }
}

export function otlpOverGrpc(service: GrpcService, signal: Signal, more: Headers = []): OtlpTransport {
  const path = GRPC_PATHS[signal]
  return {
    name: service.name,
    send(message, timeoutMs, done) {
      // The block belongs to the call.
      const metadata = more.length === 0 ? null : new HeaderBlock()
      for (const [name, value] of more) metadata!.append(name, reveal(value))
      const options = { path, metadata, messageBytesMax: ANSWER_BYTES_MAX, timeoutMs, ex: null }
      return service.unary(options, message, (answer) => done(ofGrpc(signal, answer)))
    }
  }
}

function ofHttp(signal: Signal, answer: HttpServiceAnswer | ServiceFailure): ExportOutcome {
  if (answer.error !== null) return ofFailure(answer)
  const { status, headers, body } = answer
  if (status >= 200 && status < 300) return { kind: 'taken', ...partialSuccessOf(signal, body) }
  const message = `HTTP status ${status}`
  if (!REPEATABLE.has(status)) return { kind: 'refused', message }
  return { kind: 'again', afterMs: retryAfterMs(headers.get('retry-after')), message }
}

function ofGrpc(signal: Signal, answer: GrpcAnswer | ServiceFailure): ExportOutcome {
  if (answer.error !== null) return ofFailure(answer)
  const { status, trailers } = answer
  if (status === 0) return { kind: 'taken', ...partialSuccessOf(signal, answer.bytes) }
  const message = `grpc-status ${status}`
  const afterMs = retryAfterOf(trailers)
  // Without a time the collector does not say that it will ever have room.
  const isRepeatable = status === RESOURCE_EXHAUSTED ? afterMs !== null : REPEATABLE_GRPC.has(status)
  return isRepeatable ? { kind: 'again', afterMs, message } : { kind: 'refused', message }
}

/** No answer at all: "the client SHOULD retry the connection". What came and was no OTLP would come again. */
function ofFailure({ error, detail }: ServiceFailure): ExportOutcome {
  const message = detail === '' ? error : `${error}: ${detail}`
  return error === 'PROTOCOL' || error === 'TOO_LARGE'
    ? { kind: 'refused', message }
    : { kind: 'again', afterMs: null, message }
}

/** Milliseconds; a date counts from now (RFC 9110 section 10.2.3). */
function retryAfterMs(value: string | undefined): number | null {
  if (value === undefined) return null
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const at = Date.parse(value)
  return Number.isNaN(at) ? null : Math.max(at - Date.now(), 0)
}
