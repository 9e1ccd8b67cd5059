/**
 * The journal of budgets: whatever the bytes are, records are whole and bounded, and what was torn off changes none.
 */
import assert from 'node:assert/strict'
import { PAYLOAD_BYTES_MAX, readSegment } from '#engine/accounts/journal/records.ts'
import { Totals } from '#engine/accounts/journal/totals.ts'

export const name = 'journal'
export const dictionary = [
  '\x01',
  '\x02',
  '\x03',
  '\x1e\0\0\0',
  'key/alice Month UTC -',
  'key/alice 3600000ms',
  '\0\0\0\0\0\0\0\0'
]

export function run(data: Buffer): void {
  const { records, lostBytes } = readSegment(data)
  assert.ok(lostBytes >= 0 && lostBytes <= data.length)
  assert.ok(records.length <= data.length / 14)
  const torn = readSegment(data.subarray(0, Math.floor(data.length / 2))).records
  // A frame whose end is torn off may hide others, which are read instead; without one the beginning is the same.
  if (lostBytes === 0) assert.deepEqual(torn, records.slice(0, torn.length))
  for (const record of records) if (record.kind === 'budget') assert.ok(record.id.length <= PAYLOAD_BYTES_MAX)
  const totals = new Totals()
  totals.fold('a', records)
  totals.end('a')
  totals.age(2e12)
  const text = JSON.stringify(totals.text)
  assert.equal(JSON.stringify(Totals.from(JSON.parse(text)).text), text)
}
