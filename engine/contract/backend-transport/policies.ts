/**
 * Policies of backends about connections (docs/specification.md#backend-connections): for all kinds of backends, at
 * every level. Field by field the most precise level holds: gateway, listener, route, backend, its reference; then a
 * provider or an MCP target of it.
 */

import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import type { Sources } from '#engine/contract/policy.ts'
import type { z } from '#engine/schema/schema.ts'
import { backendTcp, type FileTcp, tcpOf } from './tcp.ts'
import { backendTls, type FileTls, readTls } from './tls.ts'

/** Names in a file -> the field of BackendSimple. */
export const TRANSPORT_KEYS = { tls: 'tls', backendTLS: 'tls', tcp: 'tcp' } as const

export type TransportKey = keyof typeof TRANSPORT_KEYS

/** By the names that a file may use. */
export function transportPolicies(): { [key in TransportKey]: z.ZodOptional } {
  return {
    tls: backendTls().optional().describe('TLS to backends.'),
    backendTLS: backendTls().optional().describe('Another name of tls.'),
    tcp: backendTcp().optional().describe('TCP connections to backends.')
  }
}

/** As a file says it. */
export interface FileTransport {
  readonly tls?: FileTls | undefined
  readonly tcp?: FileTcp | undefined
}

type Set = Readonly<Record<string, unknown>>
type Sets = Set | readonly Set[] | undefined

/** Field by field the last of `levels` that says it (docs/specification.md#attachment-and-merging). */
export function mergedTransport(levels: readonly Sets[]): FileTransport {
  const out: Record<string, unknown> = {}
  for (const set of levels.flat()) {
    for (const [key, field] of Object.entries(TRANSPORT_KEYS)) {
      if (set?.[key] !== undefined) out[field] = set[key]
    }
  }
  return out
}

/** Reads what policies refer to, each policy once: what says the same is the same object. */
export class Transports {
  readonly #sources: Sources
  readonly #tls = new Map<FileTls, BackendTransport['tls']>()
  readonly #all = new Map<FileTls | undefined, Map<FileTcp | undefined, BackendTransport>>()

  constructor(sources: Sources) {
    this.#sources = sources
  }

  /** Undefined: `levels` say nothing. Throws a FieldError. */
  of(...levels: readonly Sets[]): BackendTransport | undefined {
    const { tls, tcp } = mergedTransport(levels)
    if (tls === undefined && tcp === undefined) return undefined
    const sameTls = this.#all.get(tls) ?? new Map<FileTcp | undefined, BackendTransport>()
    this.#all.set(tls, sameTls)
    const known = sameTls.get(tcp)
    if (known !== undefined) return known
    const made = { tls: tls === undefined ? null : this.#read(tls), tcp: tcp === undefined ? null : tcpOf(tcp) }
    sameTls.set(tcp, made)
    return made
  }

  #read(file: FileTls): BackendTransport['tls'] {
    const made = this.#tls.get(file) ?? readTls(file, this.#sources)
    this.#tls.set(file, made)
    return made
  }
}
