/** Which requests are traced, and what hostile or broken headers do. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startOrigin } from '#engine/testing/origin.ts'
import { ask, isServer, startTraced } from '#engine/testing/traced.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const SAMPLED = `00-${TRACE}-${SPAN}-01`
const UNSAMPLED = `00-${TRACE}-${SPAN}-00`

type Lines = Readonly<Record<string, string | string[]>>

/** Trace of the span of a request with `headers`, null without one; and the fields that its backend got. */
async function trace(t: TestContext, tracing: object, headers: Lines) {
  const origin = await startOrigin()
  t.after(() => origin.close())
  const route = { backends: [{ host: `127.0.0.1:${origin.port}` }] }
  const gateway = await startTraced(t, route, tracing)
  assert.equal((await ask(gateway.port, '/', headers)).status, 200)
  // What was gathered leaves at the end, so that nothing to wait for is no test that never ends.
  await gateway.close()
  const fields: Record<string, string> = {}
  const lines = origin.seen[0]!.headers
  for (let i = 0; i < lines.length; i += 2) fields[lines[i]!.toLowerCase()] = lines[i + 1]!
  return { traceId: gateway.collector.spans.find(isServer)?.traceId ?? null, fields, metrics: gateway.metrics() }
}

const NEW = 'a new trace'
const cases: readonly (readonly [what: string, tracing: object, headers: Lines, wanted: string | null])[] = [
  ['no trace, no sampling', { randomSampling: undefined }, {}, null],
  ['no trace, false', { randomSampling: false }, {}, null],
  ['no trace, 0.0', { randomSampling: '0.0' }, {}, null],
  ['no trace, true', { randomSampling: 'true' }, {}, NEW],
  ['no trace, 1', { randomSampling: 1 }, {}, NEW],
  ['no trace, an expression', { randomSampling: 'request.headers["x"] == "1"' }, { x: '1' }, NEW],
  ['no trace, an expression that fails', { randomSampling: 'request.headers["y"] == "1"' }, { x: '1' }, null],
  ['a sampled trace', { randomSampling: false }, { traceparent: SAMPLED }, TRACE],
  ['a sampled trace, false for clients', { clientSampling: false }, { traceparent: SAMPLED }, null],
  ['a sampled trace, a share that has it', { clientSampling: '0.9' }, { traceparent: SAMPLED }, TRACE],
  ['a sampled trace, a share that has it not', { clientSampling: '0.1' }, { traceparent: SAMPLED }, null],
  ['an unsampled trace', { randomSampling: true, clientSampling: true }, { traceparent: UNSAMPLED }, null],
  ['a malformed trace', {}, { traceparent: 'nonsense' }, NEW],
  ['two traces', {}, { traceparent: [SAMPLED, SAMPLED] }, NEW],
  ['b3 that is not listened to', {}, { b3: `${TRACE}-${SPAN}-1` }, NEW],
  ['b3', { propagators: ['b3'], randomSampling: false }, { b3: `${TRACE}-${SPAN}-1` }, TRACE],
  ['b3 without a decision', { propagators: ['b3'], randomSampling: false }, { b3: `${TRACE}-${SPAN}` }, TRACE],
  ['b3 that denies', { propagators: ['b3'] }, { b3: '0' }, null],
  ['b3 that only allows', { propagators: ['b3'], randomSampling: false }, { b3: '1' }, NEW],
  [
    'b3 of several headers',
    { propagators: ['b3multi'], randomSampling: false },
    { 'x-b3-traceid': TRACE, 'x-b3-spanid': SPAN, 'x-b3-sampled': '1' },
    TRACE
  ],
  [
    'the format that is listed first',
    { propagators: ['b3', 'tracecontext'] },
    { traceparent: SAMPLED, b3: `${'a'.repeat(32)}-${SPAN}-1` },
    'a'.repeat(32)
  ]
]

for (const [what, tracing, headers, wanted] of cases)
  test(`${what}: ${wanted ?? 'no trace'}`, async (t) => {
    const { traceId } = await trace(t, tracing, headers)
    if (wanted === NEW) assert.ok(traceId !== null && traceId !== TRACE)
    else assert.equal(traceId, wanted)
  })

test('an unsampled request goes on unsampled, with a new parent', async (t) => {
  const headers = { traceparent: SAMPLED, tracestate: 'a=1' }
  const { fields } = await trace(t, { clientSampling: false }, headers)
  assert.match(fields.traceparent!, new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`))
  assert.notEqual(fields.traceparent!.slice(36, 52), SPAN)
  assert.equal(fields.tracestate, 'a=1')
})

test('an unsampled trace passes as it is', async (t) => {
  const { fields } = await trace(t, {}, { traceparent: UNSAMPLED, tracestate: 'a=1' })
  assert.deepEqual([fields.traceparent, fields.tracestate], [UNSAMPLED, 'a=1'])
})

test('a request that is not sampled and brought nothing gets nothing', async (t) => {
  const { fields } = await trace(t, { randomSampling: false }, {})
  assert.deepEqual(
    Object.keys(fields).toSorted(),
    ['connection', 'host'].filter((name) => name in fields)
  )
})

test('headers that are malformed are gone, and the state of no trace with them', async (t) => {
  const { fields } = await trace(t, { randomSampling: false }, { traceparent: 'x', tracestate: 'a=1' })
  assert.deepEqual([fields.traceparent, fields.tracestate], [undefined, undefined])
})

test('a new trace does not take over what is left of another one', async (t) => {
  const { fields, traceId } = await trace(t, {}, { tracestate: 'a=1' })
  assert.equal(fields.tracestate, undefined)
  assert.ok(fields.traceparent!.startsWith(`00-${traceId}-`))
})

test('no client makes the gateway pass on more than it should', async (t) => {
  const many = Array.from({ length: 60 }, (_, i) => `k${i}=v`).join(',')
  const baggage = Array.from({ length: 400 }, (_, i) => `key${i}=${'v'.repeat(20)}`).join(',')
  const { fields } = await trace(t, {}, { traceparent: SAMPLED, tracestate: many, baggage })
  assert.equal(fields.tracestate, undefined)
  assert.ok(fields.baggage!.length <= 8192 && fields.baggage!.split(',').length === 180)
})

test('an expression that gives no share is counted', async (t) => {
  const { traceId, metrics } = await trace(t, { randomSampling: 'request.headers["x"]' }, { x: 'much' })
  assert.equal(traceId, null)
  assert.match(metrics, /weir_expression_failures_total\{policy="tracing"\} 1\n/)
})

test('B3 is sent in the forms that are listed', async (t) => {
  const { fields, traceId } = await trace(t, { propagators: ['tracecontext', 'b3', 'b3multi'] }, {})
  const [, , span] = fields.traceparent!.split('-')
  assert.equal(fields.b3, `${traceId}-${span}-1`)
  const several = ['x-b3-traceid', 'x-b3-spanid', 'x-b3-sampled'].map((name) => fields[name])
  assert.deepEqual(several, [traceId, span, '1'])
})
