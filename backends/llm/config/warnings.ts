/** Settings of models that are probably not meant: without effect, or without TLS. */
import { PROVIDERS } from '#backends/llm/providers/index.ts'
import type { Doubt, WarnContext } from '#engine/contract/backend-config.ts'
import { nearestWord } from '#engine/kit/nearest.ts'
import { realKeys } from '#engine/schema/names.ts'
import { entriesOf, objectOf, type Path, type Placed, type Raw, text } from '#engine/schema/placed.ts'
import { KINDS } from './shortcut/presets.ts'
import { serving } from './shortcut/serving.ts'

/** Of `ai` backends. */
export function uselessCaching(values: readonly Placed[]): Doubt[] {
  return values.flatMap(inBackend)
}

/** Of the models of `llm`. */
export function uselessCachingOfModels(models: readonly Placed[]): Doubt[] {
  return models.flatMap(({ raw: { provider, promptCaching }, path }) => {
    if (promptCaching === undefined || typeof provider !== 'string') return []
    if (KINDS.get(provider)?.cacheMarks === 'always') return []
    return report(path, provider)
  })
}

/** Names of public servers, by their last label; others end at home. */
const PUBLIC = /\.(?!(?:corp|home|internal|intranet|lan|local|localdomain|localhost|svc|test)$)[a-z]{2,}\.?$/i
const CLEAR =
  'is asked without TLS, and who listens on the way reads keys and prompts: beside it, policies: { tls: {} }'

/** Providers at a host of the file that looks as if it wanted TLS. Where a policy around them has it, all is well. */
export function clearTextHosts(values: readonly Placed[], { hasTls }: WarnContext): Doubt[] {
  if (hasTls) return []
  return values.flatMap(providersOf).flatMap(({ raw, path }) => {
    const host = text(raw.host)
    if (host === undefined || objectOf(raw.policies).tls !== undefined) return []
    return raw.port === 443 || PUBLIC.test(host) ? [{ path: [...path, 'host'], message: CLEAR }] : []
  })
}

/**
 * Names in `models` of accounts that no model has: such a key lists nothing and is refused everything, and the name is
 * most likely misspelt. Where other routes have models, names are as their providers have them, and nobody knows them.
 */
export function unservedNames(values: readonly Placed[], { accounts }: WarnContext): Doubt[] {
  const [llm, ...others] = values
  if (llm === undefined || others.length > 0 || llm.path[0] !== 'llm') return []
  const { models, virtualModels, modelAliases } = llm.raw
  const written = [...entriesOf(models, []), ...entriesOf(virtualModels, [])]
  const names = [...written.flatMap(({ raw }) => text(raw.name) ?? []), ...Object.keys(objectOf(modelAliases))]
  const served = names.map((name) => ({ name }))
  return accounts.flatMap(({ raw, path }) =>
    (Array.isArray(raw.models) ? raw.models : []).flatMap((name: unknown, i): Doubt[] => {
      if (typeof name !== 'string' || name.includes('*') || serving(served, name) !== undefined) return []
      const near = nearestWord(name, names)
      const message = `no model of llm is called "${name}"${near === null ? '' : `: did you mean "${near}"?`}`
      return [{ path: [...path, 'models', i], message }]
    })
  )
}

/** Of groups: they have names. */
export function namedProviders({ raw, path }: Placed): Placed[] {
  const groups = entriesOf(raw.groups, [...path, 'groups'])
  return groups.flatMap((group) => entriesOf(group.raw.providers, [...group.path, 'providers']))
}

export function providersOf(value: Placed): Placed[] {
  const { provider } = value.raw
  const single = provider === undefined ? [] : [{ raw: objectOf(provider), path: [...value.path, 'provider'] }]
  return [...single, ...namedProviders(value)]
}

const report = (place: Path, name: string): Doubt[] => [
  { path: [...place, 'promptCaching'], message: `has no effect: ${name} has no marks for what is to be kept` }
]

function inBackend(value: Placed): Doubt[] {
  const providers = providersOf(value)
  const own = providers.flatMap((provider) => {
    const name = withoutMarks(provider.raw)
    const settings = objectOf(objectOf(provider.raw.policies).ai)
    return settings.promptCaching === undefined || name === null
      ? []
      : report([...provider.path, 'policies', 'ai'], name)
  })
  if (value.raw.promptCaching === undefined || providers.length === 0) return own
  const names = providers.map((provider) => withoutMarks(provider.raw))
  return names.includes(null) ? own : [...own, ...report(value.path, names[0]!)]
}

/** The name of a provider without cache marks; null: it has them. */
function withoutMarks(provider: Raw): string | null {
  const fields = realKeys(provider)
  const kind = PROVIDERS.find(({ name }) => fields[name] !== undefined)
  if (kind === undefined || kind.cacheMarks === 'always') return null
  if (kind.cacheMarks === 'never') return kind.name
  const { formats } = objectOf(fields[kind.name])
  return Array.isArray(formats) && formats.includes('messages') ? null : `${kind.name} without messages`
}
