/** Requests to servers with the policy `auth`. Their credentials are in the headers of the attempt alone. */
import {
  type AuthenticatedServer,
  authenticatorsFor,
  type RequestAuthenticator
} from '#backends/shared/auth/request-authenticator.ts'
import { beginPreparation, finishPreparation, resumePreparation } from '#backends/shared/preparation.ts'
import { whenSettled } from '#backends/shared/when-settled.ts'
import { beginAttemptHeaders } from '#engine/contract/attempt-headers.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { BackendAuth } from '#engine/contract/backend-auth/auth.ts'
import { replaceRequestBody, whenRequest } from '#engine/contract/body.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import { BODY_NONE, BODY_STREAM, type Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE, type Verdict } from '#engine/contract/filter.ts'

/** Sends an exchange to an endpoint of the server. */
export type SendToEndpoint = (ex: Exchange, endpoint: Endpoint) => void

/** To be called while a backend is compiled. `auth` undefined: requests are sent as they are. */
export function senderFor(
  auth: BackendAuth | undefined,
  server: AuthenticatedServer,
  context: BackendContext
): SendToEndpoint {
  return sendersFor(auth, server.host, context)(server)
}

/** As senderFor, for servers that are known later. `host` null: clients name it. */
export function sendersFor(
  auth: BackendAuth | undefined,
  host: string | null,
  context: BackendContext
): (server: AuthenticatedServer) => SendToEndpoint {
  const { upstream } = context
  if (auth === undefined) return () => (ex, endpoint) => upstream.send(ex, endpoint)
  const authenticatorOf = authenticatorsFor(auth, host, context)
  return (server) => {
    const sender = new AuthenticatedSender(authenticatorOf(server), context)
    return (ex, endpoint) => sender.send(ex, endpoint)
  }
}

class AuthenticatedSender {
  readonly #authenticator: RequestAuthenticator
  readonly #context: BackendContext

  constructor(authenticator: RequestAuthenticator, context: BackendContext) {
    this.#authenticator = authenticator
    this.#context = context
  }

  send(ex: Exchange, endpoint: Endpoint): void {
    const isWhole = ex.requestBytes !== null || ex.requestBody === BODY_NONE || ex.upgrade !== null
    if (isWhole || !this.#authenticator.needsBody) {
      this.#authorize(ex, endpoint)
      return
    }
    if (resumePreparation(ex, this)) return
    beginPreparation(ex, this)
    whenRequest(ex, this.#context.maxBufferBytes, (verdict) => this.#gathered(ex, endpoint, verdict))
  }

  /** The body has been collected, or cannot be. */
  #gathered(ex: Exchange, endpoint: Endpoint, verdict: Verdict): void {
    // A timeout may have answered meanwhile, or the client may have gone.
    if (ex.response !== null || ex.responseDone) return
    if (verdict === CONTINUE) finishPreparation(ex, () => this.#authorize(ex, endpoint))
    else this.#context.fail(ex, ex.error ?? 'INTERNAL')
  }

  /** Runs for each attempt, since signatures contain the time. */
  #authorize(ex: Exchange, endpoint: Endpoint): void {
    // Servers that verify the signature of a body require its length.
    if (this.#authenticator.needsBody && ex.requestBytes !== null && ex.requestBody === BODY_STREAM) {
      replaceRequestBody(ex, ex.requestBytes)
    }
    const headers = beginAttemptHeaders(ex)
    if (this.#authenticator.refused !== null) ex.answerHook = this.#answered
    const { method, path, query, requestBytes: body } = ex
    const outgoing = { method, path, query, host: ex.upstreamHost ?? ex.authority, headers, body }
    const waiting = this.#authenticator.authorize(outgoing, ex.identity?.credentials ?? null)
    if (waiting === null) this.#context.upstream.send(ex, endpoint)
    else
      whenSettled(
        waiting,
        // A timeout may have answered or begun another attempt, or the client may have gone.
        () => ex.request === headers && ex.response === null && !ex.responseDone,
        (addCredentials) => this.#sendLater(ex, endpoint, addCredentials)
      )
  }

  #sendLater(ex: Exchange, endpoint: Endpoint, addCredentials: (() => void) | null): void {
    if (addCredentials === null) {
      this.#context.fail(ex, 'BACKEND_CREDENTIALS')
      return
    }
    addCredentials()
    this.#context.upstream.send(ex, endpoint)
  }

  readonly #answered = ({ status }: Exchange): Verdict => {
    if (status === 401 || status === 403) this.#authenticator.refused?.()
    return CONTINUE
  }
}
