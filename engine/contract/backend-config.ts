/**
 * What a kind of backend has to say about its configuration: schema, checks, form in the Snapshot, warnings. A source
 * (engine/source) walks objects with places and asks the kinds; it knows none of them by name.
 */
import type { Path, Placed } from '#engine/schema/placed.ts'
import type { z } from '#engine/schema/schema.ts'
import type { BackendAuth } from './backend-auth/auth.ts'
import type { FileAuth } from './backend-auth/schema.ts'
import type { BackendTransport } from './backend-transport/transport.ts'
import type { DocumentSources } from './policy.ts'
import type { TransportCapabilities } from './transport-capabilities.ts'

/** A mistake or a doubt. `at`: which end of "key: value" it is about. */
export type Report = (path: Path, message: string, at?: 'key' | 'value') => void

export interface Doubt {
  readonly path: Path
  readonly message: string
}

type PolicySet = Readonly<Record<string, unknown>>

/** Validated policies of one place, by the names of a file: one set, or several. */
export type PolicySets = PolicySet | readonly PolicySet[] | undefined

// --- policies that act on backends ---

/** One policy of one place, as it was read. */
export interface PlacedPolicy {
  readonly field: string
  readonly value: unknown
  readonly path: Path
}

/** Policies that act on backends and stand at any level: gateway, listener, route, backend, reference to a backend. */
export interface BackendPolicies {
  /** Names in a configuration -> the field that they say. */
  readonly keys: Readonly<Record<string, string>>
  /** By these names; none where `inside` is set. */
  readonly schemas: Readonly<Record<string, z.ZodOptional>>
  /** They act on backends of every kind; otherwise on those whose kind lists them. */
  readonly actsOnAll?: true
  /** About connections to servers: not on backends that connect to none (`unconnected` of BackendConfig). */
  readonly needsServers?: true
  /** About a part of the value only, with this key. */
  readonly inside?: string
  /** Sets of a place and of several levels add up; otherwise a place says a field once, and the last level wins. */
  readonly addsUp?: true
  /** What stands above all routes acts on backends of routes, and not on those that are asked as services. */
  readonly actsAroundRoutes?: true
  /**
   * What is in force in place of a policy that cannot be carried out, so that it opens nothing: by names in a resource.
   * `value`: as the resource has it. Undefined: nothing.
   */
  readonly closed?: Readonly<Record<string, (value: unknown) => unknown>>
  readonly words: {
    /** Said twice in one place, first under the name `first`. Absent: said elsewhere. */
    readonly repeated?: (first: string) => string
    /** On a backend on which they do not act. `plain`: the keys of plain servers; `advice`: of that backend's kind. */
    readonly misplaced: (plain: string, advice: string | undefined) => string
    readonly unreached: (plain: string) => string
  }
  /** What a value alone shows. */
  readonly checkValue?: (policy: PlacedPolicy, sources: DocumentSources, report: Report) => void
  /** Needs a backend on which they act and all policies around it, least precise first. */
  readonly check?: (
    backend: JudgedBackend,
    policies: readonly PlacedPolicy[],
    bind: ServingBind | null,
    report: Report
  ) => void
  /** What is allowed and better not had. */
  readonly warnings?: (policy: PlacedPolicy) => readonly Doubt[]
}

/** A backend as it was read. */
export interface JudgedBackend extends Placed {
  readonly isPlain: boolean
  /** Undefined: no kind is registered. */
  readonly config: BackendConfig | undefined
  /** Of the key that says its kind. */
  readonly value: Placed
}

/** A bind whose routes lead to a backend. */
export interface ServingBind {
  readonly path: Path
  readonly transport: TransportCapabilities
}

/** Validated policies around a backend. */
export interface PolicyLevels {
  /** Of the gateway, a listener and a route, least precise first; null: of a named backend by itself. */
  readonly around: readonly PolicySets[] | null
  readonly gateway: PolicySets
  /** Of the backend by its name. */
  readonly own: PolicySets
  /** Of the reference to it. */
  readonly reference: PolicySets
}

/** Field by field what the last of `levels` says that says it (docs/specification.md#attachment-and-merging). */
export function mergedFields({ keys }: BackendPolicies, levels: readonly PolicySets[]): Record<string, unknown> {
  const merged: Record<string, unknown> = {}
  for (const set of levels.flat() as readonly (PolicySet | undefined)[]) {
    if (set === undefined) continue
    for (const [key, field] of Object.entries(keys)) if (set[key] !== undefined) merged[field] = set[key]
  }
  return merged
}

/** All levels of a backend, least precise first. */
export function allLevels({ around, gateway, own, reference }: PolicyLevels): readonly PolicySets[] {
  return around === null ? [gateway, own] : [...around, own, reference]
}

export const PRE_ROUTING = 'is for backends, which are not known in the phase PreRouting'

/** Of policies that do not act on others. `plain`: the keys that describe plain servers. */
export const plainOnly = (plain: string): string => `acts on backends that are plain servers (${plain})`

// --- kinds of backends ---

/** A key of an object that describes a backend: it says the kind, and its value the rest. */
export interface BackendKey {
  readonly name: string
  /** With its description. */
  readonly schema: z.ZodOptional
  /** Another name of a key: messages do not mention it. */
  readonly isAlias?: true
  /** Only backends with a name have it. */
  readonly isNamedOnly?: true
  /** What a route of TCP has under this name; absent: nothing. */
  readonly tcpSchema?: z.ZodOptional
  /** Of TCP: the client names the server, which needs TLS. */
  readonly needsServerName?: true
}

/** A backend as the Snapshot has it. */
export interface TranslatedBackend {
  readonly kind: string
  readonly policies: PolicySet
}

export interface TranslateContext {
  /** Of the backend itself, by their canonical names. */
  readonly policies: PolicySet
  readonly levels: PolicyLevels
  readonly sources: DocumentSources
  /** What all levels, and then `own`, say of connections. Throws a FieldError. */
  readonly transportOf: (...own: readonly PolicySets[]) => BackendTransport | undefined
  /** What the last of them says of authentication. Throws a FieldError. */
  readonly authOf: (...own: readonly PolicySets[]) => BackendAuth | undefined
}

/** A key at the top of a configuration that stands for a bind with one route to one backend. */
export interface Shortcut {
  readonly key: string
  readonly port: number
  readonly description: string
  /** Made by the first value. `common`: what all shortcuts have (port, policies, settings of requests). */
  readonly schema: (common: Readonly<Record<'port' | 'policies', z.ZodOptional>> & object) => z.ZodType
  /** Its clients show keys, where a configuration has any. */
  readonly asksForKeys?: true
  /** In the Snapshot. No name of a backend in a configuration has a slash. */
  readonly backend: string
  readonly translate: (value: never, context: TranslateContext) => TranslatedBackend
  /** Policies that reach it from around it, besides those that act on all backends. */
  readonly policies?: readonly BackendPolicies[]
  /** Policies that may not stand around it, and why. No message: they do not act on it. */
  readonly refused?: readonly { readonly policies: BackendPolicies; readonly message?: string }[]
}

/** Something with a name and policies of its own inside a backend. */
export interface BackendParts {
  /** What one is called. */
  readonly word: string
  /** Those that policies may name, and where each may have policies. `value`: of the key, or of the shortcut. */
  readonly of: (value: Placed) => readonly Placed[]
  /** Where policies may stand that are checked with those of other places. */
  readonly places: (value: Placed) => readonly Placed[]
  /** Which of them are, besides those that act on all backends. */
  readonly policies: readonly BackendPolicies[]
}

export interface WarnContext {
  /** A policy somewhere says that backends are asked with TLS. */
  readonly hasTls: boolean
  /** Keys, teams and organisations, as they are written. */
  readonly accounts: readonly Placed[]
}

export interface BackendConfig {
  readonly keys: readonly BackendKey[]
  /** A plain server, which is sent what clients send. */
  readonly isPlain?: true
  /** Only configurations that are made of resources have its keys: nobody writes them. */
  readonly isTranslated?: true
  /** One server, whose address the configuration says: policies may ask it as a service. */
  readonly isServer?: true
  /** Policies that act on it, besides those that act on all. */
  readonly policies: readonly BackendPolicies[]
  /** Where policies stand that do not act on it. */
  readonly advice?: string
  readonly parts?: BackendParts
  /** Why no server is connected to for it, as it is here; null: one is. Absent: one always is. */
  readonly unconnected?: (value: Placed) => string | null
  /** Why it cannot be shown `auth`, as the last level says it; null: it can. */
  readonly checkAuth?: (auth: FileAuth, backend: JudgedBackend) => string | null
  /** What its schema cannot see: files, references. `value`: of the key, or of the shortcut. */
  readonly check?: (value: Placed, sources: DocumentSources, report: Report) => void
  /** `value`: of `key`, validated. */
  readonly translate: (key: string, value: never, context: TranslateContext) => TranslatedBackend
  /** Whether `levels` say more of a named backend than what it is by itself, so that it is another one there. */
  readonly differs: (levels: PolicyLevels) => boolean
  /** Each looks at all backends of the kind. */
  readonly warnings?: readonly ((values: readonly Placed[], context: WarnContext) => readonly Doubt[])[]
  /** Where in `value` that stands which the Snapshot has at `path` of the backend; null: it is not known. */
  readonly locate?: (value: Placed, path: string) => { readonly path: Path; readonly prefix: string } | null
  /**
   * Parts that messages about traffic name: path in the backend as the Snapshot has it, and where it stands.
   * `policies`: of the backend itself.
   */
  readonly origins?: (value: Placed, policies: Placed) => readonly (readonly [inside: string, path: Path])[]
  readonly shortcut?: Shortcut
}
