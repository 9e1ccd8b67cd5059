/**
 * Models on Vertex AI: Google's by generateContent, Anthropic's and Mistral's by rawPredict, others by the
 * OpenAI-compatible endpoint. Sources: "Generate content with the Gemini API in Vertex AI", "Request predictions with
 * Claude models", "Mistral AI models",
 * "OpenAI compatibility" and "Locations" of Google Cloud's documentation.
 */
import type { FormatName, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import type { Makers, Output } from './fields.ts'
import { methodOf } from './gemini.ts'
import type { ProviderKind } from './kind.ts'
import { type Operation, type Provider, segment } from './provider.ts'

const PROJECT = /^[a-z0-9][a-z0-9.:-]*$/
const REGION = /^[a-z0-9-]+$/

const fields = ({ z, modelName, tinyString }: Makers) =>
  z.strictObject({
    model: modelName(),
    projectId: tinyString().regex(PROJECT, 'must be the id of a project: letters, digits and "-"'),
    region: tinyString()
      .regex(REGION, 'must have only lower-case letters, digits and "-"')
      .describe('A location such as us-central1, or global.')
  })

type Cloud = { readonly kind: 'vertexai'; readonly projectId: string; readonly region: string }

export const vertexai: ProviderKind<Output<typeof fields>, Cloud> = {
  name: 'vertexai',
  schema: fields,
  cacheMarks: 'always',
  shortcut: {
    names: ['vertex', 'vertexai'],
    params: {
      vertexProject: { schema: ({ matching }) => matching(PROJECT).describe('Of vertex.'), isNeeded: true },
      vertexRegion: { schema: ({ matching }) => matching(REGION).describe('Of vertex.'), isNeeded: true }
    },
    fields: ({ vertexProject, vertexRegion }) => ({ projectId: vertexProject, region: vertexRegion })
  },
  translate: ({ projectId, region }) => ({
    cloud: { kind: 'vertexai', projectId, region },
    // Clients have no credentials of the cloud: the gateway's own are meant.
    auth: { kind: 'gcp', token: 'access', audience: null, credential: null }
  }),
  compile: ({ cloud }) => compile(cloud)
}

type Publisher = 'google' | 'anthropic' | 'mistralai' | 'other'

const FORMAT: Readonly<Record<Publisher, FormatName>> = {
  google: 'gemini',
  anthropic: 'messages',
  mistralai: 'completions',
  other: 'completions'
}
/** Instead of the header and of the body's model. */
const ANTHROPIC_VERSION = 'vertex-2023-10-16'

function compile({ projectId, region }: Cloud): Provider {
  const place = `/v1/projects/${segment(projectId)}/locations/${region}`
  return {
    name: 'gcp.vertex_ai',
    host: hostOf(region),
    formats: (model) => [FORMAT[publisherOf(model)]],
    target: (format, model, isStreamed) => {
      const method = isStreamed ? 'streamRawPredict' : 'rawPredict'
      if (publisherOf(model) === 'mistralai') return `${place}/publishers/mistralai/models/${nameOf(model)}:${method}`
      if (format === 'completions') return `${place}/endpoints/openapi/chat/completions`
      if (format === 'gemini') return `${place}/publishers/google/models/${nameOf(model)}:${methodOf(isStreamed)}`
      return `${place}/publishers/anthropic/models/${datedName(model)}:${method}`
    },
    // Keys of the express mode are Google's API keys; all else are access tokens.
    keyField: (key) => (/^(?:AIza|AQ\.)/.test(key) ? 'x-goog-api-key' : 'authorization'),
    keyParameter: 'key',
    fields: [],
    lacksFor,
    wire: (operation, model) => {
      if (operation === 'rerank') return 'rankRecords'
      if (operation !== 'embeddings') return undefined
      // "Get text embeddings": newer models are asked as the Gemini API is, for one text at a time.
      return /\bgemini-embedding-(?!001)/.test(model) ? 'embedContent' : 'predict'
    },
    lacks: { models: 'no list of its models', realtime: 'no realtime API', stored: 'no files and batches here' },
    adapt: (format, body) => (format === 'messages' ? withoutModel(body) : withName(body)),
    dialect: (model) => (publisherOf(model) === 'mistralai' ? 'mistral' : null),
    counting: {
      ends: { messages: CLAUDE_COUNT },
      body: (format, model, body) => (format === 'gemini' ? geminiCount(body) : claudeCount(model, body))
    }
  }
}

/** The OpenAI-compatible endpoint has chat only; of ranking, the models of Vertex AI Search. */
function lacksFor(operation: Operation, model: string): string | undefined {
  if (operation === 'rerank' && !isRanker(model)) return 'a ranking of the models semantic-ranker-... only'
  const isGoogles = publisherOf(model) === 'google'
  if (isGoogles || (operation !== 'embeddings' && operation !== 'speech' && operation !== 'imageGenerations'))
    return undefined
  return `${operation === 'imageGenerations' ? 'pictures' : operation} of Google's models only`
}

const isRanker = (model: string): boolean => /^semantic-ranker-/.test(partsOf(model)[1])

/** The one that stands for all regions, two multi-regions, and regions. */
function hostOf(region: string): string {
  if (region === 'global') return 'aiplatform.googleapis.com'
  if (region === 'us' || region === 'eu') return `aiplatform.${region}.rep.googleapis.com`
  return `${region}-aiplatform.googleapis.com`
}

/** Names may be "publishers/google/models/x" or "google/x", as Google's own clients take them. */
function publisherOf(model: string): Publisher {
  const [publisher, name] = partsOf(model)
  if (publisher === 'google' || publisher === 'anthropic' || publisher === 'mistralai') return publisher
  if (publisher !== '') return 'other'
  if (name.startsWith('claude')) return 'anthropic'
  if (/^(?:mistral|ministral|codestral|magistral)/.test(name)) return 'mistralai'
  return /^(?:gemini|gemma|learnlm|semantic-ranker|text-embedding|text-multilingual-embedding|textembedding-gecko)/.test(
    name
  )
    ? 'google'
    : 'other'
}

function partsOf(model: string): [publisher: string, name: string] {
  const long = /^(?:publishers\/)?([^/]+)\/(?:models\/)?([^/]+)$/.exec(model)
  return long === null ? ['', model] : [long[1]!, long[2]!]
}

const nameOf = (model: string) => segment(partsOf(model)[1])

/** Anthropic writes claude-x-20250929 where Vertex AI writes claude-x@20250929. */
const claudeName = (model: string) => partsOf(model)[1].replace(/-(\d{8})$/, '@$1')

const datedName = (model: string) => nameOf(claudeName(model)).replace('%40', '@')

/** Counts of all of Claude's models have one path ("Count tokens for Claude models"): the body says which is meant. */
const CLAUDE_COUNT = '/count-tokens:rawPredict'

function claudeCount(model: string, body: JsonObject): JsonObject {
  return { anthropic_version: ANTHROPIC_VERSION, ...body, model: claudeName(model) }
}

/** The parts of a request side by side, which the Gemini API has in an object of their own. */
function geminiCount(body: JsonObject): JsonObject {
  const { generateContentRequest: inner } = body
  if (!isObject(inner)) return body
  const { model: _, ...parts } = inner
  return parts
}

/** Mistral's own API in a path of Google's: the body has the model's name alone. */
function withName(body: JsonObject): JsonObject {
  const { model } = body
  if (typeof model !== 'string' || publisherOf(model) !== 'mistralai') return body
  const [, name] = partsOf(model)
  return name === model ? body : { ...body, model: name }
}

function withoutModel(body: JsonObject): JsonObject {
  const { model: _, ...rest } = body
  return { anthropic_version: ANTHROPIC_VERSION, ...rest }
}
