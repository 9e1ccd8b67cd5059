/** Errors of the engine as those of a call to a service. */
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import type { ServiceError, ServiceFailure } from '#engine/contract/service.ts'

/** Codes that say more than "it could not be reached". */
const OTHERS: Partial<Record<ErrorCode, ServiceError>> = {
  UPSTREAM_TIMEOUT: 'DEADLINE',
  REQUEST_TIMEOUT: 'DEADLINE',
  CLIENT_GONE: 'CANCELLED',
  BUFFERS_FULL: 'NO_ROOM',
  UPSTREAM_PROTOCOL: 'PROTOCOL',
  UPSTREAM_NOT_HTTP2: 'PROTOCOL',
  GRPC_TO_HTTP1: 'PROTOCOL',
  INTERNAL: 'PROTOCOL'
}

export function failureOf(code: ErrorCode, detail: string | null): ServiceFailure {
  const { message } = ERRORS[code]
  return { error: OTHERS[code] ?? 'UNAVAILABLE', detail: detail === null ? message : `${message}: ${detail}` }
}

export const CANCELLED: ServiceFailure = { error: 'CANCELLED', detail: 'nobody waits for the answer any more' }
