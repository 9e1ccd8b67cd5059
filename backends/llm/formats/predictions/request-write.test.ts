/** What models of Replicate are sent for a chat: by roles or as one prompt, and what they cannot be sent. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '#backends/llm/conversation.ts'
import { completions } from '#backends/llm/formats/completions/index.ts'
import { Losses } from '#backends/llm/formats/format.ts'
import { predictions } from './index.ts'

const DATA = 'data:image/png;base64,AAAA'
const picture = (url: string): JsonObject => ({ type: 'image_url', image_url: { url } })
const text = (content: string): JsonObject => ({ type: 'text', text: content })
const HI = { role: 'user', content: 'Hi' }
const SYSTEM = { role: 'system', content: 'S' }
const TURNS = [SYSTEM, HI, { role: 'assistant', content: 'Ho' }, { role: 'user', content: 'So?' }]

function written(model: string, messages: readonly JsonObject[], more: JsonObject = {}) {
  const losses = new Losses()
  const conversation = completions.readRequest({ model, messages, ...more }, { model: null, isStreamed: null })
  const { input } = predictions.writeRequest(conversation, losses)
  return { input, lost: losses.fields, kinds: losses.kinds }
}

test('a question is the prompt, with instructions where the model takes them', () => {
  for (const [model, input] of [
    ['meta/meta-llama-3-70b-instruct', { prompt: 'Hi', system_prompt: 'S', max_tokens: 9 }],
    ['meta/llama-2-70b-chat', { prompt: 'Hi', system_prompt: 'S', max_new_tokens: 9 }],
    ['google/gemini-2.5-flash', { prompt: 'Hi', system_instruction: 'S', max_output_tokens: 9 }],
    ['deepseek-ai/deepseek-v3', { prompt: 'S\n\nHi', max_tokens: 9 }],
    ['deployments/acme/own', { prompt: 'Hi', system_prompt: 'S', max_tokens: 9 }]
  ] as const) {
    deepEqual(written(model, [SYSTEM, HI], { max_tokens: 9 }), { input, lost: [], kinds: [] }, model)
  }
})

test('a conversation has its roles, or is one text with them, which is noted', () => {
  deepEqual(written('openai/gpt-4.1-mini', TURNS), { input: { messages: TURNS }, lost: [], kinds: [] })
  const prompt = 'User: Hi\n\nAssistant: Ho\n\nUser: So?\n\nAssistant:'
  deepEqual(written('meta/llama', TURNS), {
    input: { prompt, system_prompt: 'S' },
    lost: ['messages'],
    kinds: ['carried']
  })
  deepEqual(written('meta/llama', [HI, { role: 'assistant', content: 'H' }]).input, {
    prompt: 'User: Hi\n\nAssistant: H'
  })
})

test('pictures of the question go where the model has a place for them', () => {
  const asks = { role: 'user', content: [text('What?'), picture(DATA), picture('https://x/y.png')] }
  deepEqual(written('openai/gpt-4o', [SYSTEM, asks]).input, {
    prompt: 'What?',
    system_prompt: 'S',
    image_input: [DATA, 'https://x/y.png']
  })
  const one = written('anthropic/claude-4-sonnet', [asks])
  deepEqual([one.input, one.lost], [{ prompt: 'What?', image: DATA }, ['turns[0].parts[2]']])
  const none = written('meta/llama', [asks])
  deepEqual([none.input, none.lost], [{ prompt: 'What?' }, ['turns[0].parts[1]', 'turns[0].parts[2]']])
})

test('settings by the names of the model; a stop sequence with a comma has no place in their list', () => {
  const settings = { temperature: 0.5, top_p: 0.9, seed: 1, stop: ['a', 'b'], frequency_penalty: 0.1, min_tokens: 2 }
  deepEqual(written('meta/llama', [HI], settings), {
    input: {
      ...{ prompt: 'Hi', temperature: 0.5, top_p: 0.9, seed: 1, stop_sequences: 'a,b', frequency_penalty: 0.1 },
      min_tokens: 2
    },
    lost: [],
    kinds: []
  })
  deepEqual(written('meta/llama', [HI], { stop: ['a,b'] }).lost, ['stop'])
  deepEqual(written('anthropic/claude-4-sonnet', [HI], { temperature: 0.5, stop: ['a'] }).lost, ['temperature', 'stop'])
  deepEqual(written('openai/o1', [HI], { reasoning_effort: 'low' }).input, {
    messages: [HI],
    reasoning_effort: 'low'
  })
  deepEqual(written('meta/llama', [HI], { reasoning_effort: 'low', n: 2, logprobs: true, user: 'u' }).lost, [
    ...['reasoning_effort', 'n', 'logprobs', 'user']
  ])
})
