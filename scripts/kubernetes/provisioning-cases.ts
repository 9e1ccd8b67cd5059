/** Gateways with parameters, for provisioning.ts. */

export interface Provisioning {
  readonly name: string
  readonly gatewayName?: string
  /** Fields of the Gateway's spec. */
  readonly gateway: object
  readonly ofClass?: object
  readonly ofGateway?: object
  /** Kinds that are not asked for. */
  readonly absent?: readonly string[]
}

const ON_DEMAND = ['PodDisruptionBudget', 'HorizontalPodAutoscaler']

const SPREAD = { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' }

export const PROVISIONED: readonly Provisioning[] = [
  { name: 'without parameters', gateway: {}, absent: ON_DEMAND },
  {
    name: 'labels, annotations, an address and many listeners',
    gateway: {
      infrastructure: { labels: { team: 'edge' }, annotations: { 'example.com/note': 'a note' } },
      addresses: [{ type: 'IPAddress', value: '192.0.2.10' }],
      listeners: [80, 8080, 9000].flatMap((port) => [
        { name: `a-${port}`, port, protocol: 'HTTP', hostname: 'a.example' },
        { name: `b-${port}`, port, protocol: 'HTTP', hostname: 'b.example' }
      ])
    },
    absent: ON_DEMAND
  },
  {
    name: 'a name that no Service can have',
    gatewayName: `1.${'long.'.repeat(40)}name`,
    gateway: {},
    absent: ON_DEMAND
  },
  {
    name: 'all typed fields, of both levels',
    gateway: {},
    ofClass: {
      logging: { level: 'INFO,upstream=5', format: 'json' },
      rawConfig: { config: { statsAddr: '[::]:9100', workerThreads: 2 }, binds: [] },
      image: { registry: 'registry.example:5000', tag: 'v2', pullPolicy: 'IfNotPresent' },
      env: [
        { name: 'CLASS', value: '$(POD_NAME)' },
        { name: 'BOTH', value: 'class' }
      ],
      resources: { limits: { cpu: 2, memory: '512Mi' }, requests: { cpu: '250m' } },
      shutdown: { min: 5, max: 30 }
    },
    ofGateway: {
      image: { digest: `sha256:${'0'.repeat(64)}` },
      env: [
        { name: 'BOTH', value: 'gateway' },
        { name: 'SECRET', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } }
      ],
      resources: { limits: { memory: '1Gi' } }
    },
    absent: ON_DEMAND
  },
  {
    name: 'overlays of every kind, of both levels',
    gateway: {},
    ofClass: {
      deployment: {
        metadata: { labels: { of: 'class', level: 'class' } },
        spec: {
          replicas: 2,
          template: {
            spec: {
              containers: [
                {
                  name: 'weir',
                  env: [
                    { name: 'CLASS', value: '1' },
                    { name: 'NODE_NAME', $patch: 'delete' }
                  ]
                }
              ],
              topologySpreadConstraints: [SPREAD],
              tolerations: [{ key: 'edge', operator: 'Exists' }]
            }
          }
        }
      },
      service: {
        metadata: { annotations: { 'example.com/lb': 'internal' } },
        spec: { externalTrafficPolicy: 'Local' }
      },
      serviceAccount: { spec: { imagePullSecrets: [{ name: 'registry' }] } },
      podDisruptionBudget: {}
    },
    ofGateway: {
      deployment: {
        metadata: { labels: { level: 'gateway' } },
        spec: {
          replicas: 3,
          template: {
            spec: {
              containers: [
                { name: 'weir', startupProbe: { $patch: 'delete' }, resources: { limits: { memory: '1Gi' } } },
                {
                  name: 'sidecar',
                  image: 'registry.example/sidecar:v1',
                  volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }]
                }
              ],
              volumes: [{ name: 'tmp', $retainKeys: ['name', 'emptyDir'], emptyDir: { medium: 'Memory' } }],
              securityContext: { $patch: 'replace', runAsNonRoot: true, runAsUser: 1000 },
              tolerations: [{ key: 'gateway', operator: 'Exists' }]
            }
          }
        }
      },
      service: { spec: { type: 'ClusterIP', externalTrafficPolicy: null, ports: [{ port: 80, targetPort: 8080 }] } },
      podDisruptionBudget: { spec: { minAvailable: '50%', selector: { $patch: 'replace', matchLabels: { a: 'b' } } } },
      horizontalPodAutoscaler: { metadata: { labels: { a: 'b' } }, spec: { maxReplicas: 5 } }
    }
  },
  {
    name: 'an autoscaler and a budget of the class',
    gateway: {},
    ofClass: { podDisruptionBudget: {}, horizontalPodAutoscaler: { spec: { minReplicas: 2, maxReplicas: 4 } } }
  }
]

export interface RefusedParameters extends Omit<Provisioning, 'gateway' | 'absent'> {
  /** Place that the fault begins with. */
  readonly at: string
  readonly says: string
}

const OF_CLASS = 'GatewayParameters default/of-class: '
const OF_GATEWAY = 'GatewayParameters default/of-gateway: '

export const REFUSED_PARAMETERS: readonly RefusedParameters[] = [
  {
    name: 'a field that there is not',
    ofClass: { deployment: { spec: { replica: 3 } } },
    at: `${OF_CLASS}spec.deployment.spec.replica`,
    says: 'not declared'
  },
  {
    name: 'a value that cannot be, of the upper level',
    ofClass: { service: { spec: { type: 'NodePort' } } },
    ofGateway: { service: { spec: { type: 'Other' } } },
    at: `${OF_GATEWAY}spec.service.spec.type`,
    says: 'Other'
  },
  {
    name: 'an item without its key',
    ofGateway: { deployment: { spec: { template: { spec: { containers: [{ image: 'a' }] } } } } },
    at: `${OF_GATEWAY}spec.deployment.spec.template.spec.containers`,
    says: 'name in each'
  },
  {
    name: 'a directive that there is not',
    ofGateway: { service: { spec: { $patch: 'remove' } } },
    at: `${OF_GATEWAY}spec.service.spec.$patch`,
    says: 'delete or replace'
  },
  {
    name: 'an autoscaler without a bound',
    ofClass: { horizontalPodAutoscaler: {} },
    at: `${OF_CLASS}spec.horizontalPodAutoscaler`,
    says: 'maxReplicas'
  },
  {
    name: 'a variable that cannot be',
    ofClass: { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'a' } } }] },
    at: `${OF_CLASS}spec.env`,
    says: 'key'
  },
  {
    name: 'more asked for than the limit',
    ofClass: { resources: { limits: { cpu: 1 }, requests: { cpu: 2 } } },
    at: `${OF_CLASS}spec.resources`,
    says: 'less than or equal to'
  },
  {
    name: 'a configuration that the schema refuses',
    ofClass: { rawConfig: { config: { workerThreads: 'many' } } },
    at: `${OF_CLASS}spec.rawConfig.config.workerThreads`,
    says: 'must be'
  },
  {
    name: 'a filter by span',
    ofGateway: { logging: { level: 'info,request[id=1]=debug' } },
    at: `${OF_GATEWAY}spec.logging.level`,
    says: 'span'
  },
  {
    name: 'an authority of a mesh that is asked in clear text',
    ofClass: { istio: { caAddress: 'http://istiod:15012' } },
    at: `${OF_CLASS}spec.istio.caAddress`,
    says: 'https://'
  },
  {
    name: 'another name by way of a flat overlay',
    ofClass: { serviceAccount: { spec: { metadata: { name: 'other' } } } },
    at: `${OF_CLASS}spec.serviceAccount.spec.metadata`,
    says: 'no field'
  }
]
