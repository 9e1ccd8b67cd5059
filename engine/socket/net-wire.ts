/** One socket of node:net, with or without TLS: what HandleWire is over Node's internal handles. */
import type { Socket } from 'node:net'
import { KnownEnds } from './connection-ends.ts'
import { FLUSH_MS, keepLingering, LINGER_MS, stopLingering } from './linger.ts'
import { READ_BYTES, type ReadMemory, type ReadSlot } from './memory.ts'
import { inTurn, markDirty } from './round.ts'
import { BULK_NONE, type Bulk, NO_OWNER, TEXT_WAITING_MAX, type Wire, type WireOwner } from './wire.ts'

/** Those that a wire listens to. */
const EVENTS = ['data', 'end', 'error', 'close', 'drain']

export class NetWire implements Wire {
  owner: WireOwner = NO_OWNER
  bulk: Bulk = BULK_NONE
  handed = 0
  readonly ends: KnownEnds
  #out = ''
  #dead = false
  #closing = false
  readonly #socket: Socket
  readonly #memory: ReadMemory

  constructor(socket: Socket, memory: ReadMemory) {
    this.#socket = socket
    this.#memory = memory
    // Read now: a socket that is gone does not tell.
    this.ends = new KnownEnds(socket.remoteAddress, socket.remotePort, socket.localAddress)
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#received(chunk))
    socket.on('end', () => this.#ended())
    socket.on('error', (error: NodeJS.ErrnoException) => this.#fail(error.code ?? 'EIO'))
    socket.on('close', () => this.#fail('ECONNRESET'))
    socket.on('drain', () => {
      if (!this.#dead) inTurn(() => this.owner.onDrain())
    })
  }

  /** Gives the socket away: the wire is dead, and its owner gets no event. Null when it is dead already. */
  release(): Socket | null {
    if (this.#dead) return null
    this.owner = NO_OWNER
    this.#dead = true
    this.#out = ''
    this.#socket.pause()
    for (const event of EVENTS) this.#socket.removeAllListeners(event)
    return this.#socket
  }

  get congested(): boolean {
    return this.#socket.writableNeedDrain
  }

  get waiting(): number {
    return this.#out.length
  }

  unsent(): string {
    return this.#out
  }

  #received(chunk: Buffer): void {
    if (this.#closing) return
    const { bytes, shared } = this.#memory
    for (let from = 0; from < chunk.length && !this.#dead && !this.#closing; from += READ_BYTES) {
      const count = Math.min(READ_BYTES, chunk.length - from)
      chunk.copy(bytes, shared, from, from + count)
      inTurn(() => this.owner.onRead(shared, shared + count, null))
    }
  }

  #ended(): void {
    if (this.#closing) this.destroy()
    else if (!this.#dead) inTurn(() => this.owner.onEnd())
  }

  write(text: string): void {
    if (this.#out === '') markDirty(this)
    this.#out += text
    if (this.#out.length >= TEXT_WAITING_MAX) this.flush()
  }

  writeBytes(chunk: Buffer, start: number, end: number, _slot: ReadSlot | null): void {
    this.flush()
    if (this.#dead) return
    this.handed++
    this.#socket.write(Buffer.from(chunk.subarray(start, end)))
  }

  flush(): void {
    const text = this.#out
    this.#out = ''
    if (text === '' || this.#dead) return
    this.handed++
    this.#socket.write(text, 'latin1')
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  finish(): void {
    this.flush()
    if (!this.#dead) this.#socket.end()
  }

  close(linger: boolean): void {
    if (this.#dead || this.#closing) return
    this.flush()
    this.owner = NO_OWNER
    this.#closing = true
    this.#socket.end(() => {
      if (linger) keepLingering(this, LINGER_MS)
      else this.destroy()
    })
    keepLingering(this, this.congested ? FLUSH_MS : LINGER_MS)
    this.#socket.resume()
  }

  destroy(): void {
    this.owner = NO_OWNER
    if (this.#dead) return
    this.#dead = true
    stopLingering(this)
    this.#socket.destroy()
  }

  reset(): void {
    // Node resets sockets of TCP only; without its own end TLS is broken off all the same.
    // And one that is saying its end Node takes for reset, and leaves open.
    const { writableEnded, writableFinished } = this.#socket
    if ('encrypted' in this.#socket || (writableEnded && !writableFinished)) this.#socket.destroy()
    else if (!this.#dead) this.#socket.resetAndDestroy()
    this.destroy()
  }

  #fail(code: string): void {
    if (this.#dead) return
    const { owner } = this
    this.destroy()
    inTurn(() => owner.onError(code))
  }
}
