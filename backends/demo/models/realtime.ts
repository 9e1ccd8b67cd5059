/**
 * A session of the mock provider's Realtime API: text only, and always the same. Sources: OpenAI, "Realtime API with
 * WebSocket", and "Realtime", server and client events.
 */
import { type Body, PIECES, TEXT } from './wire.ts'

interface Event {
  readonly type: string
  readonly [field: string]: unknown
}

interface Item {
  readonly id: string
  readonly [field: string]: unknown
}

const USAGE = {
  total_tokens: 19,
  input_tokens: 12,
  output_tokens: 7,
  input_token_details: { text_tokens: 12, audio_tokens: 0, image_tokens: 0, cached_tokens: 4 },
  output_token_details: { text_tokens: 7, audio_tokens: 0 }
}

export class RealtimeSession {
  #session: object
  #events = 0
  #items = 0
  #responses = 0
  #lastItem: string | null = null

  constructor(model: string) {
    this.#session = {
      type: 'realtime',
      object: 'realtime.session',
      id: 'sess_1',
      model,
      output_modalities: ['text'],
      instructions: '',
      tools: [],
      tool_choice: 'auto',
      max_output_tokens: 'inf'
    }
  }

  /** Events before any of the client. */
  opened(): object[] {
    return this.#numbered([{ type: 'session.created', session: this.#session }])
  }

  /** `text`: a message of the client, whatever it is. */
  heard(text: string): object[] {
    const event = parsed(text)
    return this.#numbered(this.#answer(event))
  }

  #answer(event: Body): Event[] {
    switch (event?.type) {
      case 'session.update':
        this.#session = { ...this.#session, ...event.session }
        return [{ type: 'session.updated', session: this.#session }]
      case 'conversation.item.create':
        return this.#keep({ object: 'realtime.item', status: 'completed', id: this.#itemId(), ...event.item })
      case 'response.create':
        return this.#respond()
      default:
        return [mistake(event)]
    }
  }

  #respond(): Event[] {
    const id = `resp_${++this.#responses}`
    const itemId = this.#itemId()
    const item = { id: itemId, object: 'realtime.item', type: 'message', role: 'assistant' }
    const done = { ...item, status: 'completed', content: [{ type: 'output_text', text: TEXT }] }
    const [added, kept] = this.#keep({ ...item, status: 'in_progress', content: [] })
    const at = { response_id: id, item_id: itemId, output_index: 0, content_index: 0 }
    const of = { response_id: id, output_index: 0 }
    return [
      { type: 'response.created', response: responseOf(id, 'in_progress', [], null) },
      { type: 'response.output_item.added', ...of, item: { ...item, status: 'in_progress', content: [] } },
      added!,
      { type: 'response.content_part.added', ...at, part: { type: 'text', text: '' } },
      ...PIECES.map((delta) => ({ type: 'response.output_text.delta', ...at, delta })),
      { type: 'response.output_text.done', ...at, text: TEXT },
      { type: 'response.content_part.done', ...at, part: { type: 'text', text: TEXT } },
      { ...kept!, item: done },
      { type: 'response.output_item.done', ...of, item: done },
      { type: 'response.done', response: responseOf(id, 'completed', [done], USAGE) }
    ]
  }

  /** An item of the conversation is announced when it comes and when it is whole. */
  #keep(item: Item): Event[] {
    const fields = { previous_item_id: this.#lastItem, item }
    this.#lastItem = item.id
    return [
      { type: 'conversation.item.added', ...fields },
      { type: 'conversation.item.done', ...fields }
    ]
  }

  #itemId(): string {
    return `item_${++this.#items}`
  }

  #numbered(events: readonly Event[]): object[] {
    return events.map((event) => ({ event_id: `event_${++this.#events}`, ...event }))
  }
}

function responseOf(id: string, status: string, output: readonly object[], usage: object | null): object {
  return {
    object: 'realtime.response',
    id,
    status,
    status_details: null,
    output,
    conversation_id: 'conv_1',
    output_modalities: ['text'],
    max_output_tokens: 'inf',
    usage,
    metadata: null
  }
}

/** "error" of the server events. */
function mistake(event: Body): Event {
  const named = typeof event?.type === 'string' ? `this mock does not know ${event.type}` : 'the event has no type'
  const error = {
    type: 'invalid_request_error',
    code: 'invalid_event',
    message: named,
    param: 'type',
    event_id: typeof event?.event_id === 'string' ? event.event_id : null
  }
  return { type: 'error', error }
}

/** Null: no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
