/** What RECORD costs per exchange: `node bench/micro/telemetry.ts`. Nanoseconds; the target with the log off is 300. */
import * as fs from 'node:fs'
import * as os from 'node:os'
import { Bench } from 'tinybench'
import { finishedExchange } from '#engine/telemetry/exchange.fixture.ts'
import { REGION_BYTES } from '#engine/telemetry/metrics.ts'
import { MetricsTable } from '#engine/telemetry/metrics-table.ts'
import { createTelemetry, type Telemetry } from '#engine/telemetry/telemetry.ts'

/** Exchanges per measured call: one alone is shorter than the clock's resolution. */
const BATCH = 1000

const fd = fs.openSync(os.devNull, 'w')
const table = new MetricsTable()

function telemetry(id: number, level: string, format: 'text' | 'json'): Telemetry {
  const region = new SharedArrayBuffer(REGION_BYTES)
  const announce = table.attach(String(id), region)
  return createTelemetry({ region, worker: id, announce, logging: { level, format }, accessLogFd: fd })
}

const off = telemetry(0, 'off', 'text')
const text = telemetry(1, 'info', 'text')
const json = telemetry(2, 'info', 'json')

const same = [finishedExchange()]
// Neighbours that differ in method, status and backend: the memo of the last series never holds.
const mixed = ['GET', 'POST', 'PUT', 'HEAD'].map((method, i) => {
  const ex = finishedExchange({ method })
  ex.status = 200 + i
  ex.backend = `backend-${i % 2}`
  return ex
})

const bench = new Bench({ time: 500 })
for (const [name, from, exchanges] of [
  ['record, log off, like neighbours', off, same],
  ['record, log off, unlike neighbours', off, mixed],
  ['record, text line', text, same],
  ['record, JSON line', json, same]
] as const) {
  const recorder = from.recorderFor('default/route0', 'default/listener0', 8080)
  bench.add(name, async () => {
    for (let i = 0; i < BATCH; i++) recorder.record(exchanges[i % exchanges.length]!)
    if (from !== off) await from.flush()
  })
}

await bench.run()
for (const task of bench.tasks) {
  const { result } = task
  if (result.state !== 'completed') throw new Error(`${task.name}: ${result.state}`)
  console.log(`${task.name}: ${((result.latency.p50 * 1e6) / BATCH).toFixed(0)} ns`)
}
await Promise.all([off.close(), text.close(), json.close()])
fs.closeSync(fd)
