/** The mode that the service wants for the rest of one exchange. */
import type { ProcessingMode } from '#engine/proto/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode.ts'
import type { BodyMode, ProcessingModes } from './schema.ts'

const BODY_MODES: readonly (BodyMode | null)[] = [
  'NONE',
  'STREAMED',
  'BUFFERED',
  'BUFFERED_PARTIAL',
  'FULL_DUPLEX_STREAMED',
  null
]
const DEFAULT = 0
const SEND = 1

/**
 * As in Envoy the modes of bodies are replaced, and DEFAULT of headers and trailers leaves theirs. Null: it asks for a
 * mode that is not served.
 */
export function overridden(modes: ProcessingModes, mode: ProcessingMode): ProcessingModes | null {
  const { request, response } = modes
  // Parts of a body that is streamed both ways are told ahead of the answer.
  if (request.body === 'FULL_DUPLEX_STREAMED' || response.body === 'FULL_DUPLEX_STREAMED') return modes
  const requestBody = BODY_MODES[mode.requestBodyMode] ?? null
  const responseBody = BODY_MODES[mode.responseBodyMode] ?? null
  if (requestBody === null || responseBody === null) return null
  return {
    request: {
      sendsHeaders: request.sendsHeaders,
      body: requestBody,
      sendsTrailers: isSent(mode.requestTrailerMode, request.sendsTrailers)
    },
    response: {
      sendsHeaders: isSent(mode.responseHeaderMode, response.sendsHeaders),
      body: responseBody,
      sendsTrailers: isSent(mode.responseTrailerMode, response.sendsTrailers)
    }
  }
}

function isSent(mode: number, before: boolean): boolean {
  return mode === DEFAULT ? before : mode === SEND
}
