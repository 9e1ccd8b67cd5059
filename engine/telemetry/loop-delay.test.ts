import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseExposition } from './exposition.fixture.ts'
import { LoopDelay, late } from './loop-delay.ts'
import { Metrics } from './metrics.ts'
import { MetricsTable } from './metrics-table.ts'

test('a loop that was held shows by how much, without the probing interval', async () => {
  const table = new MetricsTable()
  const region = new SharedArrayBuffer(1024)
  const delay = new LoopDelay(new Metrics(region, table.attach('0', region)), 4)
  // The probe measures from one firing to the next; it is due after every hold and fires in the turn that follows.
  for (let i = 0; i < 4; i++) {
    const until = performance.now() + 100
    while (performance.now() < until);
    await nextTurn()
    await nextTurn()
  }
  delay.sample()
  delay.close()
  const text = parseExposition(table.expose())
  const of = (stat: string) => text.value('weir_event_loop_delay_seconds', { worker: '4', stat })!
  assert.ok(of('max') >= 0.075, `max ${of('max')}`)
  assert.ok(of('p50') >= 0 && of('p50') <= of('p99') && of('p99') <= of('max'))
})

test('a probe that came in time is not late', () => {
  assert.equal(late(20e6), 0)
  assert.equal(late(19e6), 0)
  assert.equal(late(120e6), 0.1)
  assert.equal(late(0), 0, 'nothing was probed yet')
})
