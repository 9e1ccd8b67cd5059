/** Addresses of a handle's connection, as the kernel tells them. */
import type { Handle } from './handles.ts'
import { plainAddress } from './wire.ts'

export interface PeerAddress {
  readonly address: string
  readonly port: number
}

/** Whom it is connected to. `isDead`: it cannot be asked any more. */
export function peerOf(handle: Handle, isDead: boolean): PeerAddress {
  const found: { address?: string; port?: number } = {}
  if (!isDead) handle.getpeername?.(found)
  return { address: plainAddress(found.address ?? ''), port: found.port ?? 0 }
}

/** Its own ip; '' when it is not known. */
export function ownAddressOf(handle: Handle, isDead: boolean): string {
  const own: { address?: string } = {}
  if (!isDead) handle.getsockname?.(own)
  return plainAddress(own.address ?? '')
}
