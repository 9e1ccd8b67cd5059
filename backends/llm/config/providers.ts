/** The providers of an `ai` backend (docs/specification.md#llm-backends). */

import type { AiProvider } from '#backends/llm/config/snapshot.ts'
import { dialect, dialectOf, type FileDialect } from '#backends/llm/providers/dialect/schema.ts'
import { makers } from '#backends/llm/providers/fields.ts'
import { PROVIDERS } from '#backends/llm/providers/index.ts'
import type { BackendAuth } from '#engine/contract/backend-auth/auth.ts'
import { authPolicies } from '#engine/contract/backend-auth/policies.ts'
import type { FileAuth } from '#engine/contract/backend-auth/schema.ts'
import { backendTcp, type FileTcp } from '#engine/contract/backend-transport/tcp.ts'
import { backendTls, type FileTls } from '#engine/contract/backend-transport/tls.ts'
import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import { backendPriceRows, type FilePrices, rowsOf } from '#engine/prices/schema.ts'
import { atLeastOne, oneOf } from '#engine/schema/choice.ts'
import { path } from '#engine/schema/http.ts'
import { namesOf, realKeys, withNeutralNames } from '#engine/schema/names.ts'
import { host, port } from '#engine/schema/net.ts'
import { cel } from '#engine/schema/rule.ts'
import { misplacedKeys, refusedKeys, type z } from '#engine/schema/schema.ts'
import { onlyInFiles } from '#engine/schema/spelling.ts'
import { sound } from '#engine/schema/together.ts'
import { edits, editsOf, type FileEdits, overriddenModel } from './edits.ts'

/** One of which the file must have, and its fields. */
const kinds = () =>
  Object.fromEntries(
    PROVIDERS.map(({ name, description, schema }) => {
      const fields = schema(makers).optional()
      return [name, description === undefined ? fields : fields.describe(description)]
    })
  )

const WITH_DIALECT = PROVIDERS.filter(({ hasDialect }) => hasDialect).map(({ name }) => name)

/** Of `dialect` at a provider that has its own format. */
export const NO_DIALECT = `is for ${WITH_DIALECT.join(', ')}: only they are asked in the format of chat completions`

const WITHOUT_HOST = PROVIDERS.filter(({ needsHost }) => needsHost).map(({ name }) => name)

/** What one provider says, beside its name. */
export const provider = (others: Record<string, z.ZodType> = {}) =>
  oneOf(withNeutralNames(kinds()), {
    host: host().optional().describe("Default: the provider's own."),
    port: port().optional().describe('Default 443, without TLS 80.'),
    path: path().optional().describe("Of the API; default: the provider's own."),
    dialect: dialect().optional(),
    prices: onlyInFiles(backendPriceRows.optional()).describe('What its calls cost, in place of those of the backend.'),
    policies: atLeastOne({
      ...authPolicies.schemas,
      tls: backendTls().optional().describe('TLS to a host that is given here, or of another kind than the usual one.'),
      tcp: backendTcp().optional().describe('TCP connections to the provider.'),
      ai: atLeastOne({ ...edits(), ...refusedKeys('LLM setting of a provider', ['promptGuard', 'routes']) })
        .optional()
        .describe('What is changed in requests to this provider: each setting instead of that of the backend.'),
      ...refusedKeys('provider policy', ['http'])
    }).optional(),
    ...misplacedKeys('belongs into policies: { auth: { key: $NAME } } here', ['apiKey', 'key', 'auth']),
    ...others
  })
    .refine((input: FileProvider) => input.host !== undefined || hostless(input) === undefined, {
      path: ['host'],
      error: ({ input }) => `is required for a ${hostless(input as FileProvider)} provider`,
      when: sound(),
      params: cel(['has(self.host)', ...WITHOUT_HOST.map((kind) => `!has(self.${kind})`)].join(' || '), {
        message: `is required for a ${WITHOUT_HOST.join(' or ')} provider`
      })
    })
    .refine((input: FileProvider) => input.dialect === undefined || WITH_DIALECT.some((kind) => kind in input), {
      path: ['dialect'],
      error: NO_DIALECT,
      when: sound(),
      params: cel(
        ['!has(self.dialect)', ...WITH_DIALECT.flatMap(namesOf).map((kind) => `has(self.${kind})`)].join(' || ')
      )
    })

/** The kind that is given and has no host of its own. */
const hostless = (input: FileProvider): string | undefined =>
  PROVIDERS.find(({ name, needsHost }) => needsHost === true && input[name] !== undefined)?.name

/** Beside the fields of its kind, under the name of that. */
export interface FileProvider {
  readonly name?: string | undefined
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly path?: string | undefined
  readonly dialect?: FileDialect | undefined
  readonly prices?: FilePrices
  readonly policies?:
    | {
        readonly auth?: FileAuth | undefined
        readonly backendAuth?: FileAuth | undefined
        readonly tls?: FileTls | undefined
        readonly tcp?: FileTcp | undefined
        readonly ai?: FileEdits | undefined
      }
    | undefined
  readonly [kind: string]: unknown
}

/** All policies for connections to a provider, and for authentication. */
export interface ProviderConnection {
  readonly transport: BackendTransport | undefined
  readonly auth: BackendAuth | undefined
}

/** `outer`: the backend's settings for requests to all its providers. */
export function providerOf(input: FileProvider, outer: FileEdits, { transport, auth }: ProviderConnection): AiProvider {
  const file: FileProvider = realKeys(input)
  const kind = PROVIDERS.find(({ name }) => file[name] !== undefined)!
  const fields = file[kind.name] as { readonly model?: string }
  const own = kind.translate?.(fields) ?? {}
  const changes = file.policies?.ai ?? {}
  const settings = dialectOf(file.dialect)
  return {
    name: file.name ?? kind.name,
    type: kind.name,
    model: overriddenModel(changes, outer) ?? own.model ?? fields.model ?? null,
    host: file.host ?? own.endpoint?.host ?? null,
    port: file.port ?? (file.host === undefined ? (own.endpoint?.port ?? null) : null),
    path: file.path ?? null,
    formats: own.formats ?? ['completions'],
    // The providers' own hosts are reached over TLS only; a host that is given says so itself.
    hasTls: file.host === undefined || file.policies?.tls !== undefined || (transport?.tls ?? null) !== null,
    ...(transport === undefined ? {} : { transport }),
    cloud: own.cloud ?? null,
    auth: auth ?? own.auth ?? { kind: 'client' },
    edits: editsOf(changes, outer),
    modelAliases: changes.modelAliases ?? null,
    pathPrefix: null,
    ...settings,
    dialect: settings.dialect ?? kind.dialect ?? null,
    prices: rowsOf(file.prices)
  }
}
