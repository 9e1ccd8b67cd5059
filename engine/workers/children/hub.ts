/**
 * The child processes of all workers, in the main thread: one per (what is run, key). It starts them on
 * demand, ends them when they have not been used for long, when the configuration has them no more and when the gateway
 * ends, and bounds how many there are.
 */

import { createHash } from 'node:crypto'
import type { BackendKind } from '#engine/contract/backend.ts'
import type { ChannelEvents, ChildChannel, ChildFailure, ChildRequest, ChildSpec } from '#engine/contract/children.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { admit, type Running } from './admission.ts'
import { type ChildLog, childLog } from './log.ts'
import type { ChildCommand, ChildEvent, SentSpec, WireCommand } from './messages.ts'
import { LineProcess } from './process.ts'
import { type Caller, ChildSession } from './session.ts'
import { RemoteWire } from './wire.ts'

const LINKS_PER_WORKER_MAX = 50_000
/** A process that ends before its first answer: the next one waits, twice as long each time. */
const BACKOFF_FIRST_MS = 500
const BACKOFF_MAX_MS = 60_000
const LOOK_MS = 1_000
/** What runs on a target that the configuration has no more may take so long. */
const RETIRE_MS = 10_000

export interface HubOptions {
  /** The registry: which of their processes a configuration still has. Absent: none. */
  readonly kinds?: readonly BackendKind[]
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void
  /** To a worker. */
  readonly post: (worker: number, report: ChildEvent) => void
  /** How often it looks after its processes, and how long each step of an end takes; for tests. */
  readonly lookMs?: number
  readonly graceMs?: number
  readonly childrenMax?: number
}

interface Link {
  readonly caller: Caller
  readonly spec: SentSpec
  readonly target: TargetState
  /** Of the sessions. */
  readonly id: string
  readonly party: string
  instance: string | null
}

interface ChildOfTarget extends Running {
  readonly session: ChildSession
  readonly target: TargetState
}

/** What is known of one target, beyond its processes. */
interface TargetState {
  readonly print: string
  readonly isWire: boolean
  readonly say: ChildLog
  /** Processes in a row that ended before their first answer. */
  deaths: number
  retryAt: number
  /** When the configuration lost it; 0: it has it. */
  retiredAt: number
}

export class ChildHub {
  readonly #options: HubOptions
  /** Of the workers, by number. */
  readonly #links = new Map<number, Map<number, Link>>()
  readonly #sessions = new Map<string, ChildOfTarget>()
  readonly #instances = new Map<string, ChildSession>()
  readonly #targets = new Map<string, TargetState>()
  /** Sessions that end: they are no longer used. */
  readonly #ending = new Set<Promise<void>>()
  /** By number, with the worker that has it. */
  readonly #wires = new Map<number, { readonly worker: number; readonly wire: RemoteWire }>()
  #wireNumbers = 0
  #looking: NodeJS.Timeout | null = null
  #isClosed = false

  constructor(options: HubOptions) {
    this.#options = options
  }

  /** Process ids, for tests. */
  get pids(): readonly number[] {
    return [...this.#sessions.values()].map(({ session }) => session.pid)
  }

  receive(worker: number, order: ChildCommand): void {
    if (order.op === 'attach') {
      this.#attach(worker, order)
      return
    }
    if (order.op === 'wire') {
      const known = this.#wires.get(order.wire)
      if (known?.worker === worker) known.wire.onEvent(order.event)
      return
    }
    const link = this.#links.get(worker)?.get(order.link)
    if (link === undefined) this.#answerUnknown(worker, order)
    else this.#obey(link, order)
  }

  /** A worker is gone, and what it had asked. */
  workerGone(worker: number): void {
    for (const link of this.#links.get(worker)?.values() ?? []) this.#sessionOf(link)?.leave(link.caller)
    this.#links.delete(worker)
    for (const { session } of this.#sessions.values()) session.forget(worker)
    for (const { worker: its, wire } of [...this.#wires.values()]) if (its === worker) wire.over('its worker has ended')
  }

  /** `snapshot` is in force: processes of targets that it has not are ended, when they have answered. */
  keep(snapshot: Snapshot): void {
    const prints = new Set<string>()
    for (const [backend, described] of Object.entries(snapshot.backends)) {
      const kind = this.#options.kinds?.find((one) => one.kind === described.kind)
      for (const child of kind?.children?.(described as never) ?? []) prints.add(printOf({ ...child, backend }))
    }
    for (const [print, target] of this.#targets) {
      // The worker that has a wire gives it up when it is no longer used; only that worker knows what it is made of.
      if (target.isWire) continue
      if (prints.has(print)) target.retiredAt = 0
      else if (target.retiredAt === 0) target.retiredAt = performance.now()
    }
    this.#look()
  }

  /** Ends all of them; resolves when they are gone. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#looking !== null) clearInterval(this.#looking)
    for (const id of [...this.#sessions.keys()]) this.#end(id)
    await Promise.all(this.#ending)
  }

  // --- orders ---

  #attach(worker: number, order: ChildCommand & { op: 'attach' }): void {
    const links = this.#links.get(worker) ?? new Map<number, Link>()
    this.#links.set(worker, links)
    if (links.size >= LINKS_PER_WORKER_MAX) return
    const { link, key, spec, instance, party } = order
    const print = printOf(spec)
    let target = this.#targets.get(print)
    if (target === undefined) {
      const say = childLog(spec, this.#options.log)
      target = { print, isWire: spec.isWire, say, deaths: 0, retryAt: 0, retiredAt: 0 }
      this.#targets.set(print, target)
    }
    const send = (report: ChildEvent) => this.#options.post(worker, report)
    const caller = { worker, link, send, isGone: false }
    links.set(link, { caller, spec, target, id: `${print} ${key}`, instance, party })
  }

  #obey(link: Link, order: Exclude<ChildCommand, { op: 'attach' | 'wire' }>): void {
    const { caller } = link
    if (order.op === 'call') this.#call(link, order)
    else if (order.op === 'giveUp') this.#sessionOf(link)?.giveUp(caller, order.call)
    else if (order.op === 'send') this.#send(link, order)
    else if (order.op === 'listen') this.#listen(link, order.isOn)
    else if (order.op === 'took') this.#took(caller.worker, order)
    else {
      const session = this.#sessionOf(link)
      session?.leave(caller)
      if (order.op === 'close' && session !== null) this.#end(link.id)
      this.#links.get(caller.worker)?.delete(caller.link)
    }
  }

  /** The link was released meanwhile, or there are too many. */
  #answerUnknown(worker: number, order: ChildCommand): void {
    const { post } = this.#options
    const { link } = order
    const failure: ChildFailure = { kind: 'refused', message: 'too many conversations with MCP servers at once' }
    if (order.op === 'call') post(worker, { kind: 'child', link, event: 'failed', call: order.call, failure })
    else if (order.op === 'send') post(worker, { kind: 'child', link, event: 'sent', send: order.send, failure })
    else if (order.op === 'took') this.#took(worker, order)
  }

  #took(worker: number, { instance, chars }: ChildCommand & { op: 'took' }): void {
    this.#instances.get(instance)?.took(worker, chars)
  }

  #call(link: Link, { call, request }: ChildCommand & { op: 'call' }): void {
    const { caller } = link
    const found = this.#sessionFor(link, request)
    if (found instanceof ChildSession) {
      link.instance = found.instance
      found.call(caller, call, request)
    } else caller.send({ kind: 'child', link: caller.link, event: 'failed', call, failure: found })
  }

  #send(link: Link, { send, notice }: ChildCommand & { op: 'send' }): void {
    const { caller } = link
    const failure = this.#sessionOf(link)?.send(notice) ?? (this.#sessionOf(link) === null ? EXPIRED : null)
    caller.send({ kind: 'child', link: caller.link, event: 'sent', send, failure })
  }

  #listen(link: Link, isOn: boolean): void {
    const { caller } = link
    const session = this.#sessionOf(link)
    if (session !== null) session.listen(caller, isOn)
    else if (isOn) caller.send({ kind: 'child', link: caller.link, event: 'over', failure: EXPIRED })
  }

  // --- processes ---

  /** The running process that the link means, or null. */
  #sessionOf(link: Link): ChildSession | null {
    const session = this.#sessions.get(link.id)?.session
    if (session === undefined || session.isOver) return null
    return link.instance === null || link.instance === session.instance ? session : null
  }

  /** The one that the link means; it is started where the link means none in particular. */
  #sessionFor(link: Link, { isInitialize, text }: ChildRequest): ChildSession | ChildFailure {
    // Only an initialize begins anew where a process has been: everything else needs what that one knew.
    if (link.instance !== null && !isInitialize) return this.#sessionOf(link) ?? EXPIRED
    const running = this.#sessions.get(link.id)?.session
    if (running !== undefined && (!isInitialize || running.canInitialize(text))) return running
    this.#end(link.id)
    return this.#start(link)
  }

  #start(link: Link): ChildSession | ChildFailure {
    const { spec, target, id, caller, party } = link
    const now = performance.now()
    if (this.#isClosed) return { kind: 'refused', message: 'is not started any more: the gateway ends' }
    if (target.retiredAt > 0) return { kind: 'refused', message: 'is not in the configuration any more' }
    if (now < target.retryAt) {
      const seconds = Math.ceil((target.retryAt - now) / 1000)
      const times = target.deaths === 1 ? 'once' : `${target.deaths} times in a row`
      return { kind: 'refused', message: `could not be started ${times}: the next try is in ${seconds} s` }
    }
    const full = this.#noRoom(link, now)
    if (full !== null) return full
    try {
      const events = {
        log: target.say,
        answered: () => {
          target.deaths = 0
        },
        ended: (why: string) => this.#ended(id, target, session, why)
      }
      const start = (channel: ChannelEvents): ChildChannel =>
        spec.isWire ? this.#wire(caller, channel) : new LineProcess(spec, channel, this.#options.graceMs)
      const session: ChildSession = new ChildSession(spec, events, start)
      this.#sessions.set(id, { session, target, party })
      this.#instances.set(session.instance, session)
      this.#looking ??= setInterval(() => this.#look(), this.#options.lookMs ?? LOOK_MS).unref()
      return session
    } catch (error) {
      const { message } = error as Error
      this.#blame(target)
      target.say('warn', `cannot be started: ${message}`)
      return { kind: 'unreachable', message: `cannot be started: ${message}` }
    }
  }

  /** In the worker of the first caller. */
  #wire({ worker, link, send }: Caller, channel: ChannelEvents): RemoteWire {
    const number = ++this.#wireNumbers
    const order = (wanted: WireCommand): void =>
      send({ kind: 'child', link, event: 'wire', wire: number, order: wanted })
    const wire = new RemoteWire(order, channel)
    this.#wires.set(number, { worker, wire })
    void wire.gone.then(() => this.#wires.delete(number))
    return wire
  }

  #blame(target: TargetState): void {
    // Others may be able to begin where one could not: it is the client whom a server in the network turns away.
    if (target.isWire) return
    target.deaths++
    target.retryAt = performance.now() + Math.min(BACKOFF_FIRST_MS * 2 ** (target.deaths - 1), BACKOFF_MAX_MS)
  }

  #ended(id: string, target: TargetState, session: ChildSession, why: string): void {
    // The session may have been ended by this very caller.
    if (this.#sessions.get(id)?.session !== session) return
    this.#forget(id, session)
    if (!session.hasAnswered) this.#blame(target)
    target.say('warn', `${why}${session.hasAnswered ? '' : ' before its first answer'}`)
  }

  #forget(id: string, { instance }: ChildSession): void {
    this.#sessions.delete(id)
    this.#instances.delete(instance)
  }

  #end(id: string): void {
    const known = this.#sessions.get(id)
    if (known === undefined) return
    this.#forget(id, known.session)
    const gone = known.session.end().finally(() => this.#ending.delete(gone))
    this.#ending.add(gone)
  }

  /** Why there is no room; null: there is. */
  #noRoom({ spec, party }: Link, now: number): ChildFailure | null {
    const { childrenMax } = this.#options
    const room = admit(this.#sessions, { spec, party, ending: this.#ending.size, childrenMax, now })
    if ('why' in room) return room.why === 'all' ? TOO_MANY : TOO_MANY_OF_ONE
    if (room.end !== null) this.#end(room.end)
    return null
  }

  /** Ends unused processes, and those that the configuration no longer has. */
  #look(): void {
    const now = performance.now()
    const used = new Set<TargetState>()
    for (const [id, { session, target }] of this.#sessions) {
      session.look(now)
      const { idleMs } = session.spec
      const isUnused = idleMs > 0 && session.isIdle && now - session.usedAt > idleMs
      const isRetired = target.retiredAt > 0 && (!session.isBusy || now - target.retiredAt > RETIRE_MS)
      if (isUnused || isRetired) this.#end(id)
      else used.add(target)
    }
    for (const [print, target] of this.#targets)
      if ((target.retiredAt > 0 || target.isWire) && !used.has(target) && !this.#isLinked(target))
        this.#targets.delete(print)
    if (this.#sessions.size > 0 || this.#looking === null) return
    clearInterval(this.#looking)
    this.#looking = null
  }

  #isLinked(target: TargetState): boolean {
    for (const links of this.#links.values()) for (const link of links.values()) if (link.target === target) return true
    return false
  }
}

const EXPIRED: ChildFailure = { kind: 'expired', message: 'what it knew of the session is gone' }

const TOO_MANY: ChildFailure = { kind: 'refused', message: 'too many of its processes are in use' }
const TOO_MANY_OF_ONE: ChildFailure = {
  kind: 'refused',
  message: 'as many of its processes as one client may have are in use: end a session, or wait for a call to end'
}

/** Two specifications with the same print run the same thing. */
function printOf(spec: Pick<ChildSpec, 'backend' | 'target' | 'cmd' | 'args' | 'env' | 'cwd'>): string {
  const { backend, target, cmd, args, env, cwd } = spec
  const names = Object.keys(env).sort()
  const parts = [backend, target, cmd, args, names.map((name) => [name, env[name]]), cwd]
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}
