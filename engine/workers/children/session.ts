/**
 * One process and its messages: requests of all workers get ids of their own, answers find their way back, and
 * server-initiated messages go to an open stream.
 */
import { randomBytes } from 'node:crypto'
import type {
  ChannelEvents,
  ChildChannel,
  ChildFailure,
  ChildNotice,
  ChildRequest,
  Delivery
} from '#engine/contract/children.ts'
import type { ChildEvent, SentSpec } from './messages.ts'
import { isTooDeep, type RpcLine, readRpcLine } from './rpc-line.ts'

export const PENDING_MAX = 256
/** Bytes that wait for the process to read them: one message may be as long as it may. */
const QUEUED_BYTES_MAX = 8 * 1024 * 1024
/** Messages without a reader yet. */
const BACKLOG_MAX = 64
const BACKLOG_CHARS_MAX = 256 * 1024
/** Characters that a worker has been sent and has not taken: beyond, the process is not read. */
const UNTAKEN_MAX = 4 * 1024 * 1024
/** A process that takes none of its input for so long is given up. */
const STUCK_MS = 30_000

/** A link of a worker. `send`: to that worker. */
export interface Caller {
  readonly worker: number
  readonly link: number
  readonly send: (report: ChildEvent) => void
  /** The link has been left, or its worker is gone: another one may have its number by now. */
  isGone: boolean
}

/** Whether it arrives shows in the answer. */
const PLAIN: Delivery = { isFirst: false, extra: undefined, lost: () => undefined }

interface Pending {
  readonly caller: Caller
  readonly call: number
  readonly request: ChildRequest
}

export interface SessionEvents {
  /** `text` for the log. */
  log(level: 'info' | 'warn', text: string): void
  /** Its first answer has come. */
  answered(): void
  ended(why: string): void
}

export class ChildSession {
  readonly instance = randomBytes(12).toString('base64url')
  readonly spec: SentSpec
  readonly #events: SessionEvents
  readonly #process: ChildChannel
  readonly #pending = new Map<number, Pending>()
  #ids = 0
  readonly #listeners: Caller[] = []
  readonly #backlog: { readonly text: string; readonly line: RpcLine }[] = []
  #backlogChars = 0
  /** By worker. */
  readonly #untaken = new Map<number, number>()
  #initialize: { readonly text: string; answer: string | null; readonly waiting: Pending[] } | null = null
  #isInitialized = false
  hasAnswered = false
  isOver = false
  usedAt = performance.now()
  #stuckSince = 0

  /** Throws an Error that says why the process cannot be started. */
  constructor(spec: SentSpec, events: SessionEvents, start: (channel: ChannelEvents) => ChildChannel) {
    this.spec = spec
    this.#events = events
    const channel: ChannelEvents = {
      line: (text) => this.#read(text),
      tooLong: () => this.#tooLong(),
      log: (text) => events.log('info', text),
      drained: () => {
        this.#stuckSince = 0
      },
      ended: (why) => this.#ended(why)
    }
    this.#process = start(channel)
  }

  get pid(): number {
    return this.#process.pid
  }

  /** No answer is awaited, and no stream is open. */
  get isIdle(): boolean {
    return this.#pending.size === 0 && this.#listeners.length === 0
  }

  get isBusy(): boolean {
    return this.#pending.size > 0
  }

  /** Another `initialize` than the first cannot be said to it. */
  canInitialize(text: string): boolean {
    return this.#initialize === null || this.#initialize.text === text
  }

  // --- from the workers ---

  call(caller: Caller, call: number, request: ChildRequest): void {
    const pending = { caller, call, request }
    if (request.isInitialize && this.#initialize !== null) {
      const { answer, waiting } = this.#initialize
      if (answer !== null) this.#answer(pending, answer)
      else if (waiting.length < PENDING_MAX) waiting.push(pending)
      else this.#fail(pending, refused('has too many requests under way'))
      return
    }
    const failure = this.#pending.size < PENDING_MAX ? this.#room() : refused('has too many requests under way')
    if (failure !== null) {
      this.#fail(pending, failure)
      return
    }
    if (request.isInitialize) this.#initialize = { text: request.text, answer: null, waiting: [] }
    const id = ++this.#ids
    this.#pending.set(id, pending)
    this.#write(`{"id":${id},${request.text.slice(1)}`, {
      ...PLAIN,
      extra: request.extra,
      lost: (failure) => this.#lost(id, failure)
    })
  }

  giveUp(caller: Caller, call: number): void {
    const { waiting } = this.#initialize ?? { waiting: [] }
    const at = waiting.findIndex((one) => one.caller === caller && one.call === call)
    if (at >= 0) waiting.splice(at, 1)
    for (const [id, one] of this.#pending) {
      if (one.caller !== caller || one.call !== call) continue
      // An initialize must not be cancelled (2025-11-25, cancellation); others may wait for its answer.
      if (one.request.isInitialize) return
      this.#pending.delete(id)
      this.#cancel(id)
    }
  }

  send(notice: ChildNotice): ChildFailure | null {
    if (notice.method === 'notifications/initialized') {
      if (this.#isInitialized) return null
      this.#isInitialized = true
    }
    const failure = this.#room()
    if (failure !== null) return failure
    const isFirst = notice.method === 'notifications/initialized'
    if (notice.cancels === null) this.#write(notice.text, { ...PLAIN, extra: notice.extra, isFirst })
    else this.#passCancel(notice, notice.cancels)
    return null
  }

  listen(caller: Caller, isOn: boolean): void {
    const at = this.#listeners.indexOf(caller)
    if (at >= 0) this.#listeners.splice(at, 1)
    this.usedAt = performance.now()
    if (!isOn) return
    this.#listeners.push(caller)
    for (const { text } of this.#backlog.splice(0)) this.#tell(caller, null, text)
    this.#backlogChars = 0
  }

  /** The link is gone: what it waits for is not needed. */
  leave(caller: Caller): void {
    caller.isGone = true
    this.listen(caller, false)
    for (const { caller: of, call } of [...this.#pending.values()]) if (of === caller) this.giveUp(caller, call)
  }

  took(worker: number, chars: number): void {
    this.#untaken.set(worker, Math.max(0, (this.#untaken.get(worker) ?? 0) - chars))
    this.#readOn()
  }

  forget(worker: number): void {
    this.#untaken.delete(worker)
    this.#readOn()
  }

  /** Called now and again. */
  look(now: number): void {
    if (this.#process.queuedBytes === 0) this.#stuckSince = 0
    else if (this.#stuckSince === 0) this.#stuckSince = now
    else if (now - this.#stuckSince > STUCK_MS) {
      this.#events.log('warn', `does not read its input for ${STUCK_MS / 1000} s: it is ended`)
      this.#process.kill()
    }
  }

  end(): Promise<void> {
    this.#over('has been ended')
    this.#process.end()
    return this.#process.gone
  }

  // --- to the process ---

  #room(): ChildFailure | null {
    if (this.#process.queuedBytes < QUEUED_BYTES_MAX) return null
    return refused('does not read what is sent to it')
  }

  #write(line: string, delivery: Delivery = PLAIN): void {
    this.usedAt = performance.now()
    this.#process.write(line, delivery)
  }

  #lost(id: number, failure: ChildFailure): void {
    const pending = this.#pending.get(id)
    if (pending === undefined) return
    this.#pending.delete(id)
    const waiting = pending.request.isInitialize ? (this.#initialize?.waiting ?? []) : []
    if (pending.request.isInitialize) this.#initialize = null
    for (const one of [pending, ...waiting]) this.#fail(one, failure)
  }

  #cancel(id: number): void {
    this.#write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`)
  }

  /** The client knows the request by another id than the process. */
  #passCancel(notice: ChildNotice, cancels: string | number): void {
    for (const [id, { request }] of this.#pending) {
      if (request.id !== cancels || request.isInitialize) continue
      const { params, ...rest } = JSON.parse(notice.text) as { params: object }
      const { extra } = notice
      this.#write(JSON.stringify({ ...rest, params: { ...params, requestId: id } }), { ...PLAIN, extra })
      return
    }
    // It has been answered meanwhile, or never was here: nothing is to be cancelled.
  }

  // --- from the process ---

  #read(text: string): void {
    if (this.isOver) return
    this.usedAt = performance.now()
    const line = readRpcLine(text)
    if (line === null) this.#events.log('warn', `wrote to stdout what is no message of MCP: ${text.slice(0, 200)}`)
    else if (isTooDeep(text)) this.#tooDeep(line)
    else if (line.kind === 'response') this.#response(line, text)
    else this.#unasked(line, text)
  }

  /** It cannot be written again: a response fails its caller, the rest is left out. */
  #tooDeep({ kind, id }: RpcLine): void {
    this.#events.log('warn', 'sent a message that is nested too deep, which is left out')
    if (kind !== 'response' || typeof id !== 'number') return
    this.#lost(id, { kind: 'broken', message: 'sent a message that is nested too deep' })
  }

  #response({ id }: RpcLine, text: string): void {
    const pending = typeof id === 'number' ? this.#pending.get(id) : undefined
    // It is no longer awaited.
    if (pending === undefined) return
    this.#pending.delete(id as number)
    if (!this.hasAnswered) this.#events.answered()
    this.hasAnswered = true
    const opening = this.#initialize
    if (pending.request.isInitialize && opening !== null) {
      // One that was refused may be said again.
      if (JSON.parse(text).error === undefined) opening.answer = text
      else this.#initialize = null
      for (const one of opening.waiting.splice(0)) this.#answer(one, text)
    }
    this.#answer(pending, text)
  }

  #unasked(line: RpcLine, text: string): void {
    const owner = this.#ownerOf(line)
    if (owner !== null) {
      this.#tell(owner.caller, owner.call, text)
      return
    }
    // For a subscription that has ended.
    if (line.subscription !== null) return
    const listener = this.#listeners.at(-1)
    const first = this.#pending.values().next().value
    if (listener !== undefined) this.#tell(listener, null, text)
    else if (first !== undefined) this.#tell(first.caller, first.call, text)
    else this.#keep(line, text)
  }

  /** The request that the message belongs to, or can only belong to. */
  #ownerOf({ progressToken, subscription }: RpcLine): Pending | null {
    if (subscription !== null) return this.#pending.get(Number(subscription)) ?? null
    if (progressToken !== null)
      for (const pending of this.#pending.values()) if (pending.request.progressToken === progressToken) return pending
    return this.#pending.size === 1 ? this.#pending.values().next().value! : null
  }

  #keep(line: RpcLine, text: string): void {
    this.#backlog.push({ text, line })
    this.#backlogChars += text.length
    while (this.#backlog.length > BACKLOG_MAX || this.#backlogChars > BACKLOG_CHARS_MAX) {
      const oldest = this.#backlog.shift()!
      this.#backlogChars -= oldest.text.length
      // A process that does not read its answers gets none.
      if (oldest.line.kind !== 'request' || this.#room() !== null) continue
      const error = { code: -32603, message: 'no client listens' }
      this.#write(JSON.stringify({ jsonrpc: '2.0', id: oldest.line.id, error }))
    }
  }

  /** Whose answer it was cannot be known: all that wait fail rather than wait for ever. */
  #tooLong(): void {
    const { lineBytesMax } = this.spec
    const message = `sent a message of more than ${lineBytesMax} bytes`
    this.#events.log('warn', `sent a message of more than ${lineBytesMax} bytes, which is left out`)
    this.#failAll({ kind: 'tooLarge', message })
  }

  #ended(why: string): void {
    this.#over(why)
    this.#events.ended(why)
  }

  #over(why: string): void {
    if (this.isOver) return
    this.isOver = true
    const message = `${why} before it answered`
    this.#failAll({ kind: this.hasAnswered ? 'broken' : 'unreachable', message })
    const failure: ChildFailure = { kind: 'expired', message: why }
    for (const { link, send } of this.#listeners.splice(0)) send({ kind: 'child', link, event: 'over', failure })
  }

  #failAll(failure: ChildFailure): void {
    const all = [...this.#pending.values(), ...(this.#initialize?.waiting.splice(0) ?? [])]
    this.#pending.clear()
    if (this.#initialize?.answer === null) this.#initialize = null
    for (const pending of all) this.#fail(pending, failure)
  }

  // --- to the workers ---

  #answer({ caller, call }: Pending, text: string): void {
    if (caller.isGone) return
    const { instance } = this
    caller.send({ kind: 'child', link: caller.link, event: 'answered', call, text, instance })
    this.#count(caller.worker, text.length)
  }

  #fail({ caller, call }: Pending, failure: ChildFailure): void {
    if (!caller.isGone) caller.send({ kind: 'child', link: caller.link, event: 'failed', call, failure })
  }

  #tell(caller: Caller, call: number | null, text: string): void {
    if (caller.isGone) return
    const { instance } = this
    caller.send({ kind: 'child', link: caller.link, event: 'message', call, text, instance })
    this.#count(caller.worker, text.length)
  }

  #count(worker: number, chars: number): void {
    const untaken = (this.#untaken.get(worker) ?? 0) + chars
    this.#untaken.set(worker, untaken)
    if (untaken > UNTAKEN_MAX) this.#process.pause()
  }

  #readOn(): void {
    for (const untaken of this.#untaken.values()) if (untaken > UNTAKEN_MAX) return
    this.#process.resume()
  }
}

const refused = (message: string): ChildFailure => ({ kind: 'refused', message })
