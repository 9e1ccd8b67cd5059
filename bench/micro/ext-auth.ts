/** What asking an authorization service costs beside the call: the question with 20 fields, and an answer of some. */
import type { Bench } from 'tinybench'
import { HeaderBlock } from '#engine/http/headers.ts'
import { CheckRequest, CheckResponse } from '#engine/proto/generated/envoy/service/auth/v3/external_auth.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { checkRequest } from '#policies/traffic/ext-auth/check-request.ts'
import { decisionOf } from '#policies/traffic/ext-auth/grpc.ts'
import { applyVerdict } from '#policies/traffic/ext-auth/verdict.ts'

/** Requests per sample: one alone is shorter than the clock's resolution. */
export const calls = 1000

const FIELDS = 20
const TEMPLATE = { extensions: Buffer.alloc(0), allowed: null }
const PARTS = { metadata: null, body: null, asBytes: false, id: '1234567890123456' }

export function register(bench: Bench): void {
  const ex = exchange()
  const question = checkRequest(ex, TEMPLATE, PARTS)
  const generated = CheckRequest.decode(question)
  bench.add('ext-auth: CheckRequest, straight from the header table', () => {
    for (let i = 0; i < calls; i++) checkRequest(ex, TEMPLATE, PARTS)
  })
  bench.add('ext-auth: CheckRequest, generated code, its object ready', () => {
    for (let i = 0; i < calls; i++) CheckRequest.encode(generated).finish()
  })
  const answer = { error: null, status: 0, message: '', trailers: '', bytes: allowed(), metadata: new HeaderBlock() }
  bench.add('ext-auth: CheckResponse with two fields, read', () => {
    for (let i = 0; i < calls; i++) decisionOf(answer, 'authz', () => {})
  })
  bench.add('ext-auth: CheckResponse with two fields, read and applied', () => {
    for (let i = 0; i < calls; i++) {
      const decision = decisionOf(answer, 'authz', () => {})
      if (!('kind' in decision)) applyVerdict(exchange(), decision.verdict)
    }
  })
}

function exchange() {
  const ex = fakeExchange({ target: '/api/orders?page=2' })
  for (let i = 0; i < FIELDS; i++) ex.request.receive(`X-Header-${i}`, `value of header ${i}, long enough`)
  return ex
}

function allowed(): Uint8Array {
  const field = (key: string, value: string) => ({
    header: { key, value, rawValue: Buffer.alloc(0) },
    append: undefined,
    appendAction: 2 as const,
    keepEmptyValue: false
  })
  const value = {
    headers: [field('x-user', 'ann'), field('x-team', 'blue')],
    headersToRemove: [],
    dynamicMetadata: undefined,
    responseHeadersToAdd: [],
    queryParametersToSet: [],
    queryParametersToRemove: []
  }
  return CheckResponse.encode({
    status: undefined,
    httpResponse: { $case: 'okResponse', value },
    dynamicMetadata: undefined
  }).finish()
}
