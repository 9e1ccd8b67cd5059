/**
 * Turns and rounds. A turn is one event: one read, one timer. A round is all events of one poll. What neither reads
 * nor writes can wait for its end (`atRoundEnd`), and what has been written leaves behind that, wire after
 * wire: code that runs many times in a row stays in the processor's caches, and a peer is woken once
 * (docs/design/006-how-bytes-leave.md).
 */
import { performance } from 'node:perf_hooks'

/** Something with text to send. */
interface Dirty {
  flush(): void
}

/**
 * So many wires with something to send, or steps, end a round at once: what waits is bounded, and so is the time that
 * the first of them waits for the last.
 */
const ROUND_MAX = 64

const steps: (() => void)[] = []
const dirty: (Dirty | null)[] = []
let dirtyCount = 0
let depth = 0
let isMicrotaskDue = false
let isRoundOpen = false
/** What this round may fill is full: it ends with this turn. */
let isFull = false

/** Milliseconds of performance.now() at the start of the running turn: one clock read per event. */
export let turnStartedAt = performance.now()

/** Rises when everything written in a round has left: memory lent for that round is free again. */
export let roundsEnded = 0

/** Rises between polls in which something was written: a share of one poll is counted by it (read-share.ts). */
export let polls = 0

/**
 * Does `step` in a turn, and returns what it returns. Whatever comes from outside (sockets, timers, promises, messages
 * of other threads) enters here. A frequent event passes a function of its module and an argument: no closure is made.
 * `step` must not throw.
 */
export function inTurn<R>(step: () => R): R
export function inTurn<A, R>(step: (a: A) => R, a: A): R
export function inTurn<A, B, R>(step: (a: A, b: B) => R, a: A, b: B): R
export function inTurn<R>(step: (a?: unknown, b?: unknown) => R, a?: unknown, b?: unknown): R {
  if (depth++ === 0) turnStartedAt = performance.now()
  const result = step(a, b)
  if (--depth === 0) turnEnded()
  return result
}

function turnEnded(): void {
  const waiting = dirtyCount + steps.length
  if (waiting >= ROUND_MAX || isFull) endRound()
  else if (waiting > 0) openRound()
}

/** Does `step` when the events of this poll are through, in a turn. It must not throw. */
export function atRoundEnd(step: () => void): void {
  steps.push(step)
  // Within a turn its end looks after the round.
  if (depth === 0) openRound()
}

/** Remembers that `wire` has something to send when the round ends. */
export function markDirty(wire: Dirty): void {
  dirty[dirtyCount++] = wire
  if (depth > 0 || isMicrotaskDue) return
  // Not inside a socket event (a promise, say): the next microtask is the end of the round.
  isMicrotaskDue = true
  queueMicrotask(flushDue)
}

/** Ends the round with the running turn: there is no room for what another one may write. */
export function endRoundSoon(): void {
  isFull = true
}

function openRound(): void {
  if (isRoundOpen) return
  isRoundOpen = true
  // The loop comes to it behind all events of the poll that reported this one.
  setImmediate(closeRound)
}

function closeRound(): void {
  isRoundOpen = false
  polls++
  endRound()
}

function endRound(): void {
  isFull = false
  if (steps.length > 0) takeSteps()
  if (dirtyCount > 0) flushDirty()
}

/** A step may cause further ones: they belong to the same round. */
function takeSteps(): void {
  depth++
  turnStartedAt = performance.now()
  for (let i = 0; i < steps.length; i++) steps[i]!()
  steps.length = 0
  depth--
}

function flushDue(): void {
  isMicrotaskDue = false
  if (dirtyCount > 0) flushDirty()
}

function flushDirty(): void {
  // A flush may fail and cause turns and writes of its own: they join the same loop.
  depth++
  for (let i = 0; i < dirtyCount; i++) {
    const wire = dirty[i]!
    dirty[i] = null
    wire.flush()
  }
  dirtyCount = 0
  roundsEnded++
  depth--
  // Steps of such turns: no other turn may come to look after them.
  if (steps.length > 0) openRound()
}
