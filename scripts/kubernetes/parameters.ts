/** GatewayParameters at work: what becomes of them with `weir controller` beside a real API server. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { objectOf, type Path, valueAt } from '#engine/schema/placed.ts'
import { type RunningProgram, runProgram } from '#engine/testing/program.ts'
import type { ApiClient, ApiObject } from './client.ts'
import type { Judged } from './judge.ts'
import type { KubernetesServers } from './servers.ts'

const CONTROLLER_NAME = 'weir.dev/parameters-test'
const CLASS = 'parameters'
const NAMESPACE = 'default'
const GATEWAY_API = 'gateway.networking.k8s.io/v1'
const LATE_MS = 20_000
const RETRY_MS = 50

const CONTAINER: Path = ['spec', 'template', 'spec', 'containers', 0]

export async function parametersCases(servers: KubernetesServers): Promise<readonly Judged[]> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-parameters-'))
  const controller = startController(servers, folder)
  const judged: Judged[] = []
  try {
    const walk = new Walk(servers.clientOf('admin'))
    await walk.prepare()
    for (const [name, step] of STEPS) {
      const why = await step(walk).then(
        () => null,
        (error: Error) => error.message
      )
      judged.push({ name: `GatewayParameters: ${name}`, why })
    }
  } finally {
    await controller.stop()
    rmSync(folder, { recursive: true })
  }
  return judged
}

function startController(servers: KubernetesServers, folder: string): RunningProgram {
  const { origin, ca } = servers
  const file = join(folder, 'kubeconfig')
  const named = (key: string, value: object) => [{ name: 'test', [key]: value }]
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: named('cluster', { server: origin, 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
    users: named('user', { token: servers.tokenOf('admin') }),
    contexts: named('context', { cluster: 'test', user: 'test' })
  }
  writeFileSync(file, JSON.stringify(kubeconfig), { mode: 0o600 })
  const options = {
    kubeconfig: file,
    'controller-name': CONTROLLER_NAME,
    'leader-elect': 'false',
    listen: '127.0.0.1:0'
  }
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  const env = { POD_NAMESPACE: NAMESPACE, STATS_ADDR: 'off', READINESS_ADDR: 'off' }
  return runProgram(['controller', ...args], '', env)
}

/** One Gateway, its parameters and those of its class. */
class Walk {
  readonly client: ApiClient

  constructor(client: ApiClient) {
    this.client = client
  }

  async prepare(): Promise<void> {
    await this.parameters('class', {})
    await this.parameters('own', {})
    const parametersRef = { group: 'weir.dev', kind: 'GatewayParameters', name: 'class', namespace: NAMESPACE }
    const spec = { controllerName: CONTROLLER_NAME, parametersRef }
    await this.apply('gatewayclasses', {
      apiVersion: GATEWAY_API,
      kind: 'GatewayClass',
      metadata: { name: CLASS },
      spec
    })
    await this.gateway('shown')
  }

  gateway(name: string): Promise<void> {
    const parametersRef = { group: 'weir.dev', kind: 'GatewayParameters', name: 'own' }
    const spec = {
      gatewayClassName: CLASS,
      infrastructure: { parametersRef },
      listeners: [{ name: 'web', port: 80, protocol: 'HTTP' }]
    }
    const metadata = { name, namespace: NAMESPACE }
    return this.apply('gateways', { apiVersion: GATEWAY_API, kind: 'Gateway', metadata, spec })
  }

  /** All of the spec: server-side apply makes null of an object whose last field goes. */
  async parameters(name: string, spec: object): Promise<void> {
    const metadata = { name, namespace: NAMESPACE }
    const object = { apiVersion: 'weir.dev/v1alpha1', kind: 'GatewayParameters', metadata, spec }
    const path = `/apis/weir.dev/v1alpha1/namespaces/${NAMESPACE}/gatewayparameters/${name}`
    const { status: known, body: found } = await this.client.ask('GET', path)
    const { status, body } =
      known === 404
        ? await this.client.create(object, 'gatewayparameters')
        : await this.client.ask('PUT', path, { body: { ...object, metadata: found.metadata } })
    if (status >= 300) throw new Error(`GatewayParameters ${name}: ${status} ${body.message}`)
  }

  async apply(plural: string, object: ApiObject): Promise<void> {
    const { status, body } = await this.client.apply(object, plural)
    if (status >= 300) throw new Error(`${object.kind} ${object.metadata.name}: ${status} ${body.message}`)
  }

  /** Until `path` of the object has the value; null as value: until there is no such object. */
  async until(apiVersion: string, plural: string, name: string, path: Path, value: unknown): Promise<void> {
    const object: ApiObject = { apiVersion, kind: '', metadata: { name, namespace: NAMESPACE } }
    const late = AbortSignal.timeout(LATE_MS)
    for (;;) {
      const { status, body } = await this.client.get(object, plural)
      const found = status === 200 ? valueAt(body, path) : null
      if (isDeepStrictEqual(found, value) || (value instanceof RegExp && value.test(String(found)))) return
      if (late.aborted) throw new Error(`${plural} ${name} ${path.join('.')} is ${JSON.stringify(found)}`)
      await after(RETRY_MS)
    }
  }

  deployment(path: Path, value: unknown): Promise<void> {
    return this.until('apps/v1', 'deployments', `shown-${CLASS}`, path, value)
  }

  /** The condition Accepted of a Gateway, in one line. */
  async accepted(says: RegExp, name = 'shown'): Promise<void> {
    const late = AbortSignal.timeout(LATE_MS)
    const object: ApiObject = { apiVersion: GATEWAY_API, kind: '', metadata: { name, namespace: NAMESPACE } }
    for (;;) {
      const { body } = await this.client.get(object, 'gateways')
      const conditions = (objectOf(body.status).conditions ?? []) as readonly Readonly<Record<string, unknown>>[]
      const one = conditions.find(({ type }) => type === 'Accepted')
      const line = `${one?.status} ${one?.reason} ${one?.message}`
      if (says.test(line) && one?.observedGeneration === body.metadata.generation) return
      if (late.aborted) throw new Error(`Gateway ${name} is Accepted: ${line}`)
      await after(RETRY_MS)
    }
  }
}

const container = (fields: object) => ({ template: { spec: { containers: [{ name: 'weir', ...fields }] } } })
const budget = (walk: Walk, value: unknown) =>
  walk.until('policy/v1', 'poddisruptionbudgets', `shown-${CLASS}`, ['spec', 'maxUnavailable'], value)

/** In order: each begins where the one before it ends. */
const STEPS: readonly (readonly [string, (walk: Walk) => Promise<void>])[] = [
  [
    'a Gateway without any gets a Deployment and a Service that it owns',
    async (walk) => {
      await walk.deployment(['metadata', 'ownerReferences', 0, 'kind'], 'Gateway')
      await walk.until('v1', 'services', `shown-${CLASS}`, ['spec', 'ports', 0, 'port'], 80)
      await walk.accepted(/^True Accepted/)
    }
  ],
  [
    'typed fields of the class, then those of the Gateway',
    async (walk) => {
      await walk.parameters('class', { image: { tag: 'class' }, resources: { limits: { cpu: '2' } } })
      await walk.deployment([...CONTAINER, 'image'], /:class$/)
      await walk.parameters('own', { image: { tag: 'own' } })
      await walk.deployment([...CONTAINER, 'image'], /:own$/)
      await walk.deployment([...CONTAINER, 'resources', 'limits', 'cpu'], '2')
    }
  ],
  [
    'overlays of the class, then those of the Gateway, over typed fields',
    async (walk) => {
      await walk.parameters('class', { deployment: { spec: { replicas: 2, ...container({ image: 'overlay:v1' }) } } })
      await walk.deployment([...CONTAINER, 'image'], 'overlay:v1')
      await walk.parameters('own', { image: { tag: 'own' }, deployment: { spec: { replicas: 3 } } })
      await walk.deployment(['spec', 'replicas'], 3)
      await walk.deployment([...CONTAINER, 'image'], 'overlay:v1')
    }
  ],
  [
    'what an overlay does not say any more is given up',
    async (walk) => {
      await walk.parameters('own', { deployment: { spec: container({ readinessProbe: { $patch: 'delete' } }) } })
      await walk.deployment([...CONTAINER, 'readinessProbe'], undefined)
      await walk.deployment(['spec', 'replicas'], 2)
      await walk.parameters('own', {})
      await walk.deployment([...CONTAINER, 'readinessProbe', 'periodSeconds'], 5)
    }
  ],
  [
    'a budget comes and goes with its overlay',
    async (walk) => {
      await walk.parameters('own', { podDisruptionBudget: {} })
      await budget(walk, 1)
      await walk.parameters('own', {})
      await budget(walk, null)
    }
  ],
  [
    'a field that the API server refuses is named, and what runs stays',
    async (walk) => {
      await walk.parameters('own', { deployment: { spec: { replica: 5 } } })
      await walk.accepted(/^False InvalidParameters GatewayParameters default\/own: spec\.deployment\.spec\.replica: /)
      await walk.deployment(['spec', 'replicas'], 2)
      await walk.parameters('own', {})
      await walk.accepted(/^True Accepted/)
    }
  ],
  [
    'a setting of rawConfig that the schema refuses is named',
    async (walk) => {
      await walk.parameters('class', { rawConfig: { config: { workerThreads: 'many' } } })
      await walk.accepted(
        /^False InvalidParameters .*GatewayParameters default\/class: spec\.rawConfig\.config\.workerThreads/
      )
      await walk.parameters('class', {})
      await walk.accepted(/^True Accepted/)
    }
  ],
  [
    'with istio the pods have a token for the mesh, its roots where they are there, and no sidecar',
    async (walk) => {
      await walk.parameters('own', { istio: { trustDomain: 'mesh.test' } })
      const volumes = ['spec', 'template', 'spec', 'volumes']
      const token = ['projected', 'sources', 0, 'serviceAccountToken', 'audience']
      await walk.deployment([...volumes, 4, ...token], 'istio-ca')
      await walk.deployment([...volumes, 5, 'configMap'], {
        name: 'istio-ca-root-cert',
        defaultMode: 420,
        optional: true
      })
      await walk.deployment(['spec', 'template', 'metadata', 'labels', 'sidecar.istio.io/inject'], 'false')
      await walk.accepted(/^True Accepted/)
      await walk.parameters('own', {})
      await walk.deployment([...volumes, 4], undefined)
      await walk.accepted(/^True Accepted/)
    }
  ],
  [
    'a Service of somebody else is not taken',
    async (walk) => {
      const name = `taken-${CLASS}`
      const spec = { ports: [{ port: 1234 }] }
      await walk.apply('services', {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name, namespace: NAMESPACE },
        spec
      })
      await walk.gateway('taken')
      await walk.accepted(new RegExp(`^False InvalidParameters .*already a Service default/${name}`), 'taken')
      await walk.until('v1', 'services', name, ['spec', 'ports', 0, 'port'], 1234)
    }
  ]
]
