/** Configuration of backends of models: `ai`, and the shortcut `llm`. */
import { authPolicies } from '#engine/contract/backend-auth/policies.ts'
import type { BackendConfig } from '#engine/contract/backend-config.ts'
import { activeCheckPolicies } from '#engine/contract/backend-transport/active-checks.ts'
import { entriesOf, objectOf, type Path, type Placed, parsePath, valueAt } from '#engine/schema/placed.ts'
import { deferred } from '#engine/schema/schema.ts'
import { aiSchema, type FileAiBackend, translateAi } from './ai.ts'
import { guardOrigins } from './guard-origins.ts'
import { uselessActions } from './guard-warnings.ts'
import { checkServices } from './guards.ts'
import { modelPolicies, saysMore } from './policies.ts'
import { llmSchema } from './shortcut/schema.ts'
import { llmBackend } from './shortcut/translate.ts'
import {
  clearTextHosts,
  namedProviders,
  providersOf,
  unservedNames,
  uselessCaching,
  uselessCachingOfModels
} from './warnings.ts'

const modelsOf = ({ raw, path }: Placed): Placed[] => entriesOf(raw.models, [...path, 'models'])

/** Null: a policy around the backend has it. */
function locateInModels({ raw, path }: Placed, text: string): { readonly path: Path; readonly prefix: string } | null {
  const within = parsePath(text)
  return valueAt(raw, within) === undefined ? null : { path: [...path, ...within], prefix: '' }
}

const MODELS_HAVE_IT = 'does not act on llm, which says it of each model: put it on a listener or a backend'

export const aiConfig: BackendConfig = {
  keys: [{ name: 'ai', schema: deferred(aiSchema).optional().describe('Models of LLM providers.') }],
  policies: [modelPolicies, activeCheckPolicies],
  parts: { word: 'provider', of: namedProviders, places: providersOf, policies: [] },
  check({ raw, path }, sources, report) {
    const places = [{ raw, path }, ...modelsOf({ raw, path })]
    for (const place of places) {
      const guards = { raw: objectOf(place.raw.promptGuard), path: [...place.path, 'promptGuard'] }
      checkServices(guards, sources, report)
    }
  },
  translate: (_key, file: FileAiBackend, context) => translateAi(file, context),
  differs: saysMore,
  locate: locateInModels,
  origins: guardOrigins,
  warnings: [
    (values) => [...uselessCaching(values), ...uselessCachingOfModels(values.flatMap(modelsOf))],
    (values) => uselessActions(values.flatMap((value) => [value, ...modelsOf(value)])),
    clearTextHosts,
    unservedNames
  ],
  shortcut: {
    key: 'llm',
    port: 4000,
    description: 'Models of LLM providers on a port of their own, in short.',
    schema: llmSchema,
    asksForKeys: true,
    backend: 'llm/models',
    policies: [activeCheckPolicies],
    translate: llmBackend,
    refused: [modelPolicies, authPolicies].map((policies) => ({ policies, message: MODELS_HAVE_IT }))
  }
}
