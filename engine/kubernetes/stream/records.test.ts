import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readToController, readToDataPlane } from './messages.ts'
import { encodeRecord, RecordError, RecordReader } from './records.ts'

const VALUES = [{ kind: 'hello', epoch: 'e', snapshot: 1, endpoints: 2 }, [], 'text', { bytes: Buffer.from([1, 2]) }]

function read(chunks: readonly Buffer[], bytesMax = 1024): unknown[] {
  const found: unknown[] = []
  const reader = new RecordReader(bytesMax, (value) => found.push(value))
  for (const chunk of chunks) reader.push(chunk)
  return found
}

describe('records', () => {
  const bytes = Buffer.concat(VALUES.map(encodeRecord))

  test('are the same wherever they are cut', () => {
    for (let cut = 0; cut <= bytes.length; cut++) {
      assert.deepEqual(read([bytes.subarray(0, cut), bytes.subarray(cut)]), VALUES)
    }
    assert.deepEqual(read(Array.from(bytes, (byte) => Buffer.from([byte]))), VALUES)
  })

  test('that are too long are refused before their bytes have come', () => {
    assert.throws(() => read([Buffer.from([0, 0, 4, 1])]), new RecordError('a record of 1025 bytes; the limit is 1024'))
    assert.throws(() => read([Buffer.from([0xff, 0xff, 0xff, 0xff])]), RecordError)
  })

  test('that are no MessagePack, or claim more than they have, are refused', () => {
    const bodies = [
      [],
      [0xdd, 0xff, 0xff, 0xff, 0xff],
      [0xdf, 0xff, 0xff, 0xff, 0xff],
      [0xdb, 0x7f, 0xff, 0xff, 0xff],
      [0x01, 0x02],
      // Lists in lists, without end.
      new Array<number>(1000).fill(0x91)
    ]
    for (const body of bodies) {
      assert.throws(() => read([Buffer.from([0, 0, body.length >> 8, body.length & 0xff, ...body])]), RecordError)
    }
  })
})

describe('messages', () => {
  test('of a data plane are what they are, or refused', () => {
    const answer = { kind: 'answer', epoch: 'e', version: 3, reason: null }
    assert.deepEqual(readToController(answer), answer)
    assert.equal(readToController({ ...answer, reason: 'x'.repeat(5_000) }).kind, 'answer')
    const shown = readToController({ ...answer, reason: 'a\u001b[2Jb\r\nü\u0000\u009b\u202ec\u2028\ud800' })
    assert.deepEqual(shown, { ...answer, reason: 'a?[2Jb?\nü???c??' })
    const wrong = [null, 1, [], {}, { kind: 'other' }, { ...answer, version: -1 }, { ...answer, version: 1.5 }]
    const more = [
      { ...answer, reason: 1 },
      { ...answer, epoch: 'x'.repeat(65) },
      { kind: 'hello', epoch: 'e' }
    ]
    for (const one of [...wrong, ...more]) assert.throws(() => readToController(one), RecordError)
  })

  test('of a controller have the outline of a Snapshot, or endpoints with a host and a port', () => {
    const common = { epoch: 'e', version: 2, base: 1 }
    const endpoint = { host: '10.0.0.1', port: 80, unixPath: null, weight: 1, forZones: ['a'], identity: 'ns/a/sa/b' }
    const changes = { a: [endpoint], b: null }
    assert.deepEqual(readToDataPlane({ kind: 'endpoints', ...common, changes }), {
      kind: 'endpoints',
      ...common,
      changes
    })
    const named = readToDataPlane({ kind: 'endpoints', ...common, changes: { a: [{ ...endpoint, unixPath: '/etc' }] } })
    assert.deepEqual(named.kind === 'endpoints' && named.changes.a, [endpoint])
    const wrong = [
      { ...endpoint, port: 0 },
      { ...endpoint, port: 65_536 },
      { ...endpoint, host: '' },
      { ...endpoint, identity: 'ns/a/sa/b/../c' },
      null,
      { host: 'a' }
    ]
    for (const one of wrong) {
      assert.throws(() => readToDataPlane({ kind: 'endpoints', ...common, changes: { a: [one] } }), RecordError)
    }
    const delta = { gateway: {}, backends: {}, goneBackends: [], frontend: {}, process: {}, binds: [] }
    assert.equal(readToDataPlane({ kind: 'snapshot', program: '1', ...common, delta }).kind, 'snapshot')
    const bad = [
      ...Object.keys(delta).map((key) => ({ ...delta, [key]: 1 })),
      { ...delta, binds: [{ listeners: 1 }] },
      { ...delta, binds: [{ listeners: [{ routes: [[0, -1]] }] }] },
      { ...delta, binds: [{ listeners: [{ routes: [[0, 1, 2]] }] }] }
    ]
    for (const one of bad) {
      assert.throws(() => readToDataPlane({ kind: 'snapshot', program: '1', ...common, delta: one }), RecordError)
    }
  })
})
