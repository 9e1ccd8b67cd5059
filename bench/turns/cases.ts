/** What passes through the gateway while its turns are measured: routes, requests, answers. */

/** Bytes of a large prompt, a large answer, and of a long event. */
const PROMPT_BYTES = 10_000_000
const EVENT_BYTES = 4_000_000
export const MAX_BUFFER_BYTES = 33_554_432

export interface Case {
  readonly name: string
  /** Of a route. */
  readonly policies?: object
  /** What answers: the format that the provider speaks. */
  readonly provider: 'openai' | 'anthropic'
  readonly ai?: object
  readonly body: Buffer
  /** The request says no length. */
  readonly isChunked?: boolean
  /** What the provider sends; its pieces are chunks of their own where it is a stream. */
  readonly answer: { readonly type: 'application/json' | 'text/event-stream'; readonly body: Buffer }
}

const TEXT = 'The quick brown fox jumps over the lazy dog, "twice". '

const textOf = (bytes: number) => TEXT.repeat(Math.ceil(bytes / TEXT.length)).slice(0, bytes)

/** A chat request of about `bytes` in messages of 150 characters. */
function chat(bytes: number, more: object = {}): Buffer {
  const messages = Array.from({ length: Math.max(1, Math.round(bytes / 200)) }, (_, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    content: textOf(150)
  }))
  return Buffer.from(JSON.stringify({ model: 'm', max_tokens: 9, ...more, messages }))
}

const USAGE = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }

const completion = (content: string) => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  usage: USAGE
})

const message = (text: string) => ({
  id: 'a',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 3, output_tokens: 4 }
})

const whole = (value: object) => ({ type: 'application/json', body: Buffer.from(JSON.stringify(value)) }) as const
const events = (values: readonly (object | string)[]) => {
  const lines = values.map((value) => {
    if (typeof value === 'string') return `data: ${value}\n\n`
    const type = 'type' in value ? `event: ${String(value.type)}\n` : ''
    return `${type}data: ${JSON.stringify(value)}\n\n`
  })
  return { type: 'text/event-stream', body: Buffer.from(lines.join('')) } as const
}

const chunk = (delta: object, finish: string | null = null, more: object = {}) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more
})

/** A stream of completions whose one piece is `bytes` long. */
const completionEvents = (bytes: number) =>
  events([
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: textOf(bytes) }),
    chunk({}, 'stop', { usage: USAGE }),
    '[DONE]'
  ])

/** A stream of completions that calls a tool with arguments of `bytes`. */
const callEvents = (bytes: number) => {
  const call = (more: object) => ({ tool_calls: [{ index: 0, ...more }] })
  return events([
    chunk(call({ id: 't', type: 'function', function: { name: 'f', arguments: '' } })),
    chunk(call({ function: { arguments: JSON.stringify({ text: textOf(bytes) }) } })),
    chunk({}, 'tool_calls', { usage: USAGE }),
    '[DONE]'
  ])
}

const response = (output: object[], status: string) => ({ id: 'r', object: 'response', model: 'm', status, output })

/** A stream of Responses that ends with all of it once more. */
const responseEvents = (bytes: number) => {
  const text = textOf(bytes)
  const item = (content: object[]) => ({ id: 'i', type: 'message', role: 'assistant', status: 'completed', content })
  const part = { type: 'output_text', text, annotations: [] }
  const place = { item_id: 'i', output_index: 0, content_index: 0 }
  const usage = { input_tokens: 3, output_tokens: 4, total_tokens: 7 }
  return events([
    { type: 'response.created', response: response([], 'in_progress') },
    { type: 'response.output_item.added', output_index: 0, item: item([]) },
    { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
    ...Array.from({ length: 1000 }, (_, i) => ({
      type: 'response.output_text.delta',
      ...place,
      delta: text.slice((i * bytes) / 1000, ((i + 1) * bytes) / 1000)
    })),
    { type: 'response.completed', response: { ...response([item([part])], 'completed'), usage } }
  ])
}

const SMALL = chat(1)
const LARGE = chat(PROMPT_BYTES)
const STREAMED = chat(PROMPT_BYTES, { stream: true })
const SMALL_STREAMED = chat(1, { stream: true })
const responsesBody = (input: string) => Buffer.from(JSON.stringify({ model: 'm', stream: true, input }))
const BRIEF = whole(completion('Yes.'))
const BRIEF_MESSAGE = whole(message('Yes.'))
const NATIVE = { provider: 'openai', body: LARGE, answer: BRIEF } as const
const CONVERTED = { provider: 'anthropic', body: LARGE, answer: BRIEF_MESSAGE } as const

const guard = (action: string) => ({
  ai: { promptGuard: { request: [{ regex: { builtins: ['Ssn', 'Email'], action } }] } }
})
const guardedAnswers = {
  ai: { promptGuard: { response: [{ regex: { builtins: ['Ssn', 'Email'], action: 'Mask' } }] } }
}

const authorized = (rule: string) => ({ policies: { authorization: { rules: [rule] } } })
const transformed = (side: object) => ({ policies: { transformation: side } })
const limited = (key: string) => ({
  policies: { rateLimit: { local: [{ requests: 100_000, unit: 'Seconds', key }] } }
})

export const CASES: readonly Case[] = [
  { name: 'a small request, for comparison', provider: 'openai', body: SMALL, answer: BRIEF },
  { name: 'native', ...NATIVE },
  { name: 'native, no length', ...NATIVE, isChunked: true },
  { name: 'native, under an alias', ...NATIVE, ai: { modelAliases: { m: 'n' } } },
  { name: 'converted', ...CONVERTED },
  { name: 'converted, no length', ...CONVERTED, isChunked: true },
  { name: 'guarded, Mask', ...NATIVE, ...guard('Mask') },
  { name: 'guarded, Reject', ...NATIVE, ...guard('Reject') },
  { name: 'authorization: json(request.body)', ...NATIVE, ...authorized('json(request.body).model == "m"') },
  { name: 'authorization: request.body', ...NATIVE, ...authorized('request.body != ""') },
  { name: 'rate limit by json(request.body)', ...NATIVE, ...limited('json(request.body).model') },
  { name: 'request body by an expression', ...NATIVE, ...transformed({ request: { body: 'request.body' } }) },
  {
    name: 'request body, json made anew',
    ...NATIVE,
    ...transformed({ request: { body: 'toJson(json(request.body))' } })
  },
  {
    name: 'response header from llmRequest',
    ...NATIVE,
    ...transformed({ response: { set: { 'x-n': 'string(size(llmRequest.messages))' } } })
  },
  {
    name: 'response header from llm.prompt',
    ...NATIVE,
    ...transformed({ response: { set: { 'x-n': 'string(size(llm.prompt))' } } })
  },
  {
    name: 'response header from llm.completion',
    provider: 'openai',
    body: SMALL,
    answer: whole(completion(textOf(PROMPT_BYTES))),
    ...transformed({ response: { set: { 'x-n': 'string(size(llm.completion[0]))' } } })
  },
  { name: 'log field from llm.prompt', ...NATIVE, ai: { modelAliases: { m: 'logged' } } },
  { name: 'streamed, native', provider: 'openai', body: STREAMED, answer: completionEvents(20) },
  { name: 'streamed, no length', provider: 'openai', body: STREAMED, isChunked: true, answer: completionEvents(20) },
  { name: 'answer of 10 MB, native', provider: 'openai', body: SMALL, answer: whole(completion(textOf(PROMPT_BYTES))) },
  {
    name: 'answer of 10 MB, converted',
    provider: 'anthropic',
    body: SMALL,
    answer: whole(message(textOf(PROMPT_BYTES)))
  },
  { name: 'event of 4 MB, native', provider: 'openai', body: SMALL_STREAMED, answer: completionEvents(EVENT_BYTES) },
  {
    name: 'event of 4 MB, guarded',
    provider: 'openai',
    body: SMALL_STREAMED,
    answer: completionEvents(EVENT_BYTES),
    ...guardedAnswers
  },
  { name: 'event of 4 MB, Responses, native', ...responses('openai', responseEvents(EVENT_BYTES)) },
  {
    name: 'event of 4 MB, converted to Messages',
    provider: 'openai',
    body: SMALL_STREAMED,
    answer: completionEvents(EVENT_BYTES),
    ai: { routes: { '/chat/completions': 'Messages' } }
  },
  {
    name: 'arguments of 4 MB, converted to Messages',
    provider: 'openai',
    body: SMALL_STREAMED,
    answer: callEvents(EVENT_BYTES),
    ai: { routes: { '/chat/completions': 'Messages' } }
  }
]

/** Asked and answered in the format Responses. */
function responses(provider: 'openai', answer: Case['answer']) {
  return { provider, body: responsesBody('Hi'), answer, ai: { routes: { '/chat/completions': 'Responses' } } }
}
