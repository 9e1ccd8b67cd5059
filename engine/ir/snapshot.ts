/**
 * The internal representation: what both sources (file, Kubernetes) translate to and what every
 * worker builds its Runtime from. Plain data, structured-clone safe, no references left to resolve.
 */

import type { AccountsSpec } from '#engine/contract/accounts.ts'
import type { RequestRules } from '#engine/http/request-rules.ts'
import type { FrontendSettings, ListenerTls } from './frontend.ts'
import type { ProcessSettings } from './process.ts'

export type { FrontendSettings } from './frontend.ts'
export type { ProcessSettings } from './process.ts'

/** Policies of one attachment point: canonical policy name -> validated configuration of that policy. */
export type PolicySet = Readonly<Record<string, unknown>>

export interface Snapshot {
  /** Rises by one with every accepted configuration of this process. */
  readonly version: number
  /** First 12 hex digits of the SHA-256 of the source text. */
  readonly hash: string
  /** ISO time at which the source was accepted. */
  readonly acceptedAt: string
  /** Policies of the whole gateway: traffic policies, the least precise level of all, and frontend policies. */
  readonly gateway: PolicyPhases & { readonly frontend: PolicySet }
  readonly binds: readonly Bind[]
  /** Backends by name; inline ones get a name made from their route ("default/route0/0"). */
  readonly backends: Readonly<Record<string, Backend>>
  readonly frontend: FrontendSettings
  /** Keys of clients, and who they belong to; absent: there are none. */
  readonly accounts?: AccountsSpec
  readonly process: ProcessSettings
}

/** Policies of one attachment point by phase. Phases merge apart (docs/specification.md#attachment-and-merging). */
export interface PolicyPhases {
  /** PostRouting: the route is known. */
  readonly policies: PolicySet
  /** PreRouting: before the route is chosen. */
  readonly preRouting: PolicySet
}

export interface Bind {
  /** proxy: a PROXY header before everything else; direct: none; absent: as frontend.proxyProtocol says. */
  readonly tunnelProtocol?: 'direct' | 'proxy'
  readonly port: number
  readonly listeners: readonly Listener[]
  /** Which downstream transport serves the port; 'auto' lets the engine choose (docs/performance.md). */
  readonly transport: 'auto' | 'node' | 'uws'
}

export interface Listener extends PolicyPhases {
  readonly name: string
  /** Lower case; "*" for any, "*.example.com" for any name below, else exact. */
  readonly hostname: string
  /** HTTP: clear text. HTTPS: TLS ends here. TLS: ends here when `tls` is set, else it is passed on by its SNI. */
  readonly protocol: 'HTTP' | 'HTTPS' | 'TLS' | 'TCP'
  /** Of HTTPS, and of TLS that ends here; null: TLS does not end here. */
  readonly tls: ListenerTls | null
  /** What becomes of requests before they are judged. Absent: the defaults. */
  readonly requests?: RequestRules
  /** Of HTTP and HTTPS. */
  readonly routes: readonly RouteSpec[]
  /** Of TLS and TCP. */
  readonly tcpRoutes: readonly TcpRouteSpec[]
}

/** A route of connections that are passed on unread. */
export interface TcpRouteSpec {
  readonly name: string
  /** Names in SNI, as Listener.hostname; empty: every name of the listener. */
  readonly hostnames: readonly string[]
  readonly backends: readonly WeightedBackend[]
}

export interface RouteSpec {
  readonly name: string
  /** Of several rules with this name, which. */
  readonly rule?: string
  /** Lower case, as Listener.hostname; empty: every host of the listener. */
  readonly hostnames: readonly string[]
  /** Never empty: a route without matches gets one prefix match "/". */
  readonly matches: readonly RouteMatch[]
  readonly policies: PolicySet
  readonly backends: readonly WeightedBackend[]
}

/** No other route of the listener has it: what is kept from one configuration to the next is kept under it. */
export const ownName = ({ name, rule }: { readonly name: string; readonly rule?: string | undefined }): string =>
  rule === undefined ? name : `${name}/${rule}`

export type PathMatch = { readonly exact: string } | { readonly prefix: string } | { readonly regex: string }
export type ValueMatch = { readonly exact: string } | { readonly regex: string }

export interface RouteMatch {
  readonly path: PathMatch
  /** Upper case, or undefined for any. */
  readonly method?: string
  /** Names in lower case; all must match. */
  readonly headers: readonly { readonly name: string; readonly value: ValueMatch }[]
  readonly query: readonly { readonly name: string; readonly value: ValueMatch }[]
}

export interface WeightedBackend {
  /** Key into Snapshot.backends. */
  readonly backend: string
  /** 0..1000000; 0 means never. */
  readonly weight: number
  readonly policies: PolicySet
}

/** What a kind of backend has made of its configuration (BackendConfig.translate). */
export interface Backend {
  /** Of the kind in the registry. */
  readonly kind: string
  readonly policies: PolicySet
}
