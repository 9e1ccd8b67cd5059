/** What each format says at its fullest, for tests that change one thing of it. */
import type { FormatName, JsonObject } from '#backends/llm/conversation.ts'

/** One answer, whole and as events, and one request, with most of what a format has. */
export interface Golden {
  readonly whole: JsonObject
  readonly events: readonly (readonly [name: string, data: JsonObject])[]
  readonly request: JsonObject
  /** Objects, by the end of their path, in which common names mean something: data of the caller, unions of kinds. */
  readonly known: RegExp
}

const PNG = 'iVBORw0KGgo='
const CALL = { id: 'c1', type: 'function', index: 0, function: { name: 'f', arguments: '{"a":1}' } }
const chunk = (delta: JsonObject, more: JsonObject = {}): readonly [string, JsonObject] => [
  '',
  { id: 'x', model: 'm', created: 1, choices: [{ index: 0, delta, finish_reason: null, ...more }] }
]
const block = (index: number, content: JsonObject, ...deltas: JsonObject[]): (readonly [string, JsonObject])[] => [
  ['content_block_start', { type: 'content_block_start', index, content_block: content }],
  ...deltas.map(
    (delta) => ['content_block_delta', { type: 'content_block_delta', index, delta }] satisfies [string, JsonObject]
  ),
  ['content_block_stop', { type: 'content_block_stop', index }]
]

const cohereEvent = (type: string, data: JsonObject): readonly [string, JsonObject] => [type, { type, ...data }]

export const GOLDENS: Readonly<Record<FormatName, Golden>> = {
  completions: {
    whole: {
      id: 'x',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      service_tier: 'default',
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            reasoning_content: 'Hm',
            content: [{ type: 'text', text: 'Hi' }],
            tool_calls: [CALL]
          }
        }
      ],
      usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7, prompt_tokens_details: { cached_tokens: 1 } }
    },
    events: [
      chunk({ role: 'assistant', content: '' }),
      chunk({ reasoning_content: 'Hm' }),
      chunk({ content: 'Hi' }),
      chunk({ tool_calls: [{ ...CALL, function: { name: 'f', arguments: '' } }] }),
      chunk({ tool_calls: [{ index: 0, id: 'c1', function: { arguments: '{"a":1}' } }] }),
      chunk({}, { finish_reason: 'tool_calls' }),
      ['', { id: 'x', model: 'm', created: 1, choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } }]
    ],
    request: {
      model: 'm',
      messages: [
        { role: 'system', content: 'S' },
        { role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] },
        { role: 'assistant', content: null, tool_calls: [CALL] },
        { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: 'R' }] }
      ],
      tools: [{ type: 'function', function: { name: 'f', parameters: {} } }]
    },
    // A custom tool has no id but this; names of messages are the caller's.
    known: /^messages\[\d+\]$|parameters$|tools\[\d+\]$|^$|stream_options$/
  },
  messages: {
    whole: {
      id: 'x',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 'c2ln' },
        { type: 'redacted_thinking', data: 'ZGF0YQ' },
        { type: 'text', text: 'Hi' },
        { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } }
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 1 }
    },
    events: [
      [
        'message_start',
        { type: 'message_start', message: { id: 'x', type: 'message', model: 'm', content: [], usage: {} } }
      ],
      ...block(0, { type: 'thinking', thinking: '' }, { type: 'thinking_delta', thinking: 'Hm' }),
      ...block(1, { type: 'text', text: '' }, { type: 'text_delta', text: 'Hi' }),
      ...block(
        2,
        { type: 'tool_use', id: 'c1', name: 'f', input: {} },
        { type: 'input_json_delta', partial_json: '{"a":1}' }
      ),
      [
        'message_delta',
        { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { input_tokens: 3, output_tokens: 4 } }
      ],
      ['message_stop', { type: 'message_stop' }]
    ],
    request: {
      model: 'm',
      max_tokens: 9,
      system: [{ type: 'text', text: 'S', cache_control: { type: 'ephemeral' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Hi' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }
          ]
        },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 }, cache_control: { type: 'ephemeral' } }]
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'R' }] }] }
      ],
      tools: [{ name: 'f', input_schema: {} }]
    },
    // A tool with a type is another vendor's, or the provider's own.
    known: /input$|input_schema$|tools\[\d+\]$/
  },
  responses: {
    whole: {
      id: 'x',
      object: 'response',
      created_at: 1,
      model: 'm',
      status: 'completed',
      output: [
        { type: 'reasoning', id: 'r', summary: [{ type: 'summary_text', text: 'Hm' }], encrypted_content: 'c2ln' },
        {
          type: 'message',
          id: 'm',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Hi', annotations: [] }]
        },
        { type: 'function_call', id: 'fc', call_id: 'c1', name: 'f', arguments: '{"a":1}', status: 'completed' }
      ],
      usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7, input_tokens_details: { cached_tokens: 1 } }
    },
    events: [
      [
        'response.created',
        { type: 'response.created', response: { id: 'x', model: 'm', created_at: 1, status: 'in_progress' } }
      ],
      [
        'response.output_item.added',
        {
          type: 'response.output_item.added',
          output_index: 0,
          item: { type: 'message', id: 'm', role: 'assistant', content: [] }
        }
      ],
      [
        'response.content_part.added',
        {
          type: 'response.content_part.added',
          output_index: 0,
          content_index: 0,
          part: { type: 'output_text', text: '' }
        }
      ],
      [
        'response.output_text.delta',
        { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Hi' }
      ],
      [
        'response.output_item.done',
        {
          type: 'response.output_item.done',
          output_index: 0,
          item: { type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }
        }
      ],
      [
        'response.output_item.added',
        {
          type: 'response.output_item.added',
          output_index: 1,
          item: { type: 'function_call', id: 'fc', call_id: 'c1', name: 'f', arguments: '' }
        }
      ],
      [
        'response.function_call_arguments.delta',
        { type: 'response.function_call_arguments.delta', output_index: 1, delta: '{"a":1}' }
      ],
      [
        'response.output_item.done',
        {
          type: 'response.output_item.done',
          output_index: 1,
          item: { type: 'function_call', id: 'fc', call_id: 'c1', name: 'f', arguments: '{"a":1}' }
        }
      ],
      [
        'response.completed',
        {
          type: 'response.completed',
          response: { id: 'x', model: 'm', status: 'completed', usage: { input_tokens: 3, output_tokens: 4 } }
        }
      ]
    ],
    request: {
      model: 'm',
      instructions: 'S',
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'R' }] }
      ],
      tools: [{ type: 'function', name: 'f', parameters: {} }]
    },
    known: /parameters$|^$/
  },
  gemini: {
    whole: {
      responseId: 'x',
      modelVersion: 'm',
      candidates: [
        {
          index: 0,
          finishReason: 'STOP',
          content: {
            role: 'model',
            parts: [
              { text: 'Hm', thought: true },
              { text: 'Hi' },
              { functionCall: { id: 'c1', name: 'f', args: { a: 1 } }, thoughtSignature: 'c2ln' }
            ]
          }
        }
      ],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 }
    },
    events: [
      ['', { responseId: 'x', modelVersion: 'm', candidates: [{ index: 0, content: { parts: [{ text: 'Hi' }] } }] }],
      [
        '',
        {
          candidates: [{ index: 0, content: { parts: [{ functionCall: { id: 'c1', name: 'f', args: { a: 1 } } }] } }]
        }
      ],
      [
        '',
        {
          candidates: [{ index: 0, finishReason: 'STOP', content: { parts: [] } }],
          usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4 }
        }
      ]
    ],
    request: {
      systemInstruction: { parts: [{ text: 'S' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Hi' }, { inlineData: { mimeType: 'image/png', data: PNG } }] },
        { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'f', args: {} } }] },
        { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'f', response: { output: 'R' } } }] }
      ],
      tools: [{ functionDeclarations: [{ name: 'f', parameters: { type: 'OBJECT' } }] }]
    },
    known: /args$|response$|parameters$|parts\[\d+\]$/
  },
  converse: {
    whole: {
      output: {
        message: {
          role: 'assistant',
          content: [
            { reasoningContent: { reasoningText: { text: 'Hm', signature: 'c2ln' } } },
            { text: 'Hi' },
            { toolUse: { toolUseId: 'c1', name: 'f', input: { a: 1 } } }
          ]
        }
      },
      stopReason: 'tool_use',
      usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 }
    },
    events: [
      ['messageStart', { role: 'assistant' }],
      ['contentBlockDelta', { contentBlockIndex: 0, delta: { reasoningContent: { text: 'Hm' } } }],
      ['contentBlockStop', { contentBlockIndex: 0 }],
      ['contentBlockDelta', { contentBlockIndex: 1, delta: { text: 'Hi' } }],
      ['contentBlockStop', { contentBlockIndex: 1 }],
      ['contentBlockStart', { contentBlockIndex: 2, start: { toolUse: { toolUseId: 'c1', name: 'f' } } }],
      ['contentBlockDelta', { contentBlockIndex: 2, delta: { toolUse: { input: '{"a":1}' } } }],
      ['contentBlockStop', { contentBlockIndex: 2 }],
      ['messageStop', { stopReason: 'tool_use' }],
      ['metadata', { usage: { inputTokens: 3, outputTokens: 4 } }]
    ],
    request: {
      system: [{ text: 'S' }, { cachePoint: { type: 'default' } }],
      messages: [
        { role: 'user', content: [{ text: 'Hi' }, { image: { format: 'png', source: { bytes: PNG } } }] },
        { role: 'assistant', content: [{ toolUse: { toolUseId: 'c1', name: 'f', input: {} } }] },
        { role: 'user', content: [{ toolResult: { toolUseId: 'c1', content: [{ text: 'R' }] } }] }
      ],
      toolConfig: {
        tools: [
          { toolSpec: { name: 'f', inputSchema: { json: { type: 'object' } } } },
          { cachePoint: { type: 'default' } }
        ],
        toolChoice: { tool: { name: 'f' } }
      }
    },
    // Sources and blocks are unions: there `text` is another kind.
    known: /input$|json$|content\[\d+\]$|tools\[\d+\]$|delta$|source$|system\[\d+\]$|reasoningContent$/
  },
  cohereV2: {
    whole: {
      id: 'x',
      message: {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm' },
          { type: 'text', text: 'Hi' }
        ],
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }]
      },
      finish_reason: 'TOOL_CALL',
      usage: { billed_units: { input_tokens: 3, output_tokens: 4 }, tokens: { input_tokens: 30, output_tokens: 5 } }
    },
    events: [
      cohereEvent('message-start', { id: 'x', delta: { message: { role: 'assistant', content: [], citations: [] } } }),
      cohereEvent('content-start', { index: 0, delta: { message: { content: { type: 'thinking', thinking: '' } } } }),
      cohereEvent('content-delta', { index: 0, delta: { message: { content: { thinking: 'Hm' } } } }),
      cohereEvent('content-end', { index: 0 }),
      cohereEvent('content-start', { index: 1, delta: { message: { content: { type: 'text', text: '' } } } }),
      cohereEvent('content-delta', { index: 1, delta: { message: { content: { text: 'Hi' } } } }),
      cohereEvent('content-end', { index: 1 }),
      cohereEvent('tool-call-start', {
        index: 0,
        delta: { message: { tool_calls: { id: 'c1', type: 'function', function: { name: 'f', arguments: '' } } } }
      }),
      cohereEvent('tool-call-delta', {
        index: 0,
        delta: { message: { tool_calls: { function: { arguments: '{"a":1}' } } } }
      }),
      cohereEvent('tool-call-end', { index: 0 }),
      cohereEvent('message-end', {
        delta: { finish_reason: 'TOOL_CALL', usage: { billed_units: { input_tokens: 3, output_tokens: 4 } } }
      })
    ],
    request: {
      model: 'm',
      messages: [
        { role: 'system', content: 'S' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }] },
        {
          role: 'assistant',
          tool_plan: 'P',
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }]
        },
        { role: 'tool', tool_call_id: 'c1', content: 'R' }
      ],
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
      tool_choice: 'REQUIRED'
    },
    known: /parameters$|content\[\d+\]$|content$|message$|delta$/
  },
  predictions: {
    whole: {
      id: 'x',
      model: 'meta/m',
      status: 'succeeded',
      created_at: '2026-01-01T00:00:00.000Z',
      input: { max_tokens: 9 },
      output: ['H', 'i'],
      metrics: { input_token_count: 3, output_token_count: 4, predict_time: 0.5 }
    },
    events: [
      ['prediction', { id: 'x', model: 'meta/m', status: 'processing', created_at: '2026-01-01T00:00:00.000Z' }],
      ['output', { output: 'H' }],
      ['output', { output: 'i' }],
      [
        'prediction',
        {
          ...{ id: 'x', model: 'meta/m', status: 'succeeded', created_at: '2026-01-01T00:00:00.000Z' },
          metrics: { input_token_count: 3, output_token_count: 4 }
        }
      ]
    ],
    request: {
      model: 'meta/m',
      input: { prompt: 'User: Hi\n\nAssistant:', system_prompt: 'S', max_tokens: 9, stop_sequences: 'a,b' }
    },
    known: /^$/
  }
}
