/**
 * Amazon Bedrock by Converse and ConverseStream (API reference of Amazon Bedrock Runtime), and, where a file wants it,
 * Claude by InvokeModel in Anthropic's own format ("Anthropic Claude Messages API" of the user guide). The model is in
 * the path, percent-encoded: ids may be ARNs, with ":" and "/".
 */
import type { JsonObject } from '#backends/llm/conversation.ts'
import { familyOf } from '#backends/llm/formats/converse/models.ts'
import type { Makers, Output } from './fields.ts'
import type { ProviderKind } from './kind.ts'
import { type HeaderMember, type Provider, segment } from './provider.ts'

const APIS = ['converse', 'invoke'] as const

const api = ({ z, filledIn }: Makers) =>
  filledIn(z.enum(APIS), 'converse').describe(
    "invoke: clients that speak Anthropic's format get Claude's own API, by InvokeModel. Default converse, for all."
  )

const fields = (make: Makers) =>
  make.z
    .strictObject({
      model: make.modelName(),
      region: make.filledIn(make.awsRegion(), 'us-east-1').optional().describe('Default us-east-1.'),
      api: api(make).optional(),
      guardrail: make.z
        .strictObject({ identifier: make.shortString(), version: make.shortString() })
        .optional()
        .describe('A guardrail of Bedrock that requests and answers go through.')
    })
    .refine(({ api, guardrail }) => api !== 'invoke' || guardrail === undefined, {
      params: make.cel("!has(self.guardrail) || !has(self.api) || self.api != 'invoke'"),
      when: make.sound('api', 'guardrail'),
      path: ['guardrail'],
      error: 'goes with api: converse'
    })

type Cloud = {
  readonly kind: 'bedrock'
  readonly region: string
  readonly guardrail: { readonly identifier: string; readonly version: string } | null
  /** Absent: converse. */
  readonly api?: 'invoke'
}

export const bedrock: ProviderKind<Output<typeof fields>, Cloud> = {
  name: 'bedrock',
  schema: fields,
  cacheMarks: 'always',
  shortcut: {
    names: ['bedrock'],
    params: {
      awsRegion: { schema: ({ awsRegion }) => awsRegion().optional().describe('Of bedrock. Default us-east-1.') },
      awsApi: {
        schema: ({ z }) => z.enum(APIS).optional().describe('Of bedrock, as its api. Default converse.')
      }
    },
    fields: ({ awsRegion, awsApi }) => ({ region: awsRegion, api: awsApi })
  },
  translate: ({ region = 'us-east-1', guardrail = null, api }) => ({
    cloud: { kind: 'bedrock', region, guardrail, ...(api === 'invoke' ? { api } : {}) },
    // Clients have no credentials of the cloud: the gateway's own are meant.
    auth: { kind: 'aws', keys: null, region: null, service: null }
  }),
  compile: ({ cloud }) => compile(cloud)
}

/** Ids, and inference profiles and ARNs that have them. */
const TITAN = /\btitan-embed-(?:g1-)?text/
const COHERE = /\bcohere\.embed/

function compile({ region, guardrail, api }: Cloud): Provider {
  const invokes = (model: string): boolean => api === 'invoke' && familyOf(model) === 'claude'
  return {
    name: 'aws.bedrock',
    host: `bedrock-runtime.${region}.amazonaws.com`,
    formats: (model) => (invokes(model) ? ['converse', 'messages'] : ['converse']),
    target: (format, model, isStreamed) => {
      const [whole, streamed] = format === 'messages' ? INVOKE : CONVERSE
      return `/model/${segment(model)}/${isStreamed ? streamed : whole}`
    },
    // Without a signature: an API key of Bedrock.
    keyField: () => 'authorization',
    fields: [],
    signing: { region, service: 'bedrock' },
    // By InvokeModel ("Amazon Titan Embeddings", "Cohere Embed", "Use a reranker model").
    wire: (operation, model) =>
      operation === 'rerank' ? 'invokeRerank' : TITAN.test(model) ? 'invokeText' : 'invokeTexts',
    // Anthropic's format has both, at Anthropic's own API.
    lacks: { models: 'no list of its models', stored: 'no files and batches' },
    lacksFor: (operation, model) =>
      operation === 'embeddings' && !TITAN.test(model) && !COHERE.test(model)
        ? 'embeddings of titan-embed and cohere.embed only'
        : undefined,
    counting: { format: 'converse', ends: {}, body: (_, __, body) => body },
    headerMembers: { messages: BETAS },
    adapt: (format, body) => {
      if (format === 'messages') return withoutModel(body)
      if (guardrail === null) return body
      const { identifier, version } = guardrail
      return { ...body, guardrailConfig: { guardrailIdentifier: identifier, guardrailVersion: version } }
    }
  }
}

const CONVERSE = ['converse', 'converse-stream'] as const
const INVOKE = ['invoke', 'invoke-with-response-stream'] as const

/** Instead of the header; the path has the model, and whether the answer is a stream. */
function withoutModel({ model: _, stream: __, ...rest }: JsonObject): JsonObject {
  return { anthropic_version: 'bedrock-2023-05-31', ...rest }
}

/** Others are 400 ("invalid beta flag"): "Anthropic Claude Messages API", anthropic_beta, and each model's page. */
const FLAGS = [
  ...['computer-use-2025-01-24', 'computer-use-2025-11-24', 'context-1m-2025-08-07', 'compact-2026-01-12'],
  ...['context-management-2025-06-27', 'effort-2025-11-24', 'fine-grained-tool-streaming-2025-05-14'],
  ...['interleaved-thinking-2025-05-14', 'dev-full-thinking-2025-05-14', 'output-128k-2025-02-19'],
  ...['token-efficient-tools-2025-02-19', 'tool-search-tool-2025-10-19', 'tool-examples-2025-10-29']
]

const BETAS: HeaderMember = {
  header: 'anthropic-beta',
  member: 'anthropic_beta',
  words: new Map([
    ...FLAGS.map((flag) => [flag, flag] as const),
    ['advanced-tool-use-2025-11-20', 'tool-search-tool-2025-10-19']
  ]),
  without: ['anthropic-version', 'anthropic-dangerous-direct-browser-access']
}
