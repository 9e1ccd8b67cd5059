/** A gateway with prompt guards before a mock provider, and streams of every format in pieces. */
import type { TestContext } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { type Body, startModels } from '#engine/testing/models.ts'

export const SSN = '123-45-6789'
export const ROUTES = {
  '/chat/completions': 'Completions',
  '/messages': 'Messages',
  '/responses': 'Responses',
  '*': 'GenerateContent'
}

export async function stand(
  t: TestContext,
  promptGuard: object,
  provider: object = { openai: {} },
  policies: object = {},
  more: object = {}
) {
  const models = await startModels()
  t.after(() => models.close())
  const gateway = await startGateway(
    JSON.stringify({
      config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } },
      frontendPolicies: { http: { maxBufferSize: 33_554_432 } },
      binds: [
        {
          port: 0,
          listeners: [
            {
              routes: [
                {
                  policies,
                  backends: [
                    {
                      ai: {
                        provider: { ...provider, host: '127.0.0.1', port: models.port },
                        routes: { ...more, ...ROUTES },
                        promptGuard
                      }
                    }
                  ]
                }
              ]
            }
          ]
        }
      ]
    })
  )
  t.after(() => gateway.close())
  const ask = (path: string, body: unknown, headers: Record<string, string> = {}, signal?: AbortSignal) =>
    fetch(`http://127.0.0.1:${gateway.port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...(signal === undefined ? {} : { signal })
    })
  return { models, ask, gateway }
}

export const CHAT = '/v1/chat/completions'
export const regex = (more: object = {}) => ({ regex: { builtins: ['Ssn', 'Email'], ...more } })
export const chat = (content: unknown, more: object = {}) => ({
  model: 'm',
  messages: [{ role: 'user', content }],
  ...more
})

// --- streams of each format, in the words of its reference ---

export type Events = readonly (readonly [string | null, object | '[DONE]'])[]

export const sse = (events: Events) =>
  events
    .map(
      ([name, data]) =>
        `${name === null ? '' : `event: ${name}\n`}data: ${data === '[DONE]' ? data : JSON.stringify(data)}\n\n`
    )
    .join('')

export const TEXT = `Zoë's is ${SSN}, 🙂 or a@b.de.`
export const MASKED = "Zoë's is <SSN>, 🙂 or <EMAIL_ADDRESS>."
export const ARGS = `{"ssn":"${SSN}","n":123456789,"o":"a\\u0040b.de"}`
export const MASKED_ARGS = '{"ssn":"<SSN>","n":"<SSN>","o":"<EMAIL_ADDRESS>"}'

export interface Dialect {
  readonly path: string
  readonly provider: object
  events(text: readonly string[], args: readonly string[]): Events
  /** Text and arguments as a client puts them together. */
  read(data: readonly Body[]): readonly [string, string]
}

export const DIALECTS: readonly Dialect[] = [
  {
    path: CHAT,
    provider: { openai: {} },
    events: (text, args) => {
      const chunk = (delta: object, finish: string | null = null) => ({
        id: 'x',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        odd: 7,
        choices: [
          {
            index: 0,
            delta,
            finish_reason: finish,
            logprobs: 'content' in delta ? { content: [{ token: delta.content }] } : null
          }
        ]
      })
      return [
        ...text.map((content) => [null, chunk({ content })] as const),
        [
          null,
          chunk({ tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '' } }] })
        ],
        ...args.map((piece) => [null, chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] })] as const),
        [null, chunk({}, 'tool_calls')],
        [null, '[DONE]']
      ]
    },
    read: (data) => [
      data.map(({ choices }) => choices?.[0]?.delta.content ?? '').join(''),
      data.map(({ choices }) => choices?.[0]?.delta.tool_calls?.[0].function.arguments ?? '').join('')
    ]
  },
  {
    path: '/v1/messages',
    provider: { anthropic: {} },
    events: (text, args) => {
      const all: object[] = [
        {
          type: 'message_start',
          message: {
            id: 'x',
            type: 'message',
            role: 'assistant',
            model: 'm',
            content: [],
            stop_reason: null,
            usage: { input_tokens: 1, output_tokens: 1 }
          }
        },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        ...text.map((piece) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: piece } })),
        { type: 'content_block_stop', index: 0 },
        { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 't', name: 'f', input: {} } },
        ...args.map((piece) => ({
          type: 'content_block_delta',
          index: 1,
          delta: { type: 'input_json_delta', partial_json: piece }
        })),
        { type: 'content_block_stop', index: 1 },
        { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 2 } },
        { type: 'message_stop' }
      ]
      return all.map((data) => [(data as { type: string }).type, data] as const)
    },
    read: (data) => [
      data.map(({ delta }) => delta?.text ?? '').join(''),
      data.map(({ delta }) => delta?.partial_json ?? '').join('')
    ]
  },
  {
    path: '/v1beta/models/m:streamGenerateContent?alt=sse',
    provider: { gemini: {} },
    events: (text, args) => {
      const chunk = (parts: object[], more: object = {}) =>
        [
          null,
          { candidates: [{ index: 0, content: { role: 'model', parts }, ...more }], modelVersion: 'm', responseId: 'r' }
        ] as const
      return [
        ...text.map((piece) => chunk([{ text: piece }])),
        chunk([{ functionCall: { name: 'f', args: JSON.parse(args.join('')) } }], { finishReason: 'STOP' })
      ]
    },
    read: (data) => {
      const parts: Body[] = data.flatMap(({ candidates }) => candidates[0].content.parts)
      return [
        parts.map(({ text }) => text ?? '').join(''),
        JSON.stringify(parts.find(({ functionCall }) => functionCall !== undefined)?.functionCall.args)
      ]
    }
  },
  {
    path: '/v1/responses',
    provider: { openai: {} },
    events: (text, args) => {
      const message = {
        type: 'message',
        id: 'm1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: text.join(''), annotations: [], logprobs: [{ token: SSN }] }]
      }
      const call = {
        type: 'function_call',
        id: 'f1',
        call_id: 'c',
        name: 'f',
        arguments: args.join(''),
        status: 'completed'
      }
      const response = {
        id: 'x',
        object: 'response',
        model: 'm',
        created_at: 1,
        status: 'in_progress',
        output: [] as object[]
      }
      const at = { output_index: 0, item_id: 'm1', content_index: 0 }
      const of = { output_index: 1, item_id: 'f1' }
      const all: object[] = [
        { type: 'response.created', response },
        { type: 'response.output_item.added', output_index: 0, item: { ...message, content: [] } },
        { type: 'response.content_part.added', ...at, part: { type: 'output_text', text: '', annotations: [] } },
        ...text.map((delta) => ({ type: 'response.output_text.delta', ...at, delta, logprobs: [{ token: delta }] })),
        { type: 'response.output_text.done', ...at, text: text.join('') },
        { type: 'response.content_part.done', ...at, part: message.content[0] },
        { type: 'response.output_item.done', output_index: 0, item: message },
        { type: 'response.output_item.added', output_index: 1, item: { ...call, arguments: '' } },
        ...args.map((delta) => ({ type: 'response.function_call_arguments.delta', ...of, delta })),
        { type: 'response.function_call_arguments.done', ...of, arguments: args.join('') },
        { type: 'response.output_item.done', output_index: 1, item: call },
        { type: 'response.completed', response: { ...response, status: 'completed', output: [message, call] } }
      ]
      return all.map((data, i) => [(data as { type: string }).type, { ...data, sequence_number: i }] as const)
    },
    read: (data) => [
      data.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join(''),
      data.map(({ type, delta }) => (type === 'response.function_call_arguments.delta' ? delta : '')).join('')
    ]
  }
]

export const dataOf = (text: string): Body[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: ') && !line.includes('[DONE]'))
    .map((line) => JSON.parse(line.slice(6)))

export const split = (text: string, at: number) => [text.slice(0, at), text.slice(at)].filter((piece) => piece !== '')
