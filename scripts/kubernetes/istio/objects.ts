/** Istio's control plane in a cluster, workloads of its mesh, and a Gateway that is one of them. */
import type { ObjectKind } from '#engine/kubernetes/objects/object.ts'
import { KINDS, type KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { GROUP } from '#engine/kubernetes/resources/names.ts'
import { DEPLOYMENT, SERVICE_ACCOUNT } from '#scripts/kubernetes/cluster/kinds.ts'
import { GATEWAY_CLASS } from '#scripts/kubernetes/controller.ts'

export const ISTIO_NAMESPACE = 'istio-system'
export const NAMESPACE = 'demo'
export const GATEWAY = 'edge'
/** Of its data planes. */
export const GATEWAY_ACCOUNT = `${GATEWAY}-${GATEWAY_CLASS}`
const WORKLOAD_PORT = 8080
const BINDING: ObjectKind = {
  kind: 'ClusterRoleBinding',
  apiVersion: 'rbac.authorization.k8s.io/v1',
  plural: 'clusterrolebindings',
  isNamespaced: false
}

/** An object and its kind. */
export type Placed = readonly [kind: ObjectKind, object: KubernetesObject]

const placed = (kind: ObjectKind, name: string, namespace: string | null, rest: object): Placed => [
  kind,
  {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: namespace === null ? { name } : { name, namespace },
    ...rest
  }
]

const namespace = (name: string) => placed(KINDS.Namespace, name, null, {})

const deployment = (name: string, within: string, labels: object, spec: object): Placed =>
  placed(DEPLOYMENT, name, within, {
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name, ...labels } }, spec: { serviceAccountName: name, ...spec } }
    }
  })

const service = (name: string, within: string, port: number): Placed =>
  placed(KINDS.Service, name, within, { spec: { selector: { app: name }, ports: [{ name: 'tls', port }] } })

/** What its chart gives it, as far as its authority needs it. */
const ISTIOD_ENVIRONMENT = {
  POD_NAMESPACE: ISTIO_NAMESPACE,
  REVISION: 'default',
  // The Gateways here are those of weir.
  PILOT_ENABLE_GATEWAY_API: 'false'
}

/** `more`: variables of its environment. */
export const istiod = (more: Readonly<Record<string, string>> = {}): Placed => {
  const env = Object.entries({ ...ISTIOD_ENVIRONMENT, ...more }).map(([name, value]) => ({ name, value }))
  const container = {
    name: 'istiod',
    image: 'istiod',
    args: ['discovery', '--log_output_level=default:info', '--domain=cluster.local'],
    env,
    ports: [{ containerPort: 15_012 }],
    readinessProbe: { httpGet: { path: '/ready', port: 8080 } }
  }
  return deployment('istiod', ISTIO_NAMESPACE, {}, { containers: [container] })
}

export const ISTIO: readonly Placed[] = [
  namespace(ISTIO_NAMESPACE),
  placed(SERVICE_ACCOUNT, 'istiod', ISTIO_NAMESPACE, {}),
  placed(BINDING, 'istiod', null, {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'istiod', namespace: ISTIO_NAMESPACE }]
  }),
  service('istiod', ISTIO_NAMESPACE, 15_012)
]

/** What injection gives a pod: the label, a token for the authority, and its root. */
const SIDECAR = {
  volumes: [
    {
      name: 'token',
      projected: { sources: [{ serviceAccountToken: { path: 'istio-token', audience: 'istio-ca' } }] }
    },
    { name: 'root', configMap: { name: 'istio-ca-root-cert' } }
  ],
  volumeMounts: [
    { name: 'token', mountPath: '/var/run/secrets/tokens' },
    { name: 'root', mountPath: '/var/run/secrets/istio' }
  ]
}

/** `friend`: the only account of the mesh that may ask it; null: it is outside of the mesh, and anybody may. */
function workload(name: string, friend: string | null): readonly Placed[] {
  const env = [
    { name: 'PORT', value: `${WORKLOAD_PORT}` },
    { name: 'FRIEND', value: friend === null ? '' : `spiffe://cluster.local/ns/${NAMESPACE}/sa/${friend}` }
  ]
  const { volumes, volumeMounts } = friend === null ? { volumes: [], volumeMounts: [] } : SIDECAR
  const labels = friend === null ? {} : { 'security.istio.io/tlsMode': 'istio' }
  const containers = [{ name, image: 'workload', env, volumeMounts, ports: [{ containerPort: WORKLOAD_PORT }] }]
  return [
    placed(SERVICE_ACCOUNT, name, NAMESPACE, {}),
    deployment(name, NAMESPACE, labels, { containers, volumes }),
    service(name, NAMESPACE, WORKLOAD_PORT),
    placed(KINDS.HTTPRoute, name, NAMESPACE, {
      spec: {
        parentRefs: [{ name: GATEWAY }],
        rules: [
          {
            matches: [{ path: { type: 'PathPrefix', value: `/${name}` } }],
            backendRefs: [{ name, port: WORKLOAD_PORT }]
          }
        ]
      }
    })
  ]
}

export const DEMO: readonly Placed[] = [
  namespace(NAMESPACE),
  placed(KINDS.GatewayParameters, GATEWAY, NAMESPACE, { spec: { istio: {} } }),
  placed(KINDS.Gateway, GATEWAY, NAMESPACE, {
    spec: {
      gatewayClassName: GATEWAY_CLASS,
      infrastructure: { parametersRef: { group: GROUP, kind: 'GatewayParameters', name: GATEWAY } },
      listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }]
    }
  }),
  ...workload('shop', GATEWAY_ACCOUNT),
  ...workload('vault', 'nobody'),
  ...workload('plain', null)
]
