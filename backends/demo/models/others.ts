/**
 * Answers of the mock provider besides chat: embeddings, counts and lists of models.
 * Sources: OpenAI, "Create embeddings", "Models", "Get input token counts"; Anthropic, "Count tokens in a Message";
 * ai.google.dev, "Embeddings", "Counting tokens", "Models".
 */
import type { Body } from './wire.ts'

/** What every text is to it. */
const VECTOR = [0.5, -0.25, 0.125] as const
const COUNT = 12
const NAME = 'demo'

const textsOf = (input: Body): readonly unknown[] =>
  Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]

export function embeddings(body: Body): object {
  const embedding = body.encoding_format === 'base64' ? packed() : VECTOR
  const data = textsOf(body.input).map((_, index) => ({ object: 'embedding', index, embedding }))
  return { object: 'list', data, model: body.model, usage: { prompt_tokens: COUNT, total_tokens: COUNT } }
}

/** OpenAI's own clients ask for floats of 32 bits in base64. */
function packed(): string {
  return Buffer.from(new Float32Array(VECTOR).buffer).toString('base64')
}

export const embedContent = (): object => ({ embedding: { values: VECTOR } })

export const batchEmbedContents = ({ requests }: Body): object => ({
  embeddings: (Array.isArray(requests) ? requests : []).map(() => ({ values: VECTOR }))
})

export const inputTokens = (): object => ({ object: 'response.input_tokens', input_tokens: COUNT })
export const countTokens = (): object => ({ input_tokens: COUNT })
export const geminiCount = (): object => ({ totalTokens: COUNT })

/** Whose words a list of models is in. */
export type ListKind = 'openai' | 'anthropic' | 'gemini'

const MODELS: Readonly<Record<ListKind, object>> = {
  openai: { id: NAME, object: 'model', created: 1_700_000_000, owned_by: 'weir' },
  anthropic: { type: 'model', id: NAME, display_name: 'Demo', created_at: '2023-11-14T22:13:20Z' },
  gemini: {
    name: `models/${NAME}`,
    version: '1',
    displayName: 'Demo',
    description: 'Always says the same.',
    inputTokenLimit: 1_000_000,
    outputTokenLimit: 8192,
    supportedGenerationMethods: ['generateContent', 'countTokens', 'embedContent']
  }
}

/** All of its models: one. */
export function modelList(kind: ListKind): object {
  const one = MODELS[kind]
  if (kind === 'gemini') return { models: [one] }
  if (kind === 'openai') return { object: 'list', data: [one] }
  return { data: [one], has_more: false, first_id: NAME, last_id: NAME }
}

/** Null: there is no model of that name. */
export function oneModel(kind: ListKind, name: string): object | null {
  return name === NAME ? MODELS[kind] : null
}
