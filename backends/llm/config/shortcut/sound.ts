/** What of a file's `llm` can be checked together although other parts of it are wrong. */

import { entriesOf, objectOf, type Raw, text } from '#engine/schema/placed.ts'
import type { z } from '#engine/schema/schema.ts'
import type { LlmFile, LlmModel, LlmProvider } from './schema.ts'
import type { LlmVirtual } from './virtual.ts'

type Issues = readonly z.core.$ZodRawIssue[]

/**
 * `value`, in which entries with mistakes of their own (`issues`) say no more than their name, and what could only be
 * judged with an entry that has no readable name is left out.
 */
export function soundParts(value: unknown, issues: Issues): LlmFile {
  const file = objectOf(value)
  const providers = entries<LlmProvider>(file, 'providers', issues, (name) => ({ name, provider: '' }))
  const models = entries<LlmModel>(file, 'models', issues, (name) => ({ name, provider: '' }))
  const silent = (name: string): LlmVirtual => ({ name, routing: { failover: { targets: [] } } })
  const virtualModels = entries<LlmVirtual>(file, 'virtualModels', issues, silent)
  const areNamed = [models, virtualModels].every(isNamed)
  const aliases = Object.entries(objectOf(file.modelAliases)).filter(([, model]) => typeof model === 'string')
  const semantic = objectOf(objectOf(file.cache).semantic)
  return {
    providers,
    models: models.map((model) => {
      const known = isNamed(models) ? model : { ...model, fallbacks: undefined }
      return isNamed(providers) ? known : withoutReference(known)
    }),
    virtualModels: areNamed ? virtualModels : virtualModels.map(({ name }) => silent(name)),
    modelAliases: areNamed ? (Object.fromEntries(aliases) as Record<string, string>) : {},
    ...(areNamed && text(semantic.embeddings) !== undefined ? { cache: { semantic } as never } : {})
  }
}

/** No name of a file begins like this. */
const NAMELESS = '\0'

const isNamed = (all: readonly { readonly name: string }[]) => all.every(({ name }) => !name.startsWith(NAMELESS))

function withoutReference(model: LlmModel): LlmModel {
  return typeof model.provider === 'string' ? model : { name: model.name, provider: '' }
}

/** In their places. `onlyNamed`: an entry that says nothing to be checked. */
function entries<T>(file: Raw, key: string, issues: Issues, onlyNamed: (name: string) => T): T[] {
  const all: unknown[] = Array.isArray(file[key]) ? file[key] : []
  const wrong = new Set(issues.flatMap(({ path = [] }) => (path[0] === key ? [path[1]] : [])))
  const objects = new Map(entriesOf(all, []).map(({ raw, path }) => [path[0], raw]))
  return all.map((_, i) => {
    const raw = objects.get(i)
    if (raw !== undefined && !wrong.has(i)) return raw as T
    return onlyNamed(text(raw?.name) ?? `${NAMELESS}${i}`)
  })
}
