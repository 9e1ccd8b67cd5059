/** What a cluster has beside the objects that the controller reads, as far as it is used here. */
import type { KubernetesObject, ObjectKind, ObjectMeta } from '#engine/kubernetes/objects/object.ts'

const kind = (apiVersion: string, name: string, plural: string): ObjectKind => ({
  kind: name,
  apiVersion,
  plural,
  isNamespaced: true
})

export const POD = kind('v1', 'Pod', 'pods')
export const SERVICE_ACCOUNT = kind('v1', 'ServiceAccount', 'serviceaccounts')
export const DEPLOYMENT = kind('apps/v1', 'Deployment', 'deployments')
export const BUDGET = kind('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets')
export const AUTOSCALER = kind('autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers')

export type Labels = Readonly<Record<string, string>>

export interface Owner {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
}

export interface OwnedMeta extends ObjectMeta {
  readonly ownerReferences?: readonly Owner[]
}

export interface EnvironmentVariable {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string }
    readonly secretKeyRef?: KeyReference
    readonly configMapKeyRef?: KeyReference
    readonly resourceFieldRef?: { readonly resource: string }
  }
}

export interface KeyReference {
  readonly name: string
  readonly key: string
  readonly optional?: boolean
}

export interface Container {
  readonly name: string
  readonly image: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: readonly EnvironmentVariable[]
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[]
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly subPath?: string }[]
  readonly securityContext?: SecurityContext
  readonly readinessProbe?: { readonly httpGet?: { readonly path?: string; readonly port: number | string } }
  readonly lifecycle?: {
    readonly preStop?: {
      readonly exec?: { readonly command: readonly string[] }
      readonly sleep?: { readonly seconds: number }
    }
  }
}

export interface KeyToPath {
  readonly key: string
  readonly path: string
}

export interface VolumeSource {
  readonly secret?: { readonly secretName?: string; readonly name?: string; readonly items?: readonly KeyToPath[] }
  readonly configMap?: { readonly name: string; readonly items?: readonly KeyToPath[] }
  readonly emptyDir?: object
  readonly downwardAPI?: {
    readonly items?: readonly { readonly path: string; readonly fieldRef: { readonly fieldPath: string } }[]
  }
  readonly projected?: { readonly sources: readonly VolumeSource[] }
  readonly serviceAccountToken?: {
    readonly audience?: string
    readonly expirationSeconds?: number
    readonly path: string
  }
}

export interface SecurityContext {
  readonly runAsUser?: number
  readonly fsGroup?: number
  readonly readOnlyRootFilesystem?: boolean
  readonly sysctls?: readonly { readonly name: string; readonly value: string }[]
}

export interface PodSpec {
  readonly securityContext?: SecurityContext
  readonly containers: readonly Container[]
  readonly volumes?: readonly (VolumeSource & { readonly name: string })[]
  readonly serviceAccountName?: string
  readonly nodeName?: string
  readonly terminationGracePeriodSeconds?: number
}

export interface Pod extends KubernetesObject {
  readonly metadata: OwnedMeta
  readonly spec: PodSpec
  readonly status?: {
    readonly podIP?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

export interface PodTemplate {
  readonly metadata?: { readonly labels?: Labels; readonly annotations?: Labels }
  readonly spec: PodSpec
}

export interface Deployment extends KubernetesObject {
  readonly metadata: OwnedMeta
  readonly spec: { readonly replicas?: number; readonly template: PodTemplate }
  readonly status?: { readonly observedGeneration?: number; readonly readyReplicas?: number }
}

export interface ServicePort {
  readonly name?: string
  readonly port: number
  readonly protocol?: string
  readonly appProtocol?: string
  readonly targetPort?: number | string
}

export interface Service extends KubernetesObject {
  readonly spec: {
    readonly type?: string
    readonly clusterIP?: string
    readonly selector?: Labels
    readonly loadBalancerIP?: string
    readonly ports?: readonly ServicePort[]
    readonly publishNotReadyAddresses?: boolean
  }
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string }[] } }
}

export const isReady = (pod: Pod): boolean =>
  pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false

export const selects = (selector: Labels, labels: Labels = {}): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value)
