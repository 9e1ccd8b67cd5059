/**
 * Authentication to backends (docs/specification.md#backend-authentication): for all kinds of backends, at every level.
 * The most precise level that says it holds, whole: gateway, listener, route, backend, its reference; then a provider
 * or an MCP target of it. A backend that is asked as a service shows what it says itself: what stands around routes is
 * for the backends of routes.
 */

import {
  type BackendPolicies,
  mergedFields,
  type PolicyLevels,
  type PolicySets
} from '#engine/contract/backend-config.ts'
import { FieldError, type Sources } from '#engine/contract/policy.ts'
import { deferred } from '#engine/schema/schema.ts'
import { onlyInFiles } from '#engine/schema/spelling.ts'
import type { BackendAuth } from './auth.ts'
import { backendAuth, type FileAuth, readAuth } from './schema.ts'

// One, so that the JSON Schema has it once.
const AUTH = deferred(() => backendAuth().meta({ id: 'BackendAuthentication' }))

const SHOWN = AUTH.optional().describe('How backends are shown who asks.')

export const authPolicies = {
  keys: { auth: 'auth', backendAuth: 'auth' },
  schemas: { auth: SHOWN, backendAuth: onlyInFiles(SHOWN.clone()) },
  actsOnAll: true,
  actsAroundRoutes: true,
  words: {
    repeated: (first) => `says again what ${first} says: keep one of them`,
    misplaced: () => '',
    unreached: () => 'is for backends, and there is none below'
  },
  checkValue({ value, path }, sources, report) {
    const policies = validAuth(value)
    // What is wrong with it is said by the schema.
    if (policies === null) return
    try {
      readAuth(policies, sources)
    } catch (error) {
      const inside = error instanceof FieldError ? error.path : []
      report([...path, ...inside], (error as Error).message, 'value')
    }
  },
  check(backend, policies, _bind, report) {
    const last = policies.at(-1)
    const auth = last === undefined ? null : validAuth(last.value)
    if (last === undefined || auth === null) return
    const why = backend.config?.checkAuth?.(auth, backend) ?? null
    if (why !== null) report(last.path, why)
  }
} satisfies BackendPolicies

/** Null: the schema refuses it. */
export function validAuth(value: unknown): FileAuth | null {
  const result = AUTH.safeParse(value)
  return result.success ? result.data : null
}

/** What acts on a backend; on a named one by itself, what it says itself. */
const authLevels = ({ around, own, reference }: PolicyLevels): readonly PolicySets[] =>
  around === null ? [own] : [...around, own, reference]

/** Reads what policies refer to, each policy once: what says the same is the same object. */
export class Auths {
  readonly #sources: Sources
  readonly #known = new Map<FileAuth, BackendAuth>()

  constructor(sources: Sources) {
    this.#sources = sources
  }

  /** Undefined: nothing is said by `levels`, nor by the `inner` ones behind them. Throws a FieldError. */
  of(levels: PolicyLevels, ...inner: readonly PolicySets[]): BackendAuth | undefined {
    const { auth } = mergedFields(authPolicies, [...authLevels(levels), ...inner]) as { readonly auth?: FileAuth }
    if (auth === undefined) return undefined
    const made = this.#known.get(auth) ?? readAuth(auth, this.#sources)
    this.#known.set(auth, made)
    return made
  }
}
