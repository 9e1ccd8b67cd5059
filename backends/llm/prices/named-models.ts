/** Which models a configuration names, by the names that providers have for them: what `weir prices check` looks up. */
import type { AiBackend, AiProvider, ModelsBackend } from '#backends/llm/config/snapshot.ts'
import { ModelPatterns } from '#backends/llm/edits/model-patterns.ts'
import type { NamedModel } from '#engine/contract/price-list.ts'
import { priceProvider, TELLERS } from './provider-prices.ts'

/** Of all its providers, those of fallbacks too. */
export const modelsOfBackend = (backend: AiBackend): readonly NamedModel[] => modelsOf(backend, null)

export function modelsOfDispatcher({ models, splits }: ModelsBackend): readonly NamedModel[] {
  const targets = splits.flatMap((split) => split.targets)
  return [
    ...models.flatMap(({ name, backend }) => modelsOf(backend, name.includes('*') ? null : name)),
    ...targets.flatMap(({ backend }) => modelsOf(backend, null))
  ]
}

/** `named`: the only model that clients get there; null: the one that they name. */
function modelsOf(backend: AiBackend, named: string | null): readonly NamedModel[] {
  const fallbacks = (backend.fallbacks ?? []).flatMap(({ providers }) => providers)
  return [...backend.groups.flat(), ...fallbacks].flatMap((provider) => modelsOfProvider(provider, backend, named))
}

function modelsOfProvider(provider: AiProvider, backend: AiBackend, named: string | null): readonly NamedModel[] {
  const { type, dialect, host } = provider
  const name = priceProvider(type, dialect, host)
  const otherwise = TELLERS.has(name) ? 'provider' : type === 'azureopenai' ? 'answer' : 'nothing'
  const own = provider.prices ?? backend.prices
  return sentModels(provider, backend, named).map((model) => ({ provider: name, model, own, otherwise }))
}

/** Null among them: the model that a client names, or what a star makes of it. */
function sentModels({ model, modelAliases }: AiProvider, backend: AiBackend, named: string | null) {
  if (model !== null) return [model]
  const aliases = modelAliases ?? backend.modelAliases
  const sent =
    named === null ? Object.values(aliases) : [new ModelPatterns(Object.entries(aliases)).find(named) ?? named]
  const exact = sent.filter((name) => !name.includes('*'))
  return named === null || exact.length === 0 ? [...new Set(exact), null] : exact
}
