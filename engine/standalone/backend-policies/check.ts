/** What is wrong with policies about connections to backends: two in one place, none reached, files that do not fit. */

import { TRANSPORT_KEYS } from '#engine/contract/backend-transport/policies.ts'
import { backendTls, readTls, verifyOf } from '#engine/contract/backend-transport/tls.ts'
import { FieldError, type Sources } from '#engine/contract/policy.ts'
import { capabilitiesOf } from '#engine/downstream/transports.ts'
import { entriesOf, objectOf, type Path, type Placed, policySetsOf, type Raw } from '#engine/schema/placed.ts'
import type { Problem } from '#engine/standalone/problems.ts'
import type { Source } from '#engine/standalone/source.ts'
import { bindsOf, type PlacedBind, type PlacedListener } from '#engine/standalone/walk.ts'

interface Given {
  readonly field: 'tls' | 'tcp'
  readonly value: unknown
  readonly path: Path
}

const OF_SERVERS = 'acts on backends that are plain servers (host, static, dynamic)'

const NO_NAME =
  'needs hostname or subjectAltNames here: what is behind a unix socket has no name that a certificate could have'

/** `file`: as read, whatever else is wrong with it. */
export function checkTransport(file: Raw, source: Source, sources: Sources): Problem[] {
  return new Checks(file, source, sources).run()
}

/** Policies that are allowed and better not had. */
export function insecureTls(file: Raw): { readonly path: Path; readonly message: string }[] {
  return placesOf(file)
    .flatMap((place) => givenAt(place))
    .flatMap(({ field, value, path }) => {
      if (field !== 'tls' || verifyOf(objectOf(value)) !== 'none') return []
      return [{ path, message: 'verifies nothing: whoever answers can read and change what is sent' }]
    })
}

class Checks {
  readonly #file: Raw
  readonly #source: Source
  readonly #sources: Sources
  readonly #problems = new Map<string, Problem>()
  readonly #named: ReadonlyMap<unknown, Placed>
  readonly #reached = new Set<string>()
  /** The same, for PROXY headers. */
  readonly #headed = new Set<string>()

  constructor(file: Raw, source: Source, sources: Sources) {
    this.#file = file
    this.#source = source
    this.#sources = sources
    this.#named = new Map(entriesOf(file.backends, ['backends']).map((backend) => [backend.raw.name, backend]))
  }

  run(): Problem[] {
    for (const place of placesOf(this.#file)) this.#checkPlace(place)
    const top = givenAt({ raw: this.#file, path: [] })
    const around = [...top]
    for (const backend of this.#named.values()) this.#reach(backend, [...top, ...givenAt(backend)])
    for (const { listener, bind } of listenersOf(this.#file)) {
      const outer = [...top, ...givenAt(listener)]
      around.push(...givenAt(listener))
      if (listener.path[0] === 'llm' || listener.path[0] === 'mcp') this.#reach(null, outer)
      for (const route of listener.routes) {
        // The one route of a shortcut has no place of its own.
        const own = route.path.length === 1 ? [] : givenAt(route)
        around.push(...own)
        for (const reference of entriesOf(route.raw.backends, [...route.path, 'backends'])) {
          const backend = reference.raw.backend === undefined ? reference : this.#named.get(reference.raw.backend)
          const inner = backend === undefined || backend === reference ? [] : givenAt(backend)
          // That there is no such backend is said elsewhere.
          const given = [...outer, ...own, ...inner, ...givenAt(reference)]
          this.#reach(backend ?? null, given)
          if (backend !== undefined) this.#checkPort(backend, given, bind)
        }
      }
    }
    for (const { path } of around) {
      if (!this.#reached.has(path.join())) this.#report(path, 'is for backends, and there is none below')
    }
    for (const given of around.filter(isHeader)) {
      if (this.#headed.has(given.path.join()) || !this.#reached.has(given.path.join())) continue
      this.#report([...given.path, 'proxyProtocol'], `${OF_SERVERS}, and there is none below`)
    }
    return [...this.#problems.values()]
  }

  #report(path: Path, message: string, what: 'key' | 'value' = 'key'): void {
    this.#problems.set(`${path.join()} ${message}`, { path, offset: this.#source.locate(path, what), message })
  }

  #checkPlace(place: Placed): void {
    const seen = new Map<string, Path>()
    for (const { raw, path } of policySetsOf(place)) {
      for (const given of givenIn(raw, path)) {
        const other = seen.get(given.field)
        if (other !== undefined)
          this.#report(given.path, `says again what ${String(other.at(-1))} says: keep one of them`)
        seen.set(given.field, given.path)
        if (raw.phase === 'PreRouting') {
          this.#report(given.path, 'is for backends, which are not known in the phase PreRouting')
        }
        if (given.field === 'tls') this.#checkFiles(given)
        if (isHeader(given) && isOther(place))
          this.#report([...given.path, 'proxyProtocol'], `${OF_SERVERS}, and this one is none`)
      }
    }
  }

  #checkFiles({ value, path }: Given): void {
    const parsed = backendTls().safeParse(value)
    // What is wrong with it is said by the schema.
    if (!parsed.success) return
    try {
      readTls(parsed.data, this.#sources)
    } catch (error) {
      const inside = error instanceof FieldError ? error.path : []
      this.#report([...path, ...inside], (error as Error).message, 'value')
    }
  }

  /** `given`: what is said of `backend`, a server of `bind`. */
  #checkPort(backend: Placed, given: readonly Given[], bind: PlacedBind): void {
    const tcp = given.findLast(({ field }) => field === 'tcp')
    const { name, knowsClientPort } = capabilitiesOf(bind.raw.transport)
    if (knowsClientPort || !isServer(backend) || tcp === undefined || !isHeader(tcp)) return
    const lack = `transport ${name} does not know the port of a client, which PROXY headers to backends tell`
    this.#report([...bind.path, 'transport'], `${lack}: use transport auto or node`, 'value')
  }

  /** `given`: what is said of `backend`, least precise first. */
  #reach(backend: Placed | null, given: readonly Given[]): void {
    for (const { path } of given) this.#reached.add(path.join())
    if (backend !== null && isServer(backend)) for (const { path } of given) this.#headed.add(path.join())
    const tls = given.findLast(({ field }) => field === 'tls')
    if (tls === undefined || backend === null || !isUnix(backend.raw.host)) return
    const { hostname, sni, subjectAltNames, verifySubjectAltNames, ...rest } = objectOf(tls.value)
    const isNamed = (hostname ?? sni ?? subjectAltNames ?? verifySubjectAltNames) !== undefined
    if (!isNamed && verifyOf(rest) === 'full') this.#report(tls.path, NO_NAME)
  }
}

/** Of a file's backend, which is one when it is nothing else. */
const isServer = ({ raw }: Placed): boolean => raw.ai === undefined && raw.mcp === undefined

/** A backend of another kind, or a part of one: a provider, a target. */
function isOther(place: Placed): boolean {
  const { path } = place
  return !isServer(place) || path.includes('ai') || path.includes('mcp')
}

const isHeader = ({ field, value }: Given): boolean => field === 'tcp' && objectOf(value).proxyProtocol !== undefined

function listenersOf(file: Raw): { readonly listener: PlacedListener; readonly bind: PlacedBind }[] {
  return bindsOf(file).flatMap((bind) => bind.listeners.map((listener) => ({ listener, bind })))
}

const isUnix = (host: unknown): boolean => typeof host === 'string' && host.startsWith('unix:')

function givenAt(place: Placed): Given[] {
  return policySetsOf(place).flatMap(({ raw, path }) => givenIn(raw, path))
}

function givenIn(raw: Raw, path: Path): Given[] {
  return Object.entries(TRANSPORT_KEYS).flatMap(([key, field]) => {
    return raw[key] === undefined ? [] : [{ field, value: raw[key], path: [...path, key] }]
  })
}

/** Everything that may have such policies, itself or in part. */
function placesOf(file: Raw): Placed[] {
  const listeners = bindsOf(file).flatMap((bind) => bind.listeners)
  const routes = listeners.flatMap((listener) => listener.routes.filter(({ path }) => path.length > 1))
  const references = routes.flatMap(({ raw, path }) => entriesOf(raw.backends, [...path, 'backends']))
  const backends = [...entriesOf(file.backends, ['backends']), ...references]
  const shortcut = targetsOf({ raw: objectOf(file.mcp), path: ['mcp'] })
  const parts = backends.flatMap(({ raw, path }) => [
    ...providersOf({ raw: objectOf(raw.ai), path: [...path, 'ai'] }),
    ...targetsOf({ raw: objectOf(raw.mcp), path: [...path, 'mcp'] })
  ])
  return [{ raw: file, path: [] }, ...listeners, ...routes, ...backends, ...parts, ...shortcut]
}

function providersOf({ raw, path }: Placed): Placed[] {
  const groups = entriesOf(raw.groups, [...path, 'groups'])
  const single = raw.provider === undefined ? [] : [{ raw: objectOf(raw.provider), path: [...path, 'provider'] }]
  return [...single, ...groups.flatMap((group) => entriesOf(group.raw.providers, [...group.path, 'providers']))]
}

function targetsOf({ raw, path }: Placed): Placed[] {
  return entriesOf(raw.targets, [...path, 'targets']).flatMap((target) => [
    target,
    ...(target.raw.static === undefined ? [] : [{ raw: objectOf(target.raw.static), path: [...target.path, 'static'] }])
  ])
}
