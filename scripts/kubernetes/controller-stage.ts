/** A cluster in which `weir controller` runs as a process with the rights that it asks for, and no others. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { freePort } from '#bench/load/ports.ts'
import { CLUSTER_RULES, OWN_RULES } from '#engine/kubernetes/controller/rules.ts'
import { type RunningProgram, runProgram } from '#engine/testing/program.ts'
import type { ApiClient, ApiObject } from './client.ts'
import type { Judged } from './judge.ts'
import type { KubernetesServers } from './servers.ts'

export const OWN = 'weir-system'
export const ACCOUNT = 'weir-controller'
export const AUDIENCE = 'weir.dev'
export const GATEWAY_V1 = 'gateway.networking.k8s.io/v1'
const RBAC_V1 = 'rbac.authorization.k8s.io/v1'
const WAIT_MS_MAX = 60_000
const RETRY_MS = 100

export const object = (
  apiVersion: string,
  kind: string,
  name: string,
  rest: object,
  namespace?: string
): ApiObject => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  ...rest
})

/** What the controller may do, for its ServiceAccount. */
const RIGHTS: readonly Placed[] = [
  ['namespaces', object('v1', 'Namespace', OWN, {})],
  ['serviceaccounts', object('v1', 'ServiceAccount', ACCOUNT, {}, OWN)],
  ['clusterroles', object(RBAC_V1, 'ClusterRole', ACCOUNT, { rules: CLUSTER_RULES })],
  ['roles', object(RBAC_V1, 'Role', ACCOUNT, { rules: OWN_RULES }, OWN)],
  ['clusterrolebindings', object(RBAC_V1, 'ClusterRoleBinding', ACCOUNT, bindingTo('ClusterRole'))],
  ['rolebindings', object(RBAC_V1, 'RoleBinding', ACCOUNT, bindingTo('Role'), OWN)]
]

/** An object and where it is: the plural in paths. */
export type Placed = readonly [plural: string, object: ApiObject]

function bindingTo(kind: string) {
  return {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: ACCOUNT },
    subjects: [{ kind: 'ServiceAccount', name: ACCOUNT, namespace: OWN }]
  }
}

/** Of a kubeconfig. */
export type User = Readonly<Record<string, unknown>>

export interface StartOptions {
  /** Default: a token of its ServiceAccount. */
  readonly user?: User
  /** Default: that of the API server. */
  readonly apiOrigin?: string
  /** By which data planes reach it. Default: where it listens. */
  readonly address?: string
}

export interface StartedController {
  readonly program: RunningProgram
  /** Where data planes are served. */
  readonly port: number
}

/** Resources at an API server, and the controllers that run. */
export class ControllerStage {
  readonly servers: KubernetesServers
  readonly folder = mkdtempSync(join(tmpdir(), 'weir-controller-'))
  readonly controllers: RunningProgram[] = []
  readonly admin: ApiClient

  constructor(servers: KubernetesServers) {
    this.servers = servers
    this.admin = servers.clientOf('admin')
  }

  static async open(servers: KubernetesServers): Promise<ControllerStage> {
    const stage = new ControllerStage(servers)
    for (const one of RIGHTS) await stage.make(one, [409])
    return stage
  }

  async close(): Promise<void> {
    for (const controller of this.controllers) await controller.stop()
    rmSync(this.folder, { recursive: true })
  }

  /** Resolves when it knows everything. */
  async startController(options: StartOptions = {}): Promise<StartedController> {
    const started = await this.launchController(options)
    await started.program.logged('everything is known')
    return started
  }

  /** It may have no API server. */
  async launchController(options: StartOptions = {}): Promise<StartedController> {
    const port = await freePort()
    const { user, apiOrigin = this.servers.origin, address = `127.0.0.1:${port}` } = options
    const kubeconfig = join(this.folder, `kubeconfig-${port}`)
    const text = this.#kubeconfig(apiOrigin, user ?? { token: await this.tokenOf(OWN, ACCOUNT) })
    writeFileSync(kubeconfig, text, { mode: 0o600 })
    const args = [`--kubeconfig=${kubeconfig}`, `--listen=127.0.0.1:${port}`, `--controller-address=${address}`]
    const env = { POD_NAMESPACE: OWN, STATS_ADDR: 'off', READINESS_ADDR: 'off' }
    const program = runProgram(['controller', ...args], '', env)
    this.controllers.push(program)
    return { program, port }
  }

  /** JSON is YAML. */
  #kubeconfig(server: string, user: User): string {
    const cluster = { server, 'certificate-authority-data': Buffer.from(this.servers.ca).toString('base64') }
    return JSON.stringify({
      'current-context': 'here',
      contexts: [{ name: 'here', context: { cluster: 'here', user: ACCOUNT } }],
      clusters: [{ name: 'here', cluster }],
      users: [{ name: ACCOUNT, user }]
    })
  }

  /** `spec`: of the TokenRequest. */
  async tokenOf(namespace: string, account: string, spec: object = {}): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec }
    const answer = await this.admin.ask('POST', path, { body })
    return (answer.body.status as { readonly token: string }).token
  }

  /** Throws an Error when the API server does not take it, and answers with no status of `otherwise`. */
  async make([plural, one]: Placed, otherwise: readonly number[] = []): Promise<ApiObject> {
    const { status, body } = await this.admin.create(one, plural)
    if (status !== 201 && !otherwise.includes(status))
      throw new Error(`${one.kind} ${one.metadata.name}: ${status} ${body.message}`)
    return body
  }

  /** An object of the plural's collection, or a Status that says why not. */
  async get(plural: string, apiVersion: string, name: string, namespace?: string): Promise<ApiObject> {
    return (await this.admin.get(object(apiVersion, '', name, {}, namespace), plural)).body
  }

  /** Waits until the condition of `find` begins so. */
  async says(name: string, find: () => Promise<ApiObject>, type: string, says: string): Promise<Judged> {
    let found = ''
    const isFound = await this.until(async () => {
      found = conditionOf(await find(), type)
      return found.startsWith(says)
    })
    return { name: `${name} is ${type}: ${says}`, why: isFound ? null : found }
  }

  /** An address for a Service that is provisioned, once it is there; false: it does not come. */
  async addressFor(namespace: string, name: string): Promise<boolean> {
    const isThere = await this.until(
      async () => (await this.get('services', 'v1', name, namespace)).metadata?.name === name
    )
    const service = object('v1', 'Service', name, {}, namespace)
    const status = { loadBalancer: { ingress: [{ ip: '192.0.2.10' }] } }
    if (isThere) await this.admin.patchStatus(service, 'services', status)
    return isThere
  }

  /** What data planes trust, from a ConfigMap that is provisioned. */
  async authorityOf(namespace: string, name: string): Promise<string> {
    const found = await this.get('configmaps', 'v1', name, namespace)
    const { data = {} } = found as { readonly data?: Readonly<Record<string, string>> }
    return Object.values(data).find((text) => text.includes('BEGIN CERTIFICATE')) ?? ''
  }

  async until(condition: () => Promise<boolean>, msMax: number = WAIT_MS_MAX): Promise<boolean> {
    const late = AbortSignal.timeout(msMax)
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

/** "False Invalid because of this" */
function conditionOf({ status }: ApiObject, type: string): string {
  const { conditions, parents = [] } = (status ?? {}) as StatusWithConditions
  const found = (conditions ?? parents[0]?.conditions ?? []).find((one) => one.type === type)
  return found === undefined ? 'nothing' : `${found.status} ${found.reason} ${found.message}`
}
