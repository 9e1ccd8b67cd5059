/**
 * `weir controller` as a process, with the rights that it asks for and no others: statuses, the way to a data plane, an
 * API server that goes and comes back, and a second controller that takes over.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { freePort } from '#bench/load/ports.ts'
import { CLUSTER_RULES, OWN_RULES } from '#engine/kubernetes/controller/rules.ts'
import { SnapshotClient } from '#engine/kubernetes/stream/index.ts'
import { type RunningProgram, runProgram } from '#engine/testing/program.ts'
import type { ApiClient, ApiObject } from './client.ts'
import type { Judged } from './judge.ts'
import type { KubernetesServers } from './servers.ts'

const OWN = 'weir-system'
const DEMO = 'controlled'
const ACCOUNT = 'weir-controller'
const AUDIENCE = 'weir.dev'
const GATEWAY_V1 = 'gateway.networking.k8s.io/v1'
const RBAC_V1 = 'rbac.authorization.k8s.io/v1'
const WAIT_MS_MAX = 60_000
const RETRY_MS = 100

const object = (apiVersion: string, kind: string, name: string, rest: object, namespace?: string): ApiObject => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  ...rest
})

const inDemo = (apiVersion: string, kind: string, name: string, spec: object): ApiObject =>
  object(apiVersion, kind, name, { spec }, DEMO)

const route = (name: string, service: string, sectionName?: string): ApiObject =>
  inDemo(GATEWAY_V1, 'HTTPRoute', name, {
    parentRefs: [{ name: 'edge', ...(sectionName === undefined ? {} : { sectionName }) }],
    rules: [{ backendRefs: [{ name: service, port: 80 }] }]
  })

function backend(name: string): ApiObject {
  return inDemo('weir.dev/v1alpha1', 'GatewayBackend', name, { static: { host: 'a.example', port: 80 } })
}

/** What the controller may do, for its ServiceAccount. */
const RIGHTS: readonly (readonly [plural: string, object: ApiObject])[] = [
  ['namespaces', object('v1', 'Namespace', OWN, {})],
  ['namespaces', object('v1', 'Namespace', DEMO, {})],
  ['serviceaccounts', object('v1', 'ServiceAccount', ACCOUNT, {}, OWN)],
  ['clusterroles', object(RBAC_V1, 'ClusterRole', ACCOUNT, { rules: CLUSTER_RULES })],
  ['roles', object(RBAC_V1, 'Role', ACCOUNT, { rules: OWN_RULES }, OWN)],
  ['clusterrolebindings', object(RBAC_V1, 'ClusterRoleBinding', ACCOUNT, bindingTo('ClusterRole'))],
  ['rolebindings', object(RBAC_V1, 'RoleBinding', ACCOUNT, bindingTo('Role'), OWN)]
]

function bindingTo(kind: string) {
  return {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: ACCOUNT },
    subjects: [{ kind: 'ServiceAccount', name: ACCOUNT, namespace: OWN }]
  }
}

const CLASS = object(GATEWAY_V1, 'GatewayClass', 'controlled', {
  spec: { controllerName: 'weir.dev/gateway-controller' }
})
const GATEWAY = inDemo(GATEWAY_V1, 'Gateway', 'edge', {
  gatewayClassName: 'controlled',
  listeners: [{ name: 'web', port: 8080, protocol: 'HTTP' }]
})

const RESOURCES: readonly (readonly [plural: string, object: ApiObject])[] = [
  ['services', inDemo('v1', 'Service', 'shop', { ports: [{ port: 80 }] })],
  ['gatewayclasses', CLASS],
  ['gateways', GATEWAY],
  ['httproutes', route('shop', 'shop')],
  ['httproutes', route('nowhere', 'missing')],
  ['httproutes', route('unattached', 'shop', 'missing')],
  [
    'gatewaybackends',
    inDemo('weir.dev/v1alpha1', 'GatewayBackend', 'away', { static: { host: 'a.example', port: 80 } })
  ]
]

/** Object, condition, and the beginning of what it says. */
const EXPECTED: readonly (readonly [plural: string, name: string, type: string, says: string])[] = [
  ['gatewayclasses', 'controlled', 'Accepted', 'True Accepted'],
  ['gateways', 'edge', 'Accepted', 'True Accepted'],
  ['gateways', 'edge', 'Programmed', 'False AddressNotAssigned'],
  ['httproutes', 'shop', 'Accepted', 'True Accepted'],
  ['httproutes', 'shop', 'ResolvedRefs', 'True ResolvedRefs'],
  ['httproutes', 'nowhere', 'ResolvedRefs', 'False BackendNotFound'],
  ['httproutes', 'unattached', 'Accepted', 'False NoMatchingParent'],
  ['gatewaybackends', 'away', 'Accepted', 'True Accepted']
]

export async function controllerCases(servers: KubernetesServers): Promise<Judged[]> {
  const stage = await Stage.open(servers)
  try {
    const judged: Judged[] = []
    for (const [plural, name, type, says] of EXPECTED) judged.push(await stage.says(plural, name, type, says))
    judged.push(await stage.programs())
    judged.push(await stage.isStill())
    judged.push(stage.wasNeverRefused())
    judged.push(await stage.survivesApiServer())
    judged.push(await stage.handsOver())
    return judged
  } finally {
    await stage.close()
  }
}

/** Resources at an API server, and the controllers that run. */
class Stage {
  readonly #servers: KubernetesServers
  readonly #admin: ApiClient
  readonly #folder = mkdtempSync(join(tmpdir(), 'weir-controller-'))
  readonly #controllers: RunningProgram[] = []
  #plane: SnapshotClient | null = null

  constructor(servers: KubernetesServers) {
    this.#servers = servers
    this.#admin = servers.clientOf('admin')
  }

  static async open(servers: KubernetesServers): Promise<Stage> {
    const stage = new Stage(servers)
    for (const [plural, one] of [...RIGHTS, ...RESOURCES]) await stage.#make(plural, one)
    await stage.#startController()
    return stage
  }

  async close(): Promise<void> {
    this.#plane?.close()
    for (const controller of this.#controllers) await controller.stop()
    rmSync(this.#folder, { recursive: true })
  }

  /** Waits until the condition says so. */
  async says(plural: string, name: string, type: string, says: string): Promise<Judged> {
    let found = ''
    const isFound = await this.#until(async () => {
      found = conditionOf(await this.#get(plural, name), type)
      return found.startsWith(says)
    })
    return { name: `controller: ${plural} ${name} is ${type}: ${says}`, why: isFound ? null : found }
  }

  /** With an address, and a data plane that shows the token of the ServiceAccount that was provisioned. */
  async programs(): Promise<Judged> {
    const name = 'edge-controlled'
    const service = object('v1', 'Service', name, {}, DEMO)
    const isThere = await this.#until(async () => (await this.#get('services', name)).metadata?.name === name)
    if (!isThere) return { name: 'controller: a data plane', why: `there is no Service ${name}` }
    await this.#admin.patchStatus(service, 'services', { loadBalancer: { ingress: [{ ip: '192.0.2.10' }] } })
    const pending = await this.says('gateways', 'edge', 'Programmed', 'False Pending')
    if (pending.why !== null) return pending
    const { data = {} } = (await this.#get('configmaps', name)) as { readonly data?: Readonly<Record<string, string>> }
    const ca = Object.values(data).find((text) => text.includes('BEGIN CERTIFICATE')) ?? ''
    const token = await this.#tokenOf(DEMO, name, AUDIENCE)
    this.#plane = new SnapshotClient({
      address: `127.0.0.1:${this.#port}`,
      ca: () => ca,
      token: () => token,
      gateway: `${DEMO}/edge`,
      pod: 'edge-1',
      held: null,
      onSnapshot: async () => {},
      onEndpoints: () => {},
      onHeld: () => {},
      log: () => {}
    })
    this.#plane.start()
    return await this.says('gateways', 'edge', 'Programmed', 'True Programmed')
  }

  /** What changes beside the resources writes nothing. */
  async isStill(): Promise<Judged> {
    const versions = async () => {
      const objects = await Promise.all(EXPECTED.map(([plural, name]) => this.#get(plural, name)))
      return objects.map(({ metadata }) => metadata.resourceVersion).join()
    }
    const before = await versions()
    for (let i = 0; i < 10; i++) await this.#make('configmaps', object('v1', 'ConfigMap', `beside-${i}`, {}, DEMO))
    // What comes last has its status when everything before has been looked at.
    await this.#make('gatewaybackends', backend('last'))
    await this.says('gatewaybackends', 'last', 'Accepted', 'True')
    const afterwards = await versions()
    return {
      name: 'controller: statuses stand still',
      why: afterwards === before ? null : `${before}, then ${afterwards}`
    }
  }

  async survivesApiServer(): Promise<Judged> {
    const [controller] = this.#controllers
    await this.#servers.restartApiServer(() => controller!.logged('the API server cannot be reached'))
    await this.#make('httproutes', route('restarted', 'shop'))
    return await this.says('httproutes', 'restarted', 'Accepted', 'True Accepted')
  }

  /** The first gives the Lease back as it ends. */
  async handsOver(): Promise<Judged> {
    const [first] = this.#controllers
    await this.#startController()
    first!.signal('SIGTERM')
    const code = await first!.exited()
    if (code !== 0) return { name: 'controller: it ends when it is asked to', why: `exit code ${code}` }
    await this.#make('httproutes', route('second', 'shop'))
    return await this.says('httproutes', 'second', 'Accepted', 'True Accepted')
  }

  /** Before the API server starts again: it refuses everything until it has read its rules. */
  wasNeverRefused(): Judged {
    const refused = this.#controllers[0]!.output.split('\n').filter((line) => /\b403\b|forbidden/.test(line))
    return { name: 'controller: it has the rights that it needs', why: refused[0] ?? null }
  }

  #port = 0

  async #startController(): Promise<void> {
    this.#port = await freePort()
    const kubeconfig = join(this.#folder, 'kubeconfig')
    writeFileSync(kubeconfig, await this.#kubeconfig(), { mode: 0o600 })
    const at = `127.0.0.1:${this.#port}`
    const args = ['controller', `--kubeconfig=${kubeconfig}`, `--listen=${at}`, `--controller-address=${at}`]
    const env = { POD_NAMESPACE: OWN, STATS_ADDR: 'off', READINESS_ADDR: 'off' }
    const controller = runProgram(args, '', env)
    this.#controllers.push(controller)
    await controller.logged('everything is known')
  }

  /** JSON is YAML. */
  async #kubeconfig(): Promise<string> {
    const { origin, ca } = this.#servers
    const cluster = { server: origin, 'certificate-authority-data': Buffer.from(ca).toString('base64') }
    return JSON.stringify({
      'current-context': 'here',
      contexts: [{ name: 'here', context: { cluster: 'here', user: ACCOUNT } }],
      clusters: [{ name: 'here', cluster }],
      users: [{ name: ACCOUNT, user: { token: await this.#tokenOf(OWN, ACCOUNT) } }]
    })
  }

  async #tokenOf(namespace: string, account: string, audience?: string): Promise<string> {
    const spec = audience === undefined ? {} : { audiences: [audience] }
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec }
    const answer = await this.#admin.ask('POST', path, { body })
    return (answer.body.status as { readonly token: string }).token
  }

  async #make(plural: string, one: ApiObject): Promise<void> {
    const { status, body } = await this.#admin.create(one, plural)
    if (status !== 201) throw new Error(`${one.kind} ${one.metadata.name}: ${status} ${body.message}`)
  }

  async #get(plural: string, name: string): Promise<ApiObject> {
    const known = RESOURCES.find(([other]) => other === plural)?.[1]
    const { apiVersion = 'v1', metadata: { namespace } = { namespace: DEMO } } = known ?? {}
    const { body } = await this.#admin.get(object(apiVersion, '', name, {}, namespace as string | undefined), plural)
    return body
  }

  async #until(condition: () => Promise<boolean>): Promise<boolean> {
    const late = AbortSignal.timeout(WAIT_MS_MAX)
    while (!late.aborted) {
      if (await condition()) return true
      await after(RETRY_MS)
    }
    return false
  }
}

interface StatusWithConditions {
  readonly conditions?: readonly Condition[]
  readonly parents?: readonly { readonly conditions?: readonly Condition[] }[]
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

function conditionOf({ status }: ApiObject, type: string): string {
  const { conditions, parents = [] } = (status ?? {}) as StatusWithConditions
  const found = (conditions ?? parents[0]?.conditions ?? []).find((one) => one.type === type)
  return found === undefined ? 'nothing' : `${found.status} ${found.reason} ${found.message}`
}
