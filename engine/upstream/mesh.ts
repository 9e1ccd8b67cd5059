/**
 * Mutual TLS with the workloads of a mesh (docs/design/040-provisioning.md). An address has the identity of the
 * workload behind it; the certificate that is shown there is the same for all, and is replaced while connections are
 * made.
 */
import type { MeshCredentials } from '#engine/contract/endpoint.ts'
import { Lru } from '#engine/kit/lru.ts'
import { TlsClient } from '#engine/socket/tls.ts'

/** Identities of which TLS sessions are kept. */
const IDENTITIES_MAX = 1_024

/**
 * A sidecar takes a connection for one of its mesh by this name (RFC 7301), and agrees to one of the others. What it
 * agrees to is never this one.
 */
const MESH_ALPN = 'istio'

const NOT_CONFIGURED: MeshCredentials = { reason: 'this process asks no authority of a mesh for one (CA_ADDRESS)' }

export class MeshTls {
  #credentials = NOT_CONFIGURED
  /** By protocols and identity. */
  #clients = new Lru<string, TlsClient>(IDENTITIES_MAX)

  /** For connections that are made from now on. Those that are open stay: what they have shown was valid. */
  set(credentials: MeshCredentials): void {
    this.#credentials = credentials
    // Sessions of before would be resumed, and a resumed session is not judged by the authorities of now.
    this.#clients = new Lru(IDENTITIES_MAX)
  }

  /** For connections to the workload of this `identity` (Destination.identity), or why there can be none. */
  client(identity: string, protocols: readonly string[]): TlsClient | string {
    const credentials = this.#credentials
    if ('reason' in credentials) return `there is no certificate of the mesh: ${credentials.reason}`
    const key = `${protocols.join()} ${identity}`
    const known = this.#clients.get(key)
    if (known !== undefined) return known
    const { trustDomain, ca, cert, key: secret } = credentials
    const subjectAltNames = [`spiffe://${trustDomain}/${identity}`]
    // Host names play no part: a certificate of a mesh has none.
    const settings = { ca, cert, key: secret, serverName: '', subjectAltNames }
    const client = new TlsClient(settings, [MESH_ALPN, ...protocols])
    this.#clients.set(key, client)
    return client
  }
}
