/** A call over HTTP/2 as the lifecycle sees it, without a connection: what a client says, and what it is told. */
import { BODY_NONE, BODY_STREAM, type ClientStream, Exchange } from '#engine/contract/exchange.ts'
import type { ClientTls, SpliceEnd } from '#engine/contract/transport.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import type { Lifecycle } from '#engine/lifecycle/lifecycle.ts'
import { inTurn } from '#engine/socket/round.ts'

export interface CallOptions {
  readonly method?: string
  readonly path?: string
  /** Without a body the request is whole at once. */
  readonly hasBody?: boolean
  readonly headers?: readonly (readonly [name: string, value: string])[]
  readonly tls?: ClientTls
  readonly httpVersion?: string
}

export class Call implements ClientStream {
  readonly remoteAddress = '192.0.2.1'
  readonly remotePort = 50_000
  readonly localPort = 80
  readonly httpVersion: string
  readonly tls: ClientTls | null
  readonly ex: Exchange
  /** 0 until there is a head. */
  status = 0
  headers = new Map<string, string>()
  body = ''
  /** Lines; null: the answer has not ended. */
  trailers: string | null = null
  isBroken = false
  readonly interims: number[] = []
  readonly #lifecycle: Lifecycle
  #waiting: { done: () => boolean; resolve: () => void }[] = []

  constructor(lifecycle: Lifecycle, options: CallOptions = {}) {
    const { method = 'POST', path = '/service/Method', hasBody = true, headers = [] } = options
    this.#lifecycle = lifecycle
    this.httpVersion = options.httpVersion ?? '2'
    this.tls = options.tls ?? null
    const block = new HeaderBlock()
    for (const [name, value] of headers) block.receive(name, value)
    const kind = hasBody ? BODY_STREAM : BODY_NONE
    this.ex = new Exchange(this, method, path, '', 'a.test', block, kind, 0, performance.now())
    this.ex.requestDone = !hasBody
    inTurn(() => lifecycle.onRequest(this.ex))
  }

  // --- what the client does ---

  send(text: string): void {
    const bytes = Buffer.from(text, 'latin1')
    inTurn(() => this.#lifecycle.onRequestBody(this.ex, bytes, 0, bytes.length, null))
  }

  finish(trailers = ''): void {
    this.ex.requestDone = true
    inTurn(() => this.#lifecycle.onRequestEnd(this.ex, trailers))
  }

  leave(): void {
    inTurn(() => this.#lifecycle.onClientFault(this.ex, 'CLIENT_GONE'))
  }

  /** Resolves as soon as `done` is true. */
  until(done: () => boolean): Promise<void> {
    if (done()) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push({ done, resolve }))
  }

  /** Resolves when the answer has ended, in one way or the other. */
  over(): Promise<void> {
    return this.until(() => this.trailers !== null || this.isBroken)
  }

  #check(): void {
    for (const waiter of this.#waiting) if (waiter.done()) waiter.resolve()
    this.#waiting = this.#waiting.filter((waiter) => !waiter.done())
  }

  // --- what the lifecycle tells it ---

  sendInterim(status: number): void {
    this.interims.push(status)
  }

  sendHead(ex: Exchange): void {
    this.status = ex.status
    ex.response!.forEach((name, value) => {
      this.headers.set(name.toLowerCase(), value)
    })
    this.#check()
  }

  sendBody(_ex: Exchange, chunk: Buffer, start: number, end: number): boolean {
    this.body += chunk.latin1Slice(start, end)
    this.#check()
    return true
  }

  sendEnd(_ex: Exchange, trailers: string): void {
    this.trailers = trailers
    this.#check()
  }

  abort(): void {
    this.isBroken = true
    this.#check()
  }

  pauseBody(): void {}

  resumeBody(): void {}

  splice(): SpliceEnd {
    throw new Error('this client asks for no upgrade')
  }
}
