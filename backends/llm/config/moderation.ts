/** Moderation as a guard (docs/specification.md#prompt-guards): the schema, and the server that it asks. */

import type { AiModerationGuard } from '#backends/llm/config/snapshot.ts'
import { refusedAuth } from '#backends/shared/auth/check.ts'
import { authPolicies, validAuth } from '#engine/contract/backend-auth/policies.ts'
import { type FileAuth, readAuth } from '#engine/contract/backend-auth/schema.ts'
import type { Report } from '#engine/contract/backend-config.ts'
import { Transports, transportPolicies } from '#engine/contract/backend-transport/policies.ts'
import type { FileTcp } from '#engine/contract/backend-transport/tcp.ts'
import { type FileTls, readTls } from '#engine/contract/backend-transport/tls.ts'
import type { DocumentSources } from '#engine/contract/policy.ts'
import type { ServiceRef } from '#engine/contract/service.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { path } from '#engine/schema/http.ts'
import { realKeys } from '#engine/schema/names.ts'
import { host, port } from '#engine/schema/net.ts'
import { entriesOf, objectOf, type Placed, text } from '#engine/schema/placed.ts'
import { cels } from '#engine/schema/rule.ts'
import { refusedKeys, shortString, z } from '#engine/schema/schema.ts'
import { backendRef } from '#engine/schema/service-ref.ts'
import { together } from '#engine/schema/together.ts'

const HOST = 'api.openai.com'
const PATH = '/v1/moderations'
const MODEL = 'omni-moderation-latest'

/** What a backend of the file says itself. */
const PLACE = ['host', 'port', 'policies'] as const

const OF_THE_BACKEND = 'is said by the backend that backendRef names: keep one of them'

const IN_RESOURCES = cels(
  ...PLACE.map((key) => ({
    expression: `!(has(self.backendRef) && has(self.${key}))`,
    message: OF_THE_BACKEND,
    field: key
  }))
)

export const moderation = <Common extends Readonly<Record<string, z.ZodOptional>>>(common: Common) =>
  z
    .strictObject({
      model: shortString().optional().describe(`Default ${MODEL}.`),
      backendRef: backendRef().optional().describe('A backend, with its own backend policies.'),
      host: host().optional().describe("Default: OpenAI's own."),
      port: port().optional().describe('Default 443, without TLS 80.'),
      path: path().optional().describe(`Default ${PATH}.`),
      policies: atLeastOne({
        ...authPolicies.schemas,
        ...transportPolicies.schemas,
        ...refusedKeys('moderation policy', ['http'])
      }).optional(),
      ...common
    })
    .check(
      together<Readonly<Record<string, unknown>>>(
        [],
        ({ value, issues }) => {
          if (value.backendRef === undefined) return
          for (const key of PLACE.filter((one) => value[one] !== undefined)) {
            issues.push({ code: 'custom', path: [key], message: OF_THE_BACKEND, input: value })
          }
        },
        IN_RESOURCES
      )
    )

/** Of its schema; policies by the names that were given. */
export interface FileModeration {
  readonly model?: string | undefined
  readonly backendRef?: { readonly name: string } | undefined
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly path?: string | undefined
  readonly policies?: Readonly<Record<string, unknown>> | undefined
}

interface FilePolicies {
  readonly auth?: FileAuth
  readonly backendAuth?: FileAuth
  readonly tls?: FileTls
  readonly backendTLS?: FileTls
  readonly tcp?: FileTcp
}

/** Throws a FieldError (checkModerations has said where). */
export function translateModeration(
  file: FileModeration,
  sources: DocumentSources
): Pick<AiModerationGuard, 'kind' | 'server' | 'path' | 'model'> {
  const { path: own = PATH, model = MODEL } = file
  return { kind: 'moderation', server: serverOf(file, sources), path: own, model }
}

function serverOf({ backendRef: ref, ...file }: FileModeration, sources: DocumentSources): ServiceRef {
  if (ref !== undefined) return { name: ref.name, at: ['openAIModeration', 'backendRef', 'name'] }
  const policies = (file.policies ?? {}) as FilePolicies
  const auth = policies.auth ?? policies.backendAuth
  const configured = new Transports(sources).of(file.policies)
  // OpenAI is asked with TLS, whatever is said.
  const tls = configured?.tls ?? (file.host === undefined ? readTls({}, sources) : null)
  return {
    host: file.host ?? HOST,
    port: file.port ?? (tls === null ? 80 : 443),
    unixPath: null,
    transport: { tls, tcp: configured?.tcp ?? null },
    ...(auth === undefined ? {} : { auth: readAuth(auth, sources) })
  }
}

/** What its policies refer to. `guards`: what stands under promptGuard. */
export function checkModerations(guards: Placed, sources: DocumentSources, report: Report): void {
  for (const { raw, path: at } of entriesOf(guards.raw.request, [...guards.path, 'request'])) {
    const key = Object.keys(raw).find((name) => Object.keys(realKeys({ [name]: 0 }))[0] === 'openAIModeration')
    if (key === undefined) continue
    const { policies, host: configured } = objectOf(raw[key])
    checkPolicies(
      { raw: objectOf(policies), path: [...at, key, 'policies'] },
      text(configured) ?? HOST,
      sources,
      report
    )
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
  return "passthrough means nothing to a moderation, which asks in the gateway's own name: give it a key"
}
