/** Where requests are sent: destinations, and how they are spoken to. */
import type { Secret } from '#engine/kit/secret.ts'
import type { TlsSettings } from '#engine/socket/tls.ts'
import type { Resilience } from './resilience.ts'

/** One upstream destination: a name or address with a port, or a unix socket. */
export interface Destination {
  /** Host name, IPv4 or IPv6 literal (without brackets); '' for a unix socket. */
  readonly host: string
  readonly port: number
  /** Path of a unix socket, or null. */
  readonly unixPath: string | null
  /**
   * Of the workload of a mesh that is there, without its trust domain: "ns/shop/sa/cart". It is spoken to over mutual
   * TLS, or not at all. Absent: it is of no mesh.
   */
  readonly identity?: string
}

/** What is shown to workloads of a mesh, and who is believed; or why there is nothing to show. */
export type MeshCredentials =
  | {
      readonly trustDomain: string
      /** PEM: our own chain, its key, and the authorities of the mesh. */
      readonly cert: string
      readonly key: Secret
      readonly ca: string
    }
  | { readonly reason: string }

/** One of several servers; its addresses are chosen in proportion to `weight`, a whole number from 1. */
export interface WeightedHost extends Destination {
  readonly weight: number
}

/**
 * Destinations whose hosts are known without DNS, by "host:port" (nameOf, engine/upstream/destination.ts). No host:
 * nothing is there now, and requests are refused.
 */
export type HostLists = Readonly<Record<string, readonly WeightedHost[]>>

/** What becomes of entries of a HostLists; null: they are not in it any more, and DNS knows their hosts. */
export type HostListChanges = Readonly<Record<string, readonly WeightedHost[] | null>>

/** Several servers that do the same: one destination with the addresses of all of them. */
export interface HostGroup {
  /** Groups of one name with the same options are one, whose hosts change in place. */
  readonly name: string
  /** At least one. */
  readonly hosts: readonly WeightedHost[]
}

export interface EndpointOptions {
  readonly guarded: boolean
  /** CIDR ranges that a guarded endpoint may dial nevertheless. */
  readonly allow: readonly string[]
  readonly connectTimeoutMs: number
  /** Idle time before TCP probes; 0: none; undefined: as the system does. */
  readonly keepaliveMs?: number
  /** Connections begin with a PROXY header of this version, and each carries exchanges of one client only. */
  readonly proxyProtocol?: 'v1' | 'v2'
  /** Null: clear text. */
  readonly tls: TlsSettings | null
  /** Absent: HTTP/1.1, as long as an answer takes. */
  readonly http?: SpokenHttp
  /** Absent: the default. */
  readonly resilience?: Resilience
}

/** How a server is spoken to (docs/specification.md#backend-connections). */
export interface SpokenHttp {
  /** 'auto': by the rule of the specification, request by request. */
  readonly version: 'auto' | 'HTTP1' | 'HTTP2'
  /** For one attempt; 0: no limit of its own. */
  readonly requestTimeoutMs: number
}

/** Where a configuration says nothing. */
export const SPOKEN_DEFAULT: SpokenHttp = { version: 'auto', requestTimeoutMs: 0 }

/** Opaque to everybody but engine/upstream. */
export interface Endpoint {
  readonly name: string
  /** False while every address of it is ejected by health. */
  readonly usable: boolean
  /**
   * Host header for hostRewrite auto: host, or host:port when the port is not the scheme's own. '' of a group: sent as
   * upstreamHost, it becomes that of the host which is chosen.
   */
  readonly hostHeader: string
  /** Whether the destination is a name (hostRewrite defaults to auto then). */
  readonly isHostname: boolean
  /** It is spoken to over TLS; absent: it is not. */
  readonly isTls?: boolean
  /** How one of its addresses is chosen, for people: `LeastRequest among 3 addresses`. Absent: nobody asks. */
  readonly balancing?: string
  /** What it does beside requests while a configuration that has it is in force. */
  readonly background?: { readonly begin: () => void; readonly end: () => void }
}

/** Why an address gets no requests: "unreachable" by this worker, "unhealthy" by checks, "ejected" by its answers. */
export type AddressState = 'healthy' | 'unreachable' | 'unhealthy' | 'ejected'

/** One address of an endpoint, as a worker sees it; for people. */
export interface AddressReport {
  /** ip:port or unix:path. */
  readonly address: string
  readonly host: string
  readonly weight: number
  readonly state: AddressState
  /** Of an ejection; '' for none. */
  readonly reason: string
  /** Milliseconds until it gets requests again, where that is known; 0: it is not. */
  readonly forMs: number
  /** Under way. */
  readonly requests: number
}

export interface EndpointReport {
  readonly destination: string
  readonly addresses: readonly AddressReport[]
}
