/** The fixed answers of the canonical backend: made here for the backend and for the checks. */

import { CHAT, CHAT_EVENTS, MESSAGE_EVENTS } from './models.ts'

export const EVENTS = 50
/** Time between two events of one stream. */
export const EVENT_INTERVAL_MS = 10

/** Header fields of every answer beside Server, Date, Content-Type, Content-Length and Connection: ten in all. */
export const ANSWER_HEADERS: readonly (readonly [string, string])[] = [
  ['Cache-Control', 'no-cache, no-store, must-revalidate'],
  ['ETag', '"5f3c-1a2b3c4d5e6f"'],
  ['Vary', 'Accept-Encoding'],
  ['X-Content-Type-Options', 'nosniff'],
  ['Strict-Transport-Security', 'max-age=31536000']
]

/** Each event tells its number, so that a lost, doubled or swapped one is another body. */
export const EVENT_TEXTS: readonly string[] = Array.from(
  { length: EVENTS },
  (_, i) => `data: {"index":${String(i).padStart(4, '0')},"delta":{"content":"${'token '.repeat(12)}"}}\n\n`
)

export const ANSWERS = {
  /** GET /1k */
  kilobyte: numbered(1024),
  /** POST /4k */
  accepted: Buffer.from('{"accepted":true}', 'latin1'),
  /** GET /1m */
  megabyte: numbered(1024 * 1024),
  /** GET /sse */
  events: Buffer.from(EVENT_TEXTS.join(''), 'latin1'),
  /** POST /v1/chat/completions */
  chat: CHAT,
  /** The same as events, each as it is due. */
  chatEvents: Buffer.from(CHAT_EVENTS.join(''), 'latin1'),
  /** The same, asked for with X-Bench: nginx sends it all at once, the own server its beginning, and soon the rest. */
  chatAtOnce: Buffer.from(CHAT_EVENTS.join(''), 'latin1'),
  /** POST /v1/messages, as events, in the same way. */
  messagesAtOnce: Buffer.from(MESSAGE_EVENTS.join(''), 'latin1')
} as const

export type AnswerName = keyof typeof ANSWERS

/** What the own server sends: each event when it is due, or the first at once and the others soon. */
export const PACED: ReadonlySet<AnswerName> = new Set(['events', 'chatEvents', 'chatAtOnce'])

/** Text of `bytes` bytes (a multiple of 64) in which every 64 bytes differ; needs no escapes in nginx's file. */
function numbered(bytes: number): Buffer {
  let text = ''
  for (let i = 0; i < bytes / 64; i++)
    text += `${String(i).padStart(8, '0')}-${'abcdefghijklmnopqrstuvwxyz-0123456789-ABCDEFGHIJKLMNOPQ'}`
  return Buffer.from(text.slice(0, bytes), 'latin1')
}
