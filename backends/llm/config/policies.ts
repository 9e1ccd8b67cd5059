/**
 * Policies of backends that act on models (docs/specification.md#policies-for-models): what the gateway, a listener, a
 * route, a backend or its reference says for all providers of an `ai` backend.
 */
import {
  type BackendPolicies,
  mergedFields,
  type PolicyLevels,
  type PolicySets
} from '#engine/contract/backend-config.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { objectOf } from '#engine/schema/placed.ts'
import { deferred, refusedKeys } from '#engine/schema/schema.ts'
import { checkGuards } from './check.ts'
import { edits, type FileEdits } from './edits.ts'
import { checkServices, type FileGuards, promptGuard } from './guards.ts'
import { type FileRoutes, routes } from './routes.ts'

const settings = () =>
  atLeastOne({
    ...edits(),
    routes: routes().optional(),
    promptGuard: promptGuard().optional().describe('What may not be asked or answered: masked or rejected.'),
    ...refusedKeys('LLM setting of a policy', ['provider', 'groups', 'streams', 'unsupported'])
  }).meta({ id: 'ModelSettings' })

// One, so that the JSON Schema has it once.
const SETTINGS = deferred(settings)

const NOT_OF_MODELS = 'acts on models only in this version of weir'

/** Guards that cannot be asked have refused. */
const CLOSED = {
  promptGuard: {
    request: [
      {
        regex: { matches: ['(?s).*'], action: 'Reject' },
        response: { statusCode: 500, message: 'The guards of this model are not configured correctly' }
      }
    ]
  }
}

export const modelPolicies: BackendPolicies = {
  keys: { ai: 'ai' },
  schemas: { ai: SETTINGS.optional().describe('Settings of models, for backends that have none of their own.') },
  closed: { ai: (value) => (objectOf(value).promptGuard === undefined ? undefined : CLOSED) },
  words: {
    repeated: (first) => `says again what ${first} says: keep one of them`,
    misplaced: (_plain, advice) =>
      `${NOT_OF_MODELS}, which this backend has not${advice === undefined ? '' : `: ${advice}`}`,
    unreached: () => `${NOT_OF_MODELS}, and no backend below has any`
  },
  checkValue({ value, path }, sources, report) {
    const guards = { raw: objectOf(objectOf(value).promptGuard), path: [...path, 'promptGuard'] }
    checkServices(guards, sources, report)
  },
  check: checkGuards
}

export interface ModelPolicies {
  readonly ai?: (FileEdits & { readonly routes?: FileRoutes; readonly promptGuard?: FileGuards }) | undefined
}

export function mergedModelPolicies(levels: readonly PolicySets[]): ModelPolicies {
  return mergedFields(modelPolicies, levels)
}

/** What acts on a backend; on a named one by itself, what it says itself. */
export const levelsOf = ({ around, own, reference }: PolicyLevels): readonly PolicySets[] =>
  around === null ? [own] : [...around, own, reference]

/** Whether policies for models around a named backend have settings that it lacks itself. */
export function saysMore(levels: PolicyLevels): boolean {
  return mergedModelPolicies(levelsOf(levels)).ai !== mergedModelPolicies([levels.own]).ai
}
