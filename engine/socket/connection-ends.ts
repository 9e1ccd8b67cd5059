/** Addresses of both ends of a connection, over either kind of socket. */
import type { Handle } from './handles.ts'
import { type ConnectionEnds, plainAddress } from './wire.ts'

/** As they are reported once. */
export class KnownEnds implements ConnectionEnds {
  remoteAddress: string
  remotePort: number
  readonly localAddress: string

  constructor(remoteAddress: string | undefined, remotePort: number | undefined, localAddress: string | undefined) {
    this.remoteAddress = plainAddress(remoteAddress ?? '')
    this.remotePort = remotePort ?? 0
    this.localAddress = plainAddress(localAddress ?? '')
  }

  setPeer(address: string, port: number): void {
    this.remoteAddress = plainAddress(address)
    this.remotePort = port
  }
}

/** The kernel is asked when they are wanted: few expressions do. */
export class HandleEnds implements ConnectionEnds {
  /** Null: the handle cannot be asked any more. */
  #handle: Handle | null
  #remote: { readonly address: string; readonly port: number } | null = null
  #local = ''

  constructor(handle: Handle) {
    this.#handle = handle
  }

  get remoteAddress(): string {
    this.learnPeer()
    return this.#remote!.address
  }

  get remotePort(): number {
    this.learnPeer()
    return this.#remote!.port
  }

  get localAddress(): string {
    if (this.#local !== '' || this.#handle === null) return this.#local
    const own: { address?: string } = {}
    this.#handle.getsockname?.(own)
    return plainAddress(own.address ?? '')
  }

  setPeer(address: string, port: number): void {
    this.#remote = { address: plainAddress(address), port }
  }

  /** Asks now: after a reset, or once another one owns the handle, the kernel does not tell. */
  learnPeer(): void {
    if (this.#remote !== null) return
    const found: { address?: string; port?: number } = {}
    this.#handle?.getpeername?.(found)
    this.setPeer(found.address ?? '', found.port ?? 0)
  }

  /** The handle goes. A log may read addresses again that were read once; for dialled connections it does not. */
  handleGone(): void {
    if (this.#remote !== null) this.#local = this.localAddress
    this.#handle = null
  }
}
