/**
 * Protobuf of services: CheckResponse, RateLimitResponse, and the partial success of a collector. Whatever comes is a
 * failure or an answer in order: its fields can be set, its numbers can be written, its texts can be logged.
 */
import assert from 'node:assert/strict'
import { HeaderBlock } from '#engine/http/headers.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { partialSuccessOf, retryAfterOf } from '#policies/shared/otlp/export-response.ts'
import { decisionOf } from '#policies/traffic/ext-auth/grpc.ts'
import { applyFailure, applyVerdict } from '#policies/traffic/ext-auth/verdict.ts'
import { readAnswer } from '#policies/traffic/rate-limit/service.ts'

export const name = 'service-answers'

export const dictionary = [
  '\x0a',
  '\x12',
  '\x1a',
  '\x08\x01',
  '\x08\x02',
  '\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01',
  ':path',
  'host',
  'content-length',
  '__proto__',
  '\r\n',
  'cacheMaxAge'
]

const SIGNALS = ['traces', 'metrics', 'logs'] as const
const DESCRIPTORS = 3

export function run(data: Buffer): void {
  checkAuthorization(data)
  checkLimits(data)
  for (const signal of SIGNALS) {
    const { rejected, message } = partialSuccessOf(signal, data)
    assert.ok(rejected >= 0)
    assert.match(message, /^[^\r\n\0]{0,256}$/)
  }
  const afterMs = retryAfterOf(`grpc-status-details-bin: ${data.toString('base64')}\r\n`)
  assert.ok(afterMs === null || !Number.isNaN(afterMs))
}

const answerOf = (bytes: Buffer) => ({
  error: null,
  status: 0,
  message: '',
  trailers: '',
  bytes,
  metadata: new HeaderBlock()
})

function checkAuthorization(data: Buffer): void {
  const decision = decisionOf(answerOf(data), 'service', () => {})
  const ex = fakeExchange({ target: '/path?a=b', headers: [['host', 'example.com']] })
  if ('kind' in decision) applyFailure(ex, decision, 403)
  else applyVerdict(ex, decision.verdict)
  assert.match(ex.path + ex.query, /^\/[!-~]*$/)
  assert.equal(ex.request.get('host'), 'example.com')
  assert.equal(Object.getPrototypeOf({}), Object.prototype)
  ex.request.forEach(checkField)
}

function checkLimits(data: Buffer): void {
  const answer = readAnswer(answerOf(data), 'service', DESCRIPTORS, () => {})
  if (typeof answer === 'string') {
    checkField('error', answer)
    return
  }
  const { policies, states, retryAfterS, requestFields, responseFields } = answer
  assert.ok(retryAfterS === null || (Number.isSafeInteger(retryAfterS) && retryAfterS >= 0))
  for (const value of [policies, states]) {
    checkField('ratelimit', value)
    assert.doesNotMatch(value, /NaN|undefined|Infinity/)
  }
  for (const fields of [requestFields, responseFields])
    for (let i = 0; i < fields.length; i += 2) checkField(fields[i]!, fields[i + 1]!)
}

function checkField(field: string, value: string): void {
  assert.match(field, /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/)
  assert.doesNotMatch(value, /[\r\n\0]/)
}
