/** The file's `llm` -> a backend of models. */

import { placeOf } from '#backends/llm/config/base-url.ts'
import { cacheOf } from '#backends/llm/config/cache.ts'
import { editsOf, type FileEdits, overriddenModel } from '#backends/llm/config/edits.ts'
import { failoverOf } from '#backends/llm/config/failover.ts'
import { translateGuards } from '#backends/llm/config/guards.ts'
import { providerOf } from '#backends/llm/config/providers.ts'
import { RANKINGS, rankingOf } from '#backends/llm/config/ranking.ts'
import { translateRoutes } from '#backends/llm/config/routes.ts'
import { shadowOf } from '#backends/llm/config/shadow.ts'
import type { AiBackend, AiProvider, AiRanking, ModelsBackend } from '#backends/llm/config/snapshot.ts'
import { storedOf } from '#backends/llm/config/stored.ts'
import { continuationsOf, silenceOf } from '#backends/llm/config/streams.ts'
import { starFilled } from '#backends/llm/edits/model-patterns.ts'
import { CLIENT_FORMATS } from '#backends/llm/formats/index.ts'
import type { DialectName } from '#backends/llm/providers/compatible.ts'
import type { FileDialect } from '#backends/llm/providers/dialect/schema.ts'
import { OPERATIONS } from '#backends/llm/routes/operations.ts'
import { keyAuth } from '#engine/contract/backend-auth/schema.ts'
import type { TranslateContext } from '#engine/contract/backend-config.ts'
import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import type { DocumentSources } from '#engine/contract/policy.ts'
import { rowsOf } from '#engine/prices/schema.ts'
import { KINDS, PRESETS } from './presets.ts'
import type { LlmChanges, LlmFile, LlmModel, LlmParams, LlmProvider } from './schema.ts'
import { serving } from './serving.ts'
import type { LlmVirtual } from './virtual.ts'

type Routing = Pick<AiBackend, 'ranking' | 'fallbacks' | 'shadow'>

const ROUTES = translateRoutes({
  ...Object.fromEntries(CLIENT_FORMATS.flatMap(({ routeType, pathEnds }) => pathEnds.map((end) => [end, routeType]))),
  ...Object.fromEntries(OPERATIONS.flatMap(({ type, pathEnds }) => pathEnds.map((end) => [end, type]))),
  '*': 'Passthrough'
})

export function llmBackend(file: LlmFile, { policies, sources, transportOf }: TranslateContext): ModelsBackend {
  const transport = transportOf()
  const providers = new Map((file.providers ?? []).map((provider) => [provider.name, provider]))
  const reached = file.models.map((model) => starred(model.name, reach(model, providers, transport), file.modelAliases))
  const cache = cacheOf(file.cache, (model) => named(model, `embeddings/${model}`, reached))
  const backend = (groups: AiBackend['groups'], models: readonly LlmModel[], more: Routing = {}): AiBackend => ({
    kind: 'ai',
    groups,
    ...more,
    cache,
    stored: storedOf(file.stored),
    failover: failoverOf(file.failover),
    routes: ROUTES,
    // A name that only stands for another is not what a provider knows.
    modelAliases: file.modelAliases ?? {},
    unsupported: file.unsupported ?? 'tolerant',
    silence: silenceOf(file.streams),
    continuations: continuationsOf(file.streams),
    promptGuard: guardsOf(file, models, sources),
    prices: rowsOf(file.prices) ?? [],
    policies: {}
  })
  const targetsOf = (targets: Targets, { fallbacks = [], shadow }: Followed, ranking?: AiRanking) => {
    const others = fallbacks.map(({ on, models }, i) => ({ on, providers: listOf(models, reached, `fallback ${i}/`) }))
    const more = [...fallbacks.flatMap(({ models }) => models), ...(shadow === undefined ? [] : [shadow.model])]
    const all = [...targets, ...more.map((model) => ({ model }))]
    const copies =
      shadow === undefined ? {} : { shadow: shadowOf(shadow, named(shadow.model, `shadow/${shadow.model}`, reached)) }
    return backend(groupsOf(targets, reached), servingAll(file.models, all), { ranking, fallbacks: others, ...copies })
  }
  const models = file.models.map((model, i) => {
    const { name, visibility = 'public', fallbacks } = model
    const alone = () => backend([[reached[i]!]], [model])
    const one = fallbacks === undefined ? alone() : targetsOf([name, ...fallbacks].map(byPlace), {})
    return { name, isPublic: visibility === 'public', backend: one }
  })
  const virtual = file.virtualModels ?? []
  const groups = virtual.flatMap((model) => {
    const { name, routing } = model
    const { targets } = routing[GROUPED.find((kind) => routing[kind] !== undefined) ?? 'failover'] ?? {}
    const ranking = rankingOf(routing)
    return targets === undefined ? [] : [{ name, isPublic: true, backend: targetsOf(targets, model, ranking) }]
  })
  const splits = virtual.flatMap((model) => splitOf(model, (targets) => targetsOf(targets, model)))
  return {
    kind: 'models',
    models: [...models, ...groups],
    splits,
    aliases: file.modelAliases ?? {},
    routes: ROUTES,
    policies
  }
}

/** Virtual models that are one backend with a group for each priority. */
const GROUPED = ['failover', ...RANKINGS] as const

type Followed = Pick<LlmVirtual, 'fallbacks' | 'shadow'>

const byPlace = (model: string, priority: number) => ({ model, priority })

type Split = ModelsBackend['splits'][number]

/** Virtual models that are several backends, of which each request gets one; none: it is not such a one. */
function splitOf({ name, routing }: LlmVirtual, backendOf: (targets: Targets) => AiBackend): Split[] {
  const { weighted, conditional, canary } = routing
  if (canary !== undefined) {
    const { model, to, percent, key } = canary
    // The new one may fail, and nobody is to notice.
    const tried = backendOf([{ model: to }, { model, priority: 1 }])
    const targets = [
      { weight: 100 - percent, backend: backendOf([{ model }]) },
      { weight: percent, backend: tried }
    ]
    return [{ name, strategy: 'canary', key, targets }]
  }
  const all = (weighted ?? conditional)?.targets
  if (all === undefined) return []
  const targets = all.map(({ model, weight = 1, when }) => ({ weight, when, backend: backendOf([{ model }]) }))
  return [{ name, strategy: weighted === undefined ? 'conditional' : 'weighted', targets }]
}

/** The models behind `targets`, each once. */
function servingAll(models: readonly LlmModel[], targets: Targets): LlmModel[] {
  return [...new Set(targets.map(({ model }) => serving(models, model)!))]
}

/**
 * Of the port, and then of each model that may be asked: guards act once, ahead of the choice among them, so what one
 * of them may not see none does.
 */
function guardsOf(
  { promptGuard }: LlmFile,
  models: readonly LlmModel[],
  sources: DocumentSources
): AiBackend['promptGuard'] {
  const all = [promptGuard, ...models.map((model) => model.promptGuard)].map((guards) =>
    translateGuards(guards, sources)
  )
  return { request: all.flatMap(({ request }) => request), response: all.flatMap(({ response }) => response) }
}

type Targets = readonly { readonly model: string; readonly priority?: number | undefined }[]

/** By priority, the lowest number first. Names of providers are unique over all groups. */
function groupsOf(targets: Targets, reached: readonly AiProvider[]): AiProvider[][] {
  const groups = new Map<number, AiProvider[]>()
  targets.forEach(({ model, priority = 0 }, i) => {
    const provider = named(model, `${model}/${i}`, reached)
    const group = groups.get(priority)
    if (group === undefined) groups.set(priority, [provider])
    else group.push(provider)
  })
  return [...groups].sort(([a], [b]) => a - b).map(([, group]) => group)
}

const listOf = (models: readonly string[], reached: readonly AiProvider[], prefix: string): AiProvider[] =>
  models.map((model, i) => named(model, `${prefix}${model}/${i}`, reached))

function named(model: string, name: string, reached: readonly AiProvider[]): AiProvider {
  const provider = serving(reached, model)!
  // Without another name for the provider, it gets the name that the target has in the file.
  return { ...provider, name, called: model, model: provider.model ?? nameAt(provider, model) }
}

/** What the provider of a pattern calls the model that `name` is one of. */
function nameAt({ name: pattern, modelAliases }: AiProvider, name: string): string {
  const to = modelAliases?.[pattern]
  return to === undefined ? name : starFilled(to, pattern, name)
}

/** The star of params.model stands for what that of the name does, also where an alias has led to the name. */
function starred(pattern: string, provider: AiProvider, aliases: LlmFile['modelAliases'] = {}): AiProvider {
  const { model } = provider
  if (model === null || !model.includes('*')) return provider
  const known = Object.entries(aliases).filter(([, name]) => serving([{ name: pattern }], name) !== undefined)
  const led = known.map(([alias, name]) => [alias, starFilled(model, pattern, name)] as const)
  return { ...provider, model: null, modelAliases: { ...Object.fromEntries(led), [pattern]: model } }
}

/** The provider of a model, with everything that it says, or that the one says which it refers to. */
function reach(
  model: LlmModel,
  providers: ReadonlyMap<string, LlmProvider>,
  transport: BackendTransport | undefined
): AiProvider {
  const { provider: choice } = model
  const outer = typeof choice === 'object' && choice.reference !== undefined ? providers.get(choice.reference)! : null
  const params: LlmParams = { ...outer?.params, ...defined(model.params ?? {}) }
  const own: FileEdits = { ...changesOf(model), prompt: model.prompt }
  const shared = changesOf(outer?.defaults ?? {})
  const { file, pathPrefix } = fileProvider(outer?.provider ?? choice, params)
  const { apiKey } = params
  const auth = apiKey === undefined ? undefined : keyAuth(apiKey)
  const provider = providerOf({ ...file, name: model.name }, {}, { transport, auth })
  return {
    ...provider,
    model: overriddenModel(own, shared) ?? provider.model,
    edits: editsOf(own, shared),
    contextTokens: model.contextTokens,
    prices: rowsOf(model.prices),
    pathPrefix
  }
}

function changesOf({ defaults, overrides, promptCaching }: LlmChanges): FileEdits {
  const list = (map: Readonly<Record<string, unknown>> | undefined) =>
    map === undefined ? undefined : Object.entries(map).map(([field, value]) => ({ field, value }))
  return { defaults: list(defaults), overrides: list(overrides), promptCaching }
}

/** As an `ai` backend would say it; and where its paths begin. */
function fileProvider(choice: LlmProvider['provider'], params: LlmParams) {
  const preset = typeof choice === 'string' ? PRESETS.get(choice) : undefined
  const baseUrl = params.baseUrl ?? (params.host === undefined ? preset?.baseUrl : undefined)
  const { model } = params
  const kind = typeof choice === 'string' ? KINDS.get(choice) : undefined
  const fields =
    kind !== undefined
      ? { [kind.name]: { model, ...kind.shortcut?.fields?.(params) } }
      : { custom: { model, formats: typeof choice === 'string' ? undefined : choice.custom!.formats } }
  const address = addressOf({ ...params, baseUrl })
  const { hasTls, pathPrefix, ...place } = address
  // The API of a service begins where its address ends; that of a file's address, without a path, at /v1.
  const ownPrefix =
    params.baseUrl === undefined && preset?.baseUrl !== undefined && params.host === undefined ? '' : null
  const policies = { tls: hasTls ? {} : undefined }
  const dialect = dialectIn(params, preset?.dialect)
  return {
    file: { ...fields, ...place, path: params.path, dialect, policies },
    pathPrefix: params.pathPrefix ?? pathPrefix ?? ownPrefix
  }
}

/** What a file changes is changed in that of the service. */
function dialectIn({ dialect }: LlmParams, base: DialectName | undefined): FileDialect | undefined {
  return typeof dialect === 'object' ? { base, ...dialect } : (dialect ?? base)
}

function addressOf({ baseUrl, host, port }: LlmParams) {
  return baseUrl === undefined ? { host, port, hasTls: false, pathPrefix: null } : placeOf(baseUrl)
}

function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>
}
