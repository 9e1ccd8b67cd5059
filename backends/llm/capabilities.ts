/**
 * What providers can do beside chat: for each operation the formats that have an API for it, and the providers that
 * lack it although they speak such a format. To teach a provider an operation, take its line out.
 */
import type { AiProvider } from '#backends/llm/config/snapshot.ts'
import type { FormatName } from './conversation.ts'
import { FormatError } from './formats/format.ts'
import type { ResolvedProvider } from './plan/request-plan.ts'

interface Capability {
  /** The preferred first. */
  readonly formats: readonly FormatName[]
  /** What a provider without such a format `has`: part of the reply to the client. */
  readonly without: string
  readonly lacking?: { readonly [type in AiProvider['type']]?: string }
}

const CAPABILITIES = {
  count: { formats: ['messages', 'gemini', 'responses', 'converse'], without: 'no API that counts tokens' },
  embeddings: {
    formats: ['gemini', 'completions', 'responses'],
    without: 'no embeddings',
    // Its embedding models are asked by :predict.
    lacking: { vertexai: 'no embeddings here' }
  },
  models: {
    formats: ['gemini', 'completions', 'responses', 'messages'],
    without: 'no list of its models',
    lacking: { vertexai: 'no list of its models' }
  },
  realtime: {
    formats: ['completions', 'responses'],
    without: 'no realtime API',
    // Its OpenAI-compatible endpoint has chat only.
    lacking: { vertexai: 'no realtime API' }
  }
} as const satisfies { readonly [operation: string]: Capability }

type Operation = keyof typeof CAPABILITIES

/** The format of `operation` at the provider, `preferred` if it has that. Throws FormatError where it has none. */
export function operationFormat<K extends Operation>(
  operation: K,
  { settings, provider }: Pick<ResolvedProvider, 'settings' | 'provider'>,
  model: string,
  preferred?: FormatName
): (typeof CAPABILITIES)[K]['formats'][number] {
  const { formats, without, lacking }: Capability = CAPABILITIES[operation]
  const known = provider.formats(model)
  const has = (format: FormatName): boolean => formats.includes(format) && known.includes(format)
  const format = preferred !== undefined && has(preferred) ? preferred : formats.find(has)
  const problem = format === undefined ? without : lacking?.[settings.type]
  if (problem !== undefined) throw new FormatError('', `${provider.name} has ${problem}`)
  return format!
}
