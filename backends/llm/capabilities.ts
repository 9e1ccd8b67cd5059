/**
 * What providers can do beside chat: for each operation the formats that have an API for it. A provider that lacks one
 * although it speaks such a format says so in its row (`lacks`).
 */
import type { FormatName } from './conversation.ts'
import { FormatError } from './formats/format.ts'
import type { ResolvedProvider } from './plan/request-plan.ts'
import type { Operation } from './providers/provider.ts'
import { isWithout, titleOf } from './providers/services.ts'

interface Capability {
  /** The preferred first. */
  readonly formats: readonly FormatName[]
  /** What a provider without such a format `has`: part of the reply to the client. */
  readonly without: string
}

const OPENAI = ['completions', 'responses'] as const

const CAPABILITIES = {
  count: { formats: ['messages', 'gemini', 'responses', 'converse'], without: 'no API that counts tokens' },
  embeddings: { formats: ['gemini', 'completions', 'responses', 'converse'], without: 'no embeddings' },
  models: { formats: ['gemini', 'completions', 'responses', 'messages'], without: 'no list of its models' },
  imageEdits: { formats: OPENAI, without: 'no API that changes pictures' },
  imageGenerations: { formats: [...OPENAI, 'gemini'], without: 'no API that makes pictures' },
  imageVariations: { formats: OPENAI, without: 'no API that varies pictures' },
  moderations: { formats: OPENAI, without: 'no moderation' },
  realtime: { formats: OPENAI, without: 'no realtime API' },
  rerank: { formats: [...OPENAI, 'converse', 'gemini'], without: 'no API that ranks' },
  speech: { formats: [...OPENAI, 'gemini'], without: 'no API that speaks' },
  stored: { formats: ['responses', 'completions', 'messages', 'gemini'], without: 'no files and batches' },
  transcriptions: { formats: OPENAI, without: 'no transcription' },
  translations: { formats: OPENAI, without: 'no translation of sound' }
} as const satisfies { readonly [operation in Operation]: Capability }

type FormatOf<K extends Operation> = (typeof CAPABILITIES)[K]['formats'][number]

/** The format of `operation` at the provider, `preferred` if it has that. Throws FormatError where it has none. */
export function operationFormat<K extends Operation>(
  operation: K,
  { provider, service }: Pick<ResolvedProvider, 'provider' | 'service'>,
  model: string,
  preferred?: FormatName
): FormatOf<K> {
  const { formats, without }: Capability = CAPABILITIES[operation]
  const known = provider.formats(model)
  const has = (format: FormatName): boolean => formats.includes(format) && known.includes(format)
  const format = preferred !== undefined && has(preferred) ? preferred : formats.find(has)
  const problem =
    format === undefined || isWithout(service, operation)
      ? without
      : (provider.lacks?.[operation] ?? provider.lacksFor?.(operation, model))
  if (problem !== undefined) throw new FormatError('', `${titleOf(provider, service)} has ${problem}`)
  return format as FormatOf<K>
}
