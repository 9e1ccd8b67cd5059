/**
 * One socket with TLS over Node's internal handles (handles.ts), for both sides: what HandleWire is for clear text.
 * OpenSSL copies what it is given to write, so nothing is lent to it; and it takes one write at a time, which it never
 * finishes within the call. What is written meanwhile waits here, and leaves together.
 */
import { getSystemErrorName } from 'node:util'
import { HandleEnds } from './connection-ends.ts'
import { HalfClose } from './half-close.ts'
import { EOF, type Handle, STATE_READ, type TlsHandle, type WriteRequest } from './handles.ts'
import { FLUSH_MS, keepLingering, LINGER_MS, stopLingering } from './linger.ts'
import type { ReadSlot } from './memory.ts'
import { inTurn, markDirty } from './round.ts'
import { closeBehindAlert, mayAlert } from './tls-alert.ts'
import { TlsQueue } from './tls-queue.ts'
import { COPIED_BYTES_MAX, LENT_BYTES_MAX, type TlsShared } from './tls-shared.ts'
import { BULK_NONE, type Bulk, NO_OWNER, TEXT_WAITING_MAX, type Wire, type WireOwner } from './wire.ts'

/** Shorter pieces become part of the text around them: one record, and one write, for head and body. */
const TEXT_BYTES_MAX = 16 * 1024

interface OwnedHandle extends TlsHandle {
  wire: TlsWire
}

/** The handle below keeps its wire alive: nothing else does. */
interface Below extends Handle {
  wire: unknown
}

interface OwnedWrite extends WriteRequest {
  wire: TlsWire | null
}

/** The end of a handshake: null, or why it failed (ERR_SSL_..., ECONNRESET, CERT_HAS_EXPIRED, ...). */
export type Secured = (code: string | null) => void

export class TlsWire implements Wire {
  owner: WireOwner = NO_OWNER
  bulk: Bulk = BULK_NONE
  handed = 0
  readonly ends: HandleEnds
  /** Results of the handshake. */
  readonly handle: TlsHandle
  readonly #below: Below
  readonly #shared: TlsShared
  /** Null: the handshake is over. */
  #secured: Secured | null
  /** OpenSSL reports the end of the handshake; the owner has no event yet. */
  #isDone = false
  #out = ''
  readonly #queue: TlsQueue
  /** Bytes of the write that is under way; 0: there is none. */
  #underWay = 0
  #full = false
  /** Bytes that may be under way or wait before the owner has to stop. */
  #limit = COPIED_BYTES_MAX
  #paused = false
  #dead = false
  #broken = false
  #closing = false
  #lingering = false
  /** Of sent bytes; null: not requested. */
  #end: HalfClose | null = null

  /** `below`: a connected handle without another user. `handle`: TLS over it. */
  constructor(below: Handle, handle: TlsHandle, shared: TlsShared, secured: Secured) {
    this.#below = below as Below
    this.#below.wire = this
    this.ends = new HandleEnds(below)
    this.handle = handle
    this.#shared = shared
    this.#queue = new TlsQueue(shared.memory)
    this.#secured = secured
    const own = handle as OwnedHandle
    own.wire = this
    own.onread = onRead
    own.onhandshakestart = null
    own.onhandshakedone = onHandshakeDone
    own.onerror = onError
    handle.useUserBuffer(shared.memory.sharedView)
  }

  /** Begins to read; a server with the bytes of the ClientHello that have been read already. */
  start(first: Buffer | null): void {
    // One that is being read already says so; it does no harm.
    this.#below.readStart()
    if (first === null) this.handle.start()
    else this.handle.receive(first)
  }

  get congested(): boolean {
    return this.#full
  }

  get waiting(): number {
    return this.#out.length + this.#queue.bytes
  }

  unsent(): string | null {
    return this.#broken || this.#queue.bytes > 0 ? null : this.#out
  }

  // --- the handshake ---

  /** OpenSSL must not be used, or freed, from within its callback: the first bytes or the loop come behind it. */
  handshakeDone(): void {
    if (this.#secured === null || this.#isDone) return
    this.#isDone = true
    setImmediate(() => inTurn(() => this.endHandshake()))
  }

  endHandshake(): void {
    const secured = this.#secured
    if (secured === null || !this.#isDone || this.#dead) return
    this.#secured = null
    secured(null)
  }

  /** A fatal alert, or bytes that are no TLS. */
  failed(code: string): void {
    if (!this.#dead) this.#fail(code)
  }

  /**
   * Ends the handshake with an alert of ours (tls-refusal.ts), said by OpenSSL's caller and not by OpenSSL: what it
   * would send behind it finds the way shut. False: too many have been refused lately, nothing has happened.
   */
  refuse(code: string, record: string): boolean {
    const secured = this.#secured
    if (secured === null || this.#dead || !mayAlert()) return false
    this.#secured = null
    this.#below.writeLatin1String(this.#shared.handles.newWrite(), record)
    this.#dispose(false, true)
    secured(code)
    return true
  }

  // --- reading ---

  readResult(): void {
    const count = this.#shared.state[STATE_READ]!
    if (this.#dead || count === 0) return
    if (count > 0 && this.#secured !== null) this.endHandshake()
    if (this.#dead) return
    if (count < 0) this.#readEnded(count)
    else if (!this.#closing) {
      const { shared } = this.#shared.memory
      this.owner.onRead(shared, shared + count, null)
    }
  }

  #readEnded(status: number): void {
    if (status !== EOF) this.#fail(getSystemErrorName(status))
    else if (this.#secured !== null) this.#fail('ECONNRESET')
    else if (this.#closing) this.#dispose()
    else this.owner.onEnd()
  }

  pause(): void {
    if (this.#paused || this.#dead) return
    this.#paused = true
    this.handle.readStop()
  }

  resume(): void {
    if (!this.#paused || this.#dead) return
    this.#paused = false
    const error = this.handle.readStart()
    if (error < 0) this.#fail(getSystemErrorName(error))
  }

  // --- writing ---

  write(text: string): void {
    if (this.#out === '') markDirty(this)
    this.#out += text
    if (this.#out.length >= TEXT_WAITING_MAX) this.flush()
  }

  writeBytes(chunk: Buffer, start: number, end: number, slot: ReadSlot | null): void {
    const count = end - start
    if (count <= TEXT_BYTES_MAX) {
      this.write(this.#shared.memory.textOf(chunk, start, end) ?? chunk.latin1Slice(start, end))
      return
    }
    const { gather } = this.#shared
    const text = this.#out
    if (this.#underWay === 0 && text !== '' && !this.#isOver && text.length + count <= gather.length) {
      this.#out = ''
      gather.latin1Write(text, 0)
      chunk.copy(gather, text.length, start, end)
      this.#send(gather.subarray(0, text.length + count))
      return
    }
    this.flush()
    if (this.#isOver) return
    this.#limit = slot === null ? COPIED_BYTES_MAX : LENT_BYTES_MAX
    const bytes = chunk.subarray(start, end)
    if (this.#underWay === 0) this.#send(bytes)
    else this.#keep(slot === null ? Buffer.from(bytes) : bytes, slot)
  }

  flush(): void {
    const text = this.#out
    this.#out = ''
    if (text === '' || this.#isOver) return
    if (this.#underWay > 0) this.#keep(Buffer.from(text, 'latin1'), null)
    else {
      const request = this.#request()
      this.#sent(this.handle.writeLatin1String(request, text), text.length)
    }
  }

  get #isOver(): boolean {
    return this.#dead || this.#broken
  }

  /** For the next write. */
  #keep(bytes: Buffer, slot: ReadSlot | null): void {
    this.#queue.add(bytes, slot)
    this.#measure()
  }

  #measure(): void {
    if (this.#underWay + this.#queue.bytes >= this.#limit) this.#full = true
  }

  #send(bytes: Buffer): void {
    const request = this.#request()
    this.#sent(this.handle.writeBuffer(request, bytes), bytes.length)
  }

  #request(): OwnedWrite {
    const request = this.#shared.handles.newWrite() as OwnedWrite
    request.oncomplete = onWritten
    request.wire = this
    return request
  }

  #sent(error: number, count: number): void {
    if (error < 0) {
      this.#break(getSystemErrorName(error))
      return
    }
    this.handed++
    this.#underWay = count
    this.#measure()
  }

  written(status: number): void {
    this.#underWay = 0
    if (this.#dead) return
    if (status < 0) {
      this.#break(getSystemErrorName(status))
      return
    }
    if (this.#queue.bytes > 0) this.#queue.take((bytes) => this.#send(bytes))
    if (this.#underWay === 0 && this.#end !== null) this.#sayEnd(this.#end)
    if (!this.#full || this.#underWay + this.#queue.bytes >= this.#limit) return
    this.#full = false
    this.owner.onDrain()
  }

  /** Sending failed. The peer may have answered before it closed, so reading goes on if it can. */
  #break(code: string): void {
    this.#broken = true
    this.#queue.clear()
    if (this.#paused || this.#closing) this.#fail(code)
  }

  // --- the end ---

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
    if (this.#broken || this.#secured !== null) {
      this.#dispose()
      return
    }
    this.#lingering = true
    keepLingering(this, this.#underWay > 0 ? FLUSH_MS : LINGER_MS)
    if (linger) this.resume()
    this.#shutdown(() => {
      if (linger) keepLingering(this, LINGER_MS)
      else this.#dispose()
    })
  }

  /** close_notify and FIN. Said while bytes are under way they would be lost, and what was sent look cut off. */
  #shutdown(done: () => void): void {
    this.#end ??= new HalfClose(this.handle, this.#shared.handles)
    this.#end.expect(() => {
      if (!this.#dead) done()
    })
    if (this.#underWay === 0) this.#sayEnd(this.#end)
  }

  #sayEnd(end: HalfClose): void {
    const error = end.say()
    if (error < 0) this.#break(getSystemErrorName(error))
  }

  destroy(): void {
    this.owner = NO_OWNER
    this.#secured = null
    this.#dispose()
  }

  reset(): void {
    if (this.#dead) return
    const { handle } = this
    const isReset = this.#end?.isUnderWay !== true && this.#below.reset?.(() => handle.destroySSL()) === 0
    this.#dispose(isReset)
  }

  #fail(code: string): void {
    if (this.#dead) return
    const { owner } = this
    const secured = this.#secured
    this.#secured = null
    this.#dispose(false, secured !== null && code.startsWith('ERR_SSL'))
    if (secured !== null) secured(code)
    else owner.onError(code)
  }

  #dispose(isClosed = false, isAlerted = false): void {
    if (this.#dead) return
    this.ends.handleGone()
    this.#dead = true
    this.owner = NO_OWNER
    this.#queue.clear()
    if (this.#lingering) stopLingering(this)
    const { handle } = this
    // OpenSSL may be running below us: it is freed when the loop has closed the socket.
    const close = () => this.#below.close(() => handle.destroySSL())
    if (isAlerted) closeBehindAlert(this.#below, this.#shared.handles, close)
    else if (!isClosed) close()
  }
}

function onRead(this: OwnedHandle): undefined {
  inTurn(readResult, this.wire)
}

function onHandshakeDone(this: OwnedHandle): void {
  this.wire.handshakeDone()
}

function readResult(wire: TlsWire): void {
  wire.readResult()
}

function written(wire: TlsWire, status: number): void {
  wire.written(status)
}

function onError(this: OwnedHandle, error: Error & { code?: string }): void {
  inTurn(() => this.wire.failed(error.code ?? 'EPROTO'))
}

function onWritten(this: OwnedWrite, status: number): void {
  const { wire } = this
  this.wire = null
  if (wire !== null) inTurn(written, wire, status)
}
