/** Plain servers as the Snapshot has them. */
import type { BackendAuth } from '#engine/contract/backend-auth/auth.ts'
import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import type { WeightedHost } from '#engine/contract/endpoint.ts'
import type { PolicySet } from '#engine/ir/snapshot.ts'

export type PlainBackend = StaticBackend | DynamicBackend

export interface StaticBackend {
  readonly kind: 'static'
  /** Host name or address; '' with unixPath. */
  readonly host: string
  readonly port: number
  readonly unixPath: string | null
  /** Several servers that do the same, of which the fields above say the first; absent: one. */
  readonly hosts?: readonly WeightedHost[]
  /** Absent: the default. */
  readonly transport?: BackendTransport | undefined
  readonly http?: BackendHttp
  readonly auth?: BackendAuth
  readonly policies: PolicySet
}

/** How model servers of a pool are spoken to. */
export interface PoolConnections {
  /** Absent: the default. */
  readonly transport?: BackendTransport | undefined
  readonly http?: BackendHttp
  readonly auth?: BackendAuth
}

interface Pool extends PoolConnections {
  /** Without a pick any of them gets the request. */
  readonly isOpen: boolean
  readonly policies: PolicySet
}

/** Model servers, of which an endpoint picker chooses one. */
export interface InferencePoolBackend extends Pool {
  readonly kind: 'inferencePool'
  /** The only ones that may be picked. */
  readonly endpoints: readonly { readonly host: string; readonly port: number }[]
}

/** The same, for servers that are known without a configuration. */
export interface ListedPoolBackend extends Pool {
  readonly kind: 'listedPool'
  /** Name of their list (HostLists). */
  readonly list: string
}

/** A reference that cannot be followed. */
export interface InvalidBackend {
  readonly kind: 'invalid'
  /** "Service demo/shop". */
  readonly reference: string
  /** "BackendNotFound". */
  readonly reason: string
  /** Where bytes of TCP go all the same that are passed on unread; null: nowhere. */
  readonly unread: { readonly host: string; readonly port: number } | null
  readonly policies: PolicySet
}

/** Sends to the host that the request names (docs/specification.md#dynamic-forward-proxy). */
export interface DynamicBackend {
  readonly kind: 'dynamic'
  /** CIDR ranges allowed in spite of the address guard. */
  readonly allowAddresses: readonly string[]
  /** The only hosts that requests may name; absent: any. */
  readonly allowHosts?: readonly AllowedHost[]
  readonly transport?: BackendTransport | undefined
  readonly http?: BackendHttp
  readonly auth?: BackendAuth
  readonly policies: PolicySet
}

export interface AllowedHost {
  /** Lower case; with a leading dot any name below it. */
  readonly host: string
  /** Null: that of the scheme. */
  readonly port: number | null
}

/** How a server is spoken to (docs/specification.md#backend-connections). */
export interface BackendHttp {
  /** Null: by the rule of the specification, request by request. */
  readonly version: 'HTTP1' | 'HTTP2' | null
  /** For one attempt; 0: no limit of its own. */
  readonly requestTimeoutMs: number
}
