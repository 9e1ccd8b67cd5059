/** A validated configuration -> the Snapshot: names filled in, inline backends named, aliases resolved. */

import { Auths } from '#engine/contract/backend-auth/policies.ts'
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
import { Connections } from '#engine/upstream/policies/index.ts'
import { accountsOf } from './accounts.ts'
import { frontendPolicies, translateFrontend } from './frontend.ts'
import type { KindShortcut, Kinds } from './kinds.ts'
import { canonicalPolicies, type PolicyKey, policyPhases, resolvePolicies } from './policies.ts'
import { type Overrides, translateProcess } from './process.ts'
import type { Config } from './schema.ts'
import { translateTcpRoute } from './tcp-routes.ts'
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

type BindInput = NonNullable<Config['binds']>[number]
type ListenerInput = BindInput['listeners'][number]
type RouteInput = NonNullable<ListenerInput['routes']>[number]
type MatchesInput = RouteInput['matches']
type MatchInput = NonNullable<MatchesInput>[number]
/** Names of policies and what they say. */
type PoliciesInput = Readonly<Record<string, unknown>>

interface ReferenceInput {
  readonly backend?: string | undefined
  readonly weight?: number | undefined
  readonly policies?: PoliciesInput | undefined
}

interface BackendInput {
  readonly name: string
  readonly policies?: PoliciesInput | undefined
}

interface ShortcutInput extends FileRequestRules {
  readonly port?: number | undefined
  readonly policies?: Config['policies']
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

export function translate(input: Config, options: TranslateOptions): Translated {
  const translator = new Translator(input.policies, options, hasKeysOf(input))
  for (const [i, backend] of (input.backends ?? []).entries())
    translator.addBackend(backend as unknown as BackendInput, i)
  const binds = (input.binds ?? []).map((bind, i) => translator.bind(bind, i))
  for (const shortcut of options.kinds.shortcuts) {
    const value = (input as Readonly<Record<string, unknown>>)[shortcut.key]
    if (value !== undefined) binds.push(translator.shortcut(shortcut, value))
  }
  const accounts = accountsOf(input)
  const draft = {
    gateway: {
      ...translator.phases(input.policies),
      frontend: frontendPolicies(input.frontendPolicies, input.config, options.policies, options.sources)
    },
    binds,
    backends: translator.backends,
    frontend: translateFrontend(input.frontendPolicies),
    ...(accounts === undefined ? {} : { accounts }),
    process: translateProcess(input.config, options.env, options)
  }
  return { draft, origins: translator.origins }
}

/** In the file, or by the API, which keeps them in `config.state`: what is made there later closes nothing then. */
const hasKeysOf = ({ keys, config }: Config): boolean => keys !== undefined || config?.state !== undefined

/** Where a route stands. */
interface Around {
  readonly path: Path
  readonly listener: string
  readonly port: number
  /** Policies around it, least precise first. */
  readonly levels: readonly Config['policies'][]
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
  readonly #gateway: Config['policies']
  readonly #named = new Map<string, { readonly input: BackendInput; readonly path: Path }>()
  readonly #transports: Connections
  readonly #auths: Auths
  /** The configuration has keys of clients. */
  readonly #hasKeys: boolean
  #listeners = 0

  constructor(gateway: Config['policies'], { kinds, policies, keys, sources }: TranslateOptions, hasKeys: boolean) {
    this.#hasKeys = hasKeys
    this.#gateway = gateway
    this.#kinds = kinds
    this.#policies = policies
    this.#keys = keys
    this.#sources = sources
    this.#transports = new Connections(new Transports(sources))
    this.#auths = new Auths(sources)
  }

  addBackend(input: BackendInput, index: number): void {
    const policies = canonicalPolicies(input.policies, this.#keys)
    const path = ['backends', index]
    this.#named.set(input.name, { input, path })
    const levels = { around: null, gateway: this.#gateway, own: input.policies, reference: undefined }
    this.#add(input.name, input, path, levels, policies)
  }

  /** The backend that `input` describes, under `name`. */
  #add(name: string, input: object, path: Path, levels: PolicyLevels, policies: PolicySet = {}): void {
    const { name: key, config } = this.#kinds.keyOf(input as Record<string, unknown>)!
    const value = (input as Readonly<Record<string, unknown>>)[key]
    this.backends[name] = config.translate(key, value as never, this.#context(levels, policies))
    this.origins.set(name, { config, path: [...path, key] })
  }

  #context(levels: PolicyLevels, policies: PolicySet): TranslateContext {
    const { around, gateway, own, reference } = levels
    const outer = [...(around ?? [gateway]), own, reference]
    const transportOf = (...inner: readonly PolicySets[]) => this.#transports.of(...outer, ...inner)
    const authOf = (...inner: readonly PolicySets[]) => this.#auths.of(levels, ...inner)
    return { policies, levels, sources: this.#sources, transportOf, authOf }
  }

  bind(input: BindInput, index: number): Bind {
    return {
      port: input.port,
      transport: input.transport ?? 'auto',
      ...(input.tunnelProtocol === undefined ? {} : { tunnelProtocol: input.tunnelProtocol }),
      listeners: input.listeners.map((listener, i) =>
        this.#listener(listener, input.port, ['binds', index, 'listeners', i])
      )
    }
  }

  /** One bind with one listener, which has the policies, and one route to one backend. */
  shortcut(shortcut: KindShortcut, value: unknown): Bind {
    const { key, port, backend, translate: translated, config } = shortcut
    const input = value as ShortcutInput
    const around = [this.#gateway, input.policies]
    const levels = { around, gateway: this.#gateway, own: undefined, reference: undefined }
    this.backends[backend] = translated(value as never, this.#context(levels, {}))
    this.origins.set(backend, { config, path: [key] })
    const everything = { path: { prefix: '/' }, headers: [], query: [] }
    const backends = [{ backend, weight: 1, policies: {} }]
    const route = { name: key, hostnames: [], matches: [everything], policies: {}, backends }
    const phases = this.#withImplied(shortcut, this.phases(input.policies))
    const listener = { name: key, hostname: '*', ...CLEAR_TEXT, ...requestsOf(input), ...phases, routes: [route] }
    return { port: input.port ?? port, transport: 'auto', listeners: [listener] }
  }

  /** Keys are asked for where they are meant for, unless the file says how itself. */
  #withImplied({ asksForKeys }: KindShortcut, phases: PolicyPhases): PolicyPhases {
    if (!this.#hasKeys || asksForKeys !== true) return phases
    const around = this.phases(this.#gateway)
    const implied = this.#policies.filter(({ name, isImpliedByKeys }) => {
      return (
        isImpliedByKeys === true &&
        [phases, around].every((one) => !(name in one.policies) && !(name in one.preRouting))
      )
    })
    const added = implied.map(({ name, schema }): [string, unknown] => [name, schema.parse({})])
    return { ...phases, policies: { ...this.#resolved(Object.fromEntries(added)), ...phases.policies } }
  }

  #listener(input: ListenerInput, port: number, path: Path): Listener {
    const unnamed = defaultListenerName(this.#listeners++)
    const name = input.name ?? unnamed
    const levels = [this.#gateway, input.policies]
    const outer = levels.map((sets) => policyPhases(sets, this.#keys).policies)
    return {
      name,
      hostname: input.hostname ?? '*',
      ...CLEAR_TEXT,
      protocol: input.protocol ?? 'HTTP',
      tls: translateListenerTls(input.tls, this.#sources),
      ...requestsOf(input),
      ...this.phases(input.policies),
      tcpRoutes: (input.tcpRoutes ?? []).map((route, i) => {
        const routeName = route.name ?? defaultRouteName(i)
        return translateTcpRoute(route, routeName, (at, reference) => {
          // Policies act on requests.
          const levels = { around: [], gateway: undefined, own: undefined, reference: undefined }
          const own = this.#free(`${name}/${routeName}/${at}`, port)
          this.#add(own, reference, [...path, 'tcpRoutes', i, 'backends', at], levels)
          return own
        })
      }),
      routes: (input.routes ?? []).map((route, i) =>
        this.#route(route, i, { path: [...path, 'routes', i], listener: name, port, levels, outer })
      )
    }
  }

  #route(input: RouteInput, index: number, { path, listener, port, levels, outer }: Around): RouteSpec {
    const name = input.name ?? defaultRouteName(index)
    const rule = input.ruleName
    const own = ownName({ name, rule })
    const around = { path, listener, port, levels: [...levels, input.policies], outer }
    const policies = this.#resolved(canonicalPolicies(input.policies, this.#keys))
    return {
      name,
      ...(rule === undefined ? {} : { rule }),
      hostnames: input.hostnames ?? [],
      matches: this.#served(translateMatches(input.matches), [...outer, policies]),
      policies,
      backends: (input.backends ?? []).map((reference, i) =>
        this.#reference(reference as ReferenceInput, i, `${listener}/${own}/${i}`, around)
      )
    }
  }

  phases(sets: ListenerInput['policies']): PolicyPhases {
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

  #reference(input: ReferenceInput, index: number, place: string, around: Around): WeightedBackend {
    const backend = this.#referred(input, index, place, around)
    return { backend, weight: input.weight ?? 1, policies: canonicalPolicies(input.policies, this.#keys) }
  }

  /** The name of its backend. With more policies around it, it is a backend of this route's own. */
  #referred(input: ReferenceInput, index: number, place: string, { path, port, levels: around }: Around): string {
    const named = input.backend === undefined ? undefined : this.#named.get(input.backend)
    const own = named?.input.policies
    const levels = { around, gateway: this.#gateway, own, reference: input.policies }
    const described = named ?? { input, path: [...path, 'backends', index] }
    if (named !== undefined && !this.#differs(named.input, levels)) return named.input.name
    const name = this.#free(place, port)
    this.#add(name, described.input, described.path, levels)
    return name
  }

  /** Whether it is reached, or made, in another way than a named backend by itself. */
  #differs(named: BackendInput, levels: PolicyLevels): boolean {
    const { around, gateway, own, reference } = levels
    const isReachedOtherwise = this.#transports.of(...around!, own, reference) !== this.#transports.of(gateway, own)
    const isShownOtherwise = this.#auths.of(levels) !== this.#auths.of({ ...levels, around: null })
    return isReachedOtherwise || isShownOtherwise || this.#kinds.configOf(named as never)!.differs(levels)
  }

  /** Names of backends have no slash, so only listeners of the same name on two ports could collide. */
  #free(place: string, port: number): string {
    return Object.hasOwn(this.backends, place) ? `${port}/${place}` : place
  }
}

/** A route without matches matches every path. */
function translateMatches(matches: MatchesInput): RouteMatch[] {
  return matches === undefined || matches.length === 0 ? [translateMatch({})] : matches.map(translateMatch)
}

function translateMatch({ path, method, headers, query }: MatchInput): RouteMatch {
  return {
    path: translatePath(path),
    ...(method === undefined ? {} : { method }),
    headers: (headers ?? []).map(({ name, value }) => ({ name, value: translateValue(value) })),
    query: (query ?? []).map(({ name, value }) => ({ name, value: translateValue(value) }))
  }
}

function translatePath(path: MatchInput['path']): PathMatch {
  if (path?.exact !== undefined) return { exact: path.exact }
  if (path?.regex !== undefined) return { regex: path.regex }
  return { prefix: path?.pathPrefix ?? '/' }
}

function translateValue(value: NonNullable<MatchInput['headers']>[number]['value']): ValueMatch {
  return value.regex === undefined ? { exact: value.exact ?? '' } : { regex: value.regex }
}
