/** Batches, pauses and the queue, on a clock of the test's own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BatchSettings, ExportOutcome } from '#engine/contract/otlp.ts'
import { ExportTraceServiceRequest } from '#engine/proto/generated/opentelemetry/proto/collector/trace/v1/trace_service.ts'
import { SPAN_SERVER, SpanWriter } from '#engine/telemetry/tracing/span-writer.ts'
import { ManualTime } from '#engine/testing/manual-time.ts'
import { Envelope } from './envelope.ts'
import { type DropReason, Exporter } from './exporter.ts'

const SETTINGS: BatchSettings = {
  delayMs: 5_000,
  exportTimeoutMs: 10_000,
  batchBytesMax: 4096,
  queueBytesMax: 16_384
}

const IDS = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  parentSpanId: '',
  isParentRemote: false,
  flags: 1,
  tracestate: ''
}

function stand(settings: Partial<BatchSettings> = {}) {
  const clock = new ManualTime()
  const sent: { names: string[]; done: (outcome: ExportOutcome) => void; isCancelled: boolean }[] = []
  const counts = { exported: 0, retried: 0, dropped: new Map<DropReason, number>() }
  const logged: string[] = []
  const active = new Set<Exporter>()
  const exporter = new Exporter({
    envelope: new Envelope([['service.name', 'test']], 'scope', '1'),
    transport: {
      name: 'collector',
      send(message, _timeoutMs, done) {
        const one = { names: namesOf(message), done, isCancelled: false }
        sent.push(one)
        return {
          cancel() {
            one.isCancelled = true
          }
        }
      }
    },
    batch: { ...SETTINGS, ...settings },
    time: clock,
    observer: {
      exported: (items) => {
        counts.exported += items
      },
      dropped: (items, reason) => void counts.dropped.set(reason, (counts.dropped.get(reason) ?? 0) + items),
      retried: () => void counts.retried++
    },
    log: (_level, message) => logged.push(message),
    active
  })
  const out = new SpanWriter()
  const add = (name: string) => {
    out.begin(IDS, name, SPAN_SERVER, { startedAt: 1, endedAt: 2 })
    exporter.add(out.end())
  }
  return { clock, sent, counts, logged, exporter, add }
}

function namesOf(message: Buffer): string[] {
  const { resourceSpans } = ExportTraceServiceRequest.decode(message)
  assert.equal(resourceSpans.length, 1)
  assert.deepEqual(resourceSpans[0]!.resource!.attributes[0]!.value!.value, { $case: 'stringValue', value: 'test' })
  assert.equal(resourceSpans[0]!.scopeSpans[0]!.scope!.name, 'scope')
  return resourceSpans[0]!.scopeSpans[0]!.spans.map(({ name }) => name)
}

const TAKEN: ExportOutcome = { kind: 'taken', rejected: 0, message: '' }
const again = (afterMs: number | null = null): ExportOutcome => ({ kind: 'again', afterMs, message: 'busy' })

test('a batch leaves when its first item has waited long enough', () => {
  const { clock, sent, counts, add } = stand()
  add('a')
  clock.pass(4_999)
  add('b')
  assert.equal(sent.length, 0)
  clock.pass(1)
  assert.deepEqual(sent[0]!.names, ['a', 'b'])
  sent[0]!.done(TAKEN)
  assert.equal(counts.exported, 2)
  assert.equal(clock.next, null)
})

test('a batch that is full leaves at once, and the next one when the collector has answered', () => {
  const { clock, sent, add } = stand()
  const name = 'x'.repeat(1500)
  for (let i = 0; i < 5; i++) add(name)
  assert.equal(sent.length, 1)
  clock.pass(60_000)
  assert.equal(sent.length, 1)
  sent[0]!.done(TAKEN)
  sent[1]!.done(TAKEN)
  sent[2]!.done(TAKEN)
  assert.deepEqual(
    sent.map(({ names }) => names.length),
    [2, 2, 1]
  )
})

test('pauses grow, half of them at random, up to a bound; after five minutes the batch is lost', () => {
  const { clock, sent, counts, logged, add } = stand()
  add('a')
  clock.pass(5_000)
  const pauses: number[] = []
  for (let i = 0; counts.dropped.size === 0; i++) {
    sent[i]!.done(again())
    const pause = clock.next
    if (pause === null) break
    pauses.push(pause)
    clock.pass(pause)
  }
  assert.deepEqual(pauses.slice(0, 7), [750, 1_500, 3_000, 6_000, 12_000, 22_500, 22_500])
  assert.deepEqual([...counts.dropped], [['expired', 1]])
  assert.equal(counts.retried, pauses.length)
  // The first, and then one a minute.
  assert.ok(logged.length <= 7)
})

test('a collector that says when to come again is believed, within bounds', () => {
  const { clock, sent, add } = stand()
  add('a')
  clock.pass(5_000)
  sent[0]!.done(again(7_000))
  assert.equal(clock.next, 7_000)
  clock.pass(7_000)
  sent[1]!.done(again(86_400_000))
  assert.equal(clock.next, 300_000)
})

test('spans are dropped when the queue is full', () => {
  const { clock, sent, counts, add } = stand({ queueBytesMax: 4096 })
  for (let i = 0; i < 9; i++) add(String(i).repeat(1500))
  assert.equal(sent.length, 1)
  assert.equal(counts.dropped.get('queue_full'), 6)
  sent[0]!.done(TAKEN)
  clock.pass(5_000)
  assert.deepEqual(
    sent.map(({ names }) => names.map((name) => name[0])),
    [['0', '1'], ['8']]
  )
})

test('an item that no batch has room for is dropped', () => {
  const { counts, add } = stand()
  add('x'.repeat(5_000))
  assert.deepEqual([...counts.dropped], [['too_large', 1]])
})

test('at the end all is sent once more, without pauses', async () => {
  const { clock, sent, counts, exporter, add } = stand()
  add('a')
  clock.pass(5_000)
  sent[0]!.done(again(200_000))
  add('b')
  const closed = exporter.close()
  sent[1]!.done(again())
  sent[2]!.done(TAKEN)
  await closed
  assert.deepEqual(
    sent.map(({ names }) => names),
    [['a'], ['a'], ['b']]
  )
  assert.deepEqual([[...counts.dropped], counts.exported], [[['shutdown', 1]], 1])
})

test('a collector that says nothing does not hold up the end', async () => {
  const { clock, sent, counts, exporter, add } = stand()
  add('a')
  const closed = exporter.close()
  clock.pass(5_000)
  await closed
  assert.ok(sent[0]!.isCancelled)
  assert.deepEqual([...counts.dropped], [['shutdown', 1]])
  // It answers after all.
  sent[0]!.done(TAKEN)
  assert.equal(counts.exported, 0)
})
