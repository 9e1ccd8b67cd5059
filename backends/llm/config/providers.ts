/** The providers of an `ai` backend (docs/specification.md#llm-backends). */

import type { AiAuth, AiCloud, AiProvider } from '#backends/llm/config/snapshot.ts'
import { DIALECTS, type DialectName } from '#backends/llm/providers/compatible.ts'
import { backendTcp, type FileTcp } from '#engine/contract/backend-transport/tcp.ts'
import { backendTls, type FileTls } from '#engine/contract/backend-transport/tls.ts'
import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import { parseAuthority } from '#engine/http/authority.ts'
import { atLeastOne, oneOf } from '#engine/schema/choice.ts'
import { path } from '#engine/schema/http.ts'
import { realKeys, withNeutralNames } from '#engine/schema/names.ts'
import { host, port } from '#engine/schema/net.ts'
import { list, misplacedKeys, refusedKeys, shortString, tinyString, z } from '#engine/schema/schema.ts'
import { sound } from '#engine/schema/together.ts'
import { auth, authOf, awsRegion, type FileAuth } from './auth.ts'
import { edits, editsOf, type FileEdits, overriddenModel } from './edits.ts'

const named = () => shortString().optional().describe('Instead of the one that the request names.')
const model = () => z.strictObject({ model: named(), ...keys() })

/** Where most look for it first. */
const keys = () =>
  misplacedKeys('belongs beside the provider: policies: { auth: { key: $NAME } }', ['apiKey', 'key', 'auth'])

const FORMATS = ['completions', 'messages', 'responses'] as const
const TYPES = ['openai', 'azureopenai', 'anthropic', 'gemini', 'vertexai', 'bedrock', 'custom'] as const

/** Providers with servers of OpenAI's chat completions. */
const SPEAK = ['openai', 'azureopenai', 'custom'] as const

const ENDPOINT_EXPECTED = 'must be the host of a resource, such as "name.openai.azure.com", without a path'

/** A scheme is dropped (docs/specification.md#llm-backends). */
const endpoint = () =>
  shortString().transform((text, context): { readonly host: string; readonly port: number | null } => {
    const authority = parseAuthority(text.replace(/^https?:\/\//i, '').replace(/\/$/, ''))
    if (authority !== null) return { host: authority.host.toLowerCase(), port: authority.port }
    context.addIssue({ code: 'custom', message: ENDPOINT_EXPECTED })
    return z.NEVER
  })

const azureopenai = () =>
  z
    .strictObject({
      endpoint: endpoint().describe('Host of the resource: name.openai.azure.com.'),
      deploymentName: shortString().optional().describe('Instead of the model that the request names.'),
      apiVersion: tinyString()
        .regex(/^(?:v1|preview|\d{4}-\d{2}-\d{2}(?:-preview)?)$/, 'must be v1, preview or a date such as 2024-10-21')
        .optional()
        .describe('Default v1.')
    })
    .refine(({ apiVersion = 'v1', deploymentName }) => apiVersion === 'v1' || deploymentName !== undefined, {
      when: sound('apiVersion'),
      path: ['deploymentName'],
      error: 'is required when apiVersion is not v1'
    })

const vertexai = () =>
  z.strictObject({
    model: named(),
    projectId: tinyString().regex(/^[a-z0-9][a-z0-9.:-]*$/, 'must be the id of a project: letters, digits and "-"'),
    region: tinyString()
      .regex(/^[a-z0-9-]+$/, 'must have only lower-case letters, digits and "-"')
      .describe('A location such as us-central1, or global.')
  })

const bedrock = () =>
  z.strictObject({
    model: named(),
    region: awsRegion().optional().describe('Default us-east-1.'),
    guardrail: z
      .strictObject({ identifier: shortString(), version: shortString() })
      .optional()
      .describe('A guardrail of Bedrock that requests and answers go through.')
  })

/** Of chat completions; other formats have one author each. */
export const dialect = () =>
  z
    .enum(DIALECTS)
    .describe(
      "How the server's chat completions differ from OpenAI's. Default: by its host; what it refuses is learned."
    )
    .meta({ examples: ['vllm'] })

/** What one provider says, beside its name. */
export const provider = (others: Record<string, z.ZodType> = {}) =>
  oneOf(
    withNeutralNames({
      openai: model().optional(),
      azureopenai: azureopenai().optional(),
      anthropic: model().optional(),
      gemini: model().optional(),
      vertexai: vertexai().optional(),
      bedrock: bedrock().optional(),
      custom: z
        .strictObject({
          model: shortString().optional(),
          formats: list(z.enum(FORMATS), 1, FORMATS.length).optional().describe('Default completions.')
        })
        .optional()
        .describe('A server that speaks the formats of OpenAI or Anthropic: vLLM, Ollama, SGLang. Needs a host.')
    }),
    {
      host: host().optional().describe("Default: the provider's own."),
      port: port().optional().describe('Default 443, without TLS 80.'),
      path: path().optional().describe("Of the API; default: the provider's own."),
      dialect: dialect().optional(),
      policies: atLeastOne({
        auth: auth().optional(),
        tls: backendTls()
          .optional()
          .describe('TLS to a host that is given here, or of another kind than the usual one.'),
        tcp: backendTcp().optional().describe('TCP connections to the provider.'),
        ai: atLeastOne({ ...edits(), ...refusedKeys('LLM setting of a provider', ['promptGuard', 'routes']) })
          .optional()
          .describe('What is changed in requests to this provider: each setting instead of that of the backend.'),
        ...refusedKeys('provider policy', ['http'])
      }).optional(),
      ...misplacedKeys('belongs into policies: { auth: { key: $NAME } } here', ['apiKey', 'key', 'auth']),
      ...others
    }
  )
    .refine(
      (given) =>
        (given as { custom?: unknown; host?: string }).custom === undefined ||
        (given as { host?: string }).host !== undefined,
      { path: ['host'], error: 'is required for a custom provider', when: sound() }
    )
    .refine((given) => (given as ProviderFields).dialect === undefined || SPEAK.some((kind) => kind in given), {
      path: ['dialect'],
      error: `is for ${SPEAK.join(', ')}: only they are asked in the format of chat completions`,
      when: sound()
    })

export type FileProvider = z.output<ReturnType<typeof provider>> & { readonly name?: string }

interface Named {
  readonly model?: string | undefined
}

interface ProviderFields {
  readonly name?: string | undefined
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly path?: string | undefined
  readonly dialect?: DialectName | undefined
  readonly policies?:
    | {
        readonly auth?: FileAuth | undefined
        readonly tls?: FileTls | undefined
        readonly tcp?: FileTcp | undefined
        readonly ai?: FileEdits | undefined
      }
    | undefined
  readonly openai?: Named | undefined
  readonly azureopenai?: z.output<ReturnType<typeof azureopenai>> | undefined
  readonly anthropic?: Named | undefined
  readonly gemini?: Named | undefined
  readonly vertexai?: z.output<ReturnType<typeof vertexai>> | undefined
  readonly bedrock?: z.output<ReturnType<typeof bedrock>> | undefined
  readonly custom?: (Named & { readonly formats?: AiProvider['formats'] | undefined }) | undefined
}

/** `outer`: what the backend says of requests to all its providers. `transport`: all that is said of connections. */
export function providerOf(given: ProviderFields, outer: FileEdits, transport?: BackendTransport): AiProvider {
  const file = realKeys(given)
  const type = TYPES.find((kind) => file[kind] !== undefined)!
  const { azureopenai } = file
  const changes = file.policies?.ai ?? {}
  const own = azureopenai === undefined ? null : azureopenai.endpoint
  return {
    name: file.name ?? type,
    type,
    model: overriddenModel(changes, outer) ?? azureopenai?.deploymentName ?? (file[type] as Named).model ?? null,
    host: file.host ?? own?.host ?? null,
    port: file.port ?? (file.host === undefined ? (own?.port ?? null) : null),
    path: file.path ?? null,
    formats: file.custom?.formats ?? ['completions'],
    // The providers' own hosts are reached over TLS only; a host that is given says so itself.
    hasTls: file.host === undefined || file.policies?.tls !== undefined || (transport?.tls ?? null) !== null,
    ...(transport === undefined ? {} : { transport }),
    cloud: cloudOf(file),
    auth: authOf(file.policies?.auth) ?? DEFAULT_AUTH[type] ?? { kind: 'client' },
    edits: editsOf(changes, outer),
    modelAliases: changes.modelAliases ?? null,
    pathPrefix: null,
    dialect: file.dialect ?? null
  }
}

/** Clients have no credentials of the clouds: who configures one of these means the gateway's own. */
const DEFAULT_AUTH: { readonly [type in AiProvider['type']]?: AiAuth } = {
  vertexai: { kind: 'gcp', token: 'access', audience: null, credential: null },
  bedrock: { kind: 'aws', keys: null, region: null }
}

function cloudOf({ azureopenai, vertexai, bedrock }: ProviderFields): AiCloud | null {
  if (azureopenai !== undefined) return { kind: 'azureopenai', apiVersion: azureopenai.apiVersion ?? 'v1' }
  if (vertexai !== undefined) {
    return { kind: 'vertexai', projectId: vertexai.projectId, region: vertexai.region }
  }
  if (bedrock === undefined) return null
  return { kind: 'bedrock', region: bedrock.region ?? 'us-east-1', guardrail: bedrock.guardrail ?? null }
}
