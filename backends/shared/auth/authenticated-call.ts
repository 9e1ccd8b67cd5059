/** The gateway's own calls to servers with the policy `auth`. */
import type { BackendContext } from '#engine/contract/backend.ts'
import type { BackendAuth } from '#engine/contract/backend-auth/auth.ts'
import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import type { Call, CallEvents, CallRequest } from '#engine/contract/in-process.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { inTurn } from '#engine/socket/round.ts'
import { showInChecks } from './check-credentials.ts'
import { type AuthenticatedServer, type RequestAuthenticator, requestAuthenticator } from './request-authenticator.ts'

/** A request whose body, if it has one, is whole. Its headers belong to the call. */
export interface WholeRequest extends CallRequest {
  readonly body: Buffer | null
}

/** Begins a call to the server. */
export type StartCall = (request: WholeRequest, events: CallEvents) => Call

/** `auth` null or `passthrough`: requests are sent as they are. */
export function callerFor(
  auth: BackendAuth | null,
  server: AuthenticatedServer & { readonly transport?: BackendTransport | undefined },
  endpoint: Endpoint,
  context: BackendContext
): StartCall {
  const { inProcess } = context
  showInChecks(endpoint, { ...server, auth }, context)
  if (auth === null || auth.kind === 'passthrough') {
    return (request, events) => inProcess.call(endpoint, request, events)
  }
  const authenticator = requestAuthenticator(auth, server, context)
  return (request, events) => {
    const { method, path, query, headers, body, authority } = request
    const waiting = authenticator.authorize(
      { method, path, query, host: authority ?? endpoint.hostHeader, headers, body },
      null
    )
    const observed = authenticator.refused === null ? events : new RefusalEvents(events, authenticator)
    if (waiting === null) return inProcess.call(endpoint, request, observed)
    return new DeferredCall(waiting, () => inProcess.call(endpoint, request, observed), events)
  }
}

/** Reports refusals (401, 403) to the authenticator. */
class RefusalEvents implements CallEvents {
  readonly #events: CallEvents
  readonly #authenticator: RequestAuthenticator

  constructor(events: CallEvents, authenticator: RequestAuthenticator) {
    this.#events = events
    this.#authenticator = authenticator
  }

  head(status: number, headers: HeaderBlock): void {
    if (status === 401 || status === 403) this.#authenticator.refused?.()
    this.#events.head(status, headers)
  }

  body(chunk: Buffer, start: number, end: number): boolean {
    return this.#events.body(chunk, start, end)
  }

  end(trailers: string): void {
    this.#events.end(trailers)
  }

  failed(...why: Parameters<CallEvents['failed']>): void {
    this.#events.failed(...why)
  }
}

/** A call that begins when its credentials have been fetched. */
class DeferredCall implements Call {
  #call: Call | null = null
  #isAborted = false

  constructor(waiting: Promise<() => void>, begin: () => Call, events: CallEvents) {
    const start = (show: () => void): void => {
      if (this.#isAborted) return
      show()
      this.#call = begin()
    }
    const fail = (): void => {
      if (!this.#isAborted) events.failed('BACKEND_CREDENTIALS', null)
    }
    waiting.then(
      (show) => inTurn(() => start(show)),
      () => inTurn(fail)
    )
  }

  abort(): void {
    this.#isAborted = true
    this.#call?.abort()
  }

  resume(): void {
    this.#call?.resume()
  }

  write(bytes: Buffer): boolean {
    return this.#call?.write(bytes) ?? true
  }

  finish(): void {
    this.#call?.finish()
  }

  keeps(bytes: number): boolean {
    return this.#call?.keeps(bytes) ?? true
  }
}
