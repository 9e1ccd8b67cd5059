/** The file's `ai` backends (spec 2.4, and of BackendAI what acts already): schema, and its form in the Snapshot. */
import type { AiBackend, AiProvider, AiRouteType, PolicySet } from '#engine/ir/snapshot.ts'
import { atLeastOne, oneOf } from '#engine/schema/choice.ts'
import { path } from '#engine/schema/http.ts'
import { host, port } from '#engine/schema/net.ts'
import { list, name, refusedKeys, shortString, z } from '#engine/schema/schema.ts'

/** Spec section 8. */
const GROUPS_MAX = 32
const PROVIDERS_MAX = 32
const ALIASES_MAX = 64
const ROUTES_MAX = 64
const SUFFIX_MAX = 1024

const ROUTE_TYPES = ['Completions', 'Messages', 'Responses', 'GenerateContent', 'Passthrough'] as const
const LATER_TYPES: readonly string[] = ['AnthropicTokenCount', 'Embeddings', 'Models', 'Realtime']

const routeType = z.enum(ROUTE_TYPES, {
  error: ({ input }) =>
    typeof input === 'string' && LATER_TYPES.includes(input)
      ? `the route type ${input} is not in this version of weir`
      : `must be one of ${ROUTE_TYPES.join(', ')}`
})

const model = () =>
  z.strictObject({ model: shortString().optional().describe('Instead of the one that the request names.') })

const auth = () =>
  oneOf({
    key: z.string().min(1).max(16_384).optional().describe('Sent in the place where the provider wants it.'),
    passthrough: z.strictObject({}).optional().describe("The client's own credential. Default."),
    ...refusedKeys('backend authentication', ['aws', 'azure', 'gcp', 'secretRef'])
  })

const FORMATS = ['completions', 'messages', 'responses'] as const

/** What one provider says, beside its name. */
const provider = (others: Record<string, z.ZodType> = {}) =>
  oneOf(
    {
      openai: model().optional(),
      anthropic: model().optional(),
      gemini: model().optional(),
      custom: z
        .strictObject({
          model: shortString().optional(),
          formats: list(z.enum(FORMATS), 1, FORMATS.length).optional().describe('Default completions.')
        })
        .optional()
        .describe('A server that speaks the formats of OpenAI or Anthropic: vLLM, Ollama, SGLang. Needs a host.'),
      ...refusedKeys('provider', ['azureopenai', 'bedrock', 'vertexai'])
    },
    {
      host: host().optional().describe("Default: the provider's own."),
      port: port().optional().describe('Default 443, without TLS 80.'),
      path: path().optional().describe("Of the API; default: the provider's own."),
      policies: atLeastOne({
        auth: auth().optional(),
        tls: z.strictObject({}).optional().describe('TLS to a host that is given here.'),
        ...refusedKeys('provider policy', ['ai', 'http', 'tcp'])
      }).optional(),
      ...others
    }
  ).refine(
    (given) =>
      (given as { custom?: unknown; host?: string }).custom === undefined ||
      (given as { host?: string }).host !== undefined,
    { path: ['host'], error: 'is required for a custom provider' }
  )

type FileProvider = z.output<ReturnType<typeof provider>> & { readonly name?: string }

export const aiSchema = () =>
  oneOf(
    {
      provider: provider().optional().describe('The only provider.'),
      groups: list(z.strictObject({ providers: list(provider({ name: name() }), 1, PROVIDERS_MAX) }), 1, GROUPS_MAX)
        .optional()
        .describe('Providers in order of priority; those of one group are equal.')
    },
    {
      routes: z
        .record(z.string().min(1).max(SUFFIX_MAX), routeType)
        .refine((map) => Object.keys(map).length <= ROUTES_MAX, `must have at most ${ROUTES_MAX} entries`)
        .optional()
        .describe('Path suffix, or * -> what is spoken there. Default: Completions everywhere.'),
      modelAliases: z
        .record(z.string().min(1).max(256), shortString())
        .refine((map) => Object.keys(map).length <= ALIASES_MAX, `must have at most ${ALIASES_MAX} entries`)
        .optional()
        .describe("The client's name of a model -> the provider's."),
      unsupported: z
        .enum(['refuse', 'drop'])
        .optional()
        .describe('What happens to fields that the provider cannot be told. Default refuse: 400 that names them.'),
      ...refusedKeys('LLM setting', ['defaults', 'overrides', 'prompt', 'promptCaching', 'promptGuard'])
    }
  ).check(({ value, issues }) => {
    const names = (value.groups ?? []).flatMap(({ providers }) =>
      providers.map((given) => (given as FileProvider).name!)
    )
    const twice = names.find((one, i) => names.indexOf(one) < i)
    if (twice === undefined) return
    issues.push({ code: 'custom', path: ['groups'], message: `two providers are called ${twice}`, input: value })
  })

export function translateAi(file: z.output<ReturnType<typeof aiSchema>>, policies: PolicySet): AiBackend {
  const groups = file.provider === undefined ? file.groups!.map(({ providers }) => providers) : [[file.provider]]
  const routes = Object.entries(file.routes ?? {}).map(([suffix, type]) => ({ suffix, type: type as AiRouteType }))
  // The longest suffix decides; "*" is for what no other ends with.
  routes.sort((a, b) => Number(a.suffix === '*') - Number(b.suffix === '*') || b.suffix.length - a.suffix.length)
  return {
    kind: 'ai',
    groups: groups.map((providers) => providers.map((given) => providerOf(given as FileProvider))),
    routes,
    modelAliases: file.modelAliases ?? {},
    unsupported: file.unsupported ?? 'refuse',
    policies
  }
}

interface ProviderFields {
  readonly name?: string | undefined
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly path?: string | undefined
  readonly policies?:
    | { readonly auth?: { readonly key?: string | undefined } | undefined; readonly tls?: object | undefined }
    | undefined
  readonly openai?: { readonly model?: string | undefined } | undefined
  readonly anthropic?: { readonly model?: string | undefined } | undefined
  readonly gemini?: { readonly model?: string | undefined } | undefined
  readonly custom?:
    | { readonly model?: string | undefined; readonly formats?: AiProvider['formats'] | undefined }
    | undefined
}

function providerOf(file: ProviderFields): AiProvider {
  const type = (['openai', 'anthropic', 'gemini', 'custom'] as const).find((kind) => file[kind] !== undefined)!
  return {
    name: file.name ?? type,
    type,
    model: file[type]?.model ?? null,
    host: file.host ?? null,
    port: file.port ?? null,
    path: file.path ?? null,
    formats: file.custom?.formats ?? ['completions'],
    // The providers' own hosts are reached over TLS only; a host that is given says so itself.
    hasTls: file.host === undefined || file.policies?.tls !== undefined,
    key: file.policies?.auth?.key ?? null
  }
}
