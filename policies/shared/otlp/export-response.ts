/** The little that is read of a collector's answers. What cannot be read says nothing. */
import { ExportLogsServiceResponse } from '#engine/proto/generated/opentelemetry/proto/collector/logs/v1/logs_service.ts'
import { ExportMetricsServiceResponse } from '#engine/proto/generated/opentelemetry/proto/collector/metrics/v1/metrics_service.ts'
import { ExportTraceServiceResponse } from '#engine/proto/generated/opentelemetry/proto/collector/trace/v1/trace_service.ts'
import { retryDelayMs } from '#engine/proto/retry-info.ts'

const MESSAGE_CHARS_MAX = 256
const DETAILS = /^grpc-status-details-bin: *([A-Za-z0-9+/]+={0,2})\r?$/im

export type Signal = 'traces' | 'metrics' | 'logs'

/** What the collector did not take, and why. */
export interface PartialSuccess {
  /** Spans, data points or log records. */
  readonly rejected: number
  readonly message: string
}

const DECODERS: Readonly<Record<Signal, (bytes: Uint8Array) => PartialSuccess>> = {
  traces(bytes) {
    const { partialSuccess } = ExportTraceServiceResponse.decode(bytes)
    return partOf(partialSuccess?.rejectedSpans, partialSuccess?.errorMessage)
  },
  metrics(bytes) {
    const { partialSuccess } = ExportMetricsServiceResponse.decode(bytes)
    return partOf(partialSuccess?.rejectedDataPoints, partialSuccess?.errorMessage)
  },
  logs(bytes) {
    const { partialSuccess } = ExportLogsServiceResponse.decode(bytes)
    return partOf(partialSuccess?.rejectedLogRecords, partialSuccess?.errorMessage)
  }
}

const ALL_TAKEN: PartialSuccess = { rejected: 0, message: '' }

/** Of an Export*ServiceResponse. */
export function partialSuccessOf(signal: Signal, response: Uint8Array | null): PartialSuccess {
  if (response === null) return ALL_TAKEN
  try {
    return DECODERS[signal](response)
  } catch {
    return ALL_TAKEN // The decoder throws at what is no message: some servers answer with JSON.
  }
}

/** An int64 of a collector may be below 0, which would count backwards. */
function partOf(rejected = 0n, message = ''): PartialSuccess {
  return { rejected: Math.max(Number(rejected), 0), message: printable(message) }
}

/** For a log: one line, and not too long. */
function printable(text: string): string {
  return text.slice(0, MESSAGE_CHARS_MAX).replace(/[^\x20-\x7e\u00a0-\ud7ff]/g, ' ')
}

/** Of RetryInfo in grpc-status-details-bin; null: the collector says no time. */
export function retryAfterOf(trailers: string): number | null {
  const details = DETAILS.exec(trailers)
  return details === null ? null : retryDelayMs(Buffer.from(details[1]!, 'base64'))
}
