/**
 * Amazon Bedrock by Converse and ConverseStream (API reference of Amazon Bedrock Runtime). The model is in the path,
 * percent-encoded: ids may be ARNs, with ":" and "/".
 */
import type { Makers, Output } from './fields.ts'
import type { ProviderKind } from './kind.ts'
import { type Provider, segment } from './provider.ts'

const fields = ({ z, filledIn, modelName, awsRegion, shortString }: Makers) =>
  z.strictObject({
    model: modelName(),
    region: filledIn(awsRegion(), 'us-east-1').optional().describe('Default us-east-1.'),
    guardrail: z
      .strictObject({ identifier: shortString(), version: shortString() })
      .optional()
      .describe('A guardrail of Bedrock that requests and answers go through.')
  })

type Cloud = {
  readonly kind: 'bedrock'
  readonly region: string
  readonly guardrail: { readonly identifier: string; readonly version: string } | null
}

export const bedrock: ProviderKind<Output<typeof fields>, Cloud> = {
  name: 'bedrock',
  schema: fields,
  cacheMarks: 'always',
  shortcut: {
    names: ['bedrock'],
    params: {
      awsRegion: { schema: ({ awsRegion }) => awsRegion().optional().describe('Of bedrock. Default us-east-1.') }
    },
    fields: ({ awsRegion }) => ({ region: awsRegion })
  },
  translate: ({ region = 'us-east-1', guardrail = null }) => ({
    cloud: { kind: 'bedrock', region, guardrail },
    // Clients have no credentials of the cloud: the gateway's own are meant.
    auth: { kind: 'aws', keys: null, region: null, service: null }
  }),
  compile: ({ cloud }) => compile(cloud)
}

/** Ids, and inference profiles and ARNs that have them. */
const TITAN = /\btitan-embed-text/
const COHERE = /\bcohere\.embed/

function compile({ region, guardrail }: Cloud): Provider {
  return {
    name: 'aws.bedrock',
    host: `bedrock-runtime.${region}.amazonaws.com`,
    formats: () => ['converse'],
    target: (_, model, isStreamed) => `/model/${segment(model)}/${isStreamed ? 'converse-stream' : 'converse'}`,
    // Without a signature: an API key of Bedrock.
    keyField: () => 'authorization',
    fields: [],
    signingRegion: region,
    // By InvokeModel ("Amazon Titan Embeddings", "Cohere Embed", "Use a reranker model").
    wire: (operation, model) =>
      operation === 'rerank' ? 'invokeRerank' : TITAN.test(model) ? 'invokeText' : 'invokeTexts',
    lacksFor: (operation, model) =>
      operation === 'embeddings' && !TITAN.test(model) && !COHERE.test(model)
        ? 'embeddings of titan-embed and cohere.embed only'
        : undefined,
    ...(guardrail === null
      ? {}
      : {
          adapt: (_, body) => ({
            ...body,
            guardrailConfig: { guardrailIdentifier: guardrail.identifier, guardrailVersion: guardrail.version }
          })
        })
  }
}
