/** What routing among models reads of requests, errors and answers: kinds of errors, prompts, picks, stops. */
import assert from 'node:assert/strict'
import { ERROR_CLASSES } from '#backends/llm/config/snapshot.ts'
import type { FormatName, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { classOfError } from '#backends/llm/plan/error-class.ts'
import { textBytes } from '#backends/llm/plan/prompt-size.ts'
import { promptPrefix } from '#backends/llm/plan/routing-key.ts'
import { type Filtered, firstEvent } from '#backends/llm/stream/first-event.ts'
import { PICKED, PICKER, pickedEndpoints } from '#engine/contract/endpoint-picker.ts'
import { parseAuthority } from '#engine/http/authority.ts'
import { parseJson } from '#engine/kit/json.ts'

export const name = 'llm-routing'

export const dictionary = [
  ...['"error":{', '"code":"context_length_exceeded"', '"message":"prompt is too long"', 'content management policy'],
  ...['"finish_reason":"content_filter"', '"stop_reason":"refusal"', '"promptFeedback":{"blockReason":"SAFETY"}'],
  ...['data: ', '\n\n', 'data: [DONE]\n\n', 'event: message_delta\n', '"choices":[{"index":0,"delta":{}}]'],
  ...['"messages":[', '{"role":"user","content":"', '"role":"system"', '"input":', '"contents":[', ';base64,'],
  ...['10.0.0.1:8000', ',', '[fd00::1]:80']
]

const FORMAT_NAMES = Object.keys(FORMATS) as FormatName[]
const STATUSES = [400, 401, 413, 422, 429, 500, 529]
const PREFIX_CHARS = 64
const PICKS_MAX = 16
/** As prompt-size.ts has it, said otherwise. */
const DATA_RUNS = /[A-Za-z0-9+/=_-]{1024,}/g

export function run(data: Buffer): void {
  const text = data.toString()
  for (const format of FORMAT_NAMES) {
    for (const status of STATUSES) errorClass(format, status, text)
    for (const type of ['application/json', 'text/event-stream']) beginning(format, type, data)
  }
  assert.equal(textBytes(data), data.toString('latin1').replaceAll(DATA_RUNS, '').length)
  picks(text)
  prefix(data)
}

function errorClass(format: FormatName, status: number, text: string): void {
  const found = classOfError(FORMATS[format].readError(status, text))
  assert.ok(found === null || ERROR_CLASSES.includes(found))
}

/** Whole, and byte by byte: one verdict at most, and a filter is noticed once, with the verdict that goes with it. */
function beginning(format: FormatName, type: string, data: Buffer): void {
  for (const size of [data.length, 1]) {
    let calls = 0
    const filtered = (_: Filtered): void => void calls++
    const refused = (): void => void calls++
    const ex = { status: 200, response: { get: (field: string) => (field === 'content-type' ? type : undefined) } }
    const peek = firstEvent(ex as never, format, { refused, filtered })
    let verdict = 'more'
    for (let at = 0; at < data.length && verdict === 'more'; at += size) {
      verdict = peek?.look(data, at, Math.min(at + size, data.length)) ?? 'take'
    }
    assert.equal(calls, verdict === 'again' ? 1 : 0)
  }
}

function picks(text: string): void {
  const found = pickedEndpoints({ [PICKER]: { [PICKED]: text } })
  assert.ok(found.length <= PICKS_MAX && new Set(found).size === found.length)
  for (const label of found) {
    const at = label.lastIndexOf(':')
    const host = label.slice(0, at)
    assert.notEqual(parseAuthority(host.includes(':') ? `[${host}]:${label.slice(at + 1)}` : label)?.port ?? null, null)
  }
}

/** What is said behind the first turn of the user does not count. */
function prefix(data: Buffer): void {
  const body = parseJson(data.toString())
  const of = (content: JsonObject) => promptPrefix({ body: content, bytes: data } as never, PREFIX_CHARS)
  assert.ok((of({}) ?? '').length <= PREFIX_CHARS)
  if (!isObject(body as never)) return
  const chat = body as JsonObject
  const known = of(chat)
  assert.ok((known ?? '').length <= PREFIX_CHARS)
  const { messages } = chat
  if (!Array.isArray(messages) || !messages.slice(0, 8).some((turn) => isObject(turn) && turn.role === 'user')) return
  const more = [...messages, { role: 'assistant', content: 'yes' }, { role: 'user', content: 'go on' }]
  assert.equal(of({ ...chat, messages: more }), known)
}
