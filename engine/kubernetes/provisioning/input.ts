/** What provisioning is given, and what it gives. */
import type { Policy } from '#engine/contract/policy.ts'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'

export interface ProvisionInput {
  readonly gateway: KubernetesObject
  readonly gatewayClass: KubernetesObject
  /** GatewayParameters that the class refers to. */
  readonly classParameters?: KubernetesObject | undefined
  /** GatewayParameters that the Gateway refers to (spec.infrastructure.parametersRef). */
  readonly gatewayParameters?: KubernetesObject | undefined
  /** Those that are attached to the Gateway: their listeners are ports, too. */
  readonly listenerSets?: readonly KubernetesObject[] | undefined
}

export interface ProvisionOptions {
  /** Of data planes, where GatewayParameters do not say otherwise: "registry/repository:tag". */
  readonly image: string
  /** Where data planes ask for their configuration: "weir-controller.weir-system.svc:9443". */
  readonly controllerAddress: string
  /** PEM: who may have signed the controller's certificate. */
  readonly controllerCa: string
  /** Audience of the ServiceAccount tokens by which the controller knows data planes. */
  readonly tokenAudience: string
  /** The registry: `config` of rawConfig is checked by the schema that it makes. */
  readonly policies: readonly Policy[]
}

/** An object that must not be there, unless it belongs to another owner. */
export type ObjectName = Pick<KubernetesObject, 'apiVersion' | 'kind' | 'metadata'>

export interface Provisioned {
  /** In the order in which they are applied. Empty when there are faults. */
  readonly objects: readonly KubernetesObject[]
  /** To be deleted if this Gateway owns them: no longer asked for. */
  readonly absent: readonly ObjectName[]
  /** Of the Gateway: Accepted is False. */
  readonly faults: readonly Fault[]
}
