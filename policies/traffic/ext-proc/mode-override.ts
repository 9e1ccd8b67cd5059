/** The mode that the service wants for the rest of one exchange. */
import type { ProcessingMode } from '#engine/proto/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode.ts'
import type { BodyMode, ProcessingModes, SideMode } from './schema.ts'

const BODY_MODES: readonly (BodyMode | null)[] = ['NONE', null, 'BUFFERED', 'BUFFERED_PARTIAL', null, null]
const SEND = 1
const SKIP = 2

/** It replaces the whole mode, as in Envoy. Null: it asks for what is not served. */
export function overridden(modes: ProcessingModes, mode: ProcessingMode): ProcessingModes | null {
  const request = sideOf(mode.requestBodyMode, mode.requestTrailerMode, modes.request.sendsHeaders)
  const response = sideOf(mode.responseBodyMode, mode.responseTrailerMode, mode.responseHeaderMode !== SKIP)
  return request === null || response === null ? null : { request, response }
}

function sideOf(bodyMode: number, trailerMode: number, sendsHeaders: boolean): SideMode | null {
  const body = BODY_MODES[bodyMode] ?? null
  const sendsTrailers = trailerMode === SEND
  return body === null || (sendsTrailers && body !== 'BUFFERED') ? null : { sendsHeaders, body, sendsTrailers }
}
