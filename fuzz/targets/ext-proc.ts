/**
 * Answers of processing services: each is a failure, an extension of the time or one answer, and what it changes are
 * fields that a service may change.
 */
import assert from 'node:assert/strict'
import type { GrpcStreamEvents } from '#engine/contract/service.ts'
import { SYSTEM_TIME } from '#engine/contract/time.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import type { HeaderMutation } from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import { ProcessingRequest } from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { Conversation } from '#policies/traffic/ext-proc/conversation.ts'
import type { Answer } from '#policies/traffic/ext-proc/lane.ts'
import { overridden } from '#policies/traffic/ext-proc/mode-override.ts'
import { applyChanges, changesOf, flatFields, rulesOf } from '#policies/traffic/ext-proc/mutation.ts'
import { REQUEST, RESPONSE, type Side } from '#policies/traffic/ext-proc/side.ts'

export const name = 'ext-proc'

export const dictionary = [
  '\x0a',
  '\x12',
  '\x1a',
  '\x22',
  '\x3a',
  '\x52\x02\x08\x01',
  'x-envoy-a',
  ':path',
  ':status',
  'content-length',
  '__proto__',
  '\r\n'
]

const QUESTION = ProcessingRequest.decode(Buffer.alloc(0))
const RULES = rulesOf({})
const SIDE = { sendsHeaders: true, body: 'NONE', sendsTrailers: false } as const

export function run(data: Buffer): void {
  const answers = answersOf(data)
  // The side that was answered, and both sides when it is answered once more.
  assert.ok(answers.length <= 2)
  const [answer = null] = answers
  if (answer === null || 'kind' in answer) return
  if (answer.modeOverride !== undefined) overridden({ request: SIDE, response: SIDE }, answer.modeOverride)
  const { response } = answer
  if (response?.$case === 'immediateResponse') change(response.value.headers, RESPONSE)
  else if (response?.$case === 'requestTrailers') change(response.value.headerMutation, REQUEST)
  else if (response?.$case === 'requestHeaders') change(response.value.response?.headerMutation, REQUEST)
  else if (response?.$case === 'responseBody') change(response.value.response?.headerMutation, RESPONSE)
}

/** What comes of one message, said twice: the second one answers nothing. */
function answersOf(bytes: Buffer): Answer[] {
  const answers: Answer[] = []
  const streams: GrpcStreamEvents[] = []
  const client = {
    name: 'processor',
    unary: () => ({ cancel() {} }),
    stream(_: unknown, events: GrpcStreamEvents) {
      streams.push(events)
      return { send: () => true, finish() {}, detach() {}, resume() {}, cancel() {} }
    }
  }
  const options = { messageTimeoutMs: 1, maxMessageTimeoutMs: 10, messageBytesMax: 1000, ignoresAnswers: false }
  const time = { ...SYSTEM_TIME, after: () => () => {} }
  const conversation = new Conversation({ ...options, client, time }, null)
  for (const lane of [conversation.request, conversation.response]) {
    lane.next((one) => answers.push(one))
    conversation.send(lane, QUESTION)
  }
  streams[0]!.message(bytes)
  streams[0]!.message(bytes)
  return answers
}

function change(mutation: HeaderMutation | undefined, side: Side): void {
  const changes = changesOf(mutation, RULES, side.pseudo)
  if (typeof changes === 'string') return
  const ex = fakeExchange({ target: '/path?a=b' })
  ex.status = 200
  ex.response = new HeaderBlock()
  applyChanges(ex, side.block(ex), changes, side.pseudo)
  assert.match(ex.path + ex.query, /^\/[!-"$-~]*$/)
  assert.ok(ex.status >= 200 && ex.status <= 599)
  side.block(ex).forEach(checkField)
  const flat = flatFields(changes)
  for (let i = 0; i < flat.length; i += 2) checkField(flat[i]!, flat[i + 1]!)
}

function checkField(field: string, value: string): void {
  assert.match(field, /^[a-z0-9!#$%&'*+\-.^_`|~]+$/)
  assert.doesNotMatch(value, /[\r\n\0]/)
  assert.ok(!field.startsWith('x-envoy'))
  assert.ok(!['host', 'content-length', 'connection', 'transfer-encoding', 'te'].includes(field))
}
