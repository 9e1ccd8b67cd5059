/** Configuration of backends of models: `ai`, and the shortcut `llm`. */
import type { BackendConfig } from '#engine/contract/backend-config.ts'
import { entriesOf, type Path, type Placed, parsePath, valueAt } from '#engine/schema/placed.ts'
import { deferred } from '#engine/schema/schema.ts'
import { aiSchema, type FileAiBackend, translateAi } from './ai.ts'
import { uselessActions } from './guard-warnings.ts'
import { modelPolicies, saysMore } from './policies.ts'
import { llmSchema } from './shortcut/schema.ts'
import { llmBackend } from './shortcut/translate.ts'
import { clearTextHosts, namedProviders, providersOf, uselessCaching, uselessCachingOfModels } from './warnings.ts'

const modelsOf = ({ raw, path }: Placed): Placed[] => entriesOf(raw.models, [...path, 'models'])

/** Null: a policy around the backend has it. */
function locateInModels({ raw, path }: Placed, text: string): { readonly path: Path; readonly prefix: string } | null {
  const within = parsePath(text)
  return valueAt(raw, within) === undefined ? null : { path: [...path, ...within], prefix: '' }
}

export const aiConfig: BackendConfig = {
  keys: [{ name: 'ai', schema: deferred(aiSchema).optional().describe('Models of LLM providers.') }],
  policies: [modelPolicies],
  label: () => 'models',
  parts: { word: 'provider', of: namedProviders, places: providersOf, policies: [] },
  translate: (_key, file: FileAiBackend, context) => translateAi(file, context),
  differs: saysMore,
  locate: locateInModels,
  warnings: [
    (values) => [...uselessCaching(values), ...uselessCachingOfModels(values.flatMap(modelsOf))],
    (values) => uselessActions(values.flatMap((value) => [value, ...modelsOf(value)])),
    clearTextHosts
  ],
  shortcut: {
    key: 'llm',
    port: 4000,
    description: 'Models of LLM providers on a port of their own, in short.',
    schema: llmSchema,
    backend: 'llm/models',
    translate: llmBackend,
    refused: [
      {
        policies: modelPolicies,
        message: 'does not act on llm, which says it of each model: put it on a listener or a backend'
      }
    ]
  }
}
