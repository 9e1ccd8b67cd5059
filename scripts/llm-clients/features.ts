/**
 * What clients send besides what is asked for: each request must be answered by every provider, in default mode.
 * Sources: the SDKs' own types and defaults, and what frameworks are known to echo of answers.
 */
import type { Body } from '#backends/demo/models/wire.ts'
import { MARKS } from './doubles/double.ts'
import { conclude, PARAMETERS, SYSTEM, USER } from './sdk-loops.ts'

export interface Feature {
  readonly name: string
  /** Where it is asked. */
  readonly path:
    | '/v1/chat/completions'
    | '/v1/responses'
    | '/v1/messages'
    | '/v1beta/models/gemini-3-pro:generateContent'
  readonly body: Body
}

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const PDF = 'JVBERi0xLjQKJSVFT0Y='
const LONG = 'someone-'.repeat(20)
const JSON_ID = '{"device":"d","session":"s@example.com"}'

// --- chat completions ---

const tool = { type: 'function', function: { name: 'get_weather', description: 'w', parameters: PARAMETERS } }
const call = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } }
const answered = { role: 'tool', tool_call_id: 'call_1', content: MARKS.results[0] }
const say = (text: string) => ({ role: 'user', content: `${USER} ${text}` })
const system = { role: 'system', content: SYSTEM }

const chat = (name: string, more: Body, text = ''): Feature => ({
  name: `chat: ${name}`,
  path: '/v1/chat/completions',
  body: { model: 'gpt-5', messages: [system, say(text)], ...more }
})
const chatTurns = (name: string, turns: Body[], more: Body = {}): Feature =>
  chat(name, { messages: [system, say(''), ...turns], ...more })

const CHAT: readonly Feature[] = [
  chat('no-ops', {
    n: 1,
    frequency_penalty: 0,
    presence_penalty: 0,
    logprobs: false,
    modalities: ['text'],
    store: false
  }),
  chat('empty maps and lists', { logit_bias: {}, metadata: {}, stop: [] }),
  chat('hints', {
    prompt_cache_key: 'k',
    prompt_cache_retention: '24h',
    seed: 7,
    service_tier: 'auto',
    verbosity: 'low'
  }),
  chat('metadata that is stored', { store: true, metadata: { team: 'a' } }),
  chat('a user', { user: 'someone', safety_identifier: 'someone' }),
  chat('a long user', { user: LONG }),
  chat('a user of JSON', { user: JSON_ID }),
  chat('effort', { reasoning_effort: 'low' }),
  chat('effort and temperature', { reasoning_effort: 'low', temperature: 0.2, top_p: 1 }),
  chat('JSON', { response_format: { type: 'json_object' } }, '[json][needs:json]'),
  chat(
    'a schema',
    { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: schema(), strict: false } } },
    '[json]'
  ),
  chat('tools, one at a time', { tools: [tool], tool_choice: 'none', parallel_tool_calls: false }),
  chat('instructions in the middle', {
    messages: [
      system,
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hi.' },
      { role: 'developer', content: 'MARK-MIDDLE' },
      say('[needs:middle]')
    ]
  }),
  chat('instructions at the end', {
    messages: [system, say('[needs:middle]'), { role: 'system', content: 'MARK-MIDDLE' }]
  }),
  chat('an image as jpg', { messages: [system, image('image/jpg')] }, ''),
  chat('a file with a name', { messages: [system, file('The report: 2nd_draft.pdf')] }),
  chatTurns('calls and no tools', [{ role: 'assistant', content: null, tool_calls: [call] }, answered]),
  chatTurns('calls, and none may be called', [{ role: 'assistant', tool_calls: [call] }, answered], {
    tools: [tool],
    tool_choice: 'none'
  }),
  chatTurns(
    'what SDKs leave in answers',
    [
      {
        role: 'assistant',
        content: 'I look.',
        refusal: null,
        annotations: [{ type: 'url_citation', url_citation: { url: 'https://example.com' } }],
        audio: null,
        parsed: null,
        reasoning_content: 'Let me look.',
        provider_specific_fields: { thinking_blocks: null, refusal: null },
        thinking_blocks: [{ type: 'thinking', thinking: 'Let me look.', signature: 'EqQBCkgIBBABGAIqQA==' }],
        tool_calls: [{ ...call, index: 0, provider_specific_fields: { a: 1 } }]
      },
      answered
    ],
    { reasoning_effort: 'medium' }
  ),
  chat('a custom tool', {
    messages: [system, say('[custom]'), { role: 'assistant', content: null, tool_calls: [custom()] }, answered],
    tools: [{ type: 'custom', custom: { name: 'apply_patch', description: 'p', format: { type: 'text' } } }]
  })
]

function schema(): Body {
  const properties = { city: { type: 'string' }, degrees: { type: 'integer' } }
  return { type: 'object', properties, required: ['city', 'degrees'], additionalProperties: false }
}

function image(type: string): Body {
  const url = `data:${type};base64,${PNG}`
  const text = { type: 'text', text: `${USER} [needs:image]` }
  return { role: 'user', content: [text, { type: 'image_url', image_url: { url, detail: 'high' } }] }
}

function file(filename: string): Body {
  const data = { file_data: `data:application/pdf;base64,${PDF}`, filename }
  return {
    role: 'user',
    content: [
      { type: 'text', text: `${USER} [needs:pdf]` },
      { type: 'file', file: data }
    ]
  }
}

function custom(): Body {
  return { id: 'call_1', type: 'custom', custom: { name: 'apply_patch', input: '*** Begin Patch' } }
}

// --- responses ---

const responses = (name: string, more: Body, text = ''): Feature => ({
  name: `responses: ${name}`,
  path: '/v1/responses',
  body: { model: 'gpt-5', instructions: SYSTEM, input: [{ role: 'user', content: `${USER} ${text}` }], ...more }
})
const item = (text: string) => ({ role: 'user', content: [{ type: 'input_text', text: `${USER} ${text}` }] })

const RESPONSES: readonly Feature[] = [
  responses('what says nothing', {
    store: false,
    background: false,
    truncation: 'disabled',
    metadata: {},
    tools: [],
    text: { format: { type: 'text' }, verbosity: 'medium' }
  }),
  responses('hints', { store: true, truncation: 'auto', include: ['reasoning.encrypted_content'], max_tool_calls: 3 }),
  responses('records', { metadata: { team: 'a' }, user: LONG, prompt_cache_key: 'k', service_tier: 'auto' }),
  responses('JSON', { text: { format: { type: 'json_object' } } }, '[json] as JSON'),
  responses('items of answers', {
    input: [
      item(''),
      { type: 'item_reference', id: 'rs_1' },
      { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'gAAAAABo' },
      {
        type: 'function_call',
        id: 'fc_1',
        call_id: 'call_1',
        name: 'get_weather',
        arguments: '{}',
        status: 'completed'
      },
      { type: 'function_call_output', call_id: 'call_1', output: MARKS.results[0] },
      {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'It is.', annotations: [], logprobs: [] }]
      },
      { role: 'user', content: 'And?' }
    ],
    tools: [{ type: 'function', name: 'other', parameters: PARAMETERS, strict: true }]
  }),
  responses('an image and a file', {
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: `${USER} [needs:image,pdf]` },
          { type: 'input_image', image_url: `data:image/jpg;base64,${PNG}`, detail: 'auto' },
          { type: 'input_file', file_data: `data:application/pdf;base64,${PDF}`, filename: 'a_b (1).pdf' }
        ]
      }
    ]
  }),
  responses('a shell of the client', {
    input: [
      item('[custom]'),
      {
        type: 'function_call',
        call_id: 'call_1',
        name: 'other',
        arguments: '{}'
      },
      { type: 'function_call_output', call_id: 'call_1', output: MARKS.results[0] }
    ],
    tools: [{ type: 'local_shell' }, { type: 'function', name: 'other', parameters: PARAMETERS, strict: false }]
  })
]

// --- messages ---

const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const messages = (name: string, more: Body, text = ''): Feature => ({
  name: `messages: ${name}`,
  path: '/v1/messages',
  body: {
    model: 'claude-opus-4-6',
    max_tokens: 4096,
    system: [{ type: 'text', text: SYSTEM, ...mark }],
    messages: [{ role: 'user', content: [{ type: 'text', text: `${USER} ${text}`, ...mark }] }],
    ...more
  }
})
const claudeTool = { name: 'other', description: 'o', input_schema: PARAMETERS }

const MESSAGES: readonly Feature[] = [
  messages('marks of a cache', {
    tools: [{ ...claudeTool, ...mark, eager_input_streaming: true }],
    tool_choice: { type: 'auto', disable_parallel_tool_use: true }
  }),
  messages('a long user', { metadata: { user_id: LONG }, service_tier: 'auto' }),
  messages('a user of JSON', { metadata: { user_id: JSON_ID } }),
  messages('settings of a context', { context_management: { edits: [] } }),
  messages('thoughts of another', {
    thinking: { type: 'enabled', budget_tokens: 2000 },
    tools: [claudeTool],
    messages: [
      { role: 'user', content: USER },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Let me see.', signature: 'EqQBCkgIBBABGAIqQA==' },
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'toolu_1', name: 'other', input: {} }
        ]
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', is_error: true, content: MARKS.results[0] }]
      }
    ]
  }),
  messages('an image and a document', {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: `${USER} [needs:image,pdf]` },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
          { type: 'document', title: 'a_b.pdf', source: { type: 'base64', media_type: 'application/pdf', data: PDF } }
        ]
      }
    ]
  })
]

// --- generateContent ---

const gemini = (name: string, more: Body, text = ''): Feature => ({
  name: `gemini: ${name}`,
  path: '/v1beta/models/gemini-3-pro:generateContent',
  body: {
    systemInstruction: { parts: [{ text: SYSTEM }] },
    contents: [{ role: 'user', parts: [{ text: `${USER} ${text}` }] }],
    ...more
  }
})
const category = 'HARM_CATEGORY_HARASSMENT'

const GEMINI: readonly Feature[] = [
  gemini('no-ops', {
    safetySettings: [],
    tools: [],
    generationConfig: { responseModalities: ['TEXT'], candidateCount: 1, presencePenalty: 0, frequencyPenalty: 0 }
  }),
  gemini('filters that are off', { safetySettings: [{ category, threshold: 'BLOCK_NONE' }] }),
  gemini('hints', {
    generationConfig: {
      seed: 7,
      topK: 40,
      mediaResolution: 'MEDIA_RESOLUTION_LOW',
      thinkingConfig: { thinkingBudget: 0 }
    }
  }),
  gemini('JSON', { generationConfig: { responseMimeType: 'application/json' } }, '[json]'),
  gemini('an image and a file', {
    contents: [
      {
        role: 'user',
        parts: [
          { text: `${USER} [needs:image,pdf]` },
          { inlineData: { mimeType: 'image/png', data: PNG } },
          { inlineData: { mimeType: 'application/pdf', data: PDF } }
        ]
      }
    ]
  })
]

export const FEATURES: readonly Feature[] = [...CHAT, ...RESPONSES, ...MESSAGES, ...GEMINI]

/** `base`: of the gateway, with the name of a provider. Throws when it is not answered. */
export async function askFeature(base: string, { path, body }: Feature): Promise<void> {
  const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' }
  const response = await fetch(`${base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${response.status}: ${text}`)
  if (!/degrees/.test(text)) conclude(text)
}
