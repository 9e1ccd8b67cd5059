/**
 * The stream between a controller and its data planes: what either side says is read, or refused with a RecordError,
 * in whatever pieces it comes. What a data plane has taken can be sent on, and comes out the same.
 */
import assert from 'node:assert/strict'
import { encodeDelta } from '#engine/ir/snapshot-delta.ts'
import { readToController, readToDataPlane, type ToDataPlane } from '#engine/kubernetes/stream/messages.ts'
import { Received } from '#engine/kubernetes/stream/received.ts'
import { decodeRecord, encodeRecord, RecordError, RecordReader } from '#engine/kubernetes/stream/records.ts'

export const name = 'snapshot-stream'

const BYTES_MAX = 64 * 1024

export const dictionary = [
  ...['hello', 'answer', 'snapshot', 'endpoints'].map((kind) => text(encodeRecord({ kind }).subarray(4))),
  ...['epoch', 'version', 'base', 'delta', 'changes', 'binds', 'listeners', 'routes', 'reason', '__proto__'],
  ...['\x00\x00\x00\x05', '\xdd\xff\xff\xff\xff', '\xdf\xff\xff\xff\xff', '\xc0', '\x90', '\x80', '\xd4\x72\x40']
]

function text(bytes: Buffer): string {
  return bytes.toString('latin1')
}

export function run(data: Buffer): void {
  const whole = readAll([data])
  assert.deepEqual(readAll(Array.from(data, (byte) => Buffer.from([byte]))), whole)
  const received = new Received(null)
  for (const value of whole.values) {
    refusedAlone(() => readToController(value))
    refusedAlone(() => take(received, readToDataPlane(value)))
  }
  const { draft } = received
  if (draft === null) return
  const delta = decodeRecord(encodeRecord(encodeDelta(null, draft.draft)))
  const again = new Received(null)
  const record = readToDataPlane({ kind: 'snapshot', epoch: 'e', program: '1', version: 1, base: 0, delta })
  assert.ok(record.kind === 'snapshot')
  assert.deepEqual(again.takeSnapshot(record).draft, draft.draft)
}

function take(received: Received, record: ToDataPlane): void {
  if (record.kind === 'endpoints') received.takeEndpoints(record)
  else received.takeSnapshot(record)
}

/** What it has read until it was refused, if it was. */
function readAll(chunks: readonly Buffer[]): { values: unknown[]; fault: string | null } {
  const values: unknown[] = []
  const reader = new RecordReader(BYTES_MAX, (value) => values.push(value))
  const fault = refusedAlone(() => {
    for (const chunk of chunks) reader.push(chunk)
  })
  return { values, fault }
}

/** Its message; null: it was not refused. */
function refusedAlone(work: () => unknown): string | null {
  try {
    work()
    return null
  } catch (error) {
    if (!(error instanceof RecordError)) throw error
    return error.message
  }
}
