/** Requests to plain servers that the policy `auth` acts on: who asks is shown, and forgotten when it has been sent. */
import {
  type AuthenticatedServer,
  type RequestAuthenticator,
  requestAuthenticator
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

/** Sends an exchange to an endpoint: that of the server. */
export type Send = (ex: Exchange, endpoint: Endpoint) => void

/** `auth` undefined: nothing is said, and requests are sent as they are. */
export function senderFor(auth: BackendAuth | undefined, server: AuthenticatedServer, context: BackendContext): Send {
  const { upstream } = context
  if (auth === undefined) return (ex, endpoint) => upstream.send(ex, endpoint)
  const sender = new AuthenticatedSender(requestAuthenticator(auth, server, context), context)
  return (ex, endpoint) => sender.send(ex, endpoint)
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
      this.#show(ex, endpoint)
      return
    }
    if (resumePreparation(ex, this)) return
    beginPreparation(ex, this)
    whenRequest(ex, this.#context.maxBufferBytes, (verdict) => this.#gathered(ex, endpoint, verdict))
  }

  /** The body is here, or will not be. */
  #gathered(ex: Exchange, endpoint: Endpoint, verdict: Verdict): void {
    // A timeout may have answered meanwhile, or the client may have gone.
    if (ex.response !== null || ex.responseDone) return
    if (verdict === CONTINUE) finishPreparation(ex, () => this.#show(ex, endpoint))
    else this.#context.fail(ex, ex.error ?? 'INTERNAL')
  }

  /** Once for each attempt: signatures have a time. */
  #show(ex: Exchange, endpoint: Endpoint): void {
    // What is signed has a length that is known: servers that verify bodies take no others.
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
        (put) => this.#sendLater(ex, endpoint, put)
      )
  }

  #sendLater(ex: Exchange, endpoint: Endpoint, put: (() => void) | null): void {
    if (put === null) {
      this.#context.fail(ex, 'BACKEND_CREDENTIALS')
      return
    }
    put()
    this.#context.upstream.send(ex, endpoint)
  }

  readonly #answered = ({ status }: Exchange): Verdict => {
    if (status === 401 || status === 403) this.#authenticator.refused?.()
    return CONTINUE
  }
}
