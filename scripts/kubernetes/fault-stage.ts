/** A Gateway with one data plane that is a process, under load all the time, and ways that can be cut. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { request } from 'undici'
import { freePort } from '#bench/load/ports.ts'
import { type RunningProgram, runProgram } from '#engine/testing/program.ts'
import type { ApiObject } from './client.ts'
import { AUDIENCE, ControllerStage, GATEWAY_V1, object } from './controller-stage.ts'
import type { Judged } from './judge.ts'
import { Link } from './link.ts'
import type { KubernetesServers } from './servers.ts'

export const NAMESPACE = 'faults'
const CLASS = 'faults'
/** Of the data plane, and of what is provisioned for it. */
export const PLANE_ACCOUNT = `edge-${CLASS}`
/** 100 requests a second. */
const ASK_MS = 10
const STATE_KEY = 'k'.repeat(32)

export class FaultStage {
  readonly base: ControllerStage
  /** From the controllers to the API server. */
  readonly toApi: Link
  /** From the data plane to the controllers. */
  readonly toControllers: Link
  /** Of the data plane. */
  readonly port: number
  readonly failures: string[] = []
  /** Requests that were answered. */
  requests = 0
  #plane: RunningProgram | null = null
  readonly #timer: NodeJS.Timeout
  #isLoaded = false

  private constructor(base: ControllerStage, toApi: Link, toControllers: Link, port: number) {
    this.base = base
    this.toApi = toApi
    this.toControllers = toControllers
    this.port = port
    this.#timer = setInterval(() => void this.#ask(), ASK_MS)
  }

  static async open(servers: KubernetesServers): Promise<FaultStage> {
    const base = await ControllerStage.open(servers)
    const [toApi, toControllers] = [await Link.to([Number(new URL(servers.origin).port)]), await Link.to([])]
    const stage = new FaultStage(base, toApi, toControllers, await freePort())
    await base.make(['namespaces', object('v1', 'Namespace', NAMESPACE, {})])
    const spec = { controllerName: 'weir.dev/gateway-controller' }
    await base.make(['gatewayclasses', object(GATEWAY_V1, 'GatewayClass', CLASS, { spec })])
    await base.make(['gateways', stage.gateway([stage.port])])
    await base.make(['httproutes', stage.route('steady', 'steady')])
    return stage
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#plane?.stop()
    await this.base.close()
    this.toApi.close()
    this.toControllers.close()
  }

  // --- resources ---

  gateway(ports: readonly number[]): ApiObject {
    const listeners = ports.map((port) => ({ name: `http-${port}`, port, protocol: 'HTTP' }))
    return object(GATEWAY_V1, 'Gateway', 'edge', { spec: { gatewayClassName: CLASS, listeners } }, NAMESPACE)
  }

  /** At /NAME it answers with a redirect to WORD.example: nothing behind the data plane is needed. */
  route(name: string, word: string): ApiObject {
    const path = { type: 'Exact', value: `/${name}` }
    const filter = { type: 'RequestRedirect', requestRedirect: { hostname: `${word}.example`, statusCode: 302 } }
    const rules = [{ matches: [{ path }], filters: [filter] }]
    return object(GATEWAY_V1, 'HTTPRoute', name, { spec: { parentRefs: [{ name: 'edge' }], rules } }, NAMESPACE)
  }

  /** Server-side apply. Throws an Error when it is refused. */
  async apply(plural: string, one: ApiObject): Promise<void> {
    const { status, body } = await this.base.admin.apply(one, plural)
    if (status !== 200 && status !== 201) throw new Error(`${one.kind} ${one.metadata.name}: ${status} ${body.message}`)
  }

  async remove(plural: string, { apiVersion, metadata: { name } }: ApiObject): Promise<void> {
    await this.base.admin.ask('DELETE', `/apis/${apiVersion}/namespaces/${NAMESPACE}/${plural}/${name}`)
  }

  // --- the data plane ---

  /** Starts one, where the one before has ended. Its token is `token`, or what was written before. */
  startPlane(token: string | null): RunningProgram {
    if (token !== null) this.writePlaneToken(token)
    const config = `config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', workerThreads: 1 }`
    const flags = {
      'controller-address': `127.0.0.1:${this.toControllers.port}`,
      'controller-ca': this.#authorityFile,
      'controller-token': this.#tokenFile,
      'state-dir': this.base.folder,
      'pod-name': 'edge-1',
      namespace: NAMESPACE,
      gateway: 'edge'
    }
    const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
    this.#plane = runProgram(['proxy', ...args, '-c', config], '', { STATE_KEY, LOG_LEVEL: 'debug,request=off' })
    return this.#plane
  }

  writePlaneToken(token: string): void {
    writeFileSync(this.#tokenFile, token, { mode: 0o600 })
  }

  /** As its ConfigMap says. */
  async trustControllers(): Promise<void> {
    writeFileSync(this.#authorityFile, await this.base.authorityOf(NAMESPACE, PLANE_ACCOUNT))
  }

  get #authorityFile(): string {
    return join(this.base.folder, 'ca.crt')
  }

  get #tokenFile(): string {
    return join(this.base.folder, 'plane.token')
  }

  planeToken(): Promise<string> {
    return this.base.tokenOf(NAMESPACE, PLANE_ACCOUNT, { audiences: [AUDIENCE] })
  }

  /** Ends it, and starts it again with what it has kept. Nobody asks in between. */
  async restartPlane(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<RunningProgram> {
    this.load(false)
    this.#plane!.signal(signal)
    await this.#plane!.exited()
    const plane = this.startPlane(null)
    await plane.logged('target=start')
    this.load(true)
    return plane
  }

  // --- traffic ---

  /** From now on the route `steady` is asked for, and every answer but its redirect is a failure; or not any more. */
  load(isLoaded: boolean): void {
    this.#isLoaded = isLoaded
  }

  async #ask(): Promise<void> {
    if (!this.#isLoaded) return
    const found = await this.answer('/steady')
    this.requests++
    // One that was under way when the data plane was ended is none.
    if (found !== 'steady' && this.#isLoaded) this.failures.push(`${new Date().toISOString()}: ${found}`)
  }

  /** The word of the route, or what came instead of a redirect. */
  async answer(path: string, port: number = this.port): Promise<string> {
    try {
      const { statusCode, headers, body } = await request(`http://127.0.0.1:${port}${path}`)
      const text = await body.text()
      const [, word] = /^http:\/\/([^.]+)\.example/.exec(String(headers.location)) ?? []
      return word ?? `${statusCode} ${text.slice(0, 100)}`
    } catch (error) {
      return (error as Error).message || String((error as NodeJS.ErrnoException).code)
    }
  }

  /** Waits until every path has the answer that it should; null, or what is there instead. */
  async answers(expected: Readonly<Record<string, string>>): Promise<string | null> {
    let wrong: string | null = null
    await this.base.until(async () => {
      const found = await Promise.all(
        Object.entries(expected).map(async ([path, want]) => [path, want, await this.answer(path)] as const)
      )
      const other = found.find(([, want, is]) => !is.startsWith(want))
      wrong = other === undefined ? null : `${other[0]}: ${other[2]} instead of ${other[1]}`
      return other === undefined
    })
    return wrong
  }

  // --- judging ---

  gatewaySays(type: string, says: string): Promise<Judged> {
    const find = () => this.base.get('gateways', GATEWAY_V1, 'edge', NAMESPACE)
    return this.base.says('faults: Gateway edge', find, type, says)
  }

  addressed(): Promise<boolean> {
    return this.base.addressFor(NAMESPACE, PLANE_ACCOUNT)
  }

  /** A new route comes to the data plane: everything works from the API server to the answer. */
  async works(name: string, word: string): Promise<Judged> {
    await this.apply('httproutes', this.route(word, word))
    return { name: `faults: ${name}`, why: await this.answers({ [`/${word}`]: word }) }
  }
}

/** Claims of a token of the data plane's ServiceAccount. */
export const planeClaims = (uid: string) => accountClaims(NAMESPACE, PLANE_ACCOUNT, uid)

export const accountClaims = (namespace: string, name: string, uid: string) => ({
  sub: `system:serviceaccount:${namespace}:${name}`,
  'kubernetes.io': { namespace, serviceaccount: { name, uid } }
})

export const uidOf = async (stage: FaultStage, namespace: string, name: string): Promise<string> =>
  String((await stage.base.get('serviceaccounts', 'v1', name, namespace)).metadata.uid)
