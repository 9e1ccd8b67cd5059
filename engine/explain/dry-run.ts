/**
 * One request through the Runtime that a configuration makes: the parser, the lifecycle, the hooks and the backends are
 * those that serve traffic. Only the ends are simulated: the client's connection, and the way to
 * backends and services.
 */
import { detailOf } from '#engine/contract/detail.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import { type Exchange, STEP_SERVE } from '#engine/contract/exchange.ts'
import { CONTINUE, type Hook, type Verdict } from '#engine/contract/filter.ts'
import { sendNothing } from '#engine/contract/outbound.ts'
import type { HookOwner, Recorder, Router } from '#engine/contract/route.ts'
import type { ClientTls } from '#engine/contract/transport.ts'
import type { OpenConnection } from '#engine/downstream/connection-limiter.ts'
import { Http1Connection } from '#engine/downstream/http1/connection.ts'
import { Http2Connection } from '#engine/downstream/http2/connection.ts'
import { llhttp } from '#engine/http/llhttp.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { inProcess } from '#engine/lifecycle/in-process.ts'
import { Lifecycle } from '#engine/lifecycle/lifecycle.ts'
import { inTurn } from '#engine/socket/round.ts'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import { readsOf } from '#engine/story/reads.ts'
import { changesOf, headersByName, shownText } from '#engine/story/shown.ts'
import { type Side, type Watch, WatchedRoutes } from '#engine/story/watch.ts'
import type { DryParts, OtherRoute } from './dry-parts.ts'
import { dryUpstream } from './dry-upstream.ts'
import type { DryRequest } from './request.ts'
import { type SimulatedAnswer, type SimulatedClient, SimulatedHttp1Client } from './simulated-client.ts'
import { SimulatedHttp2Client } from './simulated-client-http2.ts'
import { SimulatedWire } from './simulated-wire.ts'

/** What one hook has decided, and what could be seen of it. */
export interface HookRun {
  readonly owner: HookOwner
  readonly side: Side
  /** Before the route was known. */
  readonly isPreRouting: boolean
  verdict: 'passes' | 'answers' | 'asks'
  detail: string | null
  expressions: readonly string[]
  changes: readonly string[]
  readonly asks: string[]
  readonly limits: string[]
}

/** What the run has come to; null where it did not get so far. */
export interface DryResult {
  readonly ex: Exchange | null
  /** Why the gateway has answered; null: nothing is known of it, or it has not. */
  readonly detail: string | null
  readonly runs: readonly HookRun[]
  /** Where the request went. */
  readonly sentTo: Endpoint | null
  /** Of it, where they are known without DNS; null: they are not. */
  readonly hosts: readonly string[] | null
  readonly bodyBytes: number
  /** What the backend asks beside or before that. */
  readonly asks: readonly string[]
  readonly mirrors: readonly string[]
  /** The gateway's own. */
  readonly answer: SimulatedAnswer | null
  /** How HTTP/2 has ended without one; null: it has not. */
  readonly broken: string | null
  /** Why nothing is decided; null: something is. */
  readonly undecided: string | null
  /** Routes that it was not taken to. */
  readonly others: readonly OtherRoute[]
}

/** For work in other threads; nothing else takes long. */
const DECIDED_MS_MAX = 60_000
/** Turns of the event loop in which nothing more has happened. */
const QUIET_TURNS = 5
/** Behind so many turns it is another thread that is waited for: looking all the time would only cost. */
const EAGER_TURNS = 100
const LOOK_MS = 5

/** What client and gateway have agreed on. */
export interface Spoken {
  /** Null: clear text. */
  readonly tls: ClientTls | null
  readonly isHttp2: boolean
}

export class DryRun implements Watch {
  #ex: Exchange | null = null
  #sentTo: Endpoint | null = null
  #hosts: readonly string[] | null = null
  #bodyBytes = 0
  #isRecorded = false
  #detail: string | null = null
  #current: { readonly run: HookRun; readonly ask: () => void } | null = null
  /** Hooks change the request later. */
  #others: readonly OtherRoute[] = []
  readonly #runs: HookRun[] = []
  readonly #asks: string[] = []
  readonly #mirrors: string[] = []
  readonly #watched = new WatchedRoutes(this)
  readonly #wire: SimulatedWire
  readonly #client: SimulatedClient
  readonly #parts: DryParts
  #changed = 0

  constructor(snapshot: Snapshot, request: DryRequest, { tls, isHttp2 }: Spoken, parts: DryParts) {
    this.#parts = parts
    const parser = llhttp()
    const wire = new SimulatedWire(request.from, parser.memory)
    this.#wire = wire
    this.#client = isHttp2 ? new SimulatedHttp2Client(wire, request) : new SimulatedHttp1Client(wire, request)
    // A clock that stands still: no timeout of the configuration ends an explanation.
    const timers = new TimerWheel(() => 0)
    const recorder: Recorder = { record: (ex) => this.over(ex) }
    let router: Router = { route: () => 'LISTENER_NOT_FOUND' }
    const lifecycle = new Lifecycle({
      router: () => router,
      unrouted: recorder,
      timers,
      onBroken: (error) => this.#asks.push(`a hook failed: ${shownText(String(error))}`)
    })
    const upstream = dryUpstream(parts.hosts, (ex, endpoint, hosts) => {
      this.#sending(ex, endpoint, hosts)
      if (hosts?.length !== 0) return
      ex.endpoint = endpoint.name
      lifecycle.fail(ex, 'NO_ENDPOINT')
    })
    const built = parts.build(snapshot, {
      upstream,
      lifecycle,
      recorder,
      inProcess: inProcess({ events: lifecycle, upstream, timers }),
      limitSeen: (text) => void this.#current?.run.limits.push(text)
    })
    router = {
      ...built,
      route: (ex) => {
        const code = built.route(ex)
        this.#ex ??= ex
        this.#watched.begin(ex, code)
        return code
      }
    }
    const { http: settings, http2 } = snapshot.frontend
    const server = { port: request.port, events: lifecycle, llhttp: parser, timers, settings, http2 }
    const connections = new Set<OpenConnection>()
    const context = { ...server, draining: false, leaving: false, connections, closed() {} }
    // On clear text the connection finds out by itself.
    if (tls?.alpn === 'h2') new Http2Connection(context, wire, tls)
    else new Http1Connection(context, wire, tls)
  }

  /** `made`: what is made of the result, while the exchange is as it was. */
  async run<T>(made: (result: DryResult) => T): Promise<T> {
    sendNothing((question) => this.#ask(question))
    try {
      this.#client.begin()
      const undecided = await this.#settled()
      return made({
        ex: this.#ex,
        detail: this.#detail,
        runs: this.#runs,
        sentTo: this.#sentTo,
        hosts: this.#hosts,
        bodyBytes: this.#bodyBytes,
        asks: this.#asks,
        mirrors: this.#mirrors,
        answer: this.#client.answer,
        broken: this.#client.broken,
        undecided,
        others: this.#others
      })
    } finally {
      sendNothing(null)
      // As a client that leaves: what is under way ends, and no timer is left.
      inTurn(() => this.#wire.owner.onError('ECONNRESET'))
      this.#wire.destroy()
    }
  }

  /** Resolves when nothing more happens by itself: null, or why nothing is decided. */
  async #settled(): Promise<string | null> {
    const until = performance.now() + DECIDED_MS_MAX
    let quiet = 0
    for (let turn = 0; performance.now() < until; turn++) {
      const before = this.#changed
      await new Promise((resolve) => (turn < EAGER_TURNS ? setImmediate(resolve) : setTimeout(resolve, LOOK_MS)))
      quiet = (this.#isSettled || this.#lacksBody) && this.#changed === before ? quiet + 1 : 0
      if (quiet >= QUIET_TURNS) return this.#isSettled ? null : 'the gateway would wait for the rest of the body'
    }
    return 'no hook or backend has decided within 60 s'
  }

  /** The body is waited for, and is shorter than the request says. */
  get #lacksBody(): boolean {
    return this.#ex !== null && this.#ex.requestCollector !== null && this.#wire.isRead
  }

  get #isSettled(): boolean {
    const ex = this.#ex
    if (this.#isRecorded || this.#sentTo !== null || this.#wire.isClosed) return true
    if (this.#client.answer !== null || this.#client.broken !== null) return true
    return ex !== null && ex.step === STEP_SERVE && this.#asks.length > 0
  }

  // --- what the engine tells ---

  #sending(ex: Exchange, endpoint: Endpoint, hosts: readonly string[] | null): void {
    this.#changed++
    if (ex === this.#ex) {
      // Where nothing is, it ends with an answer.
      if (hosts?.length !== 0) this.#sentTo = endpoint
      this.#hosts = hosts
      const { server, requestBytes } = ex
      if (server !== null || requestBytes === null) this.#bodyBytes = Math.max(ex.requestLength, 0)
      else this.#bodyBytes = requestBytes.length
    } else if (ex.route !== null && ex.route.name !== '' && ex.route.name === this.#ex?.route?.name) {
      this.#mirrors.push(ex.backend ?? endpoint.name)
    } else {
      const { name: address } = endpoint
      const name = ex.backend === null || ex.backend === address ? address : `${ex.backend} (${address})`
      this.#ask(`${name}: ${ex.method} ${shownText(ex.path)}`)
    }
  }

  #ask(question: string): void {
    this.#changed++
    const current = this.#current
    if (current === null) this.#asks.push(shownText(question))
    else {
      current.run.asks.push(shownText(question))
      current.ask()
    }
  }

  hook(ex: Exchange, owner: HookOwner, side: Side, hook: Hook): Verdict | Promise<Verdict> {
    this.#changed++
    const run: HookRun = {
      ...{ owner, side, isPreRouting: ex.route === null && side === 'request', verdict: 'passes', detail: null },
      ...{ expressions: [], changes: [], asks: [], limits: [] }
    }
    this.#runs.push(run)
    const before = headersByName(ex.request)
    const { path } = ex
    const { promise: isAsking, resolve } = Promise.withResolvers<Verdict>()
    this.#current = { run, ask: () => resolve(CONTINUE) }
    const decided = (verdict: Verdict): Verdict => {
      this.#changed++
      this.#current = null
      // A service that is not asked has not denied it.
      const taken = run.asks.length > 0 ? CONTINUE : verdict
      run.verdict = run.asks.length > 0 ? 'asks' : taken === CONTINUE ? 'passes' : 'answers'
      if (run.verdict === 'answers') run.detail = detailOf(ex)
      run.changes = changesOf(before, headersByName(ex.request))
      if (path !== ex.path) run.changes = [...run.changes, `rewrites the path to ${shownText(ex.path)}`]
      run.expressions = side === 'request' ? readsOf(owner, ex) : []
      return taken
    }
    const verdict = hook(ex)
    if (typeof verdict === 'number') return decided(verdict)
    return Promise.race([verdict, isAsking]).then(decided)
  }

  routed(ex: Exchange): void {
    this.#changed++
    this.#others = this.#parts.others(ex)
  }

  serving(): void {
    this.#changed++
  }

  over(ex: Exchange): void {
    this.#changed++
    // One that was refused by its head alone has met no router.
    this.#ex ??= ex
    if (ex !== this.#ex) return
    this.#isRecorded = true
    // Its headers belong to the connection, which is about to take another request.
    this.#detail = detailOf(ex)
  }
}
