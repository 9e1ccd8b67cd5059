/** Requests of each format of clients, one per feature; and how to tell that a conversation still has the feature. */
import type { ClientFormat, Conversation, JsonObject, Part } from '#backends/llm/conversation.ts'

export type Client = ClientFormat

export interface Feature {
  readonly name: string
  readonly has: (conversation: Conversation) => boolean
  /** Only a hint: a provider that does the same by default need not get it. */
  readonly isHint?: true
  /** Merged over the format's smallest request; left out where the format has no such thing. */
  readonly goldens: Readonly<Partial<Record<Client, JsonObject>>>
}

const PNG = 'iVBORw0KGgo='
const PDF = 'JVBERi0xLjQK'
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const

const HI = { role: 'user', content: 'Hi' } as const
const GEMINI_HI = { role: 'user', parts: [{ text: 'Hi' }] } as const

export const SMALLEST: Readonly<Record<Client, JsonObject>> = {
  completions: { model: 'm', messages: [HI] },
  messages: { model: 'm', max_tokens: 100, messages: [HI] },
  responses: { model: 'm', input: 'Hi' },
  gemini: { contents: [GEMINI_HI] }
}

const parts = ({ turns }: Conversation): Part[] => turns.flatMap((turn) => turn.parts)
const hasPart = (test: (part: Part) => boolean) => (conversation: Conversation) => parts(conversation).some(test)

const TOOLS = {
  completions: { tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: SCHEMA } }] },
  messages: { tools: [{ name: 'f', description: 'd', input_schema: SCHEMA }] },
  responses: { tools: [{ type: 'function', name: 'f', description: 'd', parameters: SCHEMA, strict: false }] },
  gemini: { tools: [{ functionDeclarations: [{ name: 'f', description: 'd', parametersJsonSchema: SCHEMA }] }] }
} as const

const messages = (content: JsonObject) => ({ messages: [{ role: 'user', content: [content] }] })
const input = (content: JsonObject) => ({ input: [{ type: 'message', role: 'user', content: [content] }] })
const contents = (part: JsonObject) => ({ contents: [{ role: 'user', parts: [part] }] })
const config = (generationConfig: JsonObject) => ({ generationConfig })
const source = (kind: string, media: string, data: string) => ({
  type: kind,
  source: { type: 'base64', media_type: media, data }
})

const TOOL_FEATURES: readonly Feature[] = [
  { name: 'tools', has: ({ tools }) => tools[0]?.name === 'f' && tools[0].description === 'd', goldens: TOOLS },
  {
    name: 'tool choice: one by name',
    has: ({ toolChoice }) => toolChoice?.kind === 'tool' && toolChoice.name === 'f',
    goldens: {
      completions: { ...TOOLS.completions, tool_choice: { type: 'function', function: { name: 'f' } } },
      messages: { ...TOOLS.messages, tool_choice: { type: 'tool', name: 'f' } },
      responses: { ...TOOLS.responses, tool_choice: { type: 'function', name: 'f' } },
      gemini: {
        ...TOOLS.gemini,
        toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } }
      }
    }
  },
  {
    name: 'no parallel tool calls',
    has: ({ toolChoice }) => toolChoice?.parallel === false,
    goldens: {
      completions: { ...TOOLS.completions, parallel_tool_calls: false },
      messages: { ...TOOLS.messages, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      responses: { ...TOOLS.responses, parallel_tool_calls: false }
    }
  },
  {
    name: 'tool calls and results',
    has: (c) => hasPart(({ kind }) => kind === 'toolCall')(c) && hasPart(({ kind }) => kind === 'toolResult')(c),
    goldens: {
      completions: {
        messages: [
          HI,
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"city":"x"}' } }]
          },
          { role: 'tool', tool_call_id: 'c1', content: 'sunny' }
        ],
        ...TOOLS.completions
      },
      messages: {
        messages: [
          HI,
          { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: { city: 'x' } }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'sunny' }] }
        ],
        ...TOOLS.messages
      },
      responses: {
        input: [
          { type: 'message', ...HI },
          { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"city":"x"}' },
          { type: 'function_call_output', call_id: 'c1', output: 'sunny' }
        ],
        ...TOOLS.responses
      },
      gemini: {
        contents: [
          GEMINI_HI,
          { role: 'model', parts: [{ functionCall: { name: 'f', args: { city: 'x' } } }] },
          { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'sunny' } } }] }
        ],
        ...TOOLS.gemini
      }
    }
  }
]

const CONTENT_FEATURES: readonly Feature[] = [
  {
    name: 'system prompt',
    has: ({ system, turns }) => system[0]?.text === 'S' || turns.some(({ role }) => role === 'system'),
    goldens: {
      completions: { messages: [{ role: 'system', content: 'S' }, HI] },
      messages: { system: 'S' },
      responses: { instructions: 'S' },
      gemini: { systemInstruction: { parts: [{ text: 'S' }] } }
    }
  },
  {
    name: 'image',
    has: hasPart((part) => part.kind === 'image' && part.source.kind === 'base64' && part.source.data === PNG),
    goldens: {
      completions: messages({ type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }),
      messages: messages(source('image', 'image/png', PNG)),
      responses: input({ type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${PNG}` }),
      gemini: contents({ inlineData: { mimeType: 'image/png', data: PNG } })
    }
  },
  {
    name: 'document',
    has: hasPart((part) => part.kind === 'document' && part.source.kind === 'base64' && part.source.data === PDF),
    goldens: {
      completions: messages({
        type: 'file',
        file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` }
      }),
      messages: messages({ ...source('document', 'application/pdf', PDF), title: 'a.pdf' }),
      responses: input({ type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` }),
      gemini: contents({ inlineData: { mimeType: 'application/pdf', data: PDF } })
    }
  },
  {
    name: 'cache mark',
    isHint: true,
    has: (c) =>
      c.system.some(({ cache }) => cache !== null) || hasPart((part) => 'cache' in part && part.cache !== null)(c),
    goldens: {
      completions: messages({ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }),
      messages: messages({ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } })
    }
  }
]

const SETTING_FEATURES: readonly Feature[] = [
  {
    name: 'schema of the answer',
    has: ({ output }) => output?.kind === 'schema',
    goldens: {
      completions: { response_format: { type: 'json_schema', json_schema: { name: 's', schema: SCHEMA } } },
      messages: { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
      responses: { text: { format: { type: 'json_schema', name: 's', schema: SCHEMA } } },
      gemini: config({ responseMimeType: 'application/json', responseJsonSchema: SCHEMA })
    }
  },
  {
    name: 'thinking',
    has: ({ thinking }) => thinking?.mode === 'on' || thinking?.mode === 'adaptive',
    goldens: {
      completions: { reasoning_effort: 'high' },
      messages: { max_tokens: 9_000, thinking: { type: 'enabled', budget_tokens: 8_000 } },
      responses: { reasoning: { effort: 'high' } },
      gemini: config({ thinkingConfig: { thinkingBudget: 8_000 } })
    }
  },
  {
    name: 'temperature, top_p',
    has: ({ sampling }) => sampling.temperature === 0.5 && sampling.topP === 0.25,
    goldens: {
      completions: { temperature: 0.5, top_p: 0.25 },
      messages: { temperature: 0.5, top_p: 0.25 },
      responses: { temperature: 0.5, top_p: 0.25 },
      gemini: config({ temperature: 0.5, topP: 0.25 })
    }
  },
  {
    name: 'stop sequences',
    has: ({ sampling }) => sampling.stop[0] === 'END',
    goldens: {
      completions: { stop: ['END'] },
      messages: { stop_sequences: ['END'] },
      gemini: config({ stopSequences: ['END'] })
    }
  },
  {
    name: 'seed',
    has: ({ sampling }) => sampling.seed === 7,
    goldens: { completions: { seed: 7 }, gemini: config({ seed: 7 }) }
  },
  {
    name: 'log probabilities',
    has: ({ sampling }) => sampling.topLogprobs === 2,
    goldens: {
      completions: { logprobs: true, top_logprobs: 2 },
      responses: { include: ['message.output_text.logprobs'], top_logprobs: 2 },
      gemini: config({ responseLogprobs: true, logprobs: 2 })
    }
  },
  {
    name: 'service tier',
    has: ({ serviceTier }) => serviceTier !== null,
    goldens: {
      completions: { service_tier: 'flex' },
      messages: { service_tier: 'standard_only' },
      responses: { service_tier: 'flex' }
    }
  },
  {
    name: 'user',
    // Bedrock has it among what requests are found again by.
    has: ({ user, metadata }) => user === 'u1' || metadata?.user === 'u1',
    goldens: {
      completions: { safety_identifier: 'u1' },
      messages: { metadata: { user_id: 'u1' } },
      responses: { safety_identifier: 'u1' }
    }
  }
]

const YES = { role: 'assistant', content: 'Yes.' } as const

/** What few formats have a place for. */
const RARE_FEATURES: readonly Feature[] = [
  {
    name: 'instructions in the middle',
    has: ({ system, turns }) =>
      system.some(({ text }) => text === 'M') || turns.some(({ role, parts }) => role === 'system' && parts.length > 0),
    goldens: {
      completions: { messages: [HI, YES, { role: 'developer', content: 'M' }, HI] },
      responses: { input: [HI, YES, { role: 'developer', content: 'M' }, HI] }
    }
  },
  {
    name: 'JSON without a schema',
    has: ({ output, system }) => output?.kind === 'json' || system.some(({ text }) => text.includes('JSON')),
    goldens: {
      completions: { response_format: { type: 'json_object' } },
      responses: { text: { format: { type: 'json_object' } } },
      gemini: config({ responseMimeType: 'application/json' })
    }
  },
  {
    name: 'a tool with free text',
    has: ({ tools }) => tools[0]?.name === 'patch',
    goldens: {
      completions: { tools: [{ type: 'custom', custom: { name: 'patch' } }] },
      responses: { tools: [{ type: 'custom', name: 'patch' }] }
    }
  },
  {
    name: 'a tool of the provider',
    has: ({ tools }) => tools[0]?.native !== null,
    goldens: {
      responses: { tools: [{ type: 'web_search' }] },
      messages: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      gemini: { tools: [{ googleSearch: {} }] }
    }
  },
  {
    name: 'thoughts of another provider',
    has: hasPart(({ kind }) => kind === 'thinking'),
    goldens: {
      completions: { messages: [HI, { ...YES, reasoning_content: 'T' }, HI] },
      messages: {
        messages: [
          HI,
          {
            ...YES,
            content: [
              { type: 'thinking', thinking: 'T', signature: '' },
              { type: 'text', text: 'Yes.' }
            ]
          },
          HI
        ]
      },
      gemini: {
        contents: [GEMINI_HI, { role: 'model', parts: [{ text: 'T', thought: true }, { text: 'Yes.' }] }, GEMINI_HI]
      }
    }
  }
]

export const FEATURES: readonly Feature[] = [
  ...CONTENT_FEATURES,
  ...TOOL_FEATURES,
  ...SETTING_FEATURES,
  ...RARE_FEATURES
]
