/** Objects that differ in every field that merges in a way of its own: patches are made of their differences. */
import type { ApiObject } from './client.ts'

const meta = (name: string, i: number) => ({
  name,
  namespace: 'default',
  labels: { app: 'weir', [`only-${i}`]: 'yes', tier: `t${i}` },
  annotations: { 'example.com/note': `note ${i}`, [`example.com/only-${i}`]: 'yes' },
  finalizers: ['example.com/all', `example.com/only-${i}`]
})

const container = (name: string, i: number) => ({
  name,
  image: `registry.example/${name}:v${i}`,
  args: ['serve', `--number=${i}`],
  env: [
    { name: 'ALL', value: `${i}` },
    { name: `ONLY_${i}`, value: 'yes' },
    i % 2 === 0
      ? { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }
      : { name: 'NODE', value: 'none' }
  ],
  ports: [
    { name: 'http', containerPort: 8080 + i, protocol: 'TCP' },
    { name: 'metrics', containerPort: 9090, protocol: 'TCP' }
  ],
  volumeMounts: [
    { name: 'state', mountPath: '/state', readOnly: i % 2 === 0 },
    { name: 'config', mountPath: `/config-${i}` }
  ],
  resources: { limits: { cpu: `${i + 1}`, memory: '1Gi' }, requests: { cpu: '100m' } },
  securityContext: {
    runAsNonRoot: true,
    capabilities: { drop: ['ALL'], ...(i === 0 ? { add: ['NET_BIND_SERVICE'] } : {}) }
  }
})

const deployment = (i: number): ApiObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: meta('patched', i),
  spec: {
    replicas: i + 1,
    selector: { matchLabels: { app: 'weir' } },
    strategy:
      i === 1
        ? { type: 'Recreate' }
        : { type: 'RollingUpdate', rollingUpdate: { maxSurge: `${25 + i}%`, maxUnavailable: i } },
    template: {
      metadata: { labels: { app: 'weir', [`pod-${i}`]: 'yes' }, annotations: { checksum: `${i}` } },
      spec: {
        containers: [container('weir', i), container(i === 1 ? 'sidecar' : 'proxy', i)],
        initContainers: [{ name: 'init', image: 'registry.example/init', args: [`${i}`] }],
        volumes: [
          i === 0
            ? { name: 'state', emptyDir: { medium: 'Memory' } }
            : { name: 'state', configMap: { name: `state-${i}` } },
          { name: 'config', configMap: { name: 'config', items: [{ key: 'a', path: `a-${i}` }] } },
          {
            name: 'token',
            projected: { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 600 + i } }] }
          }
        ],
        imagePullSecrets: [{ name: 'all' }, { name: `only-${i}` }],
        tolerations: [{ key: `key-${i}`, operator: 'Exists' }],
        nodeSelector: { 'kubernetes.io/os': 'linux', [`only-${i}`]: 'yes' },
        hostAliases: [
          { ip: '10.0.0.1', hostnames: [`a${i}`] },
          { ip: `10.0.0.${i + 2}`, hostnames: ['b'] }
        ],
        topologySpreadConstraints: [
          {
            maxSkew: i + 1,
            topologyKey: 'topology.kubernetes.io/zone',
            whenUnsatisfiable: 'ScheduleAnyway',
            labelSelector: { matchLabels: { app: 'weir' } }
          }
        ],
        affinity: {
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              {
                weight: i + 1,
                podAffinityTerm: {
                  topologyKey: 'kubernetes.io/hostname',
                  labelSelector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['weir', `w${i}`] }] }
                }
              }
            ]
          }
        },
        securityContext: { sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: `${i}` }] },
        terminationGracePeriodSeconds: 30 + i
      }
    }
  }
})

const service = (i: number): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: meta('patched', i),
  spec: {
    type: i === 1 ? 'ClusterIP' : 'LoadBalancer',
    selector: { app: 'weir', [`only-${i}`]: 'yes' },
    externalIPs: [`192.0.2.${i + 1}`],
    ...(i === 1 ? {} : { loadBalancerSourceRanges: ['10.0.0.0/8', `10.${i}.0.0/16`], externalTrafficPolicy: 'Local' }),
    ports: [
      { name: 'http', port: 80, targetPort: 8080 + i, protocol: 'TCP' },
      { name: `only-${i}`, port: 8000 + i, targetPort: 'http', protocol: 'TCP', appProtocol: 'http' },
      { name: 'dns', port: 53, protocol: 'UDP' }
    ],
    sessionAffinity: i === 2 ? 'ClientIP' : 'None'
  }
})

const serviceAccount = (i: number): ApiObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: meta('patched', i),
  automountServiceAccountToken: i === 0,
  imagePullSecrets: [{ name: 'all' }, { name: `only-${i}` }],
  secrets: [{ name: 'all' }, { name: `only-${i}`, namespace: 'default' }]
})

const budget = (i: number): ApiObject => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: meta('patched', i),
  spec: {
    ...(i === 1 ? { minAvailable: '50%' } : { maxUnavailable: i + 1 }),
    selector: { matchLabels: { app: 'weir', [`only-${i}`]: 'yes' } },
    unhealthyPodEvictionPolicy: i === 0 ? 'AlwaysAllow' : 'IfHealthyBudget'
  }
})

const autoscaler = (i: number): ApiObject => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: meta('patched', i),
  spec: {
    minReplicas: i + 1,
    maxReplicas: 10 + i,
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'patched' },
    metrics: [
      { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 + i } } }
    ],
    behavior: {
      scaleDown: { stabilizationWindowSeconds: 10 + i, policies: [{ type: 'Pods', value: 1, periodSeconds: 15 }] }
    }
  }
})

const SAMPLES = 3

const samples = (make: (i: number) => ApiObject) => Array.from({ length: SAMPLES }, (_, i) => make(i))

/** By plurals: the first is patched towards one of the others. */
export const PATCHED: Readonly<
  Record<string, { readonly definition: string; readonly objects: readonly ApiObject[] }>
> = {
  deployments: { definition: 'io.k8s.api.apps.v1.Deployment', objects: samples(deployment) },
  services: { definition: 'io.k8s.api.core.v1.Service', objects: samples(service) },
  serviceaccounts: { definition: 'io.k8s.api.core.v1.ServiceAccount', objects: samples(serviceAccount) },
  poddisruptionbudgets: { definition: 'io.k8s.api.policy.v1.PodDisruptionBudget', objects: samples(budget) },
  horizontalpodautoscalers: {
    definition: 'io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler',
    objects: samples(autoscaler)
  }
}
