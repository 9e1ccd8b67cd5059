/**
 * Headers of traces, as a client may send them: traceparent, tracestate, baggage, b3 and X-B3-*. Whatever stands there,
 * what goes on is in order and within bounds, and what was read and is written again is the same.
 */
import assert from 'node:assert/strict'
import { HeaderBlock } from '#engine/http/headers.ts'
import { BAGGAGE_CHARS_MAX, BAGGAGE_MEMBERS_MAX, boundBaggage } from '#engine/http/propagation/baggage.ts'
import { TRACE_PROPAGATORS } from '#engine/http/propagation/propagators.ts'
import { MALFORMED, type TraceContext } from '#engine/http/propagation/trace-context.ts'
import { boundTracestate, TRACESTATE_CHARS_MAX } from '#engine/http/propagation/w3c.ts'

export const name = 'trace-headers'

const ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

export const dictionary = [
  `traceparent: 00-${ID}-${SPAN}-01\n`,
  'tracestate: a=1,b@c=2\n',
  'baggage: a=1;p=2,b=3\n',
  `b3: ${ID}-${SPAN}-1\n`,
  `x-b3-traceid: ${ID}\n`,
  `x-b3-spanid: ${SPAN}\n`,
  'x-b3-sampled: 1\n',
  'x-b3-flags: 1\n',
  'ff-',
  '00-',
  '-d',
  '=',
  ',',
  '@',
  '\t',
  '0000000000000000'
]

const NAMES: readonly string[] = [
  ...['traceparent', 'tracestate', 'baggage', 'b3'],
  ...['x-b3-traceid', 'x-b3-spanid', 'x-b3-sampled', 'x-b3-flags', 'x-b3-parentspanid']
]

export function run(data: Buffer): void {
  const headers = headersOf(data)
  for (const propagator of Object.values(TRACE_PROPAGATORS)) {
    const context = propagator.extract(headers)
    if (context === null || context === MALFORMED) continue
    checkContext(context)
    if (context.traceId === '') continue
    const written = new HeaderBlock()
    propagator.inject(written, context)
    const again = propagator.extract(receivedFrom(written))
    // A decision that was left to us is made by what is written.
    assert.deepEqual(again, { ...context, isSampled: context.isSampled === true })
  }
  checkTracestate(headers)
  checkBaggage(headers)
  for (const propagator of Object.values(TRACE_PROPAGATORS)) propagator.remove(headers)
  const left = headers.lines().replace(/^baggage:.*\r\n/gim, '')
  assert.equal(left, '')
}

/** Lines "name: value"; a line without a name of those is one of tracestate. */
function headersOf(data: Buffer): HeaderBlock {
  const headers = new HeaderBlock()
  for (const line of data.latin1Slice().split(/[\r\n\0]+/)) {
    if (line === '') continue
    const colon = line.indexOf(':')
    const found = NAMES.includes(line.slice(0, colon).toLowerCase())
    if (found) headers.receive(line.slice(0, colon), line.slice(colon + 1).trim())
    else headers.receive('tracestate', line)
  }
  return headers
}

/** What was appended, as the next hop receives it. */
function receivedFrom(written: HeaderBlock): HeaderBlock {
  const headers = new HeaderBlock()
  written.forEach((field, value) => {
    headers.receive(field, value)
  })
  return headers
}

function checkContext({ traceId, spanId, isSampled, isDebug }: TraceContext): void {
  assert.equal(traceId === '', spanId === '')
  if (traceId !== '') {
    assert.match(traceId, /^(?!0{32})[0-9a-f]{32}$/)
    assert.match(spanId, /^(?!0{16})[0-9a-f]{16}$/)
  }
  assert.ok(!isDebug || isSampled)
}

function checkTracestate(headers: HeaderBlock): void {
  const kept = boundTracestate(headers)
  assert.equal(headers.getAll('tracestate') ?? '', kept)
  assert.ok(kept.length <= TRACESTATE_CHARS_MAX || kept === '')
  if (kept === '') return
  const members = kept.split(',').map((member) => member.trim())
  assert.ok(members.filter((member) => member !== '').length <= 32)
  for (const member of members)
    if (member !== '') assert.match(member, /^[a-z0-9][a-z0-9_\-*/@]*=[\x20-\x3c\x3e-\x7e]+$/)
  assert.equal(boundTracestate(receivedFrom(headers)), kept)
}

function checkBaggage(headers: HeaderBlock): void {
  boundBaggage(headers)
  const kept = headers.getAll('baggage')
  if (kept === undefined) return
  assert.ok(kept.length <= BAGGAGE_CHARS_MAX && kept.split(',').length <= BAGGAGE_MEMBERS_MAX)
  assert.doesNotMatch(kept, /[^\t\x20-\x7e]/)
  const again = receivedFrom(headers)
  boundBaggage(again)
  assert.equal(again.getAll('baggage'), kept)
}
