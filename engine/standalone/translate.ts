/** A validated file -> the Snapshot: names filled in, inline backends named, aliases resolved. */
import type { BackendConfig, PolicyLevels, PolicySets, TranslateContext } from '#engine/contract/backend-config.ts'
import { Transports } from '#engine/contract/backend-transport/policies.ts'
import type { DocumentSources, Policy } from '#engine/contract/policy.ts'
import { CLEAR_TEXT } from '#engine/ir/plain.ts'
import {
  type Backend,
  type Bind,
  type Listener,
  ownName,
  type PathMatch,
  type PolicyPhases,
  type PolicySet,
  type RouteMatch,
  type RouteSpec,
  type Snapshot,
  type ValueMatch,
  type WeightedBackend
} from '#engine/ir/snapshot.ts'
import type { Path } from '#engine/schema/placed.ts'
import { type FileRequestRules, requestsOf } from '#engine/schema/request-rules.ts'
import type { KindShortcut, Kinds } from '#engine/source/kinds.ts'
import type { File } from './file.ts'
import { frontendPolicies, translateFrontend } from './file-frontend.ts'
import { canonicalPolicies, type PolicyKey, policyPhases, resolvePolicies } from './file-policies.ts'
import { type Overrides, translateProcess } from './file-process.ts'
import { translateTcpRoute } from './file-tcp.ts'
import { translateListenerTls } from './tls/schema.ts'
import { defaultListenerName, defaultRouteName } from './walk.ts'

/** What a source gives; version, hash and time are those of the moment it is accepted. */
export type SnapshotDraft = Omit<Snapshot, 'version' | 'hash' | 'acceptedAt'>

export interface TranslateOptions {
  readonly policies: readonly Policy[]
  readonly kinds: Kinds
  readonly keys: readonly PolicyKey[]
  /** What policies refer to; everything that they name has been found there once (check-policies.ts). */
  readonly sources: DocumentSources
  readonly env: Overrides
  readonly processors: number
  readonly memoryBytes: number
}

type FileBind = NonNullable<File['binds']>[number]
type FileListener = FileBind['listeners'][number]
type FileRoute = NonNullable<FileListener['routes']>[number]
type FileMatches = FileRoute['matches']
type FileMatch = NonNullable<FileMatches>[number]
/** Names of policies and what they say. */
type FilePolicies = Readonly<Record<string, unknown>>

interface FileReference {
  readonly backend?: string | undefined
  readonly weight?: number | undefined
  readonly policies?: FilePolicies | undefined
}

interface FileBackend {
  readonly name: string
  readonly policies?: FilePolicies | undefined
}

interface FileShortcut extends FileRequestRules {
  readonly port?: number | undefined
  readonly policies?: File['policies']
}

/** What describes a backend of the Snapshot. */
export interface Origin {
  readonly config: BackendConfig
  /** Of the value that says what it is. */
  readonly path: Path
}

export interface Translated {
  readonly draft: SnapshotDraft
  /** By the names of backends. */
  readonly origins: ReadonlyMap<string, Origin>
}

export function translate(file: File, options: TranslateOptions): Translated {
  const translator = new Translator(file.policies, options)
  for (const [i, backend] of (file.backends ?? []).entries())
    translator.addBackend(backend as unknown as FileBackend, i)
  const binds = (file.binds ?? []).map((bind, i) => translator.bind(bind, i))
  for (const shortcut of options.kinds.shortcuts) {
    const given = (file as Readonly<Record<string, unknown>>)[shortcut.key]
    if (given !== undefined) binds.push(translator.shortcut(shortcut, given))
  }
  const draft = {
    gateway: {
      ...translator.phases(file.policies),
      frontend: frontendPolicies(file.frontendPolicies, options.policies)
    },
    binds,
    backends: translator.backends,
    frontend: translateFrontend(file.frontendPolicies),
    process: translateProcess(file.config, options.env, options)
  }
  return { draft, origins: translator.origins }
}

/** Where a route stands. */
interface Around {
  readonly path: Path
  readonly listener: string
  readonly port: number
  /** Policies around it, least precise first. */
  readonly levels: readonly File['policies'][]
  /** The same by canonical names, of the phase in which the route is known. */
  readonly outer: readonly PolicySet[]
}

class Translator {
  readonly backends: Record<string, Backend> = {}
  readonly origins = new Map<string, Origin>()
  readonly #kinds: Kinds
  readonly #policies: readonly Policy[]
  readonly #keys: readonly PolicyKey[]
  readonly #sources: DocumentSources
  readonly #gateway: File['policies']
  readonly #named = new Map<string, { readonly file: FileBackend; readonly path: Path }>()
  readonly #transports: Transports
  #listeners = 0

  constructor(gateway: File['policies'], { kinds, policies, keys, sources }: TranslateOptions) {
    this.#gateway = gateway
    this.#kinds = kinds
    this.#policies = policies
    this.#keys = keys
    this.#sources = sources
    this.#transports = new Transports(sources)
  }

  addBackend(file: FileBackend, index: number): void {
    const policies = canonicalPolicies(file.policies, this.#keys)
    const path = ['backends', index]
    this.#named.set(file.name, { file, path })
    const levels = { around: null, gateway: this.#gateway, own: file.policies, reference: undefined }
    this.#add(file.name, file, path, levels, policies)
  }

  /** The backend that `file` describes, under `name`. */
  #add(name: string, file: object, path: Path, levels: PolicyLevels, policies: PolicySet = {}): void {
    const { name: key, config } = this.#kinds.keyOf(file as Record<string, unknown>)!
    const value = (file as Readonly<Record<string, unknown>>)[key]
    this.backends[name] = config.translate(key, value as never, this.#context(levels, policies))
    this.origins.set(name, { config, path: [...path, key] })
  }

  #context(levels: PolicyLevels, policies: PolicySet): TranslateContext {
    const { around, gateway, own, reference } = levels
    const outer = [...(around ?? [gateway]), own, reference]
    const transportOf = (...inner: readonly PolicySets[]) => this.#transports.of(...outer, ...inner)
    return { policies, levels, sources: this.#sources, transportOf }
  }

  bind(file: FileBind, index: number): Bind {
    return {
      port: file.port,
      transport: file.transport ?? 'auto',
      ...(file.tunnelProtocol === undefined ? {} : { tunnelProtocol: file.tunnelProtocol }),
      listeners: file.listeners.map((listener, i) =>
        this.#listener(listener, file.port, ['binds', index, 'listeners', i])
      )
    }
  }

  /** One bind with one listener, which has the policies, and one route to one backend. */
  shortcut({ key, port, backend, translate: translated, config }: KindShortcut, given: unknown): Bind {
    const file = given as FileShortcut
    const around = [this.#gateway, file.policies]
    const levels = { around, gateway: this.#gateway, own: undefined, reference: undefined }
    this.backends[backend] = translated(given as never, this.#context(levels, {}))
    this.origins.set(backend, { config, path: [key] })
    const everything = { path: { prefix: '/' }, headers: [], query: [] }
    const backends = [{ backend, weight: 1, policies: {} }]
    const route = { name: key, hostnames: [], matches: [everything], policies: {}, backends }
    const phases = this.phases(file.policies)
    const listener = { name: key, hostname: '*', ...CLEAR_TEXT, ...requestsOf(file), ...phases, routes: [route] }
    return { port: file.port ?? port, transport: 'auto', listeners: [listener] }
  }

  #listener(file: FileListener, port: number, path: Path): Listener {
    const unnamed = defaultListenerName(this.#listeners++)
    const name = file.name ?? unnamed
    const levels = [this.#gateway, file.policies]
    const outer = levels.map((sets) => policyPhases(sets, this.#keys).policies)
    return {
      name,
      hostname: file.hostname ?? '*',
      ...CLEAR_TEXT,
      protocol: file.protocol ?? 'HTTP',
      tls: translateListenerTls(file.tls, this.#sources),
      ...requestsOf(file),
      ...this.phases(file.policies),
      tcpRoutes: (file.tcpRoutes ?? []).map((route, i) => {
        const routeName = route.name ?? defaultRouteName(i)
        return translateTcpRoute(route, routeName, (at, reference) => {
          // Policies act on requests.
          const levels = { around: [], gateway: undefined, own: undefined, reference: undefined }
          const own = this.#free(`${name}/${routeName}/${at}`, port)
          this.#add(own, reference, [...path, 'tcpRoutes', i, 'backends', at], levels)
          return own
        })
      }),
      routes: (file.routes ?? []).map((route, i) =>
        this.#route(route, i, { path: [...path, 'routes', i], listener: name, port, levels, outer })
      )
    }
  }

  #route(file: FileRoute, index: number, { path, listener, port, levels, outer }: Around): RouteSpec {
    const name = file.name ?? defaultRouteName(index)
    const rule = file.ruleName
    const own = ownName({ name, rule })
    const around = { path, listener, port, levels: [...levels, file.policies], outer }
    const policies = this.#resolved(canonicalPolicies(file.policies, this.#keys))
    return {
      name,
      ...(rule === undefined ? {} : { rule }),
      hostnames: file.hostnames ?? [],
      matches: this.#served(translateMatches(file.matches), [...outer, policies]),
      policies,
      backends: (file.backends ?? []).map((reference, i) =>
        this.#reference(reference as FileReference, i, `${listener}/${own}/${i}`, around)
      )
    }
  }

  phases(sets: FileListener['policies']): PolicyPhases {
    const { policies, preRouting } = policyPhases(sets, this.#keys)
    return { policies: this.#resolved(policies), preRouting: this.#resolved(preRouting) }
  }

  #resolved(set: PolicySet): PolicySet {
    return resolvePolicies(set, this.#keys, this.#sources)
  }

  /** With what policies that act on the route serve besides. */
  #served(matches: readonly RouteMatch[], levels: readonly PolicySet[]): readonly RouteMatch[] {
    const acting = this.#policies.filter(({ name }) => levels.some((level) => level[name] !== undefined))
    const paths = matches.flatMap(({ path }) => ('regex' in path ? [] : ['exact' in path ? path.exact : path.prefix]))
    const prefixes = acting.flatMap(({ alsoServes }) => alsoServes?.(paths) ?? [])
    return [...matches, ...prefixes.map((prefix): RouteMatch => ({ path: { prefix }, headers: [], query: [] }))]
  }

  #reference(file: FileReference, index: number, place: string, around: Around): WeightedBackend {
    const backend = this.#referred(file, index, place, around)
    return { backend, weight: file.weight ?? 1, policies: canonicalPolicies(file.policies, this.#keys) }
  }

  /** The name of its backend. One of which more is said around it is a backend of this route's own. */
  #referred(file: FileReference, index: number, place: string, { path, port, levels: around }: Around): string {
    const named = file.backend === undefined ? undefined : this.#named.get(file.backend)
    const own = named?.file.policies
    const levels = { around, gateway: this.#gateway, own, reference: file.policies }
    const described = named ?? { file, path: [...path, 'backends', index] }
    if (named !== undefined && !this.#differs(named.file, levels)) return named.file.name
    const name = this.#free(place, port)
    this.#add(name, described.file, described.path, levels)
    return name
  }

  /** Whether it is reached, or made, in another way than a named backend by itself. */
  #differs(named: FileBackend, levels: PolicyLevels): boolean {
    const { around, gateway, own, reference } = levels
    const isReachedOtherwise = this.#transports.of(...around!, own, reference) !== this.#transports.of(gateway, own)
    return isReachedOtherwise || this.#kinds.configOf(named as never)!.differs(levels)
  }

  /** Names of backends have no slash, so only listeners of the same name on two ports could collide. */
  #free(place: string, port: number): string {
    return Object.hasOwn(this.backends, place) ? `${port}/${place}` : place
  }
}

/** A route without matches matches every path. */
function translateMatches(matches: FileMatches): RouteMatch[] {
  return matches === undefined || matches.length === 0 ? [translateMatch({})] : matches.map(translateMatch)
}

function translateMatch({ path, method, headers, query }: FileMatch): RouteMatch {
  return {
    path: translatePath(path),
    ...(method === undefined ? {} : { method }),
    headers: (headers ?? []).map(({ name, value }) => ({ name, value: translateValue(value) })),
    query: (query ?? []).map(({ name, value }) => ({ name, value: translateValue(value) }))
  }
}

function translatePath(path: FileMatch['path']): PathMatch {
  if (path?.exact !== undefined) return { exact: path.exact }
  if (path?.regex !== undefined) return { regex: path.regex }
  return { prefix: path?.pathPrefix ?? '/' }
}

function translateValue(value: NonNullable<FileMatch['headers']>[number]['value']): ValueMatch {
  return value.regex === undefined ? { exact: value.exact ?? '' } : { regex: value.regex }
}
