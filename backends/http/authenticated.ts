/** Requests to plain servers that the policy `auth` acts on: who asks is shown, and forgotten when it has been sent. */
import {
  type AuthenticatedServer,
  type RequestAuthenticator,
  requestAuthenticator
} from '#backends/shared/auth/request-authenticator.ts'
import { beginPreparation, finishPreparation, resumePreparation } from '#backends/shared/preparation.ts'
import { whenSettled } from '#backends/shared/when-settled.ts'
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
    const attempt = new Attempt(ex, this.#authenticator)
    const { method, path, query, request: headers, requestBytes: body } = ex
    const outgoing = { method, path, query, host: ex.upstreamHost ?? ex.authority, headers, body }
    const waiting = this.#authenticator.authorize(outgoing, ex.identity?.credentials ?? null)
    if (waiting === null) this.#context.upstream.send(ex, endpoint)
    else
      whenSettled(
        waiting,
        () => attempt.isCurrent(),
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
}

/**
 * One attempt, whose request has a header section of its own: what the server is shown reaches neither the backend of
 * another attempt nor expressions that read the request when it has been answered.
 */
class Attempt {
  readonly #ex: Exchange
  readonly #original: Exchange['request']
  readonly #authenticator: RequestAuthenticator
  #isOver = false

  constructor(ex: Exchange, authenticator: RequestAuthenticator) {
    this.#ex = ex
    this.#original = ex.request
    this.#authenticator = authenticator
    ex.request = ex.request.copy()
    const end = () => this.#end()
    ex.onRetry = end
    ex.onOver = end
    ex.answerHook = () => this.#answered()
  }

  /** It is to be sent: a timeout may have answered or begun another attempt, or the client may have gone. */
  isCurrent(): boolean {
    return !this.#isOver && this.#ex.response === null && !this.#ex.responseDone
  }

  #answered(): Verdict {
    if (this.#ex.status === 401 || this.#ex.status === 403) this.#authenticator.refused?.()
    this.#end()
    return CONTINUE
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    // A body may still be under way: fields that are not the client's to say are not in its trailers either.
    this.#original.stripped = this.#ex.request.stripped
    this.#ex.request = this.#original
  }
}
