/** Searches of providers' own tools, which their usage does not tell of: whole and streamed. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '#backends/llm/conversation.ts'
import { FORMATS } from './index.ts'

type Format = 'responses' | 'gemini'

const whole = (format: Format, body: JsonObject) => [
  FORMATS[format].readAnswer(body).usage?.searches,
  FORMATS[format].readSummary(body).usage?.searches
]

function streamed(format: Format, events: readonly JsonObject[]): number | undefined {
  const reader = FORMATS[format].streamReader()
  const all = events.flatMap((data) => reader.read({ name: '', data: JSON.stringify(data) }))
  return all.flatMap((event) => (event.kind === 'usage' ? [event.usage] : [])).at(-1)?.searches
}

const call = (action: JsonObject | null, status = 'completed') => ({
  ...{ type: 'web_search_call', id: 'ws', status },
  ...(action === null ? {} : { action })
})

test('Responses: what has searched is counted, pages that were opened are not', () => {
  const message = {
    ...{ type: 'message', id: 'm', role: 'assistant' },
    content: [{ type: 'output_text', text: 'Hi', annotations: [] }]
  }
  const response = {
    ...{ id: 'r', object: 'response', status: 'completed', model: 'gpt-5', created_at: 1 },
    output: [
      call({ type: 'search', query: 'a' }),
      call({ type: 'open_page', url: 'https://a.example' }),
      call(null),
      call({ type: 'search', query: 'b' }, 'failed'),
      message
    ],
    usage: { input_tokens: 1, output_tokens: 2 }
  }
  for (const searches of whole('responses', response)) equal(searches, 2)
  const started = { type: 'response.created', response: { ...response, output: [], usage: null } }
  equal(streamed('responses', [started, { type: 'response.completed', response }]), 2)
  for (const searches of whole('responses', { ...response, output: [message] })) equal(searches, undefined)
})

test('Gemini: each search of a model from 3 on, and each answer that was grounded of those before', () => {
  const answer = (modelVersion: string, queries: readonly string[], finishReason: string | null): JsonObject => ({
    ...{ responseId: 'r', modelVersion },
    candidates: [
      {
        ...{ index: 0, content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason },
        groundingMetadata: { webSearchQueries: [...queries] }
      }
    ],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 }
  })
  for (const [model, queries, searches] of [
    ['gemini-3.1-pro-preview', ['a', 'b', ''], 2],
    ['gemini-2.5-flash', ['a', 'b'], 1],
    ['gemini-2.5-flash', [], undefined]
  ] as const) {
    for (const found of whole('gemini', answer(model, queries, 'STOP'))) equal(found, searches, model)
    // Events repeat what they have told.
    equal(streamed('gemini', [answer(model, queries, null), answer(model, queries, 'STOP')]), searches, model)
  }
})
