/**
 * The engine's side of requests and answers of the gateway's own (contract/in-process.ts): a call is an exchange whose
 * client is this file, an answer one whose server is. Pools, limits, hooks and back-pressure are those of any exchange.
 */

import { KEY_USE } from '#engine/contract/accounts.ts'
import type { UpstreamClient } from '#engine/contract/backend.ts'
import { detailOf } from '#engine/contract/detail.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import {
  BODY_LENGTH,
  BODY_NONE,
  BODY_STREAM,
  type ClientStream,
  Exchange,
  STEP_SERVE
} from '#engine/contract/exchange.ts'
import type { ClientEvents, ServerEvents } from '#engine/contract/exchange-events.ts'
import { holdInAll } from '#engine/contract/held-bytes.ts'
import type { Call, CallEvents, CallRequest, InProcess, SideCall } from '#engine/contract/in-process.ts'
import { keepRequestId, requestIdOf } from '#engine/contract/request-id.ts'
import type { Route } from '#engine/contract/route.ts'
import { SIDE_PURPOSE } from '#engine/contract/side-call.ts'
import { TRACE } from '#engine/contract/tracing.ts'
import type { SpliceEnd } from '#engine/contract/transport.ts'
import { atRoundEnd, inTurn, turnStartedAt } from '#engine/socket/round.ts'
import { type TimerWheel, WheelTimer } from '#engine/socket/timer-wheel.ts'
import { InnerServer } from './inner-server.ts'
import { dropServer } from './local-reply.ts'

export interface InProcessOptions {
  /** The lifecycle. */
  readonly events: ClientEvents & ServerEvents & { fail(ex: Exchange, code: ErrorCode): void }
  readonly upstream: Pick<UpstreamClient, 'send'>
  readonly timers: TimerWheel
}

export function inProcess(options: InProcessOptions): InProcess {
  return {
    call(endpoint, request, events) {
      const { hostHeader } = endpoint
      const call = new InnerClient((ex) => options.upstream.send(ex, endpoint), request, events, options)
      call.begin(request.authority ?? hostHeader)
      return call
    },
    callBackend(serve, request, events) {
      const call = new InnerClient(serve, request, events, options)
      call.begin(request.authority ?? null)
      return call
    },
    answer(ex, status, headers, events) {
      const answer = new InnerServer(ex, events, options.events)
      answer.begin(status, headers)
      return answer
    },
    follow(ex, events) {
      const answer = new InnerServer(ex, events, options.events)
      dropServer(ex)
      ex.server = answer
      return answer
    }
  }
}

/** Received requests have been through the parser; what a backend writes may hold what a client said. */
function breaksLines({ path, query, request }: Exchange): boolean {
  let isBroken = /[\r\n\0 ]/.test(path) || /[\r\n\0 ]/.test(query)
  request.forEach((name, value) => {
    if (/[\r\n\0]/.test(value) || /[\r\n\0:]/.test(name)) isBroken = true
  })
  return isBroken
}

/** It is the same client, whose calls have gone through the policies of the route already. */
function paidBy(ex: Exchange, payer: Exchange): void {
  ex.identity = payer.identity
  const use = payer.slots === null ? null : KEY_USE.get(payer)
  if (use !== null) KEY_USE.set(ex, use)
  keepRequestId(ex, requestIdOf(payer))
}

/** As little as this of an answer is not worth counting: a socket keeps as much. */
const UNCOUNTED_BYTES = 16 * 1024

const RECORDER = { record() {} }
const ROUTE: Omit<Route, 'serve'> = {
  name: '',
  rule: '',
  listener: '',
  port: 0,
  matches: [],
  requestHooks: null,
  responseHooks: null,
  settings: { requestTimeoutMs: 0, backendTimeoutMs: 0, hostRewrite: 'auto' },
  retry: null,
  mirrors: null,
  isTimed: false,
  recorder: RECORDER
}

/** Authority of a request to a server without a name of its own (a unix socket). */
const NO_NAME = 'localhost'

class InnerClient implements Call, ClientStream {
  /** For all callers together. */
  readonly remoteAddress = ''
  readonly remotePort = 0
  readonly localPort = 0
  readonly httpVersion: string
  readonly #options: InProcessOptions
  readonly #events: CallEvents
  readonly #ex: Exchange
  readonly #timeoutMs: number
  #isOver = false
  /** The last write was refused room. */
  #isThrottled = false

  constructor(serve: (ex: Exchange) => void, request: CallRequest, events: CallEvents, options: InProcessOptions) {
    const { method, path, query, headers, body, timeoutMs, isGrpc = false, trace, record, payer } = request
    const whole = body === 'stream' || body?.length === 0 ? null : body
    const kind = body === 'stream' ? BODY_STREAM : whole === null ? BODY_NONE : BODY_LENGTH
    const ex = new Exchange(this, method, path, query, NO_NAME, headers, kind, whole?.length ?? 0, turnStartedAt)
    this.httpVersion = isGrpc ? '2' : '1.1'
    headers.remove('content-length')
    if (whole !== null) {
      headers.append('Content-Length', String(whole.length))
      ex.requestBytes = whole
      ex.heldRequest = [whole]
    }
    ex.requestDone = body !== 'stream'
    ex.wantsTrailers = isGrpc
    ex.route = { ...ROUTE, serve, recorder: { record: () => this.#over(record ?? null) } }
    ex.step = STEP_SERVE
    if (trace != null) TRACE.set(ex, trace)
    if (record !== undefined) {
      SIDE_PURPOSE.set(ex, record.purpose)
      keepRequestId(ex, requestIdOf(record.of))
    }
    if (payer !== undefined) paidBy(ex, payer)
    this.#ex = ex
    this.#events = events
    this.#options = options
    this.#timeoutMs = timeoutMs
  }

  /** `host`: what is sent as Host; null: what the backend says. */
  begin(host: string | null): void {
    const ex = this.#ex
    ex.upstreamHost = host
    if (breaksLines(ex)) {
      // The caller must hold the call before its first event.
      atRoundEnd(() => this.#failed('INTERNAL'))
      return
    }
    inTurn(() => {
      if (this.#timeoutMs > 0) {
        ex.timer = new WheelTimer(() => inTurn(() => this.#options.events.fail(ex, 'UPSTREAM_TIMEOUT')))
        this.#options.timers.arm(ex.timer, turnStartedAt, this.#timeoutMs)
      }
      ex.route!.serve(ex)
    })
  }

  /** Also of the lifecycle, when the answer broke off: #over has reported that by then. */
  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    inTurn(() => this.#options.events.onClientFault(this.#ex, 'CLIENT_GONE'))
  }

  resume(): void {
    if (!this.#isOver) inTurn(() => this.#options.events.onClientWritable(this.#ex))
  }

  write(bytes: Buffer): boolean {
    const ex = this.#ex
    if (this.#isOver || ex.requestDone) return true
    let hasRoom = true
    inTurn(() => {
      hasRoom = this.#options.events.onRequestBody(ex, bytes, 0, bytes.length, null)
    })
    this.#isThrottled = !hasRoom
    return hasRoom
  }

  finish(): void {
    const ex = this.#ex
    if (this.#isOver || ex.requestDone) return
    ex.requestDone = true
    inTurn(() => this.#options.events.onRequestEnd(ex, ''))
  }

  keeps(bytes: number): boolean {
    const ex = this.#ex
    return (bytes <= UNCOUNTED_BYTES && ex.held === null) || holdInAll(ex, bytes)
  }

  /** The engine's own reply to a fault says why there is no answer. */
  #over(record: SideCall | null): void {
    if (record !== null && this.#ex.llm !== null) record.of.route?.recorder.recordCall?.(this.#ex)
    if (this.#ex.llm !== null) this.#events.used?.(this.#ex.llm)
    if (this.#ex.slots !== null) TRACE.get(this.#ex)?.over(this.#ex)
    if (this.#ex.error !== null) this.#failed(this.#ex.error)
  }

  #failed(code: ErrorCode): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#events.failed(code, detailOf(this.#ex))
  }

  sendHead({ status, response, localReply }: Exchange): void {
    if (!this.#isOver && localReply === null) this.#events.head(status, response!)
  }

  sendBody({ localReply }: Exchange, chunk: Buffer, start: number, end: number): boolean {
    return this.#isOver || localReply !== null || this.#events.body(chunk, start, end)
  }

  sendEnd(_ex: Exchange, trailers: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#events.end(trailers)
  }

  sendInterim(): void {}

  pauseBody(): void {}

  resumeBody(): void {
    if (this.#isOver || !this.#isThrottled || this.#ex.requestDone) return
    this.#isThrottled = false
    this.#events.writable?.()
  }

  splice(): SpliceEnd {
    throw new Error('a call asks for no upgrade')
  }
}
