/** Token counts, asked in Anthropic's or Gemini's words at every provider (see engine/testing/attack-operation.ts). */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type Attack, attackOperation } from '#engine/testing/attack-operation.ts'

export const name = 'llm-count'

export const dictionary = [
  ...['"messages":[', '"role":"user"', '"content":', '"system":', '"model":"m"', '"tools":[', '"thinking":', '"text":'],
  ...['"contents":[', '"parts":[', '"generateContentRequest":{', '"systemInstruction":', '"toolConfig":', 'null'],
  ...['"input_tokens":', '"totalTokens":', '"inputTokens":', '1e999', '-1', '1.5', '"__proto__":', '\\ud800']
]

const seeds = (...names: string[]) =>
  names.map((seed) => readFileSync(new URL(`../corpus/${name}/${seed}`, import.meta.url), 'utf8'))

const answers = seeds('answer-messages', 'answer-gemini', 'answer-converse')

const judge: Attack['judge'] = (telling, body) => {
  const total = telling.client === 'messages' ? body.input_tokens : body.totalTokens
  assert.ok(typeof total === 'number' && total >= 0)
}

export function run(data: Buffer): void {
  const messages = seeds('request-messages')
  const gemini = seeds('request-gemini', 'request-inner')
  const paths = { AnthropicTokenCount: '/v1/messages/count_tokens', GeminiTokenCount: '/v1beta/models/m:countTokens' }
  const common = { fields: [], answers, judge }
  const type = 'AnthropicTokenCount'
  attackOperation({ ...common, type, paths: [paths[type]], requests: messages }, data)
  const other = 'GeminiTokenCount'
  attackOperation({ ...common, type: other, paths: [paths[other]], requests: gemini }, data)
}
