/**
 * What services have, beside chat and lists of models, that speak OpenAI's formats. Which page of which service says so
 * stands in scripts/endpoint-sources.ts; docs/llm-endpoints.md shows what no page is known of. Services that are not
 * here may have all of it; their own answer says so if they have not.
 */
import { serviceAt } from './dialects.ts'
import type { Operation, Provider, Wire } from './provider.ts'

const SOUND = ['transcriptions', 'translations', 'speech'] as const

/** Azure has these; it has no moderation, and varies no pictures. */
const AZURE = [...(['embeddings', 'imageEdits', 'imageGenerations', 'realtime', 'stored'] as const), ...SOUND]
const OPENAI = [...AZURE, 'imageVariations', 'moderations'] as const

/** What a provider keeps (docs/llm-objects.md): of some services files alone, of others batches and answers, too. */
const SERVICES: ReadonlyMap<string, readonly Operation[]> = new Map<string, readonly Operation[]>([
  ['azureopenai', AZURE],
  ['cerebras', []],
  ['cohere', ['embeddings', 'rerank']],
  ['deepseek', ['stored']],
  // Its sound has hosts of its own. "Fireworks Responses API": answers are kept, listed and deleted.
  ['fireworks', ['embeddings', 'rerank', 'stored', 'transcriptions', 'translations']],
  ['groq', ['embeddings', ...SOUND, 'stored']],
  // "Inference Providers": the router has chat only, the other tasks are behind paths of each provider.
  ['huggingface', []],
  ['jina', ['embeddings', 'rerank']],
  ['lmstudio', ['embeddings']],
  // "Batch Processing": files; its batches have a path of their own, /v1/batch/jobs.
  ['mistral', ['embeddings', 'moderations', 'speech', 'stored', 'transcriptions']],
  // Ranking has a host of its own, or is a server of one's own.
  ['nvidia', ['embeddings', 'rerank']],
  // "OpenAI compatibility", endpoints. It keeps no answers ("only the non-stateful flavor").
  ['ollama', ['embeddings', 'imageGenerations']],
  ['openai', OPENAI],
  // Its transcriptions are asked in JSON, not by a form.
  ['openrouter', ['embeddings', 'rerank', 'speech']],
  ['sagemaker', ['embeddings', 'rerank']],
  ['tei', ['embeddings', 'rerank']],
  // together-typescript, api.md: batches, and files, which are uploaded to a path of their own (/files/upload).
  ['together', ['embeddings', 'imageGenerations', 'rerank', 'stored', ...SOUND]],
  ['vertexai', ['embeddings', 'imageGenerations', 'rerank', 'speech']],
  // "Upload file": for batches.
  ['voyage', ['embeddings', 'rerank', 'stored']],
  ['watsonx', ['embeddings', 'rerank']],
  // "Managing Files", with OpenAI's client.
  // It takes edits of pictures in JSON only. Its sound is not where OpenAI's is.
  ['xai', ['imageGenerations', 'realtime', 'stored']]
])

const WIRES: ReadonlyMap<string, { readonly [operation in Operation]?: Wire }> = new Map([
  ['cohere', { embeddings: 'embedV2', rerank: 'rerankV2' }],
  ['deepinfra', { rerank: 'rerankScores' }],
  ['fireworks', { rerank: 'rerankData' }],
  ['jina', { embeddings: 'embeddingType', rerank: 'rerankEcho' }],
  ['mistral', { speech: 'voiceId' }],
  ['nvidia', { rerank: 'rankPassages' }],
  ['tei', { rerank: 'rerankTexts' }],
  ['voyage', { embeddings: 'outputDimension', rerank: 'rerankTopK' }]
])

/** Services that have OpenAI's older completions of texts; OpenAI has them of a few models. */
const TEXTS: ReadonlySet<string> = new Set([
  ...['baseten', 'cerebras', 'custom', 'deepinfra', 'fireworks', 'llamacpp', 'lmstudio', 'ollama', 'openrouter'],
  ...['sglang', 'together', 'vllm']
])
const TEXT_MODELS = /^(?:ft:)?(?:gpt-3\.5-turbo-instruct|davinci-002|babbage-002)/

/** Of texts that are gone on with, without a chat. */
export function hasTexts(
  { provider, service }: { readonly provider: Provider; readonly service?: string | undefined },
  model: string
): boolean {
  if (!provider.formats(model).includes('completions')) return false
  if (service === 'openai' || service === 'azureopenai') return TEXT_MODELS.test(model)
  return service === undefined || TEXTS.has(service)
}

/** `called`: as price lists have it; `host`: of the file. A server of one's own has what its owner says. */
export function serviceNamed(called: string, host: string | null): string {
  return called === 'openai' && host !== null && serviceAt(host) === null ? 'custom' : called
}

/** What `operation` is asked in; null: the API of the format. */
export function wireOf(
  { provider, service }: { readonly provider: Provider; readonly service?: string | undefined },
  operation: Operation,
  model: string
): Wire | null {
  const ofService = service === undefined ? undefined : WIRES.get(service)?.[operation]
  return provider.wire?.(operation, model) ?? ofService ?? null
}

const OF_ALL: ReadonlySet<Operation> = new Set<Operation>(['models', 'count'])

/** `service`: as of ProviderSpec; undefined: nothing is known of it. */
export function isWithout(service: string | undefined, operation: Operation): boolean {
  const known = service === undefined ? undefined : SERVICES.get(service)
  return known !== undefined && !OF_ALL.has(operation) && !known.includes(operation)
}

/** Providers of a file that stand for many services. */
const ANY: ReadonlySet<string> = new Set(['openai', 'custom'])

/** Whether it is written down what `service` has. */
export const isKnown = (service: string | undefined): boolean => service !== undefined && SERVICES.has(service)

/** For messages. */
export function titleOf({ name }: Provider, service: string | undefined): string {
  return ANY.has(name) ? (service ?? name) : name
}
