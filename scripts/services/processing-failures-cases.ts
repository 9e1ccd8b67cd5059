/** extProc: services that are slow, dead, or say what nobody has asked for. */
import { answer, answerTo, common } from '#policies/traffic/ext-proc/services.fixture.ts'
import { type Case, group } from './case.ts'
import { body, instead, on, POST, text } from './processing-parts.ts'
import { processing, SHORT } from './setups.ts'

const SLOW = processing({ timeout: SHORT })
const OPEN = processing({ timeout: SHORT, envoy: { failure_mode_allow: true }, weir: { failureMode: 'FailOpen' } })
const EXTENDED = processing({ timeout: SHORT, envoy: { max_message_timeout: '5s' }, weir: { maxMessageTimeout: '5s' } })
const DEAD = processing({ timeout: SHORT, service: 'dead' })
const DEAD_OPEN = processing({
  timeout: SHORT,
  service: 'dead',
  envoy: { failure_mode_allow: true },
  weir: { failureMode: 'FailOpen' }
})
const BODY = processing({ timeout: SHORT, mode: { request_body_mode: 'BUFFERED' } })

const silent = (): readonly [] => []
const fails = instead('requestHeaders', (_, call) => {
  call.destroy(Object.assign(new Error('broken'), { code: 13 }))
  return []
})
const ends = instead('requestHeaders', (_, call) => {
  call.end()
  return []
})
const garbage = instead('requestHeaders', () => [Buffer.from([0xff, 0xff])])
const wrong = instead('requestHeaders', () => [answer({ $case: 'responseHeaders', value: { response: common() } })])
const empty = instead('requestHeaders', () => [answer(undefined)])
const refused = { isOwnWords: true }

const REFUSED: Case[] = group('extProc, failure refuses', SLOW, {
  'too late for a request': { process: instead('requestHeaders', silent), ...refused },
  'too late for a response': { process: instead('responseHeaders', silent), ...refused },
  'too late, over HTTP/2': { request: { http: 2 }, process: instead('requestHeaders', silent), ...refused },
  'too late, with a body on its way': {
    request: { ...POST, body: [Buffer.alloc(100_000, 'x')] },
    process: instead('requestHeaders', silent),
    ...refused
  },
  'a grpc-status': { process: fails, ...refused },
  'no message': { process: garbage, ...refused },
  'an answer to another part': { process: wrong, ...refused },
  'an answer that says nothing': { process: empty, ...refused },
  'a backend that breaks off is none of the service': {
    request: { ...POST, body: text('hello') },
    backend: (response) => response.destroy(),
    ...refused
  },
  'the end of the stream is no failure': { process: ends },
  'a body that was not asked for': {
    process: on('requestHeaders', body('new')),
    request: { ...POST, body: text('hello') }
  }
})

const PASSED: Case[] = group('extProc, failure passes', OPEN, {
  'too late for a request': { process: instead('requestHeaders', silent) },
  'too late for a response': { process: instead('responseHeaders', silent) },
  'a grpc-status': { process: fails },
  'no message': { process: garbage },
  'an answer to another part': { process: wrong }
})

const MORE_TIME = answer(undefined, { overrideMessageTimeout: { seconds: 3n, nanos: 0 } })
const LATER_MS = 700

const TIMES: Case[] = group('extProc, more time', EXTENDED, {
  'is asked for and used': {
    process: instead('requestHeaders', (request, call) => {
      setTimeout(() => call.write(answerTo(request)), LATER_MS)
      return [MORE_TIME]
    })
  }
})

const UNHEARD: Case[] = group('extProc, more time that nobody may ask for', SLOW, {
  'it is too late': {
    process: instead('requestHeaders', (request, call) => {
      setTimeout(() => call.writable && call.write(answerTo(request)), LATER_MS)
      return [MORE_TIME]
    }),
    ...refused
  }
})

const GONE: Case[] = [
  ...group('extProc, nobody listens', DEAD, { 'it refuses': refused }),
  ...group('extProc, nobody listens and failures pass', DEAD_OPEN, { 'it passes': {} }),
  ...group('extProc, a client that leaves', SLOW, {
    'over HTTP/1': { request: { goes: true }, process: instead('requestHeaders', silent) },
    'over HTTP/2': { request: { http: 2, goes: true }, process: instead('requestHeaders', silent) }
  }),
  ...group('extProc, failure of a body', BODY, {
    'too late': { request: { ...POST, body: text('hello') }, process: instead('requestBody', silent), ...refused }
  })
]

export const PROCESSING_FAILURES: readonly Case[] = [...REFUSED, ...PASSED, ...TIMES, ...UNHEARD, ...GONE]
