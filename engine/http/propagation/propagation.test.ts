import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HeaderBlock } from '#engine/http/headers.ts'
import { parseB3 } from './b3.ts'
import { BAGGAGE_CHARS_MAX, BAGGAGE_MEMBERS_MAX, boundBaggage, boundedBaggage } from './baggage.ts'
import { TRACE_PROPAGATORS } from './propagators.ts'
import { MALFORMED, type TraceContext } from './trace-context.ts'
import { boundedTracestate, boundTracestate, formatTraceparent, parseTraceparent, TRACESTATE_CHARS_MAX } from './w3c.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const VALID = `00-${TRACE}-${SPAN}-01`

function headersOf(...lines: readonly (readonly [string, string])[]): HeaderBlock {
  const block = new HeaderBlock()
  for (const [name, value] of lines) block.receive(name, value)
  return block
}

const contextOf = (context: Partial<TraceContext>): TraceContext => ({
  traceId: TRACE,
  spanId: SPAN,
  isSampled: true,
  isDebug: false,
  isRandom: false,
  ...context
})

describe('traceparent', () => {
  const good: readonly (readonly [string, Partial<TraceContext>])[] = [
    [VALID, {}],
    [`00-${TRACE}-${SPAN}-00`, { isSampled: false }],
    [`00-${TRACE}-${SPAN}-03`, { isRandom: true }],
    // Flags that nobody knows yet.
    [`00-${TRACE}-${SPAN}-f8`, { isSampled: false }],
    [`cc-${TRACE}-${SPAN}-01`, {}],
    [`cc-${TRACE}-${SPAN}-01-what-the-future-will-be-like`, {}]
  ]
  for (const [text, context] of good)
    test(`is read: ${text}`, () => assert.deepEqual(parseTraceparent(text), contextOf(context)))

  const bad = [
    '',
    '00',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-`,
    `00-${TRACE}-${SPAN}-01.`,
    `cc-${TRACE}-${SPAN}-01.what`,
    `00-${TRACE}-${SPAN}-0`,
    `00-${TRACE}-${SPAN}-0x`,
    `0-${TRACE}-${SPAN}-01`,
    `.0-${TRACE}-${SPAN}-01`,
    `00-${TRACE.slice(1)}.-${SPAN}-01`,
    `00-${TRACE} ${SPAN}-01`
  ]
  for (const text of bad) test(`is refused: "${text}"`, () => assert.equal(parseTraceparent(text), null))

  test('is sent in version 00, with the flags that are known', () => {
    assert.equal(formatTraceparent(contextOf({})), VALID)
    assert.equal(formatTraceparent(contextOf({ isSampled: false, isRandom: true })), `00-${TRACE}-${SPAN}-02`)
  })

  test('that is there twice is ignored', () => {
    const headers = headersOf(['traceparent', VALID], ['Traceparent', VALID])
    assert.equal(TRACE_PROPAGATORS.tracecontext.extract(headers), MALFORMED)
  })
})

describe('tracestate', () => {
  const members = (count: number): string => Array.from({ length: count }, (_, i) => `k${i}=1`).join(',')
  const kept: readonly (readonly [name: string, input: string, wanted: string])[] = [
    ['one', 'foo=1', 'foo=1'],
    ['blanks', 'foo=1 \t , \t bar=2', 'foo=1,bar=2'],
    ['empty members', 'foo=1,,,bar=2,', 'foo=1,bar=2'],
    ['a tenant', 'ftw@foo=1', 'ftw@foo=1'],
    ['a key that begins with a digit', '0foo=1', '0foo=1'],
    ['all characters of keys', 'a_-*/0=1', 'a_-*/0=1'],
    ['blanks inside a value', 'foo=1 2', 'foo=1 2'],
    ['32 members', members(32), members(32)],
    ['a long key and value', `${'t'.repeat(241)}@${'v'.repeat(14)}=1`, `${'t'.repeat(241)}@${'v'.repeat(14)}=1`]
  ]
  for (const [name, input, wanted] of kept) test(`keeps ${name}`, () => assert.equal(boundedTracestate(input), wanted))

  const dropped: readonly (readonly [name: string, input: string])[] = [
    ['33 members', members(33)],
    ['a key twice', 'foo=1,bar=2,foo=3'],
    ['no value', 'foo='],
    ['no equals sign', 'foo'],
    ['two equals signs', 'foo=bar=2'],
    ['an upper-case key', 'Foo=1'],
    ['no key', '=1'],
    ['two tenants', 'foo@bar@baz=1'],
    ['an empty tenant', '@foo=1'],
    ['a system that is too long', `t@${'v'.repeat(15)}=1`],
    ['a key that is too long', `${'z'.repeat(257)}=1`],
    ['a value that is too long', `foo=${'z'.repeat(257)}`],
    ['bytes that are no text', 'foo=\u00e9']
  ]
  for (const [name, input] of dropped)
    test(`with ${name} is dropped whole`, () => assert.equal(boundedTracestate(input), ''))

  test('that is too long loses its long members, then its eldest', () => {
    const long = `long=${'x'.repeat(200)}`
    const short = Array.from({ length: 20 }, (_, i) => `m${i}=${'y'.repeat(16)}`)
    const text = [short[0]!, long, ...short.slice(1)].join(',')
    const bounded = boundedTracestate(text)
    assert.equal(bounded, short.join(','))
    const all = Array.from({ length: 32 }, (_, i) => `k${i}=${'z'.repeat(30)}`)
    const some = boundedTracestate(all.join(','))
    assert.ok(some.length <= TRACESTATE_CHARS_MAX && some.length > TRACESTATE_CHARS_MAX - 40)
    assert.ok(all.join(',').startsWith(some))
  })

  test('in several headers becomes one', () => {
    const headers = headersOf(['tracestate', 'foo=1'], ['x', '1'], ['Tracestate', 'bar=2'])
    assert.equal(boundTracestate(headers), 'foo=1,bar=2')
    assert.equal(headers.lines(), 'x: 1\r\ntracestate: foo=1,bar=2\r\n')
  })

  test('that is in order stays where it is', () => {
    const headers = headersOf(['TraceState', 'foo=1'], ['x', '1'])
    assert.equal(boundTracestate(headers), 'foo=1')
    assert.equal(headers.lines(), 'TraceState: foo=1\r\nx: 1\r\n')
  })
})

describe('b3', () => {
  const good: readonly (readonly [string, Partial<TraceContext>])[] = [
    [`${TRACE}-${SPAN}-1-05e3ac9a4f6e3b90`, {}],
    [`${TRACE}-${SPAN}-0`, { isSampled: false }],
    [`${TRACE}-${SPAN}-d`, { isDebug: true }],
    [`${TRACE}-${SPAN}`, { isSampled: null }],
    [`a3ce929d0e0e4736-${SPAN}-1`, { traceId: '0000000000000000a3ce929d0e0e4736' }],
    ['0', { traceId: '', spanId: '', isSampled: false }],
    ['1', { traceId: '', spanId: '' }],
    ['d', { traceId: '', spanId: '', isDebug: true }]
  ]
  for (const [text, context] of good)
    test(`is read: ${text}`, () => assert.deepEqual(parseB3(text), contextOf(context)))

  const bad = [
    '',
    '2',
    `${TRACE}`,
    `${TRACE}-`,
    `${TRACE}-${SPAN}-`,
    `${TRACE}-${SPAN}-2`,
    `${TRACE}-${SPAN}-1-`,
    'x-y-1'
  ]
  const ofZeros = [
    `${'0'.repeat(32)}-${SPAN}-1`,
    `${TRACE}-${'0'.repeat(16)}-1`,
    `${TRACE}-${SPAN}-1-${'0'.repeat(16)}`
  ]
  for (const text of [...bad, ...ofZeros, `${TRACE}-${SPAN}-1-${SPAN}-1`, 'a'.repeat(1000)])
    test(`is refused: "${text.slice(0, 80)}"`, () => assert.equal(parseB3(text), null))

  const multi: readonly (readonly [Record<string, string>, Partial<TraceContext> | null | typeof MALFORMED])[] = [
    [{}, null],
    [{ 'X-B3-TraceId': TRACE, 'X-B3-SpanId': SPAN, 'X-B3-Sampled': '1' }, {}],
    [{ 'X-B3-TraceId': TRACE, 'X-B3-SpanId': SPAN, 'X-B3-Sampled': 'false' }, { isSampled: false }],
    [{ 'X-B3-TraceId': TRACE, 'X-B3-SpanId': SPAN, 'X-B3-Flags': '1' }, { isDebug: true }],
    [{ 'X-B3-TraceId': TRACE, 'X-B3-SpanId': SPAN }, { isSampled: null }],
    [{ 'X-B3-Sampled': '0' }, { traceId: '', spanId: '', isSampled: false }],
    [{ 'X-B3-TraceId': TRACE }, MALFORMED],
    [{ 'X-B3-TraceId': TRACE, 'X-B3-SpanId': 'zz' }, MALFORMED],
    [{ 'X-B3-TraceId': TRACE, 'X-B3-SpanId': SPAN, 'X-B3-Sampled': 'maybe' }, MALFORMED]
  ]
  for (const [lines, wanted] of multi)
    test(`of several headers: ${JSON.stringify(lines)}`, () => {
      const found = TRACE_PROPAGATORS.b3multi.extract(headersOf(...Object.entries(lines)))
      assert.deepEqual(found, wanted === null || wanted === MALFORMED ? wanted : contextOf(wanted))
    })

  test('replaces what the client has sent', () => {
    const headers = headersOf(['X-B3-ParentSpanId', SPAN], ['X-B3-Sampled', '0'], ['b3', '0'], ['x', '1'])
    TRACE_PROPAGATORS.b3multi.inject(headers, contextOf({}))
    TRACE_PROPAGATORS.b3.inject(headers, contextOf({ isDebug: true }))
    assert.equal(
      headers.lines(),
      `x: 1\r\nx-b3-traceid: ${TRACE}\r\nx-b3-spanid: ${SPAN}\r\nx-b3-sampled: 1\r\nb3: ${TRACE}-${SPAN}-d\r\n`
    )
  })
})

describe('baggage', () => {
  test('passes as it is', () => {
    const headers = headersOf(['Baggage', 'userId=alice , serverNode=DF%2028;p=1;q'], ['x', '1'])
    boundBaggage(headers)
    assert.equal(headers.lines(), 'Baggage: userId=alice , serverNode=DF%2028;p=1;q\r\nx: 1\r\n')
  })

  test('loses members that are malformed, and no others', () => {
    assert.equal(boundedBaggage('a=1,b,c=3,=4,d;e=5,f=\u00e9,g=7'), 'a=1,c=3,g=7')
  })

  test('is bounded', () => {
    const many = Array.from({ length: 500 }, (_, i) => `k${i}=v`).join(',')
    assert.equal(boundedBaggage(many).split(',').length, BAGGAGE_MEMBERS_MAX)
    const long = `a=1,b=${'x'.repeat(BAGGAGE_CHARS_MAX)},c=3`
    assert.equal(boundedBaggage(long), 'a=1,c=3')
  })
})
