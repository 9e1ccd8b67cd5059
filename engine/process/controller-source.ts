/** `weir controller --serve`: a controller and the data plane of one Gateway in one process. */
import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { withoutKeys } from '#engine/kit/sensitive.ts'
import { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import type { ApiConnection } from '#engine/kubernetes/client/connection.ts'
import { Controller } from '#engine/kubernetes/controller/controller.ts'
import { LocalStream } from '#engine/kubernetes/controller/local-stream.ts'
import { withoutIdentities } from '#engine/kubernetes/endpoints/index.ts'
import type { PublishedGateway } from '#engine/kubernetes/stream/index.ts'
import type { Published } from '#engine/workers/supervisor.ts'
import { EXIT_FAILURE } from './cli.ts'
import { type ControllerParts, connect, controllerOptions } from './controller.ts'
import type { ServingSettings } from './controller-options.ts'
import { Gateway, type GatewayParts } from './gateway.ts'
import { guarded } from './guarded.ts'
import { explainFailure } from './in-force.ts'
import { type MeshSettings, readMeshSettings, variableOf } from './mesh-options.ts'
import type { SnapshotSource, SourceParts } from './snapshot-source.ts'
import { leave } from './words.ts'

/** Null: the API server's address is not known, and the user has been told. */
export function servingController(
  settings: ServingSettings,
  process: Snapshot['process'],
  parts: ControllerParts & GatewayParts
): Gateway | null {
  try {
    const connection = connect(settings)
    const mesh = meshOf(globalThis.process.env)
    const of: Serving = { settings, connection, isOfMesh: mesh !== null }
    const source = (own: SourceParts) => new ControllerSource(of, parts, own)
    return new Gateway({ process: guarded(process), warnings: [], mesh, isDemo: false, source }, parts)
  } catch (error) {
    leave(EXIT_FAILURE, `weir: ${(error as Error).message}\n`)
    return null
  }
}

/** Nothing is provisioned, so that variables say what `istio` of GatewayParameters would. Throws an Error. */
function meshOf(env: NodeJS.ProcessEnv): MeshSettings | null {
  const settings = readMeshSettings((name) => env[variableOf(name)] ?? '', env.POD_NAMESPACE ?? '')
  if (typeof settings === 'string') throw new Error(settings)
  return settings
}

interface Serving {
  readonly settings: ServingSettings
  readonly connection: ApiConnection
  /** Without a mesh, workloads of one are servers like any other. */
  readonly isOfMesh: boolean
}

class ControllerSource implements SnapshotSource {
  readonly isRemote = true
  readonly #parts: SourceParts
  readonly #controller: Controller
  readonly #first = Promise.withResolvers<Published>()

  constructor({ settings, connection, isOfMesh }: Serving, registries: ControllerParts, parts: SourceParts) {
    this.#parts = parts
    const { log, supervisor } = parts
    const client = new KubernetesClient(connection)
    this.#controller = new Controller({
      ...controllerOptions(settings, registries, { client, connection, log }),
      isDataPlane: true,
      isOfMesh,
      provision: null,
      addresses: settings.addresses.map((value) => ({ type: isIP(value) === 0 ? 'Hostname' : 'IPAddress', value })),
      startStream: async ({ onChange }) =>
        new LocalStream({
          gateway: settings.serve,
          putInForce: (draft, version) => this.#putInForce(draft, version),
          setHosts: (changes) => supervisor.setHosts(isOfMesh ? changes : withoutIdentities(changes)),
          onChange
        })
    })
  }

  async first(): Promise<Published> {
    // Workers learn that there are lists before they have the first Snapshot.
    this.#parts.supervisor.setHosts({})
    this.#controller.start().catch((error: Error) => this.#parts.log('error', `the controller: ${error.message}`))
    return await this.#first.promise
  }

  follow(): void {}

  reload(): void {
    this.#parts.log('info', 'nothing is read again: the API server says what changes')
  }

  close(): void {
    this.#controller.stop().catch((error: Error) => this.#parts.log('error', `the controller: ${error.message}`))
  }

  /** Throws an Error that says why it cannot be. */
  async #putInForce(draft: PublishedGateway['draft'], version: number): Promise<void> {
    const { inForce, log } = this.#parts
    const hash = createHash('sha256').update(`${process.pid} ${version}`).digest('hex').slice(0, 12)
    const outcome = await inForce.publish({ draft, hash, expanded: [], places: null })
    if (!outcome.ok) {
      const reason = withoutKeys(explainFailure(outcome))
      inForce.refuse(`version ${version} cannot be put in force, what runs stays: ${reason}`)
      throw new Error(reason)
    }
    log('debug', `version ${version} is in force`)
    this.#first.resolve(outcome)
  }
}
