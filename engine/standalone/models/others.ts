/**
 * What the mock provider says where nobody chats: embeddings, counts and lists of models.
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

export const openaiModels = (): object => ({
  object: 'list',
  data: [{ id: NAME, object: 'model', created: 1_700_000_000, owned_by: 'weir' }]
})

export const geminiModels = (): object => ({
  models: [
    {
      name: `models/${NAME}`,
      displayName: NAME,
      supportedGenerationMethods: ['generateContent', 'countTokens', 'embedContent']
    }
  ]
})
