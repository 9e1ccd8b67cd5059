/**
 * What the providers of a port keep, of all its models: a backend with each account once, which knows the clients'
 * names of the models there.
 */
import type { AiBackend, AiProvider, ModelsBackend } from '#backends/llm/config/snapshot.ts'
import { ModelPatterns } from '#backends/llm/edits/model-patterns.ts'
import { compileProvider } from '#backends/llm/providers/index.ts'
import { providerModel } from '#backends/llm/request/provider-request.ts'
import { type Store, storesOf } from './stores.ts'

const providersOf = ({ groups, fallbacks = [] }: AiBackend): AiProvider[] => [
  ...groups.flat(),
  ...fallbacks.flatMap(({ providers }) => providers)
]

const backendsOf = ({ models, splits }: ModelsBackend): AiBackend[] => [
  ...models.map(({ backend }) => backend),
  ...splits.flatMap(({ targets }) => targets.map(({ backend }) => backend))
]

/** All providers of the port: ids of each of them may come to any of its models. */
export const providersOfPort = (port: ModelsBackend): readonly AiProvider[] => backendsOf(port).flatMap(providersOf)

/** `secret`: of the process. */
export function storedOfPort(port: ModelsBackend, secret: Uint8Array): AiBackend {
  const all = providersOfPort(port)
  const [first] = backendsOf(port) as [AiBackend, ...AiBackend[]]
  const stores = storesOf({ groups: [all], stored: first.stored }, secret)
  const accounts = new Map<Store, { readonly provider: AiProvider; readonly names: Map<string, string> }>()
  for (const [name, backend] of namedBackends(port)) {
    for (const provider of providersOf(backend)) {
      const store = stores.get(provider)!
      const account = accounts.get(store) ?? { provider, names: new Map<string, string>() }
      accounts.set(store, account)
      if (!account.names.has(name)) account.names.set(name, modelOf(provider, name))
    }
  }
  const groups = [...accounts.values()].map(({ provider, names }): AiProvider[] => {
    return [{ ...provider, model: null, modelAliases: withAliases(names, port.aliases) }]
  })
  const guards = backendsOf(port).map(({ promptGuard }) => promptGuard)
  const among = [...all, ...groups.flat()]
  return {
    ...first,
    // Who keeps answers keeps most: OpenAI's own ahead of those that speak some of its formats.
    groups: groups.toSorted(([a], [b]) => Number(keepsAnswers(b!)) - Number(keepsAnswers(a!))),
    fallbacks: [],
    ranking: undefined,
    cache: undefined,
    shadow: undefined,
    modelAliases: {},
    promptGuard: {
      request: guards.flatMap(({ request }) => request),
      response: guards.flatMap(({ response }) => response)
    },
    stored: { ...first.stored, among, isClosed: true }
  }
}

const keepsAnswers = (provider: AiProvider): boolean => compileProvider(provider).formats('').includes('responses')

/** By the names that clients may use. */
function namedBackends({ models, splits }: ModelsBackend): (readonly [name: string, backend: AiBackend])[] {
  return [
    ...models.flatMap(({ name, isPublic, backend }) => (isPublic ? [[name, backend] as const] : [])),
    ...splits.flatMap(({ name, targets }) => targets.map(({ backend }) => [name, backend] as const))
  ]
}

/** What the provider calls the model, with its star where the name is a pattern. */
function modelOf({ model, modelAliases, name: own }: AiProvider, name: string): string {
  return model ?? modelAliases?.[name] ?? modelAliases?.[own] ?? name
}

/** Names that only stand for others. */
function withAliases(names: ReadonlyMap<string, string>, aliases: ModelsBackend['aliases']): Record<string, string> {
  const known = new ModelPatterns(names)
  const led = Object.entries(aliases).flatMap(([alias, name]) =>
    known.find(name) === undefined ? [] : [[alias, providerModel(name, null, known)] as const]
  )
  return { ...Object.fromEntries(names), ...Object.fromEntries(led) }
}
