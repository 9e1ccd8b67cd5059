/**
 * What compiling gets of each object, and nothing else of it: plain data, the same objects while nothing of it changes
 * (StableMemo), so that results are kept as long as what they were made from.
 */
import type { ListenerState, Protocol } from '#engine/kubernetes/translation/attach/listeners.ts'
import type { Input } from '#engine/kubernetes/translation/inputs.ts'
import type { Fault, ObjectPlace } from '#engine/kubernetes/translation/parts.ts'
import type { Raw } from '#engine/schema/placed.ts'

/** Names of entries of `backends` and `secrets` that something refers to. */
export interface Needs {
  readonly backends: readonly string[]
  readonly secrets: readonly string[]
}

export interface ListenerRecord extends Needs {
  /** In the configuration. */
  readonly name: string
  readonly hostname: ListenerState['hostname']
  readonly port: number
  readonly protocol: Protocol
  readonly place: ObjectPlace
  /** `tls`; null: TLS does not end here. */
  readonly tls: Input<Raw> | null
  /** Sets of policies. */
  readonly policies: Input<readonly Raw[]>
  /** MCP authentication for the rules that are open; null: there is none. */
  readonly authentication: Input<Raw> | null
}

export interface GatewayRecord extends Needs {
  readonly place: ObjectPlace
  /** `rawConfig` of parameters, the most precise last. */
  readonly rawConfigs: readonly Input<Raw>[]
  readonly frontend: Input<Raw>
  readonly policies: Input<readonly Raw[]>
  /** Those that are served. */
  readonly listeners: readonly ListenerRecord[]
  /** Shown to Services that are reached over TLS. */
  readonly clientCertificate: Input<Raw> | null
}

export interface BackendRecord extends Needs {
  readonly name: string
  /** Of `backends`. */
  readonly entry: Input<Raw>
}

export interface SecretRecord {
  readonly name: string
  /** Of `secrets`. */
  readonly entry: Input<Raw>
}

/** One rule of a route. */
export interface RuleRecord extends Needs {
  /** Of `routes` or `tcpRoutes`, without hostnames. */
  readonly entry: Input<Raw>
  readonly place: ObjectPlace
  /** It leads to MCP servers, and the authentication of its listener is for it. */
  readonly isOpen: boolean
}

export interface RouteRecord {
  readonly rules: readonly RuleRecord[]
  readonly faults: readonly Fault[]
}

/** By names; undefined: there is none. */
export interface Records {
  readonly backend: (name: string) => BackendRecord | undefined
  readonly secret: (name: string) => SecretRecord | undefined
}
