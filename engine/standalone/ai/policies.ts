/**
 * Policies of backends that act on models (docs/specification.md#policies-for-models): what the gateway, a listener, a
 * route, a backend or its reference says for all providers of an `ai` backend.
 */
import { atLeastOne } from '#engine/schema/choice.ts'
import { deferred, refusedKeys, type z } from '#engine/schema/schema.ts'
import { auth, type FileAuth } from './auth.ts'
import { edits, type FileEdits } from './edits.ts'
import { type FileGuards, promptGuard } from './guards.ts'
import { type FileRoutes, routes } from './routes.ts'

const settings = () =>
  atLeastOne({
    ...edits(),
    routes: routes().optional(),
    promptGuard: promptGuard().optional().describe('What may not be asked or answered: masked or rejected.'),
    ...refusedKeys('LLM setting of a policy', ['provider', 'groups', 'streams', 'unsupported'])
  }).meta({ id: 'ModelSettings' })

// One of each, so that the JSON Schema has them once.
const SETTINGS = deferred(settings)
const AUTH = deferred(() => auth().meta({ id: 'BackendAuthentication' }))

/** Names in a file -> the field of BackendFull. */
export const MODEL_KEYS = {
  ai: 'ai',
  auth: 'auth',
  backendAuth: 'auth'
} as const

export type ModelKey = keyof typeof MODEL_KEYS

/** By the names that a file may use. */
export function modelPolicies(): { [key in ModelKey]: z.ZodOptional } {
  const shown = AUTH.optional().describe('How providers of models are shown who asks.')
  return {
    ai: SETTINGS.optional().describe('Settings of models, for backends that have none of their own.'),
    auth: shown,
    backendAuth: shown
  }
}

export interface ModelPolicies {
  readonly ai?: (FileEdits & { readonly routes?: FileRoutes; readonly promptGuard?: FileGuards }) | undefined
  readonly auth?: FileAuth | undefined
}

/** Of a validated set, by the names of a file; undefined: nothing. */
function modelPoliciesOf(set: Readonly<Record<string, unknown>> | undefined): ModelPolicies {
  const out: Record<string, unknown> = {}
  for (const [key, field] of Object.entries(MODEL_KEYS)) if (set?.[key] !== undefined) out[field] = set[key]
  return out
}

type Sets = Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[] | undefined

/** Field by field the last of `levels` that says it (docs/specification.md#attachment-and-merging). */
export function mergedModelPolicies(levels: readonly Sets[]): ModelPolicies {
  return Object.assign({}, ...levels.flat().map((set) => modelPoliciesOf(set as Readonly<Record<string, unknown>>)))
}
