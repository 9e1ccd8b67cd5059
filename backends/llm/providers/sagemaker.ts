/**
 * Endpoints of Amazon SageMaker AI (API reference of the runtime: InvokeEndpoint, InvokeEndpointWithResponseStream),
 * whose containers are asked in chat completions at the one path that an endpoint has: TGI ("Messages API"), vLLM,
 * SGLang and LMI ("Chat Completions API Schema"). text-embeddings-inference embeds and ranks there. A stream comes in
 * pieces of AWS event streams (stream/payload-parts.ts).
 */
import type { JsonObject } from '#backends/llm/conversation.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import type { Makers, Output } from './fields.ts'
import type { ProviderKind, ShortcutParams } from './kind.ts'
import type { Operation, Provider } from './provider.ts'

/** Of endpoints and of inference components ("InvokeEndpoint", URI request parameters). */
const NAME = /^[A-Za-z0-9](?:-*[A-Za-z0-9]){0,62}$/
const REGION = /^[a-z0-9-]+$/
const DEFAULT_REGION = 'us-east-1'
const COMPONENT = 'X-Amzn-SageMaker-Inference-Component'
const EXPECTED = 'letters, digits and "-" between them'

const fields = (make: Makers) =>
  make.z.strictObject({
    model: make.modelName().describe('Name of the endpoint, instead of the model that the request names.'),
    region: make.filledIn(make.awsRegion(), DEFAULT_REGION).optional().describe(`Default ${DEFAULT_REGION}.`),
    inferenceComponent: make
      .tinyString()
      .regex(NAME, `must be ${EXPECTED}`)
      .optional()
      .describe('Of an endpoint that has some: the one that is asked.'),
    servedModel: make
      .shortString()
      .optional()
      .describe('The model by the name that the container has for it, such as an adapter. Default: it is not named.')
  })

type Cloud = {
  readonly kind: 'sagemaker'
  readonly region: string
  readonly inferenceComponent: string | null
  readonly servedModel: string | null
}

export const sagemaker: ProviderKind<Output<typeof fields>, Cloud> = {
  name: 'sagemaker',
  schema: fields,
  hasDialect: true,
  dialect: 'sagemaker',
  cacheMarks: 'never',
  shortcut: {
    names: ['sagemaker'],
    params: {
      sagemakerRegion: {
        schema: ({ matching }) => matching(REGION).describe(`Of sagemaker. Default ${DEFAULT_REGION}.`)
      },
      sagemakerComponent: { schema: ({ matching }) => matching(NAME).describe('Of sagemaker: inferenceComponent.') },
      sagemakerServedModel: {
        schema: ({ shortString }) => shortString().optional().describe('Of sagemaker, as its servedModel.')
      }
    },
    check: checked,
    fields: ({ sagemakerRegion, sagemakerComponent, sagemakerServedModel }) => ({
      region: sagemakerRegion,
      inferenceComponent: sagemakerComponent,
      servedModel: sagemakerServedModel
    })
  },
  translate: ({ region = DEFAULT_REGION, inferenceComponent = null, servedModel = null }) => ({
    cloud: { kind: 'sagemaker', region, inferenceComponent, servedModel },
    // Clients have no credentials of the cloud: the gateway's own are meant.
    auth: { kind: 'aws', keys: null, region: null, service: null }
  }),
  compile: ({ cloud }) => compile(cloud)
}

function checked({ apiKey, baseUrl, pathPrefix }: ShortcutParams) {
  if (apiKey !== undefined) {
    const instead = 'for a bearer token: provider: openai, baseUrl: .../endpoints/NAME/openai/v1'
    return { key: 'apiKey', message: `has no place: requests are signed with keys of AWS; ${instead}` }
  }
  if (typeof baseUrl === 'string' && !/^https?:\/\/[^/]+\/?$/.test(baseUrl)) {
    return { key: 'baseUrl', message: 'must be the address without a path: an endpoint has its own' }
  }
  return pathPrefix === undefined ? null : { key: 'pathPrefix', message: 'has no place: an endpoint has its own path' }
}

const LACKED: Readonly<Record<Exclude<Operation, 'count' | 'embeddings' | 'rerank'>, string>> = {
  imageEdits: 'no API that changes pictures',
  imageGenerations: 'no API that makes pictures',
  imageVariations: 'no API that varies pictures',
  models: 'no list of its models',
  moderations: 'no moderation',
  realtime: 'no realtime API',
  speech: 'no API that speaks',
  stored: 'no files and batches',
  transcriptions: 'no transcription',
  translations: 'no translation of sound'
}

function compile({ region, inferenceComponent, servedModel }: Cloud): Provider {
  return {
    name: 'aws.sagemaker',
    host: `runtime.sagemaker.${region}.amazonaws.com`,
    formats: () => ['completions'],
    target: (_, model, isStreamed) =>
      `/endpoints/${endpoint(model)}/invocations${isStreamed ? '-response-stream' : ''}`,
    keyField: () => 'authorization',
    fields: inferenceComponent === null ? [] : [COMPONENT, inferenceComponent],
    hasOnePath: true,
    signing: { region, service: 'sagemaker' },
    wire: (operation) => (operation === 'rerank' ? 'rerankTexts' : 'embedInputs'),
    lacks: LACKED,
    hasOwnErrors: true,
    adapt: (_, body) => named(body, servedModel)
  }
}

/** Throws FormatError. */
function endpoint(model: string): string {
  if (NAME.test(model)) return model
  throw new FormatError('model', `must be the name of an endpoint: ${EXPECTED}`)
}

/** The path has the endpoint, and containers refuse its name as that of a model. */
function named({ model: _, ...rest }: JsonObject, servedModel: string | null): JsonObject {
  return servedModel === null ? rest : { model: servedModel, ...rest }
}
