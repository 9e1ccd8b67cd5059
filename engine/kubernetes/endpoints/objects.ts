/** Services (v1) and EndpointSlices (discovery.k8s.io/v1), as far as they are read here. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'

/** On a slice: the Service that it belongs to. */
export const SERVICE_NAME = 'kubernetes.io/service-name'

export interface ServicePort {
  readonly name?: string
  readonly port: number
  readonly targetPort?: number | string
  readonly protocol?: string
}

export interface Service extends KubernetesObject {
  readonly spec?: {
    readonly type?: string
    readonly ports?: readonly ServicePort[]
    readonly publishNotReadyAddresses?: boolean
  }
}

export interface SliceEndpoint {
  readonly addresses?: readonly string[]
  readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean }
  readonly hints?: { readonly forZones?: readonly { readonly name: string }[] }
}

export interface EndpointSlice extends KubernetesObject {
  readonly addressType?: string
  readonly ports?: readonly { readonly name?: string; readonly port?: number; readonly protocol?: string }[]
  readonly endpoints?: readonly SliceEndpoint[]
}
