/** Gateways, from the translation to their data planes: what is published, provisioned, and said in their statuses. */
import { isDeepStrictEqual } from 'node:util'
import type { SharedSessions } from '#engine/build/shared-sessions.ts'
import { type KubernetesObject, type ObjectKey, objectKey } from '#engine/kubernetes/objects/object.ts'
import { Memo, type Objects } from '#engine/kubernetes/objects/objects.ts'
import { isOfMesh, type Provisioned, type ProvisionInput } from '#engine/kubernetes/provisioning/index.ts'
import type { GatewayName, SnapshotServer } from '#engine/kubernetes/stream/index.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import type { GatewayOutput, Translation } from '#engine/kubernetes/translation/index.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { addressesOf, type GatewayAddress, gatewayStatus } from './gateway-status.ts'
import type { KnownEndpoints } from './known-endpoints.ts'
import type { MeshWorkloads } from './mesh-workloads.ts'
import { provisionInput } from './provision-input.ts'
import type { Provisioner, Wanted } from './provisioner.ts'
import { type Refusal, Refusals } from './refusals.ts'
import type { Status, StatusChanges } from './status.ts'

export interface GatewaysOptions {
  readonly objects: Objects
  readonly services: Pick<KnownEndpoints, 'endpoints' | 'isKnown'>
  readonly provisioner: Pick<Provisioner, 'want' | 'forget' | 'again' | 'refusal'>
  /** Null: data planes are provisioned by others, who say their addresses. */
  readonly provision: ((input: ProvisionInput) => Provisioned) | null
  readonly addresses: readonly GatewayAddress[]
  readonly mesh: Pick<MeshWorkloads, 'want' | 'isKnown'>
  /** Data planes that are not provisioned are workloads of a mesh. */
  readonly isOfMesh: boolean
  readonly log: (level: 'warn', message: string) => void
}

/** Fills in drafts what all data planes of a Gateway share. */
export type Sessions = Pick<SharedSessions, 'of'>

export type Stream = Pick<SnapshotServer, 'publish' | 'remove' | 'dataPlanes'>

/** Names of Services; null: any may have changed. */
type ChangedServices = ReadonlySet<string> | null

interface RowProvisioned extends Provisioned {
  /** Its data planes are workloads of a mesh. */
  readonly isOfMesh: boolean
}

interface Row {
  output: GatewayOutput
  provisioned: RowProvisioned | null
  /** Of the draft, as the stream counts; 0: it is not published. */
  version: number
  /** The generation of the Gateway, and the first version that has it. */
  generation: number | undefined
  firstVersion: number
  /** What was made of the translation's last status. */
  status: Status | undefined
  readonly refusals: Refusals
  warnings: readonly string[]
}

export class Gateways {
  readonly #options: GatewaysOptions
  readonly #rows = new Map<GatewayName, Row>()
  readonly #provisioned = new Memo<Wanted | Fault | null>()
  #stream: Stream | null = null
  #sessions: Sessions | null = null

  constructor(options: GatewaysOptions) {
    this.#options = options
  }

  /** Data planes are served from now on, with keys of sessions, or not any more. */
  setStream(stream: Stream | null, sessions: Sessions | null): void {
    this.#stream = stream
    this.#sessions = sessions
    for (const [name, row] of this.#rows) this.#publish(name, row)
  }

  /** `services`: those whose endpoints have changed. `changed`: objects. Null: all of them. */
  update(translation: Translation, services: ChangedServices, changed: ReadonlySet<ObjectKey> | null): void {
    if (changed === null) for (const name of [...this.#provisioned.names]) this.#provisioned.forget(name)
    else this.#provisioned.changed(changed)
    for (const [key, output] of translation.gateways) this.#take(key as GatewayName, output, services)
    for (const name of this.#rows.keys()) if (!translation.gateways.has(name)) this.#remove(name)
    for (const key of changed ?? []) if (key.startsWith('Service/')) this.#serviceChanged(key)
  }

  /** The workloads of the mesh are known: Gateways that are part of it may be published. */
  meshKnown(): void {
    for (const [name, row] of this.#rows) if (this.#isOfMesh(row)) this.#publish(name, row)
  }

  #isOfMesh({ provisioned }: Row): boolean {
    return provisioned?.isOfMesh ?? this.#options.isOfMesh
  }

  /**
   * The translation's statuses, with what data planes and Services tell: of all objects, or those that have changed
   * and those of Gateways. Undefined: there is none any more.
   */
  statuses({ statuses, changedStatuses }: Translation, isWhole: boolean): StatusChanges {
    const all = statuses as ReadonlyMap<ObjectKey, Status>
    const found = new Map<ObjectKey, Status | undefined>(isWhole ? all : [])
    if (!isWhole) for (const key of changedStatuses) found.set(key, all.get(key))
    // What was refused may not be any more.
    for (const { refusals } of this.#rows.values()) for (const key of refusals.refused) found.set(key, all.get(key))
    const desiredOf = (key: ObjectKey) => found.get(key) ?? all.get(key)
    for (const [name, row] of this.#rows) {
      const key: ObjectKey = `Gateway/${name}`
      const desired = all.get(key)
      if (desired === undefined) continue
      const refusal = row.refusals.find(this.#stream?.dataPlanes(name) ?? [], row.version, row.output.places)
      const status = this.#statusOf(name, row, desired, refusal)
      row.status = isDeepStrictEqual(row.status, status) ? row.status! : status
      found.set(key, row.status)
      for (const [object, own] of row.refusals.statuses(desiredOf, this.#options.objects)) found.set(object, own)
    }
    return found
  }

  /** The ServiceAccount that data planes of a Gateway have; null: none is known. */
  serviceAccount(name: GatewayName): string | null {
    const objects = this.#rows.get(name)?.provisioned?.objects ?? []
    return objects.find(({ kind }) => kind === 'ServiceAccount')?.metadata.name ?? null
  }

  get count(): number {
    return this.#rows.size
  }

  get dataPlaneCount(): number {
    const names = [...this.#rows.keys()]
    return names.reduce((sum, name) => sum + (this.#stream?.dataPlanes(name).length ?? 0), 0)
  }

  #take(name: GatewayName, output: GatewayOutput, services: ChangedServices): void {
    const row = this.#rows.get(name)
    const provisioned = this.#provision(name, output.gateway)
    if (row === undefined) {
      const fresh: Row = {
        output,
        provisioned,
        version: 0,
        generation: undefined,
        firstVersion: 0,
        status: undefined,
        refusals: new Refusals(name),
        warnings: []
      }
      this.#rows.set(name, fresh)
      this.#warn(fresh)
      this.#publish(name, fresh)
      return
    }
    const wasOfMesh = this.#isOfMesh(row)
    row.provisioned = provisioned
    const isOther = row.output.draft !== output.draft || row.output.services !== output.services
    const isGeneration = row.output.gateway !== output.gateway
    row.output = output
    this.#warn(row)
    const isOtherMesh = this.#isOfMesh(row) !== wasOfMesh
    const haveMoved = services === null || touches(services, output.services)
    if (isOther || isGeneration || isOtherMesh || haveMoved) this.#publish(name, row)
  }

  #provision(name: GatewayName, gateway: KubernetesObject): RowProvisioned | null {
    const { provision, provisioner, objects } = this.#options
    if (provision === null) return null
    const make = (tracked: Objects): Wanted | null => {
      const input = provisionInput(gateway, tracked)
      return input && { ...provision(input), input }
    }
    const provisioned = this.#provisioned.of(name, objects, (tracked) =>
      contained<Wanted | Fault | null>(
        gateway,
        () => make(tracked),
        (fault) => fault
      )
    )
    // What runs goes on. Of one that runs since before this process nobody knows whether it is of a mesh.
    if (provisioned === null || 'reason' in provisioned) {
      const { objects: applied = [], isOfMesh: isMember = true } = this.#rows.get(name)?.provisioned ?? {}
      return { objects: applied, absent: [], faults: provisioned === null ? [] : [provisioned], isOfMesh: isMember }
    }
    provisioner.want(name, provisioned)
    const { objects: made, absent, faults, input } = provisioned
    return { objects: made, absent, faults, isOfMesh: isOfMesh(input) }
  }

  #publish(name: GatewayName, row: Row): void {
    const { output } = row
    const { draft, services, gateway } = output
    if (this.#stream === null) {
      row.version = 0
      row.generation = undefined
      return
    }
    if (this.#isOfMesh(row)) {
      this.#options.mesh.want()
      // Nobody knows yet who takes clear text. Data planes go on with what they have.
      if (!this.#options.mesh.isKnown) return
    }
    if (!this.#options.services.isKnown(services)) return
    const endpoints = this.#options.services.endpoints(services)
    row.version = this.#stream.publish(name, { draft: this.#sessions?.of(draft) ?? draft, endpoints })
    if (row.generation === gateway.metadata.generation) return
    row.generation = gateway.metadata.generation
    row.firstVersion = row.version
  }

  #remove(name: GatewayName): void {
    this.#rows.delete(name)
    this.#stream?.remove(name)
    this.#provisioned.forget(name)
    const [namespace = '', own = ''] = name.split('/')
    this.#options.provisioner.forget(name, this.#options.objects.get('Gateway', namespace, own) !== undefined)
  }

  /** One that was applied may be another one now. */
  #serviceChanged(key: ObjectKey): void {
    for (const [name, { provisioned }] of this.#rows) {
      const service = serviceOf(provisioned)
      if (service === undefined || objectKey('Service', service.namespace ?? '', service.name) !== key) continue
      this.#options.provisioner.again(name)
    }
  }

  #warn(row: Row): void {
    const { warnings } = row.output
    if (warnings === row.warnings) return
    for (const warning of warnings) if (!row.warnings.includes(warning)) this.#options.log('warn', warning)
    row.warnings = warnings
  }

  #statusOf(name: GatewayName, row: Row, desired: Status, refused: Refusal | null): Status {
    const { objects, addresses, provision, provisioner } = this.#options
    const refusal = provisioner.refusal(name)
    const service = serviceOf(row.provisioned)
    const found = service && objects.get('Service', service.namespace ?? '', service.name)
    const own =
      service === undefined ? 'the Service of its data planes' : `Service ${service.namespace}/${service.name}`
    return gatewayStatus(row.output.gateway, desired, {
      addresses: provision === null ? addresses : addressesOf(found),
      addressSource: provision === null ? 'the option --address' : own,
      dataPlanes: this.#stream?.dataPlanes(name) ?? [],
      version: Math.max(row.firstVersion, 1),
      refusal: refused,
      faults: [...(row.provisioned?.faults ?? []), ...(refusal === null ? [] : [refusal])]
    })
  }
}

const serviceOf = (provisioned: Provisioned | null): KubernetesObject['metadata'] | undefined =>
  provisioned?.objects.find(({ kind }) => kind === 'Service')?.metadata

function touches(changed: ReadonlySet<string>, services: ReadonlySet<string>): boolean {
  const [small, large] = changed.size < services.size ? [changed, services] : [services, changed]
  for (const service of small) if (large.has(service)) return true
  return false
}
