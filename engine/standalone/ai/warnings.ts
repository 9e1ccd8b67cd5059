/** Settings of models that can have no effect. */
import { realName } from '#engine/schema/names.ts'
import { entriesOf, objectOf, type Placed, type Raw } from '#engine/standalone/walk.ts'

/** Providers whose formats have no marks of a cache: they keep prompts as they see fit. */
const WITHOUT_MARKS: readonly string[] = ['openai', 'openAI', 'azureopenai', 'gemini']

/** By the names that `llm` has. */
const WITH_MARKS: ReadonlySet<string> = new Set(['anthropic', 'bedrock', 'vertex', 'vertexai'])

/** Of `ai` backends, wherever they stand, and of `llm`. */
export function uselessCaching(file: Raw, routes: readonly Placed[]): { path: Placed['path']; message: string }[] {
  const references = routes.flatMap(({ raw, path }) => entriesOf(raw.backends, [...path, 'backends']))
  const backends = [...entriesOf(file.backends, ['backends']), ...references]
  return [...backends.flatMap(inBackend), ...entriesOf(objectOf(file.llm).models, ['llm', 'models']).flatMap(inModel)]
}

const report = (place: Placed['path'], name: string) => [
  { path: [...place, 'promptCaching'], message: `has no effect: ${name} has no marks for what is to be kept` }
]

function inBackend({ raw, path }: Placed): ReturnType<typeof report> {
  const ai = objectOf(raw.ai)
  const at = [...path, 'ai']
  const groups = entriesOf(ai.groups, [...at, 'groups'])
  const single = ai.provider === undefined ? [] : [{ raw: objectOf(ai.provider), path: [...at, 'provider'] }]
  const providers = [
    ...single,
    ...groups.flatMap((group) => entriesOf(group.raw.providers, [...group.path, 'providers']))
  ]
  const own = providers.flatMap((provider) => {
    const name = withoutMarks(provider.raw)
    const settings = objectOf(objectOf(provider.raw.policies).ai)
    return settings.promptCaching === undefined || name === null
      ? []
      : report([...provider.path, 'policies', 'ai'], name)
  })
  if (ai.promptCaching === undefined || providers.length === 0) return own
  const names = providers.map((provider) => withoutMarks(provider.raw))
  return names.includes(null) ? own : [...own, ...report(at, names[0]!)]
}

/** The name of a provider that can be told no marks; null: it can. */
function withoutMarks(provider: Raw): string | null {
  const name = Object.keys(provider).find((key) => WITHOUT_MARKS.includes(realName(key)))
  if (name !== undefined) return realName(name)
  if (provider.custom === undefined) return null
  const { formats } = objectOf(provider.custom)
  return Array.isArray(formats) && formats.includes('messages') ? null : 'custom without messages'
}

function inModel({ raw, path }: Placed): ReturnType<typeof report> {
  const { provider, promptCaching } = raw
  if (promptCaching === undefined || typeof provider !== 'string' || WITH_MARKS.has(provider)) return []
  return report(path, provider)
}
