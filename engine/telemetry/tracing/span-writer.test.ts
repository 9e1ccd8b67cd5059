/** What is written is what the official messages read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Span, type Span as WireSpan } from '#engine/proto/generated/opentelemetry/proto/trace/v1/trace.ts'
import { AttributeKey, type AttributeValue, encodeAttributes } from '#engine/telemetry/otlp/attributes.ts'
import { isInShare, newSpanId, newTraceId } from './ids.ts'
import { SPAN_ATTRIBUTES, SPAN_CLIENT, SpanWriter } from './span-writer.ts'

const IDS = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  parentSpanId: '05e3ac9a4f6e3b90',
  isParentRemote: true,
  flags: 1,
  tracestate: 'a=1'
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

function valueOfAttribute({ attributes }: WireSpan, key: string): AttributeValue | undefined {
  const value = attributes.find((attribute) => attribute.key === key)?.value?.value
  if (value?.$case === 'intValue') return Number(value.value)
  const isPlain = value?.$case === 'stringValue' || value?.$case === 'boolValue' || value?.$case === 'doubleValue'
  return isPlain ? value.value : undefined
}

test('a span has its ids, times and state', () => {
  const out = new SpanWriter()
  out.begin(IDS, 'näme', SPAN_CLIENT, { startedAt: 1_795_389_613_376_387, endedAt: 1_795_389_613_376_388 })
  out.link('a'.repeat(32), 'b'.repeat(16))
  out.failed('broken')
  const span = Span.decode(out.end())
  assert.deepEqual([hex(span.traceId), hex(span.spanId)], [IDS.traceId, IDS.spanId])
  assert.deepEqual([hex(span.parentSpanId), span.traceState, span.name], [IDS.parentSpanId, 'a=1', 'näme'])
  assert.deepEqual([span.kind, span.flags], [3, 0x301])
  assert.deepEqual([span.startTimeUnixNano, span.endTimeUnixNano], [1795389613376387000n, 1795389613376388000n])
  assert.deepEqual([span.status?.code, span.status?.message], [2, 'broken'])
  assert.deepEqual([hex(span.links[0]!.traceId), hex(span.links[0]!.spanId)], ['a'.repeat(32), 'b'.repeat(16)])
})

test('times are exact to a microsecond', () => {
  const out = new SpanWriter()
  fc.assert(
    fc.property(fc.nat({ max: Number.MAX_SAFE_INTEGER }), (micros) => {
      out.begin(IDS, '', SPAN_CLIENT, { startedAt: micros, endedAt: micros })
      assert.equal(Span.decode(out.end()).startTimeUnixNano, BigInt.asUintN(64, BigInt(micros) * 1000n))
    })
  )
})

test('attributes of all kinds and lengths come back', () => {
  const out = new SpanWriter()
  const text = fc.string({ unit: 'grapheme', maxLength: 400 })
  const value = fc.oneof(text, fc.boolean(), fc.maxSafeInteger(), fc.double({ noNaN: true }))
  fc.assert(
    fc.property(fc.dictionary(fc.string({ minLength: 1 }), value, { maxKeys: 20 }), (attributes) => {
      const entries = Object.entries(attributes)
      out.begin(IDS, 'x', SPAN_CLIENT, { startedAt: 1, endedAt: 2 })
      out.encoded(encodeAttributes(entries.slice(0, 5), SPAN_ATTRIBUTES))
      for (const [name, one] of entries.slice(5)) assert.ok(out.attribute(new AttributeKey(name), one))
      const span = Span.decode(out.end())
      assert.equal(span.attributes.length, entries.length)
      for (const [name, one] of entries) {
        const wanted = typeof one === 'string' ? one.toWellFormed() : one
        assert.ok(Object.is(valueOfAttribute(span, name), wanted) || valueOfAttribute(span, name) === wanted)
      }
    })
  )
})

test('a list of texts comes back', () => {
  const out = new SpanWriter()
  out.begin(IDS, 'x', SPAN_CLIENT, { startedAt: 1, endedAt: 2 })
  const texts = ['stop', 'l\u00e4nge', 'y'.repeat(300)]
  assert.ok(out.attribute(new AttributeKey('k'), texts))
  const [attribute] = Span.decode(out.end()).attributes
  assert.ok(attribute!.value?.value?.$case === 'arrayValue')
  const values = attribute!.value.value.value.values.map(({ value }) => value?.value)
  assert.deepEqual(values, texts)
})

test('attributes without room are counted, and long values are cut', () => {
  const out = new SpanWriter()
  const key = new AttributeKey('k')
  out.begin(IDS, 'x', SPAN_CLIENT, { startedAt: 1, endedAt: 2 })
  for (let i = 0; i < 6; i++) out.attribute(key, 'y'.repeat(100_000))
  const span = Span.decode(out.end())
  assert.equal(span.attributes.length + span.droppedAttributesCount, 6)
  assert.ok(span.droppedAttributesCount > 0)
  assert.equal(String(valueOfAttribute(span, 'k')).length, 16_384)
})

test('ids are random, and a share has its part of them', () => {
  const ids = Array.from({ length: 4_000 }, newTraceId)
  assert.equal(new Set(ids).size, ids.length)
  for (const id of [...ids.slice(0, 10), ...Array.from({ length: 10 }, newSpanId)])
    assert.match(id, /^([0-9a-f]{16}){1,2}$/)
  for (const share of [0.1, 0.5, 0.9]) {
    const found = ids.filter((id) => isInShare(id, share)).length / ids.length
    assert.ok(Math.abs(found - share) < 0.05, `${share}: ${found}`)
  }
  // A trace in a share is in every larger one.
  for (const id of ids) if (isInShare(id, 0.3)) assert.ok(isInShare(id, 0.6) && isInShare(id, 1))
})
