/** The controller: what the API server has, what is made of it, and what is written back. */
import { SharedSessions } from '#engine/build/shared-sessions.ts'
import type { BackendKind } from '#engine/contract/backend.ts'
import type { Time } from '#engine/contract/time.ts'
import type { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import { LeaderElection, type Role } from '#engine/kubernetes/client/leader-election.ts'
import { ServiceIndex } from '#engine/kubernetes/endpoints/index.ts'
import type { KindName, ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { Provisioned, ProvisionInput } from '#engine/kubernetes/provisioning/index.ts'
import type { GatewayName, SnapshotServer, SnapshotServerOptions } from '#engine/kubernetes/stream/index.ts'
import { placeText } from '#engine/kubernetes/translation/conditions.ts'
import type { Translation, Translator } from '#engine/kubernetes/translation/index.ts'
import { certificateOfSecret, type StreamCertificate } from './certificate-secret.ts'
import { Complaints } from './complaints.ts'
import type { GatewayAddress } from './gateway-status.ts'
import { Gateways, type Stream } from './gateways.ts'
import { KnownEndpoints } from './known-endpoints.ts'
import { MeshWorkloads } from './mesh-workloads.ts'
import { PoolWorkloads } from './pool-workloads.ts'
import { Provisioner } from './provisioner.ts'
import { CERTIFICATE_SECRET, LEASE_NAME } from './rules.ts'
import { StatusWriter } from './status-writer.ts'
import { Watches } from './watches.ts'

/** A SnapshotServer that listens. */
export type OpenStream = Stream & Pick<SnapshotServer, 'close'>

type Level = 'debug' | 'info' | 'warn' | 'error'

export interface ControllerOptions {
  readonly client: KubernetesClient
  readonly time: Time
  readonly log: (level: Level, message: string) => void
  /** The only one that is watched; absent: all. */
  readonly namespace?: string | undefined
  /** Of the controller itself: its Lease and its certificate are there. */
  readonly ownNamespace: string
  /** Of this process; no other controller has it. Null: there is no other controller, and no Lease. */
  readonly identity: string | null
  readonly translator: Pick<Translator, 'update' | 'stumbles'>
  readonly clusterDomain: string
  /** Of the GatewayClasses that are carried out. */
  readonly controllerName: string
  /** DNS names and addresses of the stream to data planes. */
  readonly streamNames: readonly string[]
  /** Resolves when it listens. */
  readonly startStream: (options: Omit<SnapshotServerOptions, 'port' | 'host'>) => Promise<OpenStream>
  readonly tokenAudience: string
  /** The registry: which of them have sessions. */
  readonly backends: readonly BackendKind[]
  /** The stream leads into this process, and is open with or without the Lease. */
  readonly isDataPlane: boolean
  /** Data planes that are not provisioned are workloads of a mesh. Absent: they are not. */
  readonly isOfMesh?: boolean
  /** Null: nothing is provisioned. */
  readonly provision: ((input: ProvisionInput, ca: string) => Provisioned) | null
  /** Of Gateways whose data planes are not provisioned. */
  readonly addresses: readonly GatewayAddress[]
  /** After each translation: how long it took. */
  readonly onTranslated?: (durationMs: number) => void
  /** After each attempt to write a status. */
  readonly onStatus?: (isWritten: boolean) => void
}

/** Many data planes tell the same at the same time. */
const STATUS_DELAY_MS = 20
/** What the API server has not answered by then is given up at the end. */
const STOP_MS_MAX = 5_000
const CERTIFICATE_RETRY_MS = 2_000

export class Controller {
  readonly #options: ControllerOptions
  readonly #watches: Watches
  readonly #services: ServiceIndex
  readonly #pools: PoolWorkloads
  readonly #mesh: MeshWorkloads
  readonly #statuses: StatusWriter
  readonly #provisioner: Provisioner
  readonly #election: LeaderElection | null
  readonly #complaints = new Complaints()
  readonly #gateways: Gateways
  #translation: Translation | null = null
  #certificate: StreamCertificate | null = null
  #stream: OpenStream | null = null
  /** One change of the stream at a time. */
  #streamWork: Promise<void> = Promise.resolve()
  #role: Role = 'waiting'
  #statusDelay: (() => void) | null = null
  #isStopped = false
  /** The last change was not taken. */
  #isFaulty = false

  constructor(options: ControllerOptions) {
    const { client, time, log, namespace, ownNamespace, identity } = options
    const { provision, addresses, clusterDomain, controllerName } = options
    this.#options = options
    this.#watches = new Watches({
      client,
      namespace,
      time,
      log,
      onObject: (object) => this.#statuses.observe(object),
      onChange: (changed) => this.#update(changed)
    })
    const { store } = this.#watches
    this.#mesh = new MeshWorkloads({
      ...{ client, namespace, time, log },
      onChange: (addresses) => this.#workloadsChanged(addresses),
      onKnown: () => {
        this.#workloadsChanged(null)
        this.#gateways.meshKnown()
      }
    })
    const { identityAt } = this.#mesh
    this.#services = new ServiceIndex(store, clusterDomain, identityAt)
    this.#pools = new PoolWorkloads({
      ...{ client, objects: store, clusterDomain, identityAt, time, log },
      onChange: (pools) => this.#endpointsChanged(() => pools)
    })
    this.#statuses = new StatusWriter({ client, controllerName, time, log, onWrite: options.onStatus })
    this.#provisioner = new Provisioner({ client, time, onRefusal: () => this.#writeSoon(), log })
    this.#gateways = new Gateways({
      objects: store,
      services: new KnownEndpoints(this.#services, this.#pools),
      provisioner: this.#provisioner,
      provision: provision && ((input) => provision(input, this.#certificate?.ca ?? '')),
      addresses,
      mesh: this.#mesh,
      isOfMesh: options.isOfMesh === true,
      log
    })
    const onChange = (role: Role) => this.#become(role)
    const lease = { client, namespace: ownNamespace, name: LEASE_NAME, time, log, onChange }
    this.#election = identity === null ? null : new LeaderElection({ ...lease, identity })
  }

  /** Resolves when everything is known and translated once. */
  async start(): Promise<void> {
    await this.#watches.start()
    if (this.#options.isDataPlane) this.#streamWork = this.#open(() => true)
    if (this.#election === null) this.#become('leading')
    else this.#election.start()
  }

  /** Everything is known: this controller leads, or can at once. */
  get isReady(): boolean {
    return this.#translation !== null && !this.#isStopped
  }

  get isLeader(): boolean {
    return this.#role === 'leading'
  }

  get gatewayCount(): number {
    return this.#gateways.count
  }

  /** Those that are connected to this controller. */
  get dataPlaneCount(): number {
    return this.#gateways.dataPlaneCount
  }

  /** Gives the Lease back. Data planes go on with what they have. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#statusDelay?.()
    this.#statuses.lead(false)
    const { time } = this.#options
    const work = Promise.all([
      this.#watches.stop(),
      this.#mesh.stop(),
      this.#pools.stop(),
      this.#provisioner.stop(),
      this.#election?.stop()
    ])
    await Promise.race([work, new Promise<void>((resolve) => time.after(STOP_MS_MAX, resolve))])
    await this.#streamWork
    await this.#stream?.close()
  }

  /** A fault of weir must not end the process: what was made before stays, and the next change makes all of it anew. */
  #update(changed: ReadonlySet<ObjectKey> | null): void {
    try {
      this.#options.translator.stumbles.during(() => this.#take(this.#isFaulty ? null : changed))
      this.#isFaulty = false
    } catch (error) {
      this.#isFaulty = true
      this.#options.log('error', `a fault of weir: ${(error as Error).stack}`)
    }
  }

  #take(changed: ReadonlySet<ObjectKey> | null): void {
    const { time, onTranslated } = this.#options
    const { store } = this.#watches
    if (changed === null) this.#statuses.keepOnly((key) => isThere(store, key))
    else for (const key of changed) if (!isThere(store, key)) this.#statuses.forget(key)
    const services = both(this.#services.update(changed), this.#pools.update(changed))
    const begun = time.now()
    // Addresses change most often, and the translation does not read them.
    const isEndpointsOnly = changed !== null && [...changed].every((key) => key.startsWith('EndpointSlice/'))
    if (!isEndpointsOnly || this.#translation === null) this.#translation = this.#translate(changed, services)
    // After a fault there may be endpoints that were not published.
    this.#gateways.update(this.#translation, changed === null ? null : services, changed)
    this.#logStumbles()
    if (isEndpointsOnly) return
    onTranslated?.(time.now() - begun)
    this.#writeStatuses(changed === null)
  }

  /** Endpoints follow their Services also while weir stumbles over an object. */
  #translate(changed: ReadonlySet<ObjectKey> | null, services: ReadonlySet<string>): Translation {
    try {
      return this.#options.translator.update(this.#watches.store, changed)
    } catch (error) {
      if (this.#translation !== null) this.#gateways.update(this.#translation, services, new Set())
      throw error
    }
  }

  /** Objects over which weir has stumbled, of kinds whose statuses do not say so. */
  #logStumbles(): void {
    for (const { message, place } of this.#options.translator.stumbles.take()) {
      if (this.#translation?.statuses.has(place.key) !== true) {
        this.#options.log('error', `${placeText(place)}: ${message}`)
      }
    }
  }

  #workloadsChanged(addresses: ReadonlySet<string> | null): void {
    this.#endpointsChanged(() => both(this.#services.workloadsChanged(addresses), this.#pools.workloadsChanged()))
  }

  /** `update` gives whose they are. */
  #endpointsChanged(update: () => ReadonlySet<string>): void {
    this.#options.translator.stumbles.during(() => {
      const services = update()
      if (this.#translation !== null) this.#gateways.update(this.#translation, services, new Set())
    })
  }

  /** `isWhole`: of all objects; otherwise those that the last translation has changed, and those of Gateways. */
  #writeStatuses(isWhole: boolean): void {
    if (this.#translation === null) return
    const changes = this.#gateways.statuses(this.#translation, isWhole)
    for (const complaint of this.#complaints.newOf(changes, isWhole)) this.#options.log('warn', complaint)
    this.#statuses.desire(changes, isWhole)
  }

  /** What statuses are made of has changed, beside the objects. */
  #writeSoon(): void {
    this.#statusDelay ??= this.#options.time.after(STATUS_DELAY_MS, () => {
      this.#statusDelay = null
      this.#writeStatuses(false)
    })
  }

  #become(role: Role): void {
    this.#role = role
    if (this.#isStopped) return
    if (role === 'leading') this.#streamWork = this.#streamWork.then(() => this.#lead())
    else this.#provisioner.lead(false)
    if (role !== 'leading') this.#statuses.lead(false)
    // Another controller serves data planes now; while there is none they stay here.
    const isElsewhere = role === 'following' && !this.#options.isDataPlane
    if (isElsewhere) this.#streamWork = this.#streamWork.then(() => this.#closeStream())
  }

  async #lead(): Promise<void> {
    await this.#open(() => this.#role === 'leading')
    if (this.#role !== 'leading' || this.#isStopped) return
    // Provisioning needs the certificate, which was not known before.
    this.#options.translator.stumbles.during(() => {
      if (this.#translation !== null) this.#gateways.update(this.#translation, new Set(), null)
    })
    this.#provisioner.lead(true)
    this.#statuses.lead(true)
    this.#writeStatuses(true)
  }

  /** Tries again while it does not open, and is `wanted`. */
  async #open(wanted: () => boolean): Promise<void> {
    const { time, log } = this.#options
    while (wanted() && !this.#isStopped) {
      try {
        await this.#openStream()
        return
      } catch (error) {
        log('warn', `the stream to data planes does not open: ${(error as Error).message}`)
        await new Promise<void>((resolve) => time.after(CERTIFICATE_RETRY_MS, resolve))
      }
    }
  }

  async #openStream(): Promise<void> {
    if (this.#stream !== null) return
    const { client, ownNamespace, streamNames, time, log, startStream, backends } = this.#options
    const secret = { client, namespace: ownNamespace, name: CERTIFICATE_SECRET }
    this.#certificate = await certificateOfSecret({ ...secret, names: streamNames, now: time.wallNow() })
    const { cert, key, sessionKey } = this.#certificate
    this.#stream = await startStream({
      tls: { cert, key },
      authenticate: (token, gateway) => this.#isDataPlane(token, gateway),
      onChange: () => this.#writeSoon(),
      log
    })
    this.#gateways.setStream(this.#stream, new SharedSessions(backends, sessionKey))
  }

  async #closeStream(): Promise<void> {
    const stream = this.#stream
    this.#stream = null
    this.#gateways.setStream(null, null)
    await stream?.close()
  }

  /** By its ServiceAccount token, for the account that was provisioned for this Gateway. */
  async #isDataPlane(token: string, gateway: GatewayName): Promise<boolean> {
    const { client, tokenAudience } = this.#options
    const account = this.#gateways.serviceAccount(gateway)
    if (account === null) return false
    const { authenticated, username } = await client.reviewToken(token, [tokenAudience])
    return authenticated && username === `system:serviceaccount:${gateway.split('/')[0]}:${account}`
  }
}

const both = (some: ReadonlySet<string>, others: ReadonlySet<string>): ReadonlySet<string> =>
  others.size === 0 ? some : new Set([...some, ...others])

function isThere(store: Watches['store'], key: ObjectKey): boolean {
  const [kind = '', namespace = '', name = ''] = key.split('/')
  return store.get(kind as KindName, namespace, name) !== undefined
}
