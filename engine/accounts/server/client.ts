/**
 * A worker's side of the books that replicas share: batches operations, sends facts until the server has them, and says
 * when it is away. Nothing here knows Redis or PostgreSQL (connect.ts).
 */
import type { StateWatch } from '#engine/contract/accounts.ts'
import { Link } from '#engine/kit/link.ts'
import { readApplied } from './applied.ts'
import type { FactJournal } from './journal.ts'
import type {
  Answer,
  Applied,
  Begin,
  BeginAnswer,
  Connection,
  Fact,
  ObjectTable,
  Operation,
  Reserve,
  ReserveAnswer
} from './operations.ts'

const BATCH_MAX = 128
const BEAT_MS = 1_000
/** A writer that is silent for longer is taken for dead. Fifteen beats: a long pause of one process is none. */
export const DEAD_MS = 15_000
/** How long facts that the server has are remembered: Redis writes to its disk every second (appendfsync everysec). */
const REMEMBERED_MS = 3_000
/** Facts that wait for a server. Beyond, no call is let pass. */
const FACTS_MAX = 100_000
/** Of the end of the process. */
const CLOSE_MS_MAX = 3_000

/** The server has not answered in time: it is not known whether it will. */
export const AWAY = 'away'

export interface Answered<A> {
  /** Of the operation. */
  readonly number: number
  /** Counts how often the server has taken this writer for dead: what began before is not under way any more. */
  readonly epoch: number
  readonly answer: A
}

export interface ServerBooksOptions {
  /** Nobody had it before. */
  readonly writer: string
  readonly connect: (lost: (error: Error) => void) => Promise<Connection>
  readonly isOpen: boolean
  readonly timeoutMs: number
  /** Null: facts that the server does not have end with the process. */
  readonly journal: FactJournal | null
  readonly watch?: StateWatch | undefined
}

type Question =
  | { readonly kind: 'begin'; readonly rest: BeginRest }
  | { readonly kind: 'reserve'; readonly rest: ReserveRest }
type BeginRest = readonly [accounts: Begin[2], buckets: Begin[3]]
type ReserveRest = readonly [bound: string, parts: Reserve[3]]

interface Waiting {
  readonly question: Question
  readonly answer: (answer: Answered<NonNullable<Answer>> | typeof AWAY) => void
  /** It has been answered with AWAY. */
  isLate: boolean
  timer: NodeJS.Timeout | null
}

interface Kept {
  readonly fact: Fact
  isSent: boolean
  /** By the monotonic clock; 0: the server is not known to have it. */
  hasItAt: number
}

export class ServerBooks {
  readonly isOpen: boolean
  readonly #options: ServerBooksOptions
  readonly #link: Link<Connection>
  #isClosed = false
  #number = 0
  /** The last number that was sent over this connection, or that the server had when it began. */
  #behind = 0
  #epoch = 0
  #isKnown = false
  /** By number. */
  #facts: Kept[] = []
  #waiting: Waiting[] = []
  /** On their way. */
  #batches = 0
  #isFlushing = false
  #sentAt = 0
  #beat: NodeJS.Timeout
  #whenEmpty: (() => void) | null = null
  /** The server's clock less the monotonic one. */
  #offset = Date.now() - performance.now()

  constructor(options: ServerBooksOptions) {
    this.#options = options
    this.isOpen = options.isOpen
    this.#beat = setInterval(() => this.#onBeat(), BEAT_MS).unref()
    this.#link = new Link({
      connect: options.connect,
      up: async (connection) => {
        await this.#resume(connection)
        options.watch?.connected(true)
      },
      away: () => this.#leave()
    })
  }

  /** Milliseconds since 1970 by the server's clock, as far as it is known. */
  now(): number {
    return performance.now() + this.#offset
  }

  get hasRoom(): boolean {
    return this.#facts.length < FACTS_MAX
  }

  begin(...rest: BeginRest): Promise<Answered<BeginAnswer> | typeof AWAY> {
    return this.#ask({ kind: 'begin', rest }) as Promise<Answered<BeginAnswer> | typeof AWAY>
  }

  reserve(...rest: ReserveRest): Promise<Answered<ReserveAnswer> | typeof AWAY> {
    return this.#ask({ kind: 'reserve', rest }) as Promise<Answered<ReserveAnswer> | typeof AWAY>
  }

  end(accounts: readonly string[], epoch: number): void {
    if (epoch === this.#epoch) this.#keep(['end', this.#next(), accounts])
  }

  /** `call`: the number of its reservation; 0: there is none. */
  settle(call: number, cost: string, parts: Reserve[3]): void {
    this.#keep(['settle', this.#next(), call, cost, parts])
  }

  correct(difference: string, parts: Reserve[3]): void {
    this.#keep(['correct', this.#next(), difference, parts])
  }

  charge(buckets: Begin[3]): void {
    this.#keep(['charge', this.#next(), buckets])
  }

  /** A call goes on that the server knows nothing of: what it costs at most is spent if this process ends before it. */
  pass(bound: string, parts: Reserve[3]): number {
    const { journal } = this.#options
    if (journal === null || !this.hasRoom) return 0
    const number = this.#next()
    return journal.estimate(number, bound, parts) ? number : 0
  }

  /** The server is away, and this is what becomes of a call that it would count. */
  noteUncounted(outcome: 'passed' | 'refused'): void {
    this.#options.watch?.uncounted(outcome)
  }

  /** Asks at once, beside the batches; AWAY: there is no connection, or no answer. */
  async withObjects<T>(ask: (objects: ObjectTable) => Promise<T>): Promise<T | typeof AWAY> {
    const objects = this.#link.connection?.objects
    if (objects === undefined) return AWAY
    try {
      return await ask(objects)
    } catch {
      // What has ended the connection is heard of by the next batch, a second later at most.
      return AWAY
    }
  }

  /** Sends what waits, for a while. */
  async close(): Promise<void> {
    clearInterval(this.#beat)
    if (this.#unsettled > 0) {
      const timer = setTimeout(() => this.#whenEmpty?.(), CLOSE_MS_MAX)
      await new Promise<void>((resolve) => {
        this.#whenEmpty = resolve
      })
      clearTimeout(timer)
    }
    this.#isClosed = true
    await this.#link.close()
    this.#options.journal?.close(this.#unsettled === 0)
  }

  get #unsettled(): number {
    return this.#facts.reduce((count, { hasItAt }) => count + (hasItAt === 0 ? 1 : 0), 0)
  }

  #next(): number {
    return ++this.#number
  }

  #ask(question: Question): Promise<Answered<NonNullable<Answer>> | typeof AWAY> {
    if (this.#link.isAway || this.#isClosed || !this.hasRoom) return Promise.resolve(AWAY)
    return new Promise((resolve) => {
      const waiting: Waiting = { question, answer: resolve, isLate: false, timer: null }
      waiting.timer = setTimeout(() => this.#giveUp(waiting), this.#options.timeoutMs)
      this.#waiting.push(waiting)
      this.#flushSoon()
    })
  }

  #giveUp(waiting: Waiting): void {
    if (waiting.isLate) return
    waiting.isLate = true
    if (waiting.timer !== null) clearTimeout(waiting.timer)
    const at = this.#waiting.indexOf(waiting)
    if (at >= 0) this.#waiting.splice(at, 1)
    waiting.answer(AWAY)
  }

  #keep(fact: Fact): void {
    this.#options.journal?.write(fact)
    this.#facts.push({ fact, isSent: false, hasItAt: 0 })
    this.#flushSoon()
  }

  // --- sending ---

  /** What comes in this turn of the event loop goes in one batch. */
  #flushSoon(): void {
    if (this.#isFlushing || this.#link.connection === null) return
    this.#isFlushing = true
    setImmediate(() => {
      this.#isFlushing = false
      this.#flush()
    })
  }

  #flush(): void {
    const { connection } = this.#link
    if (connection === null || this.#batches >= connection.batchesMax) return
    // Facts have their numbers already, so they go ahead of questions, which get theirs now.
    const facts = this.#unsent()
    const questions = facts.length < BATCH_MAX ? this.#waiting.splice(0, BATCH_MAX - facts.length) : []
    if (facts.length + questions.length === 0) return
    const asking = questions.map((waiting) => ({ waiting, operation: this.#numbered(waiting.question) }))
    void this.#send(connection, facts, asking)
    if (this.#waiting.length > 0 || facts.length === BATCH_MAX) this.#flushSoon()
  }

  #unsent(): Kept[] {
    const found: Kept[] = []
    // The newest are at the end: what was sent lies before them.
    for (let i = this.#facts.length - 1; i >= 0 && !this.#facts[i]!.isSent; i--) found.push(this.#facts[i]!)
    return found.reverse().slice(0, BATCH_MAX)
  }

  #numbered({ kind, rest }: Question): Operation {
    return kind === 'begin' ? ['begin', this.#next(), ...rest] : ['reserve', this.#next(), ...rest]
  }

  async #send(
    connection: Connection,
    facts: readonly Kept[],
    asking: readonly { readonly waiting: Waiting; readonly operation: Operation }[]
  ): Promise<void> {
    for (const kept of facts) kept.isSent = true
    const operations = [...facts.map(({ fact }) => fact), ...asking.map(({ operation }) => operation)]
    const behind = this.#behind
    this.#behind = operations.at(-1)?.[1] ?? behind
    this.#batches++
    const sentAt = performance.now()
    this.#sentAt = sentAt
    try {
      const applied = readApplied(await connection.apply(this.#options.writer, behind, operations), operations)
      this.#options.watch?.answered((performance.now() - sentAt) / 1_000)
      if (this.#link.connection === connection) this.#batches--
      this.#take(applied, facts, asking)
    } catch (error) {
      this.#options.watch?.failed()
      this.#link.lose(connection, error as Error)
      for (const { waiting, operation } of asking) this.#uncertain(waiting, operation)
    }
    this.#flushSoon()
  }

  #take(
    { now, fresh, answers }: Applied,
    facts: readonly Kept[],
    asking: readonly { readonly waiting: Waiting; readonly operation: Operation }[]
  ): void {
    const at = performance.now()
    this.#offset = now - at
    if (fresh && this.#isKnown) this.#epoch++
    this.#isKnown = true
    for (const kept of facts) kept.hasItAt = at
    for (const [i, { waiting, operation }] of asking.entries()) {
      const answer = answers[facts.length + i] ?? null
      if (waiting.isLate || answer === null) this.#undo(operation)
      else {
        clearTimeout(waiting.timer!)
        waiting.answer({ number: operation[1], epoch: this.#epoch, answer })
      }
      if (answer === null) this.#giveUp(waiting)
    }
    if (this.#whenEmpty !== null && this.#unsettled === 0) this.#whenEmpty()
  }

  /** Nobody knows whether it has arrived. What undoes it has a higher number, so that it cannot arrive behind that. */
  #uncertain(waiting: Waiting, operation: Operation): void {
    this.#giveUp(waiting)
    this.#undo(operation)
  }

  #undo(operation: Operation): void {
    if (operation[0] === 'reserve') this.settle(operation[1], '0', [])
    else if (operation[0] === 'begin') {
      const accounts = operation[2].map(([account]) => account)
      if (accounts.length > 0) this.end(accounts, this.#epoch)
    }
  }

  #onBeat(): void {
    const now = performance.now()
    this.#facts = this.#facts.filter(({ hasItAt }) => hasItAt === 0 || now - hasItAt < REMEMBERED_MS)
    this.#options.journal?.forget(this.#facts[0]?.fact[1] ?? this.#number + 1)
    const { connection } = this.#link
    if (connection !== null && now - this.#sentAt >= BEAT_MS / 2 && this.#batches === 0)
      void this.#send(connection, [], [])
    else this.#flushSoon()
  }

  // --- the connection ---

  async #resume(connection: Connection): Promise<void> {
    const last = await connection.last(this.#options.writer)
    const now = performance.now()
    for (const kept of this.#facts) {
      const hasIt = kept.fact[1] <= last
      kept.isSent = hasIt
      // A server that has lost its last second may lack what it had.
      kept.hasItAt = hasIt ? kept.hasItAt || now : 0
    }
    this.#number = Math.max(this.#number, last)
    this.#behind = last
    this.#batches = 0
    if (this.#whenEmpty !== null && this.#unsettled === 0) this.#whenEmpty()
    setImmediate(() => this.#flush())
  }

  /** The main thread (control.ts) says so in the log, once for all workers. */
  #leave(): void {
    this.#options.watch?.connected(false)
    for (const waiting of [...this.#waiting]) this.#giveUp(waiting)
  }
}
