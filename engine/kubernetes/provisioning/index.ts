/**
 * What a Gateway's data planes run as: Deployment, Service, ServiceAccount, ConfigMap, and, when asked for,
 * PodDisruptionBudget and HorizontalPodAutoscaler. Pure: objects in, objects to apply out.
 */
import type { BackendKind } from '#engine/contract/backend.ts'
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
  readonly listenerSets?: readonly KubernetesObject[]
}

export interface ProvisionOptions {
  /** Of data planes, where GatewayParameters do not say otherwise: "registry/repository:tag". */
  readonly image: string
  /** Where data planes ask for their configuration: "https://weir-controller.weir-system.svc:9443". */
  readonly controllerAddress: string
  /** PEM: who may have signed the controller's certificate. */
  readonly controllerCa: string
  /** Audience of the ServiceAccount tokens by which the controller knows data planes. */
  readonly tokenAudience: string
  /** The registries: rawConfig is checked by the schema that they make. */
  readonly policies: readonly Policy[]
  readonly backends: readonly BackendKind[]
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

export function provision(_input: ProvisionInput, _options: ProvisionOptions): Provisioned {
  throw new Error('not yet')
}
