/** The objects of the measure: routes, each with a Service, and Services, each with endpoints of its own. */
import { KINDS, type KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { GROUP } from '#engine/kubernetes/resources/names.ts'

export const NAMESPACE = 'scale'
export const GATEWAY = 'scale'
export const SECRET = 'certificate'
export const BACKEND_PORT = 3000
/** All of them are addresses of one Pod. */
export const BACKEND_PREFIX = '10.245'
/** What a route writes into its answers: the version of the route that has answered. */
export const VERSION_FIELD = 'x-route-version'

export interface Sizes {
  readonly routes: number
  readonly services: number
  readonly endpointsPerService: number
}

export const hostOf = (route: number): string => `route-${route}.example.com`

const meta = (name: string) => ({ name, namespace: NAMESPACE })

/** A line for each request would be most of what the machine does. */
export const parameters: KubernetesObject = {
  apiVersion: KINDS.GatewayParameters.apiVersion,
  kind: 'GatewayParameters',
  metadata: meta(GATEWAY),
  spec: { logging: { level: 'warn' } }
}

export const gateway = (gatewayClassName: string): KubernetesObject => ({
  apiVersion: KINDS.Gateway.apiVersion,
  kind: 'Gateway',
  metadata: meta(GATEWAY),
  spec: {
    gatewayClassName,
    infrastructure: { parametersRef: { group: GROUP, kind: 'GatewayParameters', name: GATEWAY } },
    listeners: [
      { name: 'http', port: 80, protocol: 'HTTP' },
      { name: 'https', port: 443, protocol: 'HTTPS', tls: { certificateRefs: [{ name: SECRET }] } }
    ]
  }
})

export const secret = ({ cert, key }: { readonly cert: string; readonly key: string }): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: meta(SECRET),
  type: 'kubernetes.io/tls',
  data: { 'tls.crt': Buffer.from(cert).toString('base64'), 'tls.key': Buffer.from(key).toString('base64') }
})

/** `version`: in its answers. */
export const route = (number: number, version: number, { services }: Sizes): KubernetesObject => ({
  apiVersion: KINDS.HTTPRoute.apiVersion,
  kind: 'HTTPRoute',
  metadata: meta(`route-${number}`),
  spec: {
    parentRefs: [{ name: GATEWAY }],
    hostnames: [hostOf(number)],
    rules: rulesOf(number, version, services)
  }
})

export const rulesOf = (number: number, version: number, services: number) => [
  {
    matches: [{ path: { type: 'PathPrefix', value: '/' } }],
    filters: [
      {
        type: 'ResponseHeaderModifier',
        responseHeaderModifier: { set: [{ name: VERSION_FIELD, value: `${version}` }] }
      }
    ],
    backendRefs: [{ name: `service-${number % services}`, port: 80 }]
  }
]

export const service = (number: number): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: meta(`service-${number}`),
  spec: { ports: [{ name: 'http', port: 80, targetPort: BACKEND_PORT }] }
})

/** The first `count` endpoints of a Service. */
export const slice = (number: number, count: number, { endpointsPerService }: Sizes): KubernetesObject => ({
  apiVersion: KINDS.EndpointSlice.apiVersion,
  kind: 'EndpointSlice',
  metadata: { ...meta(`service-${number}`), labels: { 'kubernetes.io/service-name': `service-${number}` } },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: BACKEND_PORT, protocol: 'TCP' }],
  endpoints: Array.from({ length: count }, (_, index) => {
    // 0 and 255 are left out.
    const address = number * endpointsPerService + index
    return {
      addresses: [`${BACKEND_PREFIX}.${Math.floor(address / 254)}.${(address % 254) + 1}`],
      conditions: { ready: true, serving: true, terminating: false }
    }
  })
})
