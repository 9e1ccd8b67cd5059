/** What OpenSSL needs to know before a handshake: made once for all destinations with the same material. */
import * as tls from 'node:tls'
import { reveal, type Secret } from '#engine/kit/secret.ts'

export interface TlsMaterial {
  /** Certificates (PEM) that are trusted instead of the system's; null: the system's. */
  readonly ca: string | null
  /** PEM: our own chain, and its key; null: none is shown. */
  readonly cert?: string | null
  readonly key?: Secret | null
}

/** Different material of one thread that is kept; what is older is made again when it is asked for. */
const CONTEXTS_MAX = 64

const contexts = new Map<string, tls.SecureContext>()

/** Throws OpenSSL's error when the material is none; configurations have been checked for that. */
export function contextOf({ ca, cert = null, key = null }: TlsMaterial): tls.SecureContext {
  const text = JSON.stringify([ca, cert, key === null ? null : reveal(key)])
  const known = contexts.get(text)
  if (known !== undefined) return known
  if (ca === null) trustSystem()
  const context = tls.createSecureContext({
    ...(ca === null ? {} : { ca }),
    ...(cert === null ? {} : { cert }),
    ...(key === null ? {} : { key: reveal(key) })
  })
  if (contexts.size >= CONTEXTS_MAX) contexts.delete(contexts.keys().next().value!)
  contexts.set(text, context)
  return context
}

let isTrusted = false

/**
 * Node trusts the list that it is built with; the specification says the system's. Both: a machine without any
 * (a small container) can still reach public servers. Costs some 70 ms, once for each thread.
 */
function trustSystem(): void {
  if (isTrusted) return
  isTrusted = true
  // Both came with Node 22.19.
  if (typeof tls.getCACertificates !== 'function' || typeof tls.setDefaultCACertificates !== 'function') return
  const system = tls.getCACertificates('system')
  if (system.length > 0) tls.setDefaultCACertificates([...new Set([...tls.getCACertificates('default'), ...system])])
}
