/** Embeddings, asked in OpenAI's or Gemini's words at every provider (see engine/testing/attack-operation.ts). */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { isObject } from '#backends/llm/formats/fields.ts'
import type { EmbeddingsAnswerSpec } from '#backends/llm/routes/embeddings.ts'
import { attackOperation } from '#engine/testing/attack-operation.ts'

export const name = 'llm-embeddings'

export const dictionary = [
  ...['"input":', '"model":"m"', '"dimensions":', '"encoding_format":"base64"', '"requests":[', '"content":{"parts":['],
  ...['"text":', '"outputDimensionality":', '"data":[', '"embedding":[', '"embeddings":[', '"values":[', '1e999', '-1'],
  ...['"usage":{"prompt_tokens":', '"usageMetadata":{"promptTokenCount":', 'null', '"__proto__":', '\\ud800']
]

const seeds = (...names: string[]) =>
  names.map((seed) => readFileSync(new URL(`../corpus/${name}/${seed}`, import.meta.url), 'utf8'))

const ATTACK = {
  type: 'Embeddings',
  paths: ['/v1/embeddings', '/v1beta/models/m:embedContent', '/v1beta/models/m:batchEmbedContents'],
  fields: [],
  requests: seeds('request-openai', 'request-packed', 'request-gemini', 'request-batch'),
  answers: seeds('answer-openai', 'answer-gemini'),
  judge: (spec, body) => {
    const telling = spec as EmbeddingsAnswerSpec
    if (telling.client === 'completions') {
      assert.ok(Array.isArray(body.data) && isObject(body.usage))
      assert.equal(typeof body.usage.prompt_tokens, 'number')
      for (const one of body.data) assert.ok(isObject(one) && one.embedding !== undefined)
    } else if (telling.isBatch) assert.ok(Array.isArray(body.embeddings))
    else assert.ok(isObject(body.embedding) && Array.isArray(body.embedding.values))
  }
} satisfies Parameters<typeof attackOperation>[0]

export const run = (data: Buffer): void => attackOperation(ATTACK, data)
