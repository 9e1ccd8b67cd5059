/**
 * Thoughts and their signatures over two turns: the client sends back what it was told, in its own format, and the
 * provider that has signed finds its signatures where it left them.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { eventText } from '#backends/demo/models/answers.ts'
import type { Body } from '#backends/demo/models/wire.ts'
import { at, gateway, jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'

const ROUTES = {
  '/messages': 'Messages',
  '/completions': 'Completions',
  '/responses': 'Responses',
  '*': 'GenerateContent'
}
const THOUGHT = 'c2lnbmF0dXJlLW9mLWEtdGhvdWdodA=='
const OF_CALL = 'c2lnbmF0dXJlLW9mLWEtY2FsbA=='
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } }

/** What each provider answers the first turn with; and where its signatures stand in the second request. */
const PROVIDERS = {
  anthropic: {
    whole: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        { type: 'thinking', thinking: 'Look.', signature: THOUGHT },
        { type: 'redacted_thinking', data: OF_CALL },
        { type: 'tool_use', id: 'toolu_1', name: 'f', input: { city: 'Paris' } }
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 12, output_tokens: 7 }
    },
    signatures: ({ messages }: Body) => messages[1].content.flatMap((part: Body) => part.signature ?? part.data ?? [])
  },
  gemini: {
    whole: {
      candidates: [
        {
          index: 0,
          finishReason: 'STOP',
          content: {
            role: 'model',
            parts: [
              { text: 'Look.', thought: true, thoughtSignature: THOUGHT },
              { functionCall: { name: 'f', args: { city: 'Paris' } }, thoughtSignature: OF_CALL }
            ]
          }
        }
      ],
      usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 7, totalTokenCount: 19 },
      modelVersion: 'm',
      responseId: 'r'
    },
    signatures: ({ contents }: Body) => contents[1].parts.flatMap((part: Body) => part.thoughtSignature ?? [])
  }
} as const
type Kind = keyof typeof PROVIDERS

const HI = { role: 'user', content: 'Hi' }

/** How each client asks, and how it goes on from an answer. */
const CLIENTS: Readonly<Record<string, { path: string; first: Body; next: (first: Body, answer: Body) => Body }>> = {
  completions: {
    path: '/v1/chat/completions',
    first: { model: 'm', messages: [HI], tools: [{ type: 'function', function: { name: 'f', parameters: SCHEMA } }] },
    next: (first, { choices: [{ message }] }) => {
      const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'sunny' }
      return { ...first, messages: [HI, message, result] }
    }
  },
  messages: {
    path: '/v1/messages',
    first: {
      model: 'm',
      max_tokens: 2000,
      thinking: { type: 'enabled', budget_tokens: 1024 },
      messages: [HI],
      tools: [{ name: 'f', input_schema: SCHEMA }]
    },
    next: (first, { content }) => {
      const { id } = content.find((part: Body) => part.type === 'tool_use')
      const result = { type: 'tool_result', tool_use_id: id, content: 'sunny' }
      return { ...first, messages: [HI, { role: 'assistant', content }, { role: 'user', content: [result] }] }
    }
  },
  responses: {
    path: '/v1/responses',
    first: {
      model: 'm',
      input: [HI],
      store: false,
      include: ['reasoning.encrypted_content'],
      tools: [{ type: 'function', name: 'f', parameters: SCHEMA, strict: false }]
    },
    next: (first, { output }) => {
      const { call_id } = output.find((item: Body) => item.type === 'function_call')
      return { ...first, input: [HI, ...output, { type: 'function_call_output', call_id, output: 'sunny' }] }
    }
  },
  gemini: {
    path: '/v1beta/models/m:generateContent',
    first: {
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: SCHEMA }] }]
    },
    next: (first, { candidates: [{ content }] }) => {
      const { functionCall } = content.parts.find((part: Body) => part.functionCall !== undefined)
      const functionResponse = {
        name: 'f',
        response: { output: 'sunny' },
        ...(functionCall.id ? { id: functionCall.id } : {})
      }
      return { ...first, contents: [...first.contents, content, { role: 'user', parts: [{ functionResponse }] }] }
    }
  }
}

const json = (data: object) => eventText(['type' in data ? String(data.type) : null, data])

/** The same answers as streams. */
const STREAMS: Readonly<Record<Kind, string>> = {
  gemini: json(PROVIDERS.gemini.whole),
  anthropic: [
    { type: 'message_start', message: { ...PROVIDERS.anthropic.whole, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Look.' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: THOUGHT } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'redacted_thinking', data: OF_CALL } },
    { type: 'content_block_stop', index: 1 },
    { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} } },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"city":"Paris"}' } },
    { type: 'content_block_stop', index: 2 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 7 } },
    { type: 'message_stop' }
  ]
    .map(json)
    .join('')
}

/** The vendors' own clients put streams together. */
const STREAMED: Readonly<Record<string, (base: string, first: Body) => Promise<Body>>> = {
  messages: (baseURL, first) => new Anthropic({ baseURL, apiKey: 'k' }).messages.stream(first).finalMessage(),
  responses: (base, first) => new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k' }).responses.stream(first).finalResponse()
}

for (const kind of Object.keys(PROVIDERS) as Kind[]) {
  const { whole, signatures } = PROVIDERS[kind]
  for (const [name, { path, first, next }] of Object.entries(CLIENTS)) {
    test(`${kind}'s signatures come back through a client of ${name}`, async (t) => {
      const models = await provider(t)
      models.instead = (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole))
        return true
      }
      const { ask } = await gateway(t, { provider: at(kind, models), routes: ROUTES })
      const answer = await jsonOf(await ask(path, first))
      const second = await ask(path, next(first, answer))
      equal(second.status, 200, await second.text())
      deepEqual(signatures(models.requests[1]!.body), [THOUGHT, OF_CALL])
    })
  }
  for (const [name, final] of Object.entries(STREAMED)) {
    test(`${kind}'s signatures come back through a client of ${name}, streamed`, async (t) => {
      const models = await provider(t)
      models.instead = (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(STREAMS[kind])
        return true
      }
      const { base, ask } = await gateway(t, { provider: at(kind, models), routes: ROUTES })
      const { path, first, next } = CLIENTS[name]!
      const answer = await final(base, first)
      const second = await ask(path, { ...next(first, answer), stream: true })
      equal(second.status, 200, await second.text())
      deepEqual(signatures(models.requests[1]!.body), [THOUGHT, OF_CALL])
    })
  }
}
