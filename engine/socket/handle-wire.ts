/** One socket over Node's internal handles (handles.ts). handle-sockets.ts makes them. */
import { getSystemErrorName } from 'node:util'
import { isShared } from '#engine/kit/shared-bytes.ts'
import { HandleEnds } from './connection-ends.ts'
import { HalfClose } from './half-close.ts'
import { EOF, type Handle, type Handles, STATE_ASYNC, STATE_READ, type WriteRequest } from './handles.ts'
import { FLUSH_MS, keepLingering, LINGER_MS, stopLingering } from './linger.ts'
import type { ReadMemory, ReadSlot } from './memory.ts'
import { COPY_BYTES_MAX, GATHER_BYTES_MAX, Outbox, TEXT_BYTES_MAX } from './outbox.ts'
import { inTurn, markDirty } from './round.ts'
import { BULK_NONE, type Bulk, NO_OWNER, TEXT_WAITING_MAX, type Wire, type WireOwner } from './wire.ts'

interface OwnedHandle extends Handle {
  wire: HandleWire
}

interface OwnedWrite extends WriteRequest {
  wire: HandleWire | null
  slot: ReadSlot | null
  /** Keeps alive what libuv points into. */
  bytes: Buffer | Buffer[] | null
}

/** What all wires of a thread share. */
export interface Shared {
  readonly handles: Handles
  readonly state: Int32Array
  readonly memory: ReadMemory
  /** A write request that completed at once and can be used again. */
  spare: OwnedWrite | null
  outbox: Outbox
}

export class HandleWire implements Wire {
  owner: WireOwner = NO_OWNER
  bulk: Bulk = BULK_NONE
  handed = 0
  readonly ends: HandleEnds
  #out = ''
  /** Where bytes of ours are gathered: not always the outbox that is in use now. Null: nowhere. */
  #outbox: Outbox | null = null
  /** Region of #outbox that is ours in this round and stands before #out. */
  #boxStart = 0
  #boxEnd = 0
  #pending = 0
  #slot: ReadSlot | null = null
  #paused = false
  #dead = false
  /** The peer takes no more bytes; what we still read may explain why. */
  #broken = false
  /** The peer has finished sending. */
  #ended = false
  #closing = false
  #lingering = false
  /** Of sent bytes; null: not requested. */
  #end: HalfClose | null = null
  readonly #handle: OwnedHandle
  readonly #shared: Shared

  /** `isPrepared`: Nagle's algorithm is off already. */
  constructor(handle: Handle, shared: Shared, isPrepared = false) {
    this.#handle = handle as OwnedHandle
    this.#shared = shared
    this.#handle.wire = this
    this.ends = new HandleEnds(handle)
    handle.onread = onRead
    handle.useUserBuffer(shared.memory.sharedView)
    if (!isPrepared) handle.setNoDelay?.(true)
  }

  start(): void {
    const error = this.#handle.readStart()
    if (error < 0) this.#fail(error)
  }

  /** Gives the handle away: the wire is dead, and its owner gets no event. Null when it is dead already. */
  release(): Handle | null {
    if (this.#dead) return null
    this.#dispose(true)
    return this.#handle
  }

  get congested(): boolean {
    return this.#pending > 0
  }

  get waiting(): number {
    return this.#out.length + (this.#outbox === null ? 0 : this.#boxEnd - this.#boxStart)
  }

  unsent(): string | null {
    if (this.#broken) return null
    if (this.#outbox === null) return this.#out
    return this.#outbox.bytes.latin1Slice(this.#boxStart, this.#boxEnd) + this.#out
  }

  /** Takes what the kernel has just given; returns the memory for the next read, or undefined for the same. */
  readResult(): Buffer | undefined {
    const count = this.#shared.state[STATE_READ]!
    if (this.#dead || count === 0) return undefined
    if (count < 0) {
      if (count !== EOF) this.#fail(count)
      else if (this.#closing) this.#dispose()
      else {
        this.#ended = true
        this.owner.onEnd()
      }
      return undefined
    }
    if (this.#closing) return undefined
    const slot = this.#slot
    const start = slot === null ? this.#shared.memory.shared : slot.offset
    this.owner.onRead(start, start + count, slot)
    return this.#dead ? undefined : this.#nextView(count)
  }

  #nextView(count: number): Buffer | undefined {
    const { memory } = this.#shared
    const slot = memory.slotAfter(this.#slot, count, this.bulk, this.#paused)
    if (slot === this.#slot) return undefined
    this.#slot = slot
    return slot === null ? memory.sharedView : slot.view
  }

  write(text: string): void {
    if (this.#out === '' && this.#outbox === null) markDirty(this)
    this.#out += text
    if (this.#out.length >= TEXT_WAITING_MAX) this.flush()
  }

  writeBytes(chunk: Buffer, start: number, end: number, slot: ReadSlot | null): void {
    const count = end - start
    const text = this.#shared.memory.textOf(chunk, start, end)
    if (text !== null || count <= TEXT_BYTES_MAX) {
      this.write(text ?? chunk.latin1Slice(start, end))
      return
    }
    const isKept = slot !== null || isShared(chunk)
    if (count <= (isKept ? GATHER_BYTES_MAX : COPY_BYTES_MAX) && this.#gather(chunk, start, end)) return
    // With what waits before them they are one write: text has to be bytes for that.
    const isOne = isKept && (this.#out === '' || this.#gather(chunk, start, start))
    if (!isOne) this.flush()
    if (this.#dead || this.#broken) return
    const bytes = chunk.subarray(start, end)
    if (this.#outbox !== null) this.#sendBox(this.#outbox, bytes, slot)
    else this.#send(isKept ? bytes : Buffer.from(bytes), slot)
  }

  /** Moves #out and the chunk to our region of the outbox. False: no room there in this round. */
  #gather(chunk: Buffer, start: number, end: number): boolean {
    const { outbox } = this.#shared
    outbox.beginRound()
    // The region can only grow while the memory behind it is free.
    if (this.#outbox !== null && (this.#outbox !== outbox || this.#boxEnd !== outbox.used)) this.flush()
    const text = this.#out
    if (!outbox.fits(text.length + (end - start))) return false
    if (this.#outbox === null) {
      if (text === '') markDirty(this)
      this.#outbox = outbox
      this.#boxStart = outbox.used
    }
    if (text !== '') outbox.addText(text)
    this.#out = ''
    outbox.add(chunk, start, end)
    this.#boxEnd = outbox.used
    return true
  }

  flush(): void {
    if (this.#outbox !== null) this.#flushBox(this.#outbox)
    const text = this.#out
    this.#out = ''
    if (text === '' || this.#dead || this.#broken) return
    const request = this.#request()
    this.#sent(this.#handle.writeLatin1String(request, text), request, null, null)
  }

  #flushBox(outbox: Outbox): void {
    const text = this.#out
    if (text !== '' && this.#boxEnd === outbox.used && outbox.fits(text.length)) {
      outbox.addText(text)
      this.#boxEnd = outbox.used
      this.#out = ''
    }
    this.#sendBox(outbox, null, null)
  }

  /** Sends our region of the outbox, and `bytes` behind it. */
  #sendBox(outbox: Outbox, bytes: Buffer | null, slot: ReadSlot | null): void {
    const shared = this.#shared
    const end = this.#boxEnd
    const box = outbox.bytes.subarray(this.#boxStart, end)
    this.#outbox = null
    if (this.#dead || this.#broken) return
    if (bytes === null) this.#send(box, null)
    else this.#sendBoth([box, bytes], slot)
    const isStuck = shared.state[STATE_ASYNC] !== 0 && this.#pending > 0
    if (isStuck && outbox.keep(end) && outbox === shared.outbox) shared.outbox = new Outbox()
  }

  #send(bytes: Buffer, slot: ReadSlot | null): void {
    const request = this.#request()
    this.#sent(this.#handle.writeBuffer(request, bytes), request, slot, bytes)
  }

  #sendBoth(both: [Buffer, Buffer], slot: ReadSlot | null): void {
    const request = this.#request()
    this.#sent(this.#handle.writev(request, both, true), request, slot, both)
  }

  #request(): OwnedWrite {
    const { spare } = this.#shared
    if (spare !== null) {
      this.#shared.spare = null
      return spare
    }
    const request = this.#shared.handles.newWrite() as OwnedWrite
    request.oncomplete = onWritten
    request.wire = null
    request.slot = null
    request.bytes = null
    return request
  }

  #sent(error: number, request: OwnedWrite, slot: ReadSlot | null, bytes: OwnedWrite['bytes']): void {
    if (error < 0) {
      this.#break(error)
      return
    }
    this.handed++
    if (this.#shared.state[STATE_ASYNC] === 0) {
      this.#shared.spare = request
      return
    }
    request.wire = this
    request.slot = slot
    request.bytes = bytes
    if (slot !== null) slot.lent++
    this.#pending++
  }

  /** An asynchronous write is through. */
  written(status: number, slot: ReadSlot | null): void {
    if (slot !== null) this.#shared.memory.returned(slot)
    this.#pending--
    if (this.#dead) return
    if (status < 0) this.#break(status)
    else if (this.#pending === 0) {
      if (this.#end !== null) this.#sayEnd(this.#end)
      this.owner.onDrain()
    }
  }

  /** Sending failed. The peer may have answered before it closed, so reading goes on if it can. */
  #break(error: number): void {
    this.#broken = true
    if (this.#paused || this.#closing || this.#ended) this.#fail(error)
  }

  pause(): void {
    if (this.#paused || this.#dead) return
    this.#paused = true
    this.#handle.readStop()
  }

  resume(): void {
    if (!this.#paused || this.#dead) return
    this.#paused = false
    this.start()
  }

  finish(): void {
    this.flush()
    if (!this.#dead && !this.#broken) this.#shutdown(() => {})
  }

  close(linger: boolean): void {
    if (this.#dead || this.#closing) return
    this.flush()
    this.owner = NO_OWNER
    this.#closing = true
    if (this.#dead) return
    if (this.#broken || (!linger && this.#pending === 0)) {
      this.#dispose()
      return
    }
    this.#lingering = true
    keepLingering(this, this.#pending > 0 ? FLUSH_MS : LINGER_MS)
    if (linger) this.resume()
    this.#shutdown(() => {
      if (linger) keepLingering(this, LINGER_MS)
      else this.#dispose()
    })
  }

  #shutdown(done: () => void): void {
    this.#end ??= new HalfClose(this.#handle, this.#shared.handles)
    this.#end.expect(() => {
      if (!this.#dead) done()
    })
    if (this.#pending === 0) this.#sayEnd(this.#end)
  }

  #sayEnd(end: HalfClose): void {
    const error = end.say()
    if (error < 0) this.#break(error)
  }

  destroy(): void {
    this.owner = NO_OWNER
    this.#dispose()
  }

  reset(): void {
    if (this.#dead) return
    // Not every handle can be reset (a pipe cannot, nor one that is saying its end): then closing has to do.
    const isReset = this.#end?.isUnderWay !== true && this.#handle.reset?.() === 0
    this.#dispose(isReset)
  }

  #fail(error: number): void {
    if (this.#dead) return
    const { owner } = this
    this.#dispose()
    owner.onError(getSystemErrorName(error))
  }

  #dispose(isClosed = false): void {
    if (this.#dead) return
    this.ends.handleGone()
    this.#dead = true
    this.owner = NO_OWNER
    // What waits for the end of the round stays until then: its writer may send it elsewhere.
    if (this.#outbox !== null) this.#out = this.unsent() ?? ''
    this.#outbox = null
    if (this.#lingering) stopLingering(this)
    if (this.#slot !== null) {
      this.#shared.memory.release(this.#slot)
      this.#slot = null
    }
    if (!isClosed) this.#handle.close()
  }
}

function onRead(this: OwnedHandle): Buffer | undefined {
  return inTurn(readResult, this.wire)
}

function readResult(wire: HandleWire): Buffer | undefined {
  return wire.readResult()
}

function onWritten(this: OwnedWrite, status: number): void {
  const { wire, slot } = this
  this.wire = null
  this.slot = null
  this.bytes = null
  if (wire !== null) inTurn(() => wire.written(status, slot))
}
