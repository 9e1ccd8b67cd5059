/**
 * What services have, beside chat and lists of models, that speak OpenAI's formats: by their own API references.
 * Services that are not here may have all of it; their own answer says so if they have not.
 */
import type { Operation, Provider } from './provider.ts'

const SOUND = ['transcriptions', 'translations', 'speech'] as const

const SERVICES: ReadonlyMap<string, readonly Operation[]> = new Map<string, readonly Operation[]>([
  ['cerebras', []],
  ['cohere', ['embeddings']],
  ['deepseek', []],
  ['fireworks', ['embeddings']],
  ['groq', SOUND],
  ['lmstudio', ['embeddings']],
  ['mistral', ['embeddings', 'moderations', 'transcriptions']],
  ['openrouter', ['embeddings']],
  ['together', ['embeddings', 'imageGenerations', ...SOUND]],
  ['vertexai', []],
  ['xai', ['imageGenerations', 'realtime']]
])

const OF_ALL: ReadonlySet<Operation> = new Set<Operation>(['models', 'count'])

/** `service`: as of ProviderSpec; undefined: nothing is known of it. */
export function isWithout(service: string | undefined, operation: Operation): boolean {
  const known = service === undefined ? undefined : SERVICES.get(service)
  return known !== undefined && !OF_ALL.has(operation) && !known.includes(operation)
}

/** Providers of a file that stand for many services. */
const ANY: ReadonlySet<string> = new Set(['openai', 'custom'])

/** For messages. */
export function titleOf({ name }: Provider, service: string | undefined): string {
  return ANY.has(name) ? (service ?? name) : name
}
