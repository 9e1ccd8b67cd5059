/** A validated file -> the Snapshot: names filled in, inline backends named, aliases resolved. */
import { isDeepStrictEqual } from 'node:util'
import { Transports } from '#engine/contract/backend-transport/policies.ts'
import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import type { DocumentSources, Policy } from '#engine/contract/policy.ts'
import { addRules } from '#engine/ir/mcp-rules.ts'
import { CLEAR_TEXT } from '#engine/ir/plain.ts'
import {
  type Backend,
  type Bind,
  type DynamicBackend,
  type Listener,
  type McpRules,
  ownName,
  type PathMatch,
  type PolicyPhases,
  type PolicySet,
  type RouteMatch,
  type RouteSpec,
  type Snapshot,
  type StaticBackend,
  type ValueMatch,
  type WeightedBackend
} from '#engine/ir/snapshot.ts'
import type { Target } from '#engine/schema/net.ts'
import { requestsOf } from '#engine/schema/request-rules.ts'
import { translateAi } from './ai/index.ts'
import { mergedModelPolicies } from './ai/policies.ts'
import type { File } from './file.ts'
import { frontendPolicies, translateFrontend } from './file-frontend.ts'
import { canonicalPolicies, type PolicyKey, policyPhases, resolvePolicies } from './file-policies.ts'
import { type Overrides, translateProcess } from './file-process.ts'
import { translateTcpRoute } from './file-tcp.ts'
import { mergedHttp } from './http/policies.ts'
import { LLM_BACKEND, llmBackend, llmBind } from './llm/translate.ts'
import { mergedRules } from './mcp/policies.ts'
import { MCP_BACKEND, mcpBind, translateMcp } from './mcp/translate.ts'
import { withWellKnown } from './mcp/well-known.ts'
import { translateListenerTls } from './tls/schema.ts'
import { defaultListenerName, defaultRouteName } from './walk.ts'

/** What a source gives; version, hash and time are those of the moment it is accepted. */
export type SnapshotDraft = Omit<Snapshot, 'version' | 'hash' | 'acceptedAt'>

export interface TranslateOptions {
  readonly policies: readonly Policy[]
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
type FileReference = NonNullable<FileRoute['backends']>[number]
type FileBackend = NonNullable<File['backends']>[number]
type FileMcp = NonNullable<FileBackend['mcp']>
/** Servers that are spoken to as they are, and not as what they offer. */
type PlainBackend = StaticBackend | DynamicBackend
/** Policies of one place. */
type Sets = Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[] | undefined

export function translate(file: File, options: TranslateOptions): SnapshotDraft {
  const translator = new Translator(file.policies, options)
  for (const backend of file.backends ?? []) translator.addBackend(backend)
  const binds = (file.binds ?? []).map((bind) => translator.bind(bind))
  if (file.llm !== undefined) binds.push(translator.llm(file.llm))
  if (file.mcp !== undefined) binds.push(translator.mcp(file.mcp))
  return {
    gateway: {
      ...translator.phases(file.policies),
      frontend: frontendPolicies(file.frontendPolicies, options.policies)
    },
    binds,
    backends: translator.backends,
    frontend: translateFrontend(file.frontendPolicies),
    process: translateProcess(file.config, options.env, options)
  }
}

/** Where a route stands. */
interface Around {
  readonly listener: string
  readonly port: number
  /** Policies around it, least precise first. */
  readonly levels: readonly File['policies'][]
  /** The same by canonical names, of the phase in which the route is known. */
  readonly outer: readonly PolicySet[]
}

class Translator {
  readonly backends: Record<string, Backend> = {}
  readonly #keys: readonly PolicyKey[]
  readonly #sources: DocumentSources
  readonly #gateway: File['policies']
  readonly #files = new Map<string, FileBackend>()
  readonly #transports: Transports
  #listeners = 0

  constructor(gateway: File['policies'], { keys, sources }: TranslateOptions) {
    this.#gateway = gateway
    this.#keys = keys
    this.#sources = sources
    this.#transports = new Transports(sources)
  }

  addBackend(file: FileBackend): void {
    const policies = canonicalPolicies(file.policies, this.#keys)
    this.#files.set(file.name, file)
    if (file.ai !== undefined) {
      const outer = mergedModelPolicies([file.policies])
      this.backends[file.name] = translateAi(file.ai, policies, outer, this.#within(this.#gateway, file.policies))
      return
    }
    if (file.mcp !== undefined) {
      const rules = mergedRules([file.policies])
      this.backends[file.name] = this.#mcp(file.mcp, policies, rules, [this.#gateway, file.policies])
      return
    }
    const dynamic = file.dynamic ?? file.dynamicForwardProxy
    const target = file.host ?? (file.static && { ...file.static, unixPath: null })
    const plain: PlainBackend =
      target === undefined
        ? { kind: 'dynamic', allowAddresses: dynamic?.allowAddresses ?? [], policies }
        : staticBackend(target, policies)
    this.backends[file.name] = this.#reached(plain, [this.#gateway, file.policies])
  }

  /** What is said of connections around something that may say more of it. */
  #within(...outer: readonly Sets[]): (...own: readonly Sets[]) => BackendTransport | undefined {
    return (...own) => this.#transports.of(...outer, ...own)
  }

  #mcp(...[file, policies, rules, outer]: [FileMcp, PolicySet, McpRules | null, readonly Sets[]]): Backend {
    return translateMcp(file, policies, rules, this.#sources, this.#within(...outer))
  }

  /** `levels`: least precise first. */
  #reached(plain: PlainBackend, levels: readonly Sets[]): PlainBackend {
    const transport = this.#transports.of(...levels)
    const { transport: _, http: __, ...others } = plain
    const http = mergedHttp(levels)
    return { ...others, ...(transport === undefined ? {} : { transport }), ...(http === null ? {} : { http }) }
  }

  bind(file: FileBind): Bind {
    return {
      port: file.port,
      transport: file.transport ?? 'auto',
      ...(file.tunnelProtocol === undefined ? {} : { tunnelProtocol: file.tunnelProtocol }),
      listeners: file.listeners.map((listener) => this.#listener(listener, file.port))
    }
  }

  llm(file: NonNullable<File['llm']>): Bind {
    this.backends[LLM_BACKEND] = llmBackend(file, {}, this.#transports.of(this.#gateway, file.policies))
    return llmBind(file, this.phases(file.policies))
  }

  mcp(file: NonNullable<File['mcp']>): Bind {
    const rules = mergedRules([this.#gateway, file.policies])
    this.backends[MCP_BACKEND] = this.#mcp(file, {}, rules, [this.#gateway, file.policies])
    return mcpBind(file, this.phases(file.policies))
  }

  #listener(file: FileListener, port: number): Listener {
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
        const around = { listener: name, port, levels, outer }
        return translateTcpRoute(route, routeName, (at, backend) =>
          this.#own(`${name}/${routeName}/${at}`, around, backend)
        )
      }),
      routes: (file.routes ?? []).map((route, i) => this.#route(route, i, { listener: name, port, levels, outer }))
    }
  }

  #route(file: FileRoute, index: number, { listener, port, levels, outer }: Around): RouteSpec {
    const name = file.name ?? defaultRouteName(index)
    const rule = file.ruleName
    const own = ownName({ name, rule })
    const around = { listener, port, levels: [...levels, file.policies], outer }
    const policies = this.#resolved(canonicalPolicies(file.policies, this.#keys))
    return {
      name,
      ...(rule === undefined ? {} : { rule }),
      hostnames: file.hostnames ?? [],
      matches: withWellKnown(translateMatches(file.matches), [...outer, policies]),
      policies,
      backends: (file.backends ?? []).map((reference, i) =>
        this.#reference(reference, `${listener}/${own}/${i}`, around)
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

  #reference(file: FileReference, place: string, around: Around): WeightedBackend {
    const backend = this.#named(file, place, around) ?? this.#inline(file, place, around)
    return { backend, weight: file.weight ?? 1, policies: canonicalPolicies(file.policies, this.#keys) }
  }

  /** Of a backend by name. Models of which more is said around it are a backend of this route's own. */
  #named(file: FileReference, place: string, around: Around): string | undefined {
    const named = file.backend === undefined ? undefined : this.#files.get(file.backend)
    const outer = [...around.levels, named?.policies, file.policies]
    if (named?.mcp !== undefined) {
      const rules = mergedRules([...around.levels, file.policies])
      if (rules === null && !this.#isOtherwise(named, outer)) return file.backend
      const all = addRules(mergedRules([named.policies]), rules)
      return this.#own(place, around, this.#mcp(named.mcp, {}, all, outer))
    }
    if (named === undefined) return file.backend
    const isOtherwise = this.#isOtherwise(named, outer)
    if (named.ai === undefined) {
      const plain = this.backends[named.name] as PlainBackend
      const isSpokenOtherwise = !isDeepStrictEqual(mergedHttp(outer), mergedHttp([this.#gateway, named.policies]))
      return isOtherwise || isSpokenOtherwise ? this.#own(place, around, this.#reached(plain, outer)) : file.backend
    }
    const policies = mergedModelPolicies(outer)
    const hasMore = Object.entries(policies).some(
      ([field, value]) => mergedModelPolicies([named.policies])[field as keyof typeof policies] !== value
    )
    if (!hasMore && !isOtherwise) return file.backend
    return this.#own(place, around, translateAi(named.ai, {}, policies, this.#within(...outer)))
  }

  /** Whether connections of a route are made in another way than those of a backend that it names. */
  #isOtherwise(named: FileBackend, outer: readonly Sets[]): boolean {
    return this.#transports.of(...outer) !== this.#transports.of(this.#gateway, named.policies)
  }

  #inline(file: FileReference, place: string, around: Around): string {
    const { host, dynamic, ai, mcp } = file
    const levels = [...around.levels, file.policies]
    const outer = mergedModelPolicies(levels)
    if (ai !== undefined) return this.#own(place, around, translateAi(ai, {}, outer, this.#within(...levels)))
    if (mcp !== undefined) {
      return this.#own(place, around, this.#mcp(mcp, {}, mergedRules(levels), levels))
    }
    if (host !== undefined) return this.#own(place, around, this.#reached(staticBackend(host, {}), levels))
    const allowAddresses = dynamic?.allowAddresses ?? []
    return this.#own(place, around, this.#reached({ kind: 'dynamic', allowAddresses, policies: {} }, levels))
  }

  /** Names of backends have no slash, so only listeners of the same name on two ports could collide. */
  #own(place: string, { port }: Around, backend: Backend): string {
    const name = Object.hasOwn(this.backends, place) ? `${port}/${place}` : place
    this.backends[name] = backend
    return name
  }
}

function staticBackend({ host, port, unixPath }: Target, policies: Backend['policies']): PlainBackend {
  return { kind: 'static', host, port, unixPath, policies }
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
