/**
 * Servers that prompt guards ask, other than webhooks: a backend of the file, or the service's own place with policies
 * (docs/specification.md#prompt-guards). Schema, place and checks that all of them share.
 */
import { refusedAuth } from '#backends/shared/auth/check.ts'
import { authPolicies, validAuth } from '#engine/contract/backend-auth/policies.ts'
import { type FileAuth, readAuth } from '#engine/contract/backend-auth/schema.ts'
import type { Report } from '#engine/contract/backend-config.ts'
import { Transports, transportPolicies } from '#engine/contract/backend-transport/policies.ts'
import type { FileTcp } from '#engine/contract/backend-transport/tcp.ts'
import { type FileTls, readTls } from '#engine/contract/backend-transport/tls.ts'
import type { DocumentSources } from '#engine/contract/policy.ts'
import type { InlineService } from '#engine/contract/service.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { realKeys } from '#engine/schema/names.ts'
import { entriesOf, objectOf, type Placed } from '#engine/schema/placed.ts'
import { cels } from '#engine/schema/rule.ts'
import { refusedKeys } from '#engine/schema/schema.ts'
import { backendRef } from '#engine/schema/service-ref.ts'
import { together } from '#engine/schema/together.ts'

const OF_THE_BACKEND = 'is said by the backend that backendRef names: keep one of them'

/** Fields of a guard that asks a server, and the check that only one of both says where it is. */
export const serviceFields = () => ({
  backendRef: backendRef().optional().describe('A backend, with its own backend policies.'),
  policies: atLeastOne({
    ...authPolicies.schemas,
    ...transportPolicies.schemas,
    ...refusedKeys('guard policy', ['http'])
  }).optional()
})

/** `place`: keys that say where the server is, and how it is asked. */
export const eitherPlace = (place: readonly string[]) =>
  together<Readonly<Record<string, unknown>>>(
    [],
    ({ value, issues }) => {
      if (value.backendRef === undefined) return
      for (const key of place.filter((one) => value[one] !== undefined)) {
        issues.push({ code: 'custom', path: [key], message: OF_THE_BACKEND, input: value })
      }
    },
    cels(
      ...place.map((key) => ({
        expression: `!(has(self.backendRef) && has(self.${key}))`,
        message: OF_THE_BACKEND,
        field: key
      }))
    )
  )

interface FilePolicies {
  readonly auth?: FileAuth
  readonly backendAuth?: FileAuth
  readonly tls?: FileTls
  readonly backendTLS?: FileTls
  readonly tcp?: FileTcp
}

export function authOf(policies: unknown): FileAuth | undefined {
  const { auth, backendAuth } = objectOf(policies) as FilePolicies
  return auth ?? backendAuth
}

export interface Place {
  readonly host: string
  /** Absent: as TLS or its absence says. */
  readonly port?: number | undefined
  /** It is asked with TLS, whatever is said. */
  readonly isSecure: boolean
  readonly policies: Readonly<Record<string, unknown>> | undefined
}

/** Throws a FieldError (checkGuardServices has said where). */
export function serverAt({ host, port, isSecure, policies }: Place, sources: DocumentSources): InlineService {
  const auth = authOf(policies)
  const configured = new Transports(sources).of(policies)
  const tls = configured?.tls ?? (isSecure ? readTls({}, sources) : null)
  return {
    host,
    port: port ?? (tls === null ? 80 : 443),
    unixPath: null,
    transport: { tls, tcp: configured?.tcp ?? null },
    ...(auth === undefined ? {} : { auth: readAuth(auth, sources) })
  }
}

/** Of a kind of guard: the host that it asks, and why what is said of it cannot be. */
export interface GuardService {
  readonly host: (guard: Readonly<Record<string, unknown>>) => string
  /** Null: nothing is wrong. */
  readonly problem?: (guard: Readonly<Record<string, unknown>>) => string | null
}

/** What their policies refer to. `guards`: what stands under promptGuard. */
export function checkGuardServices(
  kinds: Readonly<Record<string, GuardService>>,
  guards: Placed,
  sources: DocumentSources,
  report: Report
): void {
  for (const side of ['request', 'response']) {
    for (const { raw, path: at } of entriesOf(guards.raw[side], [...guards.path, side])) {
      for (const [name, kind] of Object.entries(kinds)) {
        const key = Object.keys(raw).find((one) => Object.keys(realKeys({ [one]: 0 }))[0] === name)
        if (key === undefined) continue
        const guard = objectOf(raw[key])
        const problem = kind.problem?.(guard) ?? null
        if (problem !== null) report([...at, key], problem)
        const policies = { raw: objectOf(guard.policies), path: [...at, key, 'policies'] }
        checkPolicies(policies, kind.host(guard), sources, report)
      }
    }
  }
}

function checkPolicies({ raw, path: at }: Placed, server: string, sources: DocumentSources, report: Report): void {
  for (const { keys, checkValue, words } of [authPolicies, transportPolicies]) {
    const seen = new Map<string, string>()
    for (const [key, field] of Object.entries(keys)) {
      if (raw[key] === undefined) continue
      const first = seen.get(field)
      if (first !== undefined) report([...at, key], words.repeated!(first))
      seen.set(field, key)
      checkValue?.({ field, value: raw[key], path: [...at, key] }, sources, report)
      const auth = field === 'auth' ? validAuth(raw[key]) : null
      const why = auth === null ? null : refusedHere(auth, server)
      if (why !== null) report([...at, key], why)
    }
  }
}

/** A guard asks in the gateway's name: there is no request of the client whose credential could go along. */
function refusedHere(auth: FileAuth, server: string): string | null {
  if (auth.passthrough === undefined) return refusedAuth(auth, server)
  return "passthrough means nothing to a guard, which asks in the gateway's own name: give it a key"
}
