/** The little that is read of a collector's answers. What cannot be read says nothing. */
import { ExportTraceServiceResponse } from '#engine/proto/generated/opentelemetry/proto/collector/trace/v1/trace_service.ts'
import { retryDelayMs } from '#engine/proto/retry-info.ts'

const MESSAGE_CHARS_MAX = 256
const DETAILS = /^grpc-status-details-bin: *([A-Za-z0-9+/]+={0,2})\r?$/im

/** ExportTracePartialSuccess: what the collector did not take, and why. */
export function partialSuccess(response: Uint8Array | null): { readonly rejected: number; readonly message: string } {
  if (response === null) return { rejected: 0, message: '' }
  try {
    const { partialSuccess: partial } = ExportTraceServiceResponse.decode(response)
    return { rejected: Number(partial?.rejectedSpans ?? 0n), message: printable(partial?.errorMessage ?? '') }
  } catch {
    return { rejected: 0, message: '' } // The decoder throws at what is no message: some servers answer with JSON.
  }
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
