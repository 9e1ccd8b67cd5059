/**
 * Active health checks: the addresses of an endpoint are checked (docs/design/035-health.md). Each
 * worker looks when an address is due; the one that moves the time of its next check asks. So there is one check for
 * the whole process, and another worker goes on when one dies.
 */

import type { Background } from '#engine/contract/background.ts'
import type { CheckCredentials } from '#engine/contract/check-credentials.ts'
import { type Destination, type EndpointOptions, SPOKEN_DEFAULT } from '#engine/contract/endpoint.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { InProcess } from '#engine/contract/in-process.ts'
import type { ActiveCheck, GrpcCheck, HttpCheck } from '#engine/contract/resilience.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { HealthCheckRequest, HealthCheckResponse } from '#engine/proto/generated/grpc/health/v1/health.ts'
import type { ServiceDestination } from '#engine/service/destination.ts'
import { callUnary } from '#engine/service/grpc-call.ts'
import { writeProxyHeader } from '#engine/socket/proxy-header.ts'
import { inTurn } from '#engine/socket/round.ts'
import { type TimerWheel, WheelTimer } from '#engine/socket/timer-wheel.ts'
import type { DialledAddress } from './address-list.ts'
import { HttpCheckCall } from './check-call.ts'
import { type Connector, connectTo } from './connect.ts'
import type { HostSet } from './host-group.ts'
import { HTTP1 } from './http-version.ts'
import { LentCredentials } from './lent-credentials.ts'
import { ObservedHealth } from './outlier.ts'

/** Of an answer; what is longer says nothing more, and is not waited for. */
const ANSWER_BYTES_MAX = 64 * 1024
/** Checks of one endpoint at a time, in this worker. */
const RUNNING_MAX = 32
/** At least so long until a worker looks again. */
const LOOK_MIN_MS = 50
/** Checks of one interval spread over this share of it. */
const JITTER = 0.1
const SERVING = 1
/** Statuses of a server that does not take who asks: UNAUTHENTICATED and PERMISSION_DENIED in gRPC. */
const REFUSALS: readonly number[] = [401, 403]
const GRPC_REFUSALS: readonly number[] = [16, 7]
const USER_AGENT = 'weir-health-check'
const CHECK_PATH = '/grpc.health.v1.Health/Check'

/** Null: it is well. Otherwise why it is not, for the log. */
type Finding = string | null
type Done = (finding: Finding) => void

export interface CheckerParts {
  readonly check: ActiveCheck
  readonly hosts: HostSet
  readonly timers: TimerWheel
  readonly random: () => number
  /** Those that are known now. */
  readonly addresses: () => readonly DialledAddress[]
  /** Sends to one address alone. */
  readonly sender: (address: DialledAddress, options: EndpointOptions) => (ex: Exchange) => void
  /** No check follows: connections for them are closed. */
  readonly ended: () => void
  /** What it has to show cannot be had. */
  readonly fail: (ex: Exchange) => void
  readonly calls: () => InProcess
  readonly connect: (address: DialledAddress, port: number | null, done: (error: string | null) => void) => () => void
}

export class ActiveChecker implements Background {
  readonly credentials = new LentCredentials()
  readonly #parts: CheckerParts
  readonly #timer: WheelTimer
  #users = 0
  #running = 0

  constructor(parts: CheckerParts) {
    this.#parts = parts
    this.#timer = new WheelTimer(() => this.#look())
  }

  /** A configuration has come into force that has the endpoint. */
  begin(): void {
    // Later: backends that have not begun yet may lend what the server wants to see.
    if (++this.#users === 1) this.#parts.timers.arm(this.#timer, performance.now(), 0)
  }

  /** One is in force no more. */
  end(): void {
    if (--this.#users > 0) return
    this.#parts.timers.remove(this.#timer)
    this.#parts.ended()
  }

  #look(): void {
    if (this.#users === 0) return
    const { addresses, check, hosts, timers, random } = this.#parts
    const known = addresses()
    // Names are asked for again with the next look.
    if (known.length === 0) hosts.resolve().catch(() => undefined)
    let soonestMs = known.length === 0 ? LOOK_MIN_MS * 10 : check.intervalMs
    for (const address of known) {
      const { health } = address
      if (!(health instanceof ObservedHealth)) continue
      const dueMs = health.checkDueMs
      const isMine = dueMs <= 0 && this.#running < RUNNING_MAX && health.takeCheck(this.#jittered(check.intervalMs))
      if (isMine) this.#check(address, health)
      soonestMs = Math.min(soonestMs, dueMs <= 0 ? check.intervalMs : dueMs)
    }
    timers.arm(this.#timer, performance.now(), Math.max(LOOK_MIN_MS, soonestMs * (1 + JITTER * random())))
  }

  #jittered(ms: number): number {
    return ms * (1 + JITTER * (this.#parts.random() - 0.5))
  }

  #check(address: DialledAddress, health: ObservedHealth): void {
    const { check } = this.#parts
    this.#running++
    let isOver = false
    const done = (finding: Finding) => {
      if (isOver) return
      isOver = true
      this.#running--
      if (this.#users > 0) health.checked(finding, check)
      // In a turn of its own: its connection becomes idle when the answer is over.
      else setImmediate(() => this.#users === 0 && this.#parts.ended())
    }
    if (check.kind === 'tcp') this.#byTcp(address, done)
    else if (check.kind === 'grpc') this.#byGrpc(check, address, done)
    else this.#byHttp(check, address, done)
  }

  #byTcp(address: DialledAddress, done: Done): void {
    const { check, timers, connect } = this.#parts
    const timer = new WheelTimer(() => {
      giveUp()
      done('it did not accept the connection in time')
    })
    timers.arm(timer, performance.now(), check.timeoutMs)
    const giveUp = connect(address, check.port, (error) => {
      timers.remove(timer)
      done(error)
    })
  }

  /** Where calls about one address go: to that alone, dialled as requests dial it. */
  #destination(address: DialledAddress, shown: CheckCredentials | null): ServiceDestination {
    const { check, hosts, sender, calls } = this.#parts
    const { resilience: _, http = SPOKEN_DEFAULT, ...options } = address.host.options
    const connectTimeoutMs = Math.min(hosts.options.connectTimeoutMs, check.timeoutMs)
    const send = sender(address, { ...options, connectTimeoutMs, http })
    const serve = (ex: Exchange): void => {
      ex.upstreamHost ??= address.host.hostHeader
      this.#show(shown, ex, send)
    }
    return { name: address.host.name, inProcess: calls(), serve, recorder: NOT_RECORDED }
  }

  /** What a check shows the server itself, and not what listens on another port of its host. */
  #shownTo({ address }: DialledAddress): CheckCredentials | null {
    const { port } = this.#parts.check
    const isServer = port === null || 'unixPath' in address || port === address.port
    return isServer ? this.credentials.shown : null
  }

  /** Sends `ex` when it shows who asks. */
  #show(shown: CheckCredentials | null, ex: Exchange, send: (ex: Exchange) => void): void {
    const { fail } = this.#parts
    const waiting = shown?.show(ex) ?? null
    if (waiting === null) {
      send(ex)
      return
    }
    // The time of the check may be over by then.
    const isWanted = () => ex.response === null && !ex.responseDone
    waiting.then(
      (put) =>
        inTurn(() => {
          if (!isWanted()) return
          put()
          send(ex)
        }),
      () => inTurn(() => isWanted() && fail(ex))
    )
  }

  /** Who asks was refused. True: the server may take what another backend shows it. `isAgain`: that has been tried. */
  #isWorthAsking(address: DialledAddress, shown: CheckCredentials | null, isAgain: boolean): boolean {
    if (shown !== null) this.credentials.refused(shown)
    return !isAgain && this.#shownTo(address) !== shown
  }

  #byGrpc(check: ActiveCheck & GrpcCheck, address: DialledAddress, done: Done, isAgain = false): void {
    const { service, timeoutMs } = check
    const shown = this.#shownTo(address)
    const message = HealthCheckRequest.encode({ service }).finish()
    const call = { path: CHECK_PATH, metadata: null, timeoutMs, ex: null, messageBytesMax: ANSWER_BYTES_MAX }
    callUnary(this.#destination(address, shown), call, message, (answer) => {
      const isRefused = answer.error === null && GRPC_REFUSALS.includes(answer.status)
      if (isRefused && this.#isWorthAsking(address, shown, isAgain)) this.#byGrpc(check, address, done, true)
      else if (answer.error !== null) done(answer.detail)
      else if (answer.status !== 0) done(`it answers with grpc-status ${answer.status}`)
      else done(servingOf(answer.bytes!))
    })
  }

  #byHttp(check: ActiveCheck & HttpCheck, address: DialledAddress, done: Done, isAgain = false): void {
    const shown = this.#shownTo(address)
    const { method, path, host, expectedStatuses, timeoutMs } = check
    const headers = new HeaderBlock()
    headers.receive('user-agent', USER_AGENT)
    const authority = host ?? address.host.hostHeader
    const request = { method, path, query: '', headers, body: null, authority, timeoutMs }
    const call = new HttpCheckCall(this.#destination(address, shown), ANSWER_BYTES_MAX, (answer) => {
      if (typeof answer !== 'number') {
        done(answer.detail)
        return
      }
      const isGood = expectedStatuses.some(([from, to]) => answer >= from && answer <= to)
      const isRefused = !isGood && REFUSALS.includes(answer)
      if (isRefused && this.#isWorthAsking(address, shown, isAgain)) this.#byHttp(check, address, done, true)
      else done(isGood ? null : `it answers with ${answer}`)
    })
    call.begin(request)
  }
}

const NOT_RECORDED = { record() {} }

function servingOf(bytes: Uint8Array): Finding {
  try {
    return HealthCheckResponse.decode(bytes).status === SERVING ? null : 'it says that it does not serve'
  } catch {
    // What is not of this type says nothing of its health.
    return 'its answer is no HealthCheckResponse'
  }
}

/** One address, at another port if that is said. */
export function checkedAt({ address, host }: DialledAddress, port: number | null): Destination {
  if ('unixPath' in address) return { host: '', port: 0, unixPath: address.unixPath }
  const { identity } = host
  const plain = { host: address.ip, port: port ?? address.port, unixPath: null }
  return identity === null ? plain : { ...plain, identity }
}

/** Connects and leaves. `done` with null: the connection was made, with TLS where that is spoken. */
export function connectOnce(
  connector: Connector,
  { address, host }: DialledAddress,
  port: number | null,
  done: (error: string | null) => void
): () => void {
  const to = 'unixPath' in address || port === null ? address : { ...address, port }
  const { proxyProtocol } = host.options
  return connectTo(
    { address: to, host },
    HTTP1,
    connector,
    (code, wire) => {
      wire?.destroy()
      done(wire === null ? `no connection: ${code ?? 'EIO'}` : null)
    },
    proxyProtocol === undefined ? {} : { preamble: writeProxyHeader(proxyProtocol, NO_CLIENT) }
  )
}

const NO_CLIENT = { remoteAddress: '', remotePort: 0, localAddress: '', localPort: 0 }
