/** The file's `llm`: models by the names that clients use, each with its provider, on a port of their own. */

import { baseUrl } from '#backends/llm/config/base-url.ts'
import { cacheOfModels, type FileCache } from '#backends/llm/config/cache.ts'
import { edits, type FileEdits } from '#backends/llm/config/edits.ts'
import { type FileFailover, failoverSettings } from '#backends/llm/config/failover.ts'
import { type FileGuards, promptGuard } from '#backends/llm/config/guards.ts'
import { NO_DIALECT } from '#backends/llm/config/providers.ts'
import type { FileSemantic } from '#backends/llm/config/semantic.ts'
import type { AiProvider } from '#backends/llm/config/snapshot.ts'
import { type FileStored, stored } from '#backends/llm/config/stored.ts'
import { type FileStreams, streams } from '#backends/llm/config/streams.ts'
import { dialect, type FileDialect } from '#backends/llm/providers/dialect/schema.ts'
import { makers } from '#backends/llm/providers/fields.ts'
import { PROVIDERS } from '#backends/llm/providers/index.ts'
import type { ShortcutParams } from '#backends/llm/providers/kind.ts'
import type { Shortcut } from '#engine/contract/backend-config.ts'
import { nearestWords } from '#engine/kit/nearest.ts'
import { backendPriceRows, type FilePrices } from '#engine/prices/schema.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { authKey } from '#engine/schema/credential.ts'
import { path } from '#engine/schema/http.ts'
import { host, port } from '#engine/schema/net.ts'
import { list, misplacedKeys, name, refusedKeys, shortString, whole, z } from '#engine/schema/schema.ts'
import { together } from '#engine/schema/together.ts'
import { KINDS, PRESETS } from './presets.ts'
import { serving } from './serving.ts'
import { soundParts } from './sound.ts'
import { checkOwnFallbacks, checkTargets, type LlmVirtual, ownFallbacks, virtualModel } from './virtual.ts'

const MODELS_MAX = 1024
const PROVIDERS_MAX = 256
const CONTEXT_TOKENS_MAX = 1_000_000_000
const FIELDS_MAX = 64
const ALIASES_MAX = 1024
const API_KEY_CHARS_MAX = 16_384

const PROVIDER_NAMES = [...KINDS.keys(), ...PRESETS.keys()] as [string, ...string[]]
const LATER: readonly string[] = ['copilot']
/** Of some fifty. */
const NEAR_MAX = 3
const NAMES_PAGE = 'docs/llm-providers.md'

/** Exact, or with one star at its beginning or end. */
const pattern = () => shortString().regex(/^(?:\*?[^*]+|[^*]+\*|\*)$/, 'may have one star, at its beginning or end')

/** Neither a name nor an object of the file. */
function wrongChoice(input: unknown): string | undefined {
  if (input === undefined) return undefined
  if (typeof input === 'string' && LATER.includes(input))
    return `provider '${input}' is not in this version of weir's llm`
  const near = typeof input === 'string' ? nearestWords(input, PROVIDER_NAMES).slice(0, NEAR_MAX) : []
  const names = near.map((one) => `"${one}"`).join(' or ')
  const hint = near.length === 0 ? '' : `; did you mean ${names}?`
  return `must be the name of a provider (${NAMES_PAGE} has all of them), or { custom } or { reference }${hint}`
}

const choice = () =>
  z.union(
    [
      z.enum(PROVIDER_NAMES),
      oneOf({
        custom: z
          .strictObject({ formats: makers.formats() })
          .optional()
          .describe('A server that speaks formats of OpenAI or Anthropic. Needs params.baseUrl or params.host.'),
        reference: name().optional().describe('One of llm.providers.'),
        ...refusedKeys('provider of llm', LATER)
      })
    ],
    { error: ({ input }) => wrongChoice(input) }
  )

/** Parameters of one provider each, by their vendors. */
const ownParams = () =>
  Object.fromEntries(
    PROVIDERS.flatMap(({ shortcut }) => Object.entries(shortcut?.params ?? {}))
      .toSorted(([a], [b]) => vendorOf(a).localeCompare(vendorOf(b)))
      .map(([key, { schema }]) => [key, schema(makers)])
  )

/** "aws" of "awsRegion". */
const vendorOf = (key: string): string => key.replace(/[A-Z].*/, '')

/** LiteLLM's way to name a variable, which would be sent as the key itself. */
const OF_LITELLM = 'os.environ/'

/** As Helm, Ansible and others write it. */
const OF_TEMPLATES = /^\{\{.*\}\}$/

const apiKey = () =>
  authKey(API_KEY_CHARS_MAX)
    .refine(
      (text) => !text.startsWith(OF_LITELLM),
      `is how LiteLLM names a variable: write $NAME, not ${OF_LITELLM}NAME`
    )
    .refine((text) => !OF_TEMPLATES.test(text), 'is how templates name a variable: write $NAME')

const params = () =>
  z
    .strictObject({
      model: shortString()
        .optional()
        .describe("The provider's name of the model; its star is what the name's stands for. Default: the client's."),
      apiKey: apiKey().optional().describe("Default: the client's own credential."),
      baseUrl: baseUrl().optional().describe("Where the provider's API is, up to its version: https://host/v1."),
      host: host().optional().describe('Instead of baseUrl: the host, without TLS.'),
      port: port().optional().describe('Of host.'),
      path: path().optional().describe("Of the API, whole; default: the provider's own."),
      pathPrefix: path().optional().describe('Instead of the version at the beginning of the path ("/v1").'),
      dialect: dialect().optional(),
      ...ownParams(),
      ...misplacedKeys('is called apiKey here', ['key', 'auth']),
      ...refusedKeys('parameter', ['azureProjectName', 'azureResourceType', 'hostOverride', 'pathOverride', 'tokenize'])
    })
    .check(
      together<LlmParams>([], ({ value, issues }) => {
        const clash = (['host', 'port', 'path', 'pathPrefix'] as const).find((key) => value[key] !== undefined)
        const report = (key: string, message: string): void => {
          issues.push({ code: 'custom', path: [key], message, input: value })
        }
        if (value.baseUrl !== undefined && clash !== undefined) report(clash, 'says again what baseUrl says')
        else if (value.host === undefined && value.port !== undefined) report('port', 'needs a host')
      })
    )

/** Fields of the body by name, as other gateways' files have them. */
const fields = () =>
  z
    .record(shortString(), z.json())
    .refine((map) => Object.keys(map).length <= FIELDS_MAX, `must have at most ${FIELDS_MAX} entries`)
    .refine(({ model = '' }) => typeof model === 'string', { path: ['model'], error: 'must be a string' })
    .refine(({ stream = true }) => typeof stream === 'boolean', { path: ['stream'], error: 'must be true or false' })

const LATER_SETTINGS = [
  ...['auth', 'backendTunnel', 'health', 'requestHeaders', 'responseHeaders', 'tls', 'transformation']
]

/** What is changed in requests. */
const changes = () => ({
  defaults: fields().optional().describe('Fields of the body that are sent where the client has none.'),
  overrides: fields().optional().describe('Fields of the body that replace what the client says.'),
  promptCaching: edits().promptCaching,
  ...refusedKeys('LLM setting', LATER_SETTINGS)
})

const OF_PARAMS = ['apiKey', 'key', 'baseUrl', 'host', 'port', 'path', 'pathPrefix', 'model', 'dialect']

const provider = () =>
  z.strictObject({
    name: name(),
    provider: choice(),
    params: params().optional(),
    defaults: z.strictObject(changes()).optional().describe('For all models that refer to this provider.'),
    ...misplacedKeys('belongs into params', OF_PARAMS),
    ...refusedKeys('provider setting', LATER_SETTINGS)
  })

const model = () =>
  z.strictObject({
    name: pattern().describe("The client's name of the model, or a pattern with one star; the longest decides."),
    provider: choice(),
    params: params().optional(),
    contextTokens: whole(1, CONTEXT_TOKENS_MAX)
      .optional()
      .describe('Requests that are longer go to another target, where a virtual model has one.'),
    visibility: z.enum(['public', 'internal']).optional().describe('internal: only virtual models lead there.'),
    fallbacks: ownFallbacks().optional().describe('Models that are asked, in this order, when this one fails.'),
    ...changes(),
    prompt: edits().prompt,
    prices: backendPriceRows.optional().describe('What its calls cost, in place of llm.prices.'),
    promptGuard: promptGuard().optional().describe("What may not be asked or answered, behind the port's own guards."),
    ...misplacedKeys('belongs into params', OF_PARAMS),
    ...refusedKeys('model setting', [
      ...['authorization', 'finalTransformation', 'guardrails', 'id', 'matches', 'passthrough']
    ])
  })

/** `common`: what all shortcuts have. */
export const llmSchema = ({ port, ...common }: Parameters<Shortcut['schema']>[0]) =>
  z
    .strictObject({
      port,
      providers: list(provider(), 1, PROVIDERS_MAX).optional().describe('Providers that several models share.'),
      models: list(model(), 1, MODELS_MAX),
      virtualModels: list(virtualModel(), 1, MODELS_MAX).optional().describe('Models that are other ones in turn.'),
      modelAliases: z
        .record(shortString(), shortString())
        .refine((map) => Object.keys(map).length <= ALIASES_MAX, `must have at most ${ALIASES_MAX} entries`)
        .optional()
        .describe("The client's name of a model -> a name that models or virtualModels serve."),
      ...common,
      prices: backendPriceRows.optional().describe('What calls cost, in place of config.prices and the catalogue.'),
      stored: stored().optional(),
      cache: cacheOfModels().optional().describe('Answers that are kept for equal requests, of all models.'),
      failover: failoverSettings().optional(),
      streams: streams()
        .optional()
        .describe('Streams of all models: silence in them, and what follows one that breaks.'),
      promptGuard: promptGuard().optional().describe('What may not be asked or answered, of all models.'),
      unsupported: z
        .enum(['tolerant', 'refuse', 'drop'])
        .optional()
        .describe(
          'Fields that a provider cannot be told. Default tolerant: 400 that names what changes the meaning, the rest is left out. refuse: 400. drop: left out.'
        ),
      ...refusedKeys('llm setting', ['gateways', 'tls'])
    })
    .check(
      together<object>([], ({ value, issues }) => {
        const report = (at: readonly (string | number)[], message: string): void => {
          issues.push({ code: 'custom', path: [...at], message, input: value })
        }
        checkReferences(soundParts(value, issues), report)
      })
    )

/** As the schema gives it. */
export interface LlmFile {
  readonly providers?: readonly LlmProvider[] | undefined
  readonly models: readonly LlmModel[]
  readonly virtualModels?: readonly LlmVirtual[] | undefined
  readonly modelAliases?: Readonly<Record<string, string>> | undefined
  readonly cache?: FileCache | undefined
  readonly stored?: FileStored | undefined
  readonly failover?: FileFailover | undefined
  readonly streams?: FileStreams | undefined
  readonly promptGuard?: FileGuards | undefined
  readonly prices?: FilePrices
  readonly unsupported?: 'tolerant' | 'refuse' | 'drop' | undefined
}

export type LlmChoice =
  | string
  | {
      readonly custom?: { readonly formats?: AiProvider['formats'] | undefined } | undefined
      readonly reference?: string | undefined
    }

/** With those of single providers. */
export interface LlmParams extends ShortcutParams {
  readonly model?: string | undefined
  readonly apiKey?: string | undefined
  readonly baseUrl?: string | undefined
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly path?: string | undefined
  readonly pathPrefix?: string | undefined
  readonly dialect?: FileDialect | undefined
}

export interface LlmChanges {
  readonly defaults?: Readonly<Record<string, unknown>> | undefined
  readonly overrides?: Readonly<Record<string, unknown>> | undefined
  readonly promptCaching?: FileEdits['promptCaching']
}

export interface LlmProvider {
  readonly name: string
  readonly provider: LlmChoice
  readonly params?: LlmParams | undefined
  readonly defaults?: LlmChanges | undefined
}

export interface LlmModel extends LlmChanges {
  readonly name: string
  readonly provider: LlmChoice
  readonly params?: LlmParams | undefined
  readonly contextTokens?: number | undefined
  readonly visibility?: 'public' | 'internal' | undefined
  readonly fallbacks?: readonly string[] | undefined
  readonly prompt?: FileEdits['prompt']
  readonly prices?: FilePrices
  readonly promptGuard?: FileGuards | undefined
}

type Report = (at: readonly (string | number)[], message: string) => void

function checkReferences(
  { providers = [], models, virtualModels = [], modelAliases = {}, cache: kept }: LlmFile,
  report: Report
): void {
  checkEmbeddings(kept?.semantic, models, report)
  const known = new Set<string>()
  providers.forEach(({ name, provider, params }, i) => {
    if (known.has(name)) report(['providers', i, 'name'], `there is already a provider "${name}"`)
    known.add(name)
    if (typeof provider === 'object' && provider.reference !== undefined) {
      report(['providers', i, 'provider', 'reference'], 'a provider cannot be another one')
    }
    checkAddress(provider, params, ['providers', i], report)
  })
  const names = new Set<string>()
  models.forEach(({ name, provider, params }, i) => {
    if (names.has(name)) report(['models', i, 'name'], `there is already a model "${name}"`)
    names.add(name)
    checkStar(name, params?.model ?? '', (message) => report(['models', i, 'params', 'model'], message))
    const reference = typeof provider === 'object' ? provider.reference : undefined
    if (reference === undefined) checkAddress(provider, params, ['models', i], report)
    else checkReference(reference, known, params, i, report)
    checkOwnFallbacks(models[i]!, models, ['models', i], report)
  })
  virtualModels.forEach((virtual, i) => {
    const { name } = virtual
    if (names.has(name)) report(['virtualModels', i, 'name'], `there is already a model "${name}"`)
    names.add(name)
    checkTargets(virtual, models, ['virtualModels', i], report)
  })
  for (const [alias, model] of Object.entries(modelAliases)) {
    const isServed = serving(models, model) !== undefined || virtualModels.some(({ name }) => name === model)
    if (!isServed) report(['modelAliases', alias], `no model of llm.models or llm.virtualModels serves "${model}"`)
  }
}

/** What makes vectors is a model of the file. */
function checkEmbeddings(file: FileSemantic | undefined, models: readonly LlmModel[], report: Report): void {
  if (file === undefined) return
  const at = ['cache', 'semantic', 'embeddings']
  const { embeddings: model } = file
  if (model.includes('*')) report(at, 'must be the name of a model, without a star')
  else if (serving(models, model) === undefined) report(at, `no model of llm.models serves "${model}"`)
}

function checkStar(name: string, to: string, report: (message: string) => void): void {
  if (!to.includes('*')) return
  if (!name.includes('*')) report('has a star, and the name of the model has none')
  else if (to.split('*').length > 2) report('may have one star: it is what the star of the name stands for')
}

function checkAddress(
  provider: LlmChoice,
  params: LlmParams | undefined,
  at: readonly (string | number)[],
  report: Report
): void {
  const isCustom = typeof provider === 'object' && provider.custom !== undefined
  const own = typeof provider === 'string' ? KINDS.get(provider) : undefined
  for (const { name, shortcut } of PROVIDERS) {
    for (const [key, { isNeeded }] of Object.entries(shortcut?.params ?? {})) {
      const isPresent = params?.[key] !== undefined
      if (isPresent && own?.name !== name) report([...at, 'params', key], `is for ${name} only`)
      else if (isNeeded && !isPresent && own?.name === name) report([...at, 'provider'], `needs params.${key}`)
    }
  }
  if (own !== undefined && own.hasDialect !== true && params?.dialect !== undefined) {
    report([...at, 'params', 'dialect'], NO_DIALECT)
  }
  const problem = own?.shortcut?.check?.(params ?? {}) ?? null
  if (problem !== null) report([...at, 'params', problem.key], problem.message)
  if (isCustom && params?.baseUrl === undefined && params?.host === undefined) {
    report([...at, 'provider', 'custom'], 'needs params.baseUrl or params.host')
  }
  const preset = typeof provider === 'string' ? PRESETS.get(provider) : undefined
  const hasAddress = preset?.baseUrl !== undefined || params?.baseUrl !== undefined || params?.host !== undefined
  if (preset !== undefined && !hasAddress) {
    report([...at, 'provider'], `needs params.baseUrl, which looks like ${preset.example}`)
  }
}

function checkReference(
  reference: string,
  known: ReadonlySet<string>,
  params: LlmParams | undefined,
  i: number,
  report: Report
): void {
  if (!known.has(reference)) {
    report(['models', i, 'provider', 'reference'], `there is no provider "${reference}" in llm.providers`)
  }
  const more = Object.entries(params ?? {}).find(([key, value]) => key !== 'model' && value !== undefined)
  if (more !== undefined) report(['models', i, 'params', more[0]], 'is said by the provider that is referred to')
}
