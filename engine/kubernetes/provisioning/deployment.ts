/** The Deployment of a Gateway's data planes, its ServiceAccount and the file that they read. */
import { createHash } from 'node:crypto'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Raw } from '#engine/schema/placed.ts'
import { imageName } from './image.ts'
import { meshParts } from './mesh.ts'
import { CONFIG_HASH_ANNOTATION, selectorOf } from './names.ts'
import { mergedVariables, type Parameters, type Variable } from './parameters.ts'
import type { ProcessConfig } from './process-config.ts'
import type { ListenerPort } from './service.ts'

export const CONTAINER = 'weir'

/** Of the image's user, "nonroot" of distroless images. */
const USER = 65_532

const CONFIG_FOLDER = '/etc/weir'
export const CONFIG_FILE = 'weir.json'
export const CA_FILE = 'ca.crt'
const TOKEN_FOLDER = '/var/run/secrets/weir.dev'
const TOKEN_FILE = 'token'
/** The kubelet replaces it when four fifths have gone. */
const TOKEN_SECONDS = 3600
const STATE_FOLDER = '/var/lib/weir'
const TMP_FOLDER = '/tmp'

/** Where nothing is said; limits are for those to set who know what is served. */
const RESOURCES = { requests: { cpu: '100m', memory: '256Mi' } }

export interface DeploymentInput {
  readonly gateway: KubernetesObject
  readonly name: string
  readonly meta: Pick<KubernetesObject['metadata'], 'labels' | 'annotations'>
  readonly parameters: Parameters
  readonly config: ProcessConfig
  readonly ports: readonly ListenerPort[]
  readonly image: string
  /** "host:port". */
  readonly controllerAddress: string
  readonly tokenAudience: string
}

/** Without `replicas`: the autoscaler or the overlay that scales owns that field. */
export function deploymentSpec(input: DeploymentInput): Raw {
  const { gateway, name, meta, config } = input
  const mesh = meshParts(input.parameters)
  const hash = createHash('sha256').update(config.text).digest('hex').slice(0, 16)
  return {
    selector: { matchLabels: selectorOf(gateway) },
    template: {
      metadata: {
        labels: { ...meta.labels, ...mesh.labels },
        annotations: { ...meta.annotations, ...podAnnotations(hash, config) }
      },
      spec: {
        serviceAccountName: name,
        automountServiceAccountToken: false,
        terminationGracePeriodSeconds: config.graceSeconds,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: USER,
          runAsGroup: USER,
          fsGroup: USER,
          seccompProfile: { type: 'RuntimeDefault' },
          // Listeners may have ports below 1024, and the process has no capabilities.
          sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }]
        },
        containers: [container(input)],
        volumes: [
          { name: 'config', configMap: { name } },
          { name: 'token', projected: { sources: [{ serviceAccountToken: tokenOf(input) }] } },
          // What is in force, with keys and certificates, is on no disk: it has to outlive the process, not the pod.
          { name: 'state', emptyDir: { medium: 'Memory' } },
          { name: 'tmp', emptyDir: {} },
          ...mesh.volumes
        ]
      }
    }
  }
}

const podAnnotations = (hash: string, { statsPort }: ProcessConfig): Readonly<Record<string, string>> => ({
  [CONFIG_HASH_ANNOTATION]: hash,
  'kubectl.kubernetes.io/default-container': CONTAINER,
  ...(statsPort === null ? {} : { 'prometheus.io/scrape': 'true', 'prometheus.io/port': `${statsPort}` })
})

const tokenOf = ({ tokenAudience }: DeploymentInput): Raw => ({
  path: TOKEN_FILE,
  audience: tokenAudience,
  expirationSeconds: TOKEN_SECONDS
})

function container(input: DeploymentInput): Raw {
  const { parameters, config, ports } = input
  const { pullPolicy } = parameters.image
  const mesh = meshParts(parameters)
  return {
    name: CONTAINER,
    image: imageName(input.image, parameters.image),
    ...(pullPolicy === undefined ? {} : { imagePullPolicy: pullPolicy }),
    args: ['proxy', '-f', `${CONFIG_FOLDER}/${CONFIG_FILE}`],
    env: mergedVariables([...environment(input), ...mesh.env, ...parameters.env]),
    ports: [
      ...ports.map(({ name, port }) => ({ name, containerPort: port, protocol: 'TCP' })),
      ...ownPort('metrics', config.statsPort),
      ...ownPort('readiness', config.readinessPort)
    ],
    resources: parameters.resources ?? RESOURCES,
    ...probes(config.readinessPort),
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      privileged: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true
    },
    volumeMounts: [
      { name: 'config', mountPath: CONFIG_FOLDER, readOnly: true },
      { name: 'token', mountPath: TOKEN_FOLDER, readOnly: true },
      { name: 'state', mountPath: STATE_FOLDER },
      { name: 'tmp', mountPath: TMP_FOLDER },
      ...mesh.volumeMounts
    ]
  }
}

const ownPort = (name: string, port: number | null) =>
  port === null ? [] : [{ name, containerPort: port, protocol: 'TCP' }]

/**
 * The startup probe asks every second, so that a pod gets requests as soon as it serves. It waits for the controller,
 * which may be away for long, and then for a build: 5,000 routes take seconds, and ten times that on a slow node. A
 * restart mends neither, and after some of them the kubelet waits for five minutes each time.
 */
const STARTUP_SECONDS_MAX = 3_600

/**
 * A pod that ends says no at once, and goes on serving for CONNECTION_MIN_TERMINATION_DEADLINE: a preStop hook would
 * wait for the same a second time. No liveness probe: to kill a process that is busy makes the others busier.
 */
function probes(port: number | null): Raw {
  if (port === null) return {}
  const httpGet = { path: '/healthz/ready', port, scheme: 'HTTP' }
  return {
    startupProbe: { httpGet, periodSeconds: 1, failureThreshold: STARTUP_SECONDS_MAX },
    readinessProbe: { httpGet, periodSeconds: 5, failureThreshold: 3 }
  }
}

/** Those of the downward API stand first: what follows may refer to them. */
function environment({ gateway, controllerAddress, config }: DeploymentInput): readonly Variable[] {
  const { minMs, graceSeconds } = config
  return [
    fieldVariable('POD_NAME', 'metadata.name'),
    fieldVariable('POD_NAMESPACE', 'metadata.namespace'),
    fieldVariable('INSTANCE_IP', 'status.podIP'),
    fieldVariable('NODE_NAME', 'spec.nodeName'),
    fieldVariable('SERVICE_ACCOUNT', 'spec.serviceAccountName'),
    {
      name: 'CPU_LIMIT',
      valueFrom: { resourceFieldRef: { containerName: CONTAINER, resource: 'limits.cpu', divisor: '1' } }
    },
    { name: 'GATEWAY', value: gateway.metadata.name },
    { name: 'NAMESPACE', value: gateway.metadata.namespace ?? '' },
    { name: 'CONTROLLER_ADDRESS', value: controllerAddress },
    { name: 'CONTROLLER_CA', value: `${CONFIG_FOLDER}/${CA_FILE}` },
    { name: 'CONTROLLER_TOKEN', value: `${TOKEN_FOLDER}/${TOKEN_FILE}` },
    { name: 'STATE_DIR', value: STATE_FOLDER },
    // In memory nobody else reads it: the key has to be the same for the life of the pod, and no more.
    fieldVariable('STATE_KEY', 'metadata.uid'),
    // Empty where API servers do not copy labels of nodes to pods (before 1.35).
    fieldVariable('ZONE', "metadata.labels['topology.kubernetes.io/zone']"),
    // Below it V8's code is cached: the root is read-only.
    { name: 'HOME', value: TMP_FOLDER },
    { name: 'TERMINATION_GRACE_PERIOD_SECONDS', value: `${graceSeconds}` },
    ...(minMs === null ? [] : [{ name: 'CONNECTION_MIN_TERMINATION_DEADLINE', value: `${minMs / 1000}s` }])
  ]
}

const fieldVariable = (name: string, fieldPath: string): Variable => ({
  name,
  valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } }
})
