/** The addresses of this machine. */
import { networkInterfaces } from 'node:os'
import { plainAddress } from './address-guard.ts'

/** How long they are believed. */
const OWN_ADDRESSES_MS = 5_000

let own = new Set<string>()
let ownUntil = 0

/** Whether a connection to `address`, however it is written, ends on this machine. */
export function isOwnAddress(address: string): boolean {
  const ip = plainAddress(address) ?? address
  if (ip.startsWith('127.') || ip === '0.0.0.0' || ip === '::' || ip === '::1') return true
  const now = performance.now()
  if (ownUntil <= now) {
    const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
    own = new Set(all.map((one) => plainAddress(one.address) ?? one.address))
    ownUntil = now + OWN_ADDRESSES_MS
  }
  return own.has(ip)
}
