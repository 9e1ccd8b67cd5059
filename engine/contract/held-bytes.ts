/**
 * Messages that are kept in memory: whole bodies for filters and models, beginnings of them, what a retry would send
 * again. Each has a bound of its own, and many at a time would still take all the memory there is: so all of them are
 * on one account of the process. What an exchange keeps is charged to it, and given back when its answer begins, or
 * where that is not enough with its record, which is made exactly once however it ends.
 */
import { roundsEnded, turnStartedAt } from '#engine/socket/round.ts'
import { clientKey } from './client-key.ts'
import { type Arriving, type ClientStream, type Exchange, type Held, STEP_RECORDED } from './exchange.ts'

export interface HeldBytes {
  /** All that may be kept. */
  readonly max: number
  /** As many workers share it. */
  readonly workers: number
  /** Little of it is left, for clients that keep little. */
  readonly isScarce: boolean
  /** A body was refused without an attempt to make room. */
  refuse(): void
  /** False: there is no room for so many more, and nothing has been charged. */
  take(bytes: number): boolean
  give(bytes: number): void
}

/** For unit tests, and for threads that serve no traffic. */
const NO_BOUND: HeldBytes = {
  max: Number.POSITIVE_INFINITY,
  workers: 1,
  isScarce: false,
  refuse() {},
  take: () => true,
  give() {}
}

/** Where there is no room for others a body may stand still for so long. */
const STILL_MS = 2_000

/**
 * All of this thread that keep something, in no order. Each knows its place, and none is in a Set: one that is filled
 * and emptied all the time leaves tables behind that point from one to the next, and each scavenge of the garbage
 * collector finds all exchanges of them alive (15 us a request, measured).
 */
const holders: Held[] = []
/** What clients keep in this thread, as it was counted last; what has been taken since is in it. */
const kept = new Map<string, number>()
let countedAt = Number.NEGATIVE_INFINITY
/** To count anew takes a microsecond for ten exchanges. */
const COUNT_EVERY_MS = 50

/** An answer that was kept whole and has been handed to its client: it stays where it was until that takes it. */
interface Unsent {
  readonly client: ClientStream
  readonly bytes: number
  /** It leaves when this round has ended. */
  readonly round: number
}

/** Those of this thread, in no order. */
const unsent: Unsent[] = []
let isLookDue = false
/** The kernel takes as much of almost every answer at once. */
const UNSENT_MIN = 16 * 1024

let account = NO_BOUND

/** The request's body of `ex` is whole, or no longer wanted. */
export function arrived(ex: Exchange): void {
  if (ex.held !== null) ex.held.arriving = null
}

/** Bodies that never end must not keep the room of all others: those that stand still give way to the next ones. */
function makeRoom(): void {
  lookAtUnsent()
  const before = turnStartedAt - STILL_MS
  for (const { arriving } of holders.slice()) if (arriving !== null && arriving.lastAt <= before) arriving.giveWay()
}

/**
 * Where little is left, who keeps half of what there is beside `ex` gets no more: one client cannot lock the others
 * out. Each worker knows its own clients only, and may let each keep its share of that half.
 */
function isGreedy(ex: Exchange): boolean {
  const client = clientKey(ex)
  // Exchanges without an address have no owner: they are the gateway's own calls, made for all clients.
  if (client === '') return false
  if (turnStartedAt - countedAt > COUNT_EVERY_MS) {
    countedAt = turnStartedAt
    kept.clear()
    for (const { ex: holder, bytes } of holders) add(clientKey(holder), bytes)
    for (const one of unsent) add(clientKey(one), one.bytes)
  }
  return (kept.get(client) ?? 0) - (ex.held?.bytes ?? 0) > account.max / 2 / account.workers
}

function add(client: string, bytes: number): void {
  kept.set(client, (kept.get(client) ?? 0) + bytes)
}

/** The account of this thread's exchanges from now on; null: none. */
export function useHeldBytes(of: HeldBytes | null): void {
  account = of ?? NO_BOUND
  countedAt = Number.NEGATIVE_INFINITY
  unsent.length = 0
}

/** The most that one message may take. */
export function heldBytesMax(): number {
  return account.max
}

/** `ex` keeps so many bytes more. False: there is no room. `body`: what they are part of, if it is arriving. */
export function hold(ex: Exchange, bytes: number, body: Arriving | null = null): boolean {
  // Bytes after the record are not kept.
  if (ex.step === STEP_RECORDED || bytes === 0) return true
  const { isScarce } = account
  if (isScarce && isGreedy(ex)) {
    account.refuse()
    makeRoom()
    return false
  }
  if (!account.take(bytes)) {
    makeRoom()
    return false
  }
  if (isScarce) add(clientKey(ex), bytes)
  const held = ex.held ?? holderOf(ex)
  held.bytes += bytes
  if (body !== null) held.arriving = body
  return true
}

function holderOf(ex: Exchange): Held {
  const held = { ex, bytes: 0, index: holders.length, arriving: null }
  holders.push(held)
  ex.held = held
  return held
}

/** `ex` keeps so many bytes in all from now on. False: there is no room, and it keeps what it has kept. */
export function holdInAll(ex: Exchange, bytes: number): boolean {
  const more = bytes - (ex.held?.bytes ?? 0)
  if (more > 0) return hold(ex, more)
  letGo(ex, -more)
  return true
}

/**
 * The answer of `ex` goes to its client: no attempt and no hook follows that could want a body, and backends that
 * read the request later have said so (Route.keepsRequest). A stream may last for hours: nothing is kept for it.
 */
export function releaseBodies(ex: Exchange): void {
  if (ex.route?.keepsRequest === true) return
  ex.requestBytes = null
  ex.requestPrefix = null
  ex.responseBytes = null
  ex.responsePrefix = null
  ex.serving?.release?.()
  letGo(ex)
}

/** The answer of `ex` goes to its client. One that was kept whole stays on the account until that has taken it. */
export function handOver(ex: Exchange): void {
  const { held, client, localReply } = ex
  if (held === null || client.hasUnsent === undefined) return
  const body = localReply === null ? ex.responseBytes : localReply.body
  const bytes = Math.min(held.bytes, body?.length ?? 0)
  if (bytes < UNSENT_MIN) return
  held.bytes -= bytes
  if (held.bytes === 0) forget(held)
  unsent.push({ client, bytes, round: roundsEnded })
  if (isLookDue) return
  isLookDue = true
  // What is written now leaves behind the first of these.
  setImmediate(() => setImmediate(look))
}

function look(): void {
  isLookDue = false
  lookAtUnsent()
}

/** Gives back what clients have taken, or will never take. */
export function lookAtUnsent(): void {
  for (let i = unsent.length - 1; i >= 0; i--) {
    const { client, bytes, round } = unsent[i]!
    if (round === roundsEnded || client.hasUnsent === true) continue
    const last = unsent.pop()!
    if (i < unsent.length) unsent[i] = last
    account.give(bytes)
  }
}

/** `ex` keeps so many bytes no longer; by default all of them. */
export function letGo(ex: Exchange, bytes = Number.POSITIVE_INFINITY): void {
  const { held } = ex
  if (held === null) return
  const freed = Math.min(bytes, held.bytes)
  held.bytes -= freed
  if (held.bytes === 0) forget(held)
  account.give(freed)
}

function forget({ ex, index }: Held): void {
  ex.held = null
  const last = holders.pop()!
  if (last.ex === ex) return
  holders[index] = last
  last.index = index
}
