/**
 * IBM watsonx.ai ("Infer text": text/chat and text/chat_stream of its API reference; "Deployments"; "Generate
 * embeddings"; "Rerank"). It has chat completions with names of its own for the model, for who pays, and for words of
 * tool_choice; a stream has a path instead of a member. Its regions are hosts ("API endpoints"). Keys of IBM Cloud are
 * exchanged for tokens (watsonx-token.ts); what is a token already is shown as it is.
 */
import type { JsonObject } from '#backends/llm/conversation.ts'
import type { Makers, Output } from './fields.ts'
import type { ProviderKind, ShortcutParams } from './kind.ts'
import { type Operation, type Provider, segment } from './provider.ts'
import { exchangingKeys, IAM } from './watsonx-token.ts'

const ID = /^[A-Za-z0-9-]+$/
const REGION = /^[a-z0-9-]+$/
const VERSION = /^\d{4}-\d{2}-\d{2}$/
/** Anything but TLS would show the key to the network. */
const IAM_URL = /^(?:https:\/\/[A-Za-z0-9.-]+|http:\/\/(?:localhost|127\.0\.0\.1))(?::[0-9]{1,5})?$/
const DEFAULT_REGION = 'us-south'
const DEFAULT_VERSION = '2025-04-23'

const id = ({ tinyString }: Makers) => tinyString().regex(ID, 'must be an id: letters, digits and "-"')

const fields = (make: Makers) =>
  make.z
    .strictObject({
      model: make.modelName(),
      projectId: id(make).optional().describe('Who pays: a project.'),
      spaceId: id(make).optional().describe('Instead of projectId: a deployment space.'),
      region: make
        .filledIn(make.tinyString().regex(REGION, 'must have only lower-case letters, digits and "-"'), DEFAULT_REGION)
        .optional()
        .describe(`Default ${DEFAULT_REGION}.`),
      apiVersion: make
        .filledIn(make.tinyString().regex(VERSION, 'must be a date such as 2025-04-23'), DEFAULT_VERSION)
        .optional()
        .describe(`Default ${DEFAULT_VERSION}.`),
      iamUrl: make
        .filledIn(make.tinyString().regex(IAM_URL, 'must be "https://host", without a path'), IAM)
        .optional()
        .describe(`Where keys are exchanged for tokens. Default ${IAM}.`)
    })
    .refine(({ projectId, spaceId }) => (projectId === undefined) !== (spaceId === undefined), {
      params: make.cel('has(self.projectId) != has(self.spaceId)'),
      when: make.sound('projectId', 'spaceId'),
      error: 'must have one of projectId and spaceId'
    })

type Cloud = {
  readonly kind: 'watsonx'
  readonly region: string
  readonly account: { readonly project_id: string } | { readonly space_id: string }
  readonly apiVersion: string
  readonly iamUrl: string
}

export const watsonx: ProviderKind<Output<typeof fields>, Cloud> = {
  name: 'watsonx',
  schema: fields,
  hasDialect: true,
  dialect: 'watsonx',
  cacheMarks: 'never',
  shortcut: {
    names: ['watsonx'],
    params: {
      watsonxProject: { schema: ({ matching }) => matching(ID).describe('Of watsonx, as its projectId.') },
      watsonxSpace: { schema: ({ matching }) => matching(ID).describe('Of watsonx, as its spaceId.') },
      watsonxRegion: { schema: ({ matching }) => matching(REGION).describe(`Of watsonx. Default ${DEFAULT_REGION}.`) },
      watsonxVersion: { schema: ({ matching }) => matching(VERSION).describe('Of watsonx, as its apiVersion.') },
      watsonxIamUrl: { schema: ({ matching }) => matching(IAM_URL).describe('Of watsonx, as its iamUrl.') }
    },
    check: checked,
    fields: ({ watsonxProject, watsonxSpace, watsonxRegion, watsonxVersion, watsonxIamUrl }) => ({
      projectId: watsonxProject,
      spaceId: watsonxSpace,
      region: watsonxRegion,
      apiVersion: watsonxVersion,
      iamUrl: watsonxIamUrl
    })
  },
  translate: ({ projectId, spaceId, region = DEFAULT_REGION, apiVersion = DEFAULT_VERSION, iamUrl = IAM }) => ({
    cloud: {
      ...{ kind: 'watsonx', region, apiVersion, iamUrl },
      account: projectId === undefined ? { space_id: spaceId! } : { project_id: projectId }
    }
  }),
  compile: ({ cloud }) => compile(cloud),
  exchange: ({ iamUrl }, provider, auth, context) => exchangingKeys(iamUrl, provider, auth, context)
}

function checked({ baseUrl, pathPrefix, watsonxProject, watsonxSpace }: ShortcutParams) {
  if (watsonxProject === undefined && watsonxSpace === undefined) {
    return { key: 'watsonxProject', message: 'is required for watsonx, or watsonxSpace' }
  }
  if (watsonxProject !== undefined && watsonxSpace !== undefined) {
    return { key: 'watsonxSpace', message: 'goes without watsonxProject: one of them pays' }
  }
  if (typeof baseUrl === 'string' && !/^https?:\/\/[^/]+\/?$/.test(baseUrl)) {
    return { key: 'baseUrl', message: 'must be the address without a path: watsonx has its own' }
  }
  return pathPrefix === undefined ? null : { key: 'pathPrefix', message: 'has no place: watsonx has its own paths' }
}

/** What LiteLLM writes ahead of the id of a model that is deployed, whose path has it. */
const DEPLOYED = 'deployment/'

const LACKED: Readonly<Record<Exclude<Operation, 'count' | 'embeddings' | 'realtime' | 'rerank'>, string>> = {
  imageEdits: 'no API that changes pictures',
  imageGenerations: 'no API that makes pictures',
  imageVariations: 'no API that varies pictures',
  models: 'no list of its models',
  moderations: 'no moderation',
  speech: 'no API that speaks',
  stored: 'no files and batches',
  transcriptions: 'no transcription here',
  translations: 'no translation of sound'
}

function compile({ region, account, apiVersion }: Cloud): Provider {
  return {
    name: 'ibm.watsonx.ai',
    host: `${region}.ml.cloud.ibm.com`,
    formats: () => ['completions'],
    target: (_, model, isStreamed) => {
      const method = isStreamed ? 'chat_stream' : 'chat'
      const place = isDeployed(model) ? `/deployments/${segment(model.slice(DEPLOYED.length))}` : ''
      return `/ml/v1${place}/text/${method}?version=${apiVersion}`
    },
    chatEnd: /\/chat(?=\?)/,
    account,
    wire: (operation) => (operation === 'rerank' ? 'rerankInputs' : 'embedResults'),
    lacksFor: (operation, model) =>
      isDeployed(model) && (operation === 'embeddings' || operation === 'rerank')
        ? 'chat only of models that are deployed'
        : undefined,
    keyField: () => 'authorization',
    fields: [],
    lacks: { ...LACKED, realtime: 'no realtime API' },
    hasOwnErrors: true,
    adapt: (_, body) => inItsWords(body, account)
  }
}

const isDeployed = (model: string): boolean => model.startsWith(DEPLOYED)

/** No client says who pays: what it has said of that is left out. */
function inItsWords(body: JsonObject, account: Cloud['account']): JsonObject {
  const { model, stream: _, tool_choice: choice, model_id: __, project_id: ___, space_id: ____, ...rest } = body
  const isWord = typeof choice === 'string'
  return {
    // A deployment knows its model, and who pays.
    ...(typeof model === 'string' && isDeployed(model) ? {} : { model_id: model ?? null, ...account }),
    ...rest,
    ...(isWord ? { tool_choice_option: choice } : choice === undefined ? {} : { tool_choice: choice })
  }
}
