/** What an API server answers instead of what it was asked for: a Status of meta/v1. */

/** StatusCause of meta/v1. */
export interface StatusCause {
  /** "spec.template.spec.containers[0].image" */
  readonly field?: string
  readonly message?: string
}

/** An answer that is no success. Its message names the request and what the API server says, nothing secret. */
export class ApiError extends Error {
  readonly status: number
  /** Of the Status: "NotFound", "Conflict", "Expired"; empty: there was none. */
  readonly reason: string
  /** The API server asks for a pause; null: it does not. */
  readonly retryAfterMs: number | null
  /** The fields that are wrong. */
  readonly causes: readonly StatusCause[]

  constructor(
    message: string,
    status: number,
    reason = '',
    retryAfterMs: number | null = null,
    causes: readonly StatusCause[] = []
  ) {
    super(message)
    this.name = 'ApiError'
    this.causes = causes
    this.status = status
    this.reason = reason
    this.retryAfterMs = retryAfterMs
  }

  get isNotFound(): boolean {
    return this.status === 404
  }

  /** Another writer was first: read again. */
  get isConflict(): boolean {
    return this.status === 409
  }

  /** The resource version, or the page, is too old: list again. */
  get isExpired(): boolean {
    return this.status === 410
  }
}

/** Bound of what is taken over from an answer into messages. */
const MESSAGE_CHARS_MAX = 1024

interface StatusAnswer {
  readonly message?: unknown
  readonly reason?: unknown
  readonly details?: { readonly retryAfterSeconds?: unknown; readonly causes?: readonly StatusCause[] } | null
}

/** `request`: "GET /api/v1/services". `body`: as parsed; of proxies on the way it may be anything. */
export function apiError(request: string, status: number, body: unknown, retryAfter?: string): ApiError {
  const { message, reason, details } = (typeof body === 'object' && body !== null ? body : {}) as StatusAnswer
  const text = typeof message === 'string' ? message.slice(0, MESSAGE_CHARS_MAX) : 'no Status'
  const seconds = Number(retryAfter ?? details?.retryAfterSeconds)
  const pause = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : null
  const causes = Array.isArray(details?.causes) ? details.causes : []
  return new ApiError(`${request}: ${status} ${text}`, status, typeof reason === 'string' ? reason : '', pause, causes)
}
