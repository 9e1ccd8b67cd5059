/** Whatever JSON comes: what is wrong is told with its place, and nothing else is thrown. */

import { ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { backends } from '#backends/index.ts'
import type { AiBackend } from '#backends/llm/config/snapshot.ts'
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { withCacheMarks } from '#backends/llm/edits/cache-marks.ts'
import { ModelPatterns } from '#backends/llm/edits/model-patterns.ts'
import { enrich } from '#backends/llm/edits/prompt-messages.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { dialectFor } from '#backends/llm/providers/dialects.ts'
import { compileProvider } from '#backends/llm/providers/index.ts'
import { Exchange } from '#engine/contract/exchange.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'
import type { OperationType } from './answer-spec.ts'
import { operationOf } from './index.ts'
import { LargeOperation } from './large-operation.ts'
import { bodyOf, costIn } from './operation-answer.ts'

const NAMES = ['model', 'messages', 'system', 'tools', 'input', 'contents', 'systemInstruction', 'content', 'parts']
const MORE = ['text', 'role', 'type', 'requests', 'generateContentRequest', 'data', 'embeddings', 'values', 'usage']
const RARE = [
  '__proto__',
  'toolConfig',
  'usageMetadata',
  'totalTokens',
  'id',
  'name',
  'models',
  'embedding',
  'encoding_format'
]
const WORDS = fc.constantFrom('user', 'system', 'text', 'base64', 'models/x', '', 'thinking')

const { body } = fc.letrec<{ json: Json; body: JsonObject }>((tie) => ({
  json: fc.oneof({ depthSize: 'small' }, WORDS, fc.constantFrom(null, 0, -1, true), fc.array(tie('json')), tie('body')),
  body: fc
    .array(fc.tuple(fc.constantFrom(...NAMES, ...MORE, ...RARE), tie('json')), { maxLength: 6 })
    .map((entries) => Object.fromEntries(entries) as JsonObject)
}))

/** Only a FormatError may come out. */
function harmless(step: () => unknown): void {
  try {
    step()
  } catch (error) {
    ok(error instanceof FormatError, String(error instanceof Error ? error.stack : error))
  }
}

const PROMPT = { prepend: [{ role: 'system', content: 'S' }], append: [{ role: 'user', content: 'U' }] } as const

test('edits', () => {
  const all = { cacheSystem: true, cacheMessages: true, cacheTools: true, minTokens: 0 }
  fc.assert(
    fc.property(body, (value) => {
      for (const client of ['completions', 'messages', 'responses', 'gemini'] as const) {
        for (const spoken of ['completions', 'messages'] as const) harmless(() => enrich(client, spoken, value, PROMPT))
      }
      harmless(() => withCacheMarks('messages', 'claude', value, all))
      harmless(() => withCacheMarks('converse', 'anthropic.claude-sonnet-4', value, all))
    }),
    { numRuns: 2000 }
  )
})

function recipients() {
  const kinds = ['openai', 'anthropic', 'gemini']
  const groups = kinds.map((kind) => ({ providers: [{ name: kind, [kind]: {} }] }))
  const file = { backends: [{ name: 'b', ai: { groups, prompt: PROMPT } }] }
  const result = loadConfig(JSON.stringify(file), { file: 'f', env: {}, policies, backends, processors: 1 })
  ok(result.ok)
  const backend = result.snapshot.backends.b as AiBackend
  ok(backend.kind === 'ai')
  return backend.groups.flat().map((settings) => ({
    settings,
    provider: compileProvider(settings),
    aliases: new ModelPatterns([['', 'm']]),
    learned: { dialect: dialectFor(null, '') }
  }))
}

const PLACES: readonly (readonly [OperationType, string])[] = [
  ['Embeddings', '/v1/embeddings'],
  ['Embeddings', '/v1beta/models/m:embedContent'],
  ['Embeddings', '/v1beta/models/m:batchEmbedContents'],
  ['AnthropicTokenCount', '/v1/messages/count_tokens'],
  ['GeminiTokenCount', '/v1beta/models/m:countTokens'],
  ['Models', '/v1/models'],
  ['Models', '/v1beta/models/x']
]

test('requests and answers of operations', () => {
  const to = recipients()
  fc.assert(
    fc.property(
      body,
      body,
      fc.constantFrom(...PLACES),
      fc.constantFrom(...to),
      (request, answered, [type, path], one) => {
        const ex = new Exchange(null as never, 'POST', path, '', 'a', new HeaderBlock(), 0, 0, 0)
        harmless(() => {
          const operation = operationOf(type, ex, Buffer.from(JSON.stringify(request)))
          ok(!(operation instanceof LargeOperation))
          const { answerSpec, isNative } = operation.write(ex, one)
          if (answerSpec === null) return
          costIn(answerSpec, answered)
          if (!isNative) bodyOf(answerSpec, answered)
        })
      }
    ),
    { numRuns: 5000 }
  )
})
