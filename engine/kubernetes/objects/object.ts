/** Objects of Kubernetes, as an API server gives them, and how they are named. */

export interface ObjectMeta {
  readonly name: string
  /** Absent: the object belongs to the cluster. */
  readonly namespace?: string
  readonly uid?: string
  /** Rises with every change of the spec. */
  readonly generation?: number
  readonly resourceVersion?: string
  /** RFC 3339. */
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  /** spec, status, data: each kind has its own. */
  readonly [field: string]: unknown
}

/** A kind that the controller reads. */
export interface ObjectKind {
  readonly kind: string
  /** "v1", "gateway.networking.k8s.io/v1". */
  readonly apiVersion: string
  /** In paths of the API. */
  readonly plural: string
  readonly isNamespaced: boolean
}

const kind = (apiVersion: string, name: string, plural: string, isNamespaced = true): ObjectKind => ({
  kind: name,
  apiVersion,
  plural,
  isNamespaced
})

const GATEWAY_V1 = 'gateway.networking.k8s.io/v1'
const INFERENCE_V1 = 'inference.networking.k8s.io/v1'
const WEIR = 'weir.dev/v1alpha1'

/** By kind: of no two groups has the controller a kind of the same name. */
export const KINDS = {
  GatewayClass: kind(GATEWAY_V1, 'GatewayClass', 'gatewayclasses', false),
  Gateway: kind(GATEWAY_V1, 'Gateway', 'gateways'),
  ListenerSet: kind(GATEWAY_V1, 'ListenerSet', 'listenersets'),
  HTTPRoute: kind(GATEWAY_V1, 'HTTPRoute', 'httproutes'),
  GRPCRoute: kind(GATEWAY_V1, 'GRPCRoute', 'grpcroutes'),
  TLSRoute: kind(GATEWAY_V1, 'TLSRoute', 'tlsroutes'),
  TCPRoute: kind(GATEWAY_V1, 'TCPRoute', 'tcproutes'),
  ReferenceGrant: kind(GATEWAY_V1, 'ReferenceGrant', 'referencegrants'),
  BackendTLSPolicy: kind(GATEWAY_V1, 'BackendTLSPolicy', 'backendtlspolicies'),
  InferencePool: kind(INFERENCE_V1, 'InferencePool', 'inferencepools'),
  GatewayBackend: kind(WEIR, 'GatewayBackend', 'gatewaybackends'),
  GatewayPolicy: kind(WEIR, 'GatewayPolicy', 'gatewaypolicies'),
  GatewayParameters: kind(WEIR, 'GatewayParameters', 'gatewayparameters'),
  Namespace: kind('v1', 'Namespace', 'namespaces', false),
  Service: kind('v1', 'Service', 'services'),
  Secret: kind('v1', 'Secret', 'secrets'),
  ConfigMap: kind('v1', 'ConfigMap', 'configmaps'),
  EndpointSlice: kind('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices')
} as const satisfies Readonly<Record<string, ObjectKind>>

export type KindName = keyof typeof KINDS

/** "HTTPRoute/demo/shop"; of the cluster: "GatewayClass//weir". */
export type ObjectKey = `${string}/${string}/${string}`

export const keyOf = ({ kind: name, metadata }: Pick<KubernetesObject, 'kind' | 'metadata'>): ObjectKey =>
  objectKey(name, metadata.namespace ?? '', metadata.name)

export const objectKey = (kindName: string, namespace: string, name: string): ObjectKey =>
  `${kindName}/${namespace}/${name}`
