/** Finds the services that policies and backends name, among the backends of the configuration. */
import { isDeepStrictEqual } from 'node:util'
import type { BackendKind, CompiledBackend } from '#engine/contract/backend.ts'
import type { InProcess } from '#engine/contract/in-process.ts'
import { FieldError } from '#engine/contract/policy.ts'
import type { InlineService, NamedService, ServiceRecorder, ServiceRef, Services } from '#engine/contract/service.ts'
import type { Backend, Snapshot } from '#engine/ir/snapshot.ts'
import { nearestWord } from '#engine/kit/nearest.ts'
import { type FoundService, servicesBy } from '#engine/service/services.ts'

export interface ServiceParts {
  readonly backends: Snapshot['backends']
  readonly kinds: readonly BackendKind[]
  readonly inProcess: InProcess
  readonly recorderFor: (service: string, policy: string) => ServiceRecorder
  /** Compiles a backend, once for each that is the same. */
  readonly compile: (backend: Backend, name: string) => CompiledBackend
}

/** A backend that a policy or another backend uses as a service. */
export interface UsedService {
  readonly backend: Backend
  readonly compiled: CompiledBackend
}

/** The services of one configuration. */
export class ServiceTable {
  readonly #parts: ServiceParts

  constructor(parts: ServiceParts) {
    this.#parts = parts
  }

  /** For `user`: a policy, or a kind of backend. What it asks for is noted in `uses`, by name. */
  lend(user: string, uses: Map<string, UsedService>): Services {
    return servicesBy((ref) => this.#find(ref, user, uses))
  }

  /** Whether all of `uses` are what they were; those that are written in place always are. */
  has(uses: ReadonlyMap<string, UsedService>): boolean {
    const { backends } = this.#parts
    for (const [name, { backend }] of uses) {
      if (name in backends ? !isDeepStrictEqual(backends[name], backend) : isName(name)) return false
    }
    return true
  }

  #find(ref: ServiceRef, user: string, uses: Map<string, UsedService>): FoundService {
    const { inProcess, recorderFor, compile } = this.#parts
    const isNamed = 'name' in ref
    const backend: Backend = isNamed ? this.#named(ref) : inlineBackend(ref)
    const name = isNamed ? ref.name : (ref.unixPath ?? `${ref.host}:${ref.port}`)
    const compiled = compile(backend, name)
    uses.set(name, { backend, compiled })
    return { name, definition: backend, inProcess, serve: compiled.serve, recorder: recorderFor(name, user) }
  }

  #named(ref: NamedService): Backend {
    const { backends, kinds } = this.#parts
    const isServer = ({ kind }: Backend) => kinds.find((known) => known.kind === kind)?.config?.isServer === true
    // Those without a name of their own have one with a slash.
    const known = Object.keys(backends).filter((name) => !name.includes('/'))
    const servers = known.filter((name) => isServer(backends[name]!))
    return backends[judgedName(ref, known, servers)]!
  }
}

/** Of a backend of the configuration; addresses have a colon, and sockets a slash. */
const isName = (name: string): boolean => !/[:/]/.test(name)

function inlineBackend(server: InlineService): Backend {
  return { kind: 'static', ...server, policies: {} }
}

/** The name of `ref`. Throws a FieldError when it is none of `known`, or none of those that are servers. */
export function judgedName({ name, at }: NamedService, known: readonly string[], servers: readonly string[]): string {
  if (servers.includes(name)) return name
  if (known.includes(name)) throw new FieldError(at, `"${name}" ${NO_SERVER}`)
  const near = nearestWord(name, servers)
  const also = near === null ? '' : `: did you mean "${near}"?`
  throw new FieldError(at, `there is no backend "${name}" at the top of the file${also}`)
}

const NO_SERVER = 'is not one server that a policy could ask: name a backend with host or static'
