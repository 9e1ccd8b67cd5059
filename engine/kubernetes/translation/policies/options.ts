/** What the translation of GatewayBackends and GatewayPolicies is given, and what it gives. */
import type { BackendKind } from '#engine/contract/backend.ts'
import type { Policy } from '#engine/contract/policy.ts'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Condition, Fault, Part, PolicySetsPart } from '#engine/kubernetes/translation/parts.ts'

export interface PolicyOptions {
  /** The registries. */
  readonly policies: readonly Policy[]
  readonly backends: readonly BackendKind[]
  /** Of names of Services: "cluster.local". */
  readonly clusterDomain: string
  /** False: all objects have one author, to whom the data plane belongs. */
  readonly hasTenants?: boolean
}

/** What a part of a configuration refers to. */
export interface Needs {
  /** Names of entries of `backends`: "demo.models", "demo.shop_8080". */
  readonly backends: ReadonlySet<string>
  /** Names of entries of `secrets`, which `secretEntries` makes: "demo.keys". */
  readonly secrets: ReadonlySet<string>
}

/** What policies are attached to. */
export interface PolicyTarget {
  readonly kind:
    | 'Gateway'
    | 'ListenerSet'
    | 'HTTPRoute'
    | 'GRPCRoute'
    | 'TLSRoute'
    | 'TCPRoute'
    | 'Service'
    | 'InferencePool'
    | 'GatewayBackend'
  readonly namespace: string
  readonly name: string
  /**
   * A listener, a rule of a route, the port of a Service, a provider or an MCP target of a GatewayBackend.
   * Absent: the whole object, without what is for its sections alone.
   */
  readonly sectionName?: string
}

export interface TargetPolicies extends Needs {
  /** At most one for each phase. */
  readonly sets: PolicySetsPart
  /** Of the policies, by their `place.key`. */
  readonly faults: readonly Fault[]
}

/** MCP authentication of a rule. */
export interface RuleAuthentication {
  /** To be merged below what the rule says itself (mergeLevels). */
  readonly sets: PolicySetsPart
  /** The rule leads to MCP servers, and nobody has said it: what the listener or the Gateway says holds. */
  readonly isOpen: boolean
  /** Its backends differ in it: no request passes. */
  readonly isAmbiguous: boolean
}

export interface BackendParts extends Needs {
  /** Of `backends`, with its name and policies. */
  readonly entry: Part
  /** The object cannot be carried out, as `faults` say: the entry answers 500. */
  readonly isRefused: boolean
  readonly faults: readonly Fault[]
}

export interface FrontendParts extends Needs {
  /** `frontendPolicies`. */
  readonly frontend: Part
  readonly faults: readonly Fault[]
}

export interface SecretParts {
  /** Of `secrets`. */
  readonly entries: readonly Part[]
}

/** What a status of a policy has beside what its objects say. */
export interface StatusContext {
  /** Gateways that a target acts on: itself, those of its parents, those whose routes lead to it. */
  readonly gatewaysOf: (target: PolicyTarget) => readonly KubernetesObject[]
  /** What compiling has found in the policy. */
  readonly faults: readonly Fault[]
}

/** PolicyAncestorStatus of the Gateway API. */
export interface AncestorStatus {
  readonly ancestorRef: {
    readonly group: string
    readonly kind: string
    readonly namespace?: string
    readonly name: string
    readonly sectionName?: string
  }
  readonly controllerName: string
  readonly conditions: readonly Condition[]
}
