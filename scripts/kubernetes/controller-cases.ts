/**
 * `weir controller` as a process: statuses, the way to a data plane, an API server that goes and comes back, and a
 * second controller that takes over.
 */
import { SnapshotClient } from '#engine/kubernetes/stream/index.ts'
import type { ApiObject } from './client.ts'
import {
  AUDIENCE,
  ControllerStage,
  GATEWAY_V1,
  object,
  type Placed,
  type StartedController
} from './controller-stage.ts'
import type { Judged } from './judge.ts'
import type { KubernetesServers } from './servers.ts'

const DEMO = 'controlled'

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

const CLASS = object(GATEWAY_V1, 'GatewayClass', 'controlled', {
  spec: { controllerName: 'weir.dev/gateway-controller' }
})
const GATEWAY = inDemo(GATEWAY_V1, 'Gateway', 'edge', {
  gatewayClassName: 'controlled',
  listeners: [{ name: 'web', port: 8080, protocol: 'HTTP' }]
})

const RESOURCES: readonly Placed[] = [
  ['namespaces', object('v1', 'Namespace', DEMO, {})],
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

class Stage {
  readonly #stage: ControllerStage
  readonly #first: StartedController
  #plane: SnapshotClient | null = null

  constructor(stage: ControllerStage, first: StartedController) {
    this.#stage = stage
    this.#first = first
  }

  static async open(servers: KubernetesServers): Promise<Stage> {
    const stage = await ControllerStage.open(servers)
    for (const one of RESOURCES) await stage.make(one)
    return new Stage(stage, await stage.startController())
  }

  async close(): Promise<void> {
    this.#plane?.close()
    await this.#stage.close()
  }

  async says(plural: string, name: string, type: string, says: string): Promise<Judged> {
    return await this.#stage.says(`controller: ${plural} ${name}`, () => this.#get(plural, name), type, says)
  }

  /** With an address, and a data plane that shows the token of the ServiceAccount that was provisioned. */
  async programs(): Promise<Judged> {
    const account = `edge-${CLASS.metadata.name}`
    const hasService = await this.#stage.addressFor(DEMO, account)
    if (!hasService) return { name: 'controller: a data plane', why: `there is no Service ${account}` }
    const pending = await this.says('gateways', 'edge', 'Programmed', 'False Pending')
    if (pending.why !== null) return pending
    const ca = await this.#stage.authorityOf(DEMO, account)
    const token = await this.#stage.tokenOf(DEMO, account, { audiences: [AUDIENCE] })
    this.#plane = new SnapshotClient({
      address: `127.0.0.1:${this.#first.port}`,
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
    for (let i = 0; i < 10; i++)
      await this.#stage.make(['configmaps', object('v1', 'ConfigMap', `beside-${i}`, {}, DEMO)])
    // What comes last has its status when everything before has been looked at.
    await this.#stage.make(['gatewaybackends', backend('last')])
    await this.says('gatewaybackends', 'last', 'Accepted', 'True')
    const afterwards = await versions()
    return {
      name: 'controller: statuses stand still',
      why: afterwards === before ? null : `${before}, then ${afterwards}`
    }
  }

  async survivesApiServer(): Promise<Judged> {
    const { program } = this.#first
    await this.#stage.servers.restart('apiServer', () => program.logged('the API server cannot be reached'))
    await this.#stage.make(['httproutes', route('restarted', 'shop')])
    return await this.says('httproutes', 'restarted', 'Accepted', 'True Accepted')
  }

  /** The first gives the Lease back as it ends. */
  async handsOver(): Promise<Judged> {
    const { program } = this.#first
    await this.#stage.startController()
    program.signal('SIGTERM')
    const code = await program.exited()
    if (code !== 0) return { name: 'controller: it ends when it is asked to', why: `exit code ${code}` }
    await this.#stage.make(['httproutes', route('second', 'shop')])
    return await this.says('httproutes', 'second', 'Accepted', 'True Accepted')
  }

  /** Before the API server starts again: it refuses everything until it has read its rules. */
  wasNeverRefused(): Judged {
    const refused = this.#first.program.output.split('\n').filter((line) => /\b403\b|forbidden/.test(line))
    return { name: 'controller: it has the rights that it needs', why: refused[0] ?? null }
  }

  #get(plural: string, name: string): Promise<ApiObject> {
    const known = RESOURCES.find(([other]) => other === plural)?.[1]
    const { apiVersion = 'v1', metadata: { namespace } = { namespace: DEMO } } = known ?? {}
    return this.#stage.get(plural, apiVersion, name, namespace)
  }
}
