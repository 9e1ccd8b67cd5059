/** The socket layer over Node's internal handles (handles.ts): what Weir uses wherever they exist. */
import { createServer, type Server } from 'node:net'
import { getSystemErrorName } from 'node:util'
import { EOF, type Handle, type Handles, STATE_ASYNC, STATE_READ, type WriteRequest } from './handles.ts'
import { FLUSH_MS, keepLingering, LINGER_MS, stopLingering } from './linger.ts'
import { listenWith } from './listen.ts'
import { READ_BYTES, type ReadMemory, type ReadSlot } from './memory.ts'
import {
  type Acceptor,
  type Address,
  enterTurn,
  type KeepAlive,
  leaveTurn,
  markDirty,
  NOBODY,
  type SocketLayer,
  type Wire,
  type WireOwner
} from './wire.ts'

/** Up to this many bytes leave as one latin1 string: libuv copies what the kernel does not take at
 *  once, so nothing is lent. Longer ones go as views (measured: copying doubles the cost of 1 MB). */
const TEXT_BYTES_MAX = 16 * 1024

interface OwnedHandle extends Handle {
  wire: RawWire
}

interface OwnedWrite extends WriteRequest {
  wire: RawWire | null
  slot: ReadSlot | null
  /** Keeps a copied chunk alive while libuv points into it. */
  bytes: Buffer | null
}

/** What all wires of a thread share. */
interface Shared {
  readonly handles: Handles
  readonly state: Int32Array
  readonly memory: ReadMemory
  /** A write request that completed at once and can be used again. */
  spare: OwnedWrite | null
}

class RawWire implements Wire {
  owner: WireOwner = NOBODY
  bulk = false
  #out = ''
  #pending = 0
  #slot: ReadSlot | null = null
  #paused = false
  #dead = false
  /** The peer takes no more bytes; what we still read may explain why. */
  #broken = false
  #closing = false
  #lingering = false
  #remote: { address?: string; port?: number } | null = null
  readonly #handle: OwnedHandle
  readonly #shared: Shared

  constructor(handle: Handle, shared: Shared) {
    this.#handle = handle as OwnedHandle
    this.#shared = shared
    this.#handle.wire = this
    handle.onread = onRead
    handle.useUserBuffer(shared.memory.sharedView)
    handle.setNoDelay?.(true)
  }

  start(): void {
    const error = this.#handle.readStart()
    if (error < 0) this.#fail(error)
  }

  get remoteAddress(): string {
    return this.#peer().address ?? ''
  }

  get remotePort(): number {
    return this.#peer().port ?? 0
  }

  #peer(): { address?: string; port?: number } {
    if (this.#remote === null) {
      this.#remote = {}
      if (!this.#dead) this.#handle.getpeername?.(this.#remote)
    }
    return this.#remote
  }

  get congested(): boolean {
    return this.#pending > 0
  }

  /** Takes the result of one read; returns the memory for the next one, or undefined for the same. */
  received(count: number): Buffer | undefined {
    if (this.#dead || count === 0) return undefined
    if (count < 0) {
      if (count !== EOF) this.#fail(count)
      else if (this.#closing) this.#dispose()
      else this.owner.onEnd()
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
    const slot = this.#slot
    if (slot === null) {
      if (!this.bulk || count < READ_BYTES / 2) return undefined
      this.#slot = memory.take()
      return this.#slot?.view
    }
    if (this.bulk && (slot.lent === 0 || this.#paused)) return undefined
    // The body is over, or a write still points into the slot while reading goes on.
    memory.release(slot)
    this.#slot = this.bulk ? memory.take() : null
    return this.#slot === null ? memory.sharedView : this.#slot.view
  }

  write(text: string): void {
    if (this.#out === '') markDirty(this)
    this.#out += text
  }

  writeBytes(chunk: Buffer, start: number, end: number, slot: ReadSlot | null): void {
    if (end - start + this.#out.length <= TEXT_BYTES_MAX) {
      this.write(chunk.latin1Slice(start, end))
      return
    }
    this.flush()
    if (this.#dead || this.#broken) return
    const bytes = chunk.subarray(start, end)
    this.#send(slot === null ? Buffer.from(bytes) : bytes, slot)
  }

  flush(): void {
    const text = this.#out
    this.#out = ''
    if (text === '' || this.#dead || this.#broken) return
    const request = this.#request()
    this.#sent(this.#handle.writeLatin1String(request, text), request, null, null)
  }

  #send(bytes: Buffer, slot: ReadSlot | null): void {
    const request = this.#request()
    this.#sent(this.#handle.writeBuffer(request, bytes), request, slot, bytes)
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

  #sent(error: number, request: OwnedWrite, slot: ReadSlot | null, bytes: Buffer | null): void {
    if (error < 0) {
      this.#break(error)
      return
    }
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
    else if (this.#pending === 0) this.owner.onDrain()
  }

  /** Sending failed. The peer may have answered before it closed, so reading goes on if it can. */
  #break(error: number): void {
    this.#broken = true
    if (this.#paused || this.#closing) this.#fail(error)
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
    if (this.#dead || this.#broken) return
    this.#shutdown(() => {})
  }

  close(linger: boolean): void {
    if (this.#dead || this.#closing) return
    this.flush()
    this.owner = NOBODY
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
    const request = this.#shared.handles.newShutdown()
    request.oncomplete = () => {
      if (!this.#dead) done()
    }
    const error = this.#handle.shutdown(request)
    if (error < 0) this.#break(error)
  }

  destroy(): void {
    this.owner = NOBODY
    this.#dispose()
  }

  reset(): void {
    if (this.#dead) return
    // Not every handle can be reset (a pipe cannot, a closing one neither): then closing has to do.
    const isReset = this.#handle.reset?.() === 0
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
    this.#dead = true
    this.owner = NOBODY
    this.#out = ''
    if (this.#lingering) stopLingering(this)
    if (this.#slot !== null) {
      this.#shared.memory.release(this.#slot)
      this.#slot = null
    }
    if (!isClosed) this.#handle.close()
  }
}

function onRead(this: OwnedHandle): Buffer | undefined {
  const { wire } = this
  enterTurn()
  const view = wire.received(readState[STATE_READ]!)
  leaveTurn()
  return view
}

function onWritten(this: OwnedWrite, status: number): void {
  const { wire, slot } = this
  this.wire = null
  this.slot = null
  this.bytes = null
  enterTurn()
  wire?.written(status, slot)
  leaveTurn()
}

/** Set once per thread, before the first wire exists. */
let readState: Int32Array = new Int32Array(4)

/** A socket layer over `handles` that reads into `memory`. */
export function rawSockets(handles: Handles, memory: ReadMemory): SocketLayer {
  readState = handles.state
  const shared: Shared = { handles, state: handles.state, memory, spare: null }
  return {
    kind: 'handles',
    listen: (port, keepalive, accept) => listen(port, keepalive, accept, shared),
    connect: (address, done) => connect(address, done, shared)
  }
}

interface ServerHandle {
  onconnection: (error: number, handle: Handle | undefined) => void
}

async function listen(
  port: number,
  keepalive: KeepAlive,
  accept: (wire: Wire) => void,
  shared: Shared
): Promise<Acceptor> {
  return await listenWith(createServer(), port, (server: Server) => {
    const handle = (server as unknown as { _handle: ServerHandle })._handle
    handle.onconnection = (error, client) => {
      // Out of descriptors (EMFILE): the kernel keeps the connection queued; the next accept retries.
      if (error !== 0 || client === undefined) return
      if (keepalive.timeMs > 0) client.setKeepAlive?.(true, Math.ceil(keepalive.timeMs / 1000))
      const wire = new RawWire(client, shared)
      enterTurn()
      accept(wire)
      wire.start()
      leaveTurn()
    }
  })
}

function connect(address: Address, done: (code: string | null, wire: Wire | null) => void, shared: Shared): () => void {
  const { handles } = shared
  let settled = false
  const isUnix = 'unixPath' in address
  const handle = isUnix ? handles.newPipe() : handles.newTcp()
  const request = isUnix ? handles.newPipeConnect() : handles.newTcpConnect()
  const settle = (status: number) => {
    if (settled) return
    settled = true
    enterTurn()
    if (status < 0) {
      handle.close()
      done(getSystemErrorName(status), null)
    } else {
      const wire = new RawWire(handle, shared)
      done(null, wire)
      wire.start()
    }
    leaveTurn()
  }
  request.oncomplete = settle
  let error: number
  if (isUnix) error = handle.connect(request, address.unixPath) ?? 0
  else if (address.family === 6) error = handle.connect6!(request, address.ip, address.port)
  else error = handle.connect(request, address.ip, address.port)
  if (error < 0) setImmediate(settle, error)
  return () => {
    if (settled) return
    settled = true
    handle.close()
  }
}
