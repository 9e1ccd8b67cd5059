/**
 * Answers of a provider of models that takes no time, by the path of its API: whole ones of about a kilobyte, and
 * streams of 50 pieces that each tell their number.
 */

const PIECES = 50
const PIECE = 'token '.repeat(8)
const texts = Array.from({ length: PIECES }, (_, i) => `${String(i).padStart(4, '0')} ${PIECE}`)
const TEXT = texts.slice(0, 14).join('')
/** The texts of an answer, by pieces. */
export const TEXTS = { whole: [TEXT], streamed: texts } as const

const COMPLETIONS_USAGE = {
  prompt_tokens: 400,
  completion_tokens: 450,
  total_tokens: 850,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 }
}
const HEAD = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'm' }

const completion = {
  ...HEAD,
  object: 'chat.completion',
  choices: [
    { index: 0, message: { role: 'assistant', content: TEXT, refusal: null }, logprobs: null, finish_reason: 'stop' }
  ],
  usage: COMPLETIONS_USAGE
}

const chunk = (delta: object, finish: string | null = null) => ({
  ...HEAD,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }]
})

const completionEvents = [
  chunk({ role: 'assistant', content: '' }),
  ...texts.map((content) => chunk({ content })),
  chunk({}, 'stop'),
  { ...chunk({}), choices: [], usage: COMPLETIONS_USAGE }
].map((data) => `data: ${JSON.stringify(data)}\n\n`)

const MESSAGE_USAGE = {
  input_tokens: 400,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 450
}
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: TEXT }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: MESSAGE_USAGE
}

const messageEvents = [
  {
    type: 'message_start',
    message: { ...message, content: [], stop_reason: null, usage: { ...MESSAGE_USAGE, output_tokens: 1 } }
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ...texts.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 450 } },
  { type: 'message_stop' }
].map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`)

export const CHAT_PATH = '/v1/chat/completions'
export const MESSAGES_PATH = '/v1/messages'

/** Whole answers. */
export const CHAT = Buffer.from(JSON.stringify(completion), 'latin1')
export const MESSAGE = Buffer.from(JSON.stringify(message), 'latin1')
/** Server-sent events, one text each. */
export const CHAT_EVENTS: readonly string[] = [...completionEvents, 'data: [DONE]\n\n']
export const MESSAGE_EVENTS: readonly string[] = messageEvents
