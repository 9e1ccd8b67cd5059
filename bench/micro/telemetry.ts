/** What RECORD costs per exchange. The target with the access log off is 300 ns. */
import * as fs from 'node:fs'
import * as os from 'node:os'
import type { Bench } from 'tinybench'
import { finishedExchange } from '#engine/telemetry/exchange.fixture.ts'
import { REGION_BYTES } from '#engine/telemetry/metrics.ts'
import { MetricsTable } from '#engine/telemetry/metrics-table.ts'
import { createTelemetry, type Telemetry } from '#engine/telemetry/telemetry.ts'

/** Exchanges per sample: one alone is shorter than the clock's resolution. */
export const calls = 1000

export function register(bench: Bench): void {
  const table = new MetricsTable()
  const fd = fs.openSync(os.devNull, 'w')
  const same = [finishedExchange()]
  // Neighbours that differ in method, status and backend: the memo of the last series never holds.
  const mixed = ['GET', 'POST', 'PUT', 'HEAD'].map((method, i) => {
    const ex = finishedExchange({ method })
    ex.status = 200 + i
    ex.backend = `backend-${i % 2}`
    return ex
  })
  const cases = [
    ['record, log off, like neighbours', 'off', 'text', same],
    ['record, log off, unlike neighbours', 'off', 'text', mixed],
    ['record, text line', 'info', 'text', same],
    ['record, JSON line', 'info', 'json', same]
  ] as const
  for (const [name, level, format, exchanges] of cases) {
    const telemetry = open(table, fd, name, { level, format })
    const recorder = telemetry.recorderFor({ route: 'default/route0', listener: 'default/listener0', port: 8080 })
    bench.add(name, async () => {
      for (let i = 0; i < calls; i++) recorder.record(exchanges[i % exchanges.length]!)
      if (level !== 'off') await telemetry.flush()
    })
  }
}

function open(
  table: MetricsTable,
  fd: number,
  id: string,
  logging: { level: string; format: 'text' | 'json' }
): Telemetry {
  const region = new SharedArrayBuffer(REGION_BYTES)
  return createTelemetry({ region, worker: 0, announce: table.attach(id, region), logging, accessLogFd: fd })
}
