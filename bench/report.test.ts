import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { Row } from './load/load.ts'
import { type Document, loadTable, passed, save, table } from './report.ts'

const ROW: Row = {
  workload: 'get-1k',
  peer: 'weir',
  cpuUs: { median: 19.14, min: 17.2, rounds: [17.2, 19.14, 20] },
  ratio: 0.984,
  rps: 40_000.4,
  latency: { p50Us: 210, p99Us: 900, p999Us: 1500, maxUs: 3000, rate: 12_000 },
  addedUs: null,
  rssBytes: 64 * 1024 * 1024,
  emptyRssBytes: 60 * 1024 * 1024,
  connections: 64,
  faults: {}
}

test('columns are aligned', () => {
  assert.equal(
    table(
      ['a', 'number'],
      [
        ['long', '1'],
        ['x', '22']
      ]
    ),
    'a     number\nlong       1\nx         22'
  )
})

test('a row shows its figures and its faults', () => {
  const line = loadTable([ROW]).split('\n')[1]!
  assert.deepEqual(line.split(/\s+/), 'get-1k weir 19.1 17.2 0.98 40000 12000 210 900 1500 64.0 ok'.split(' '))
  const wrong = { ...ROW, faults: { status: 2, closed: 1 } }
  assert.match(loadTable([wrong]), /FAILED: 2 status, 1 closed$/)
  assert.equal(passed(ROW), true)
  assert.equal(passed(wrong), false)
})

test('idle connections are judged by memory over the empty process', () => {
  const idle: Row = { ...ROW, cpuUs: null, rps: null, latency: null, ratio: 2, connections: 1024 }
  const line = loadTable([idle]).split('\n')[1]!
  assert.deepEqual(line.split(/\s+/), 'get-1k weir 60.0 64.0 4.0 4.00 2.00 ok'.split(' '))
})

test('time to the first token is shown with what the proxy adds to it', () => {
  const line = loadTable([{ ...ROW, addedUs: 140.4 }]).split('\n')[1]!
  assert.deepEqual(line.split(/\s+/), 'get-1k weir 210 900 140 19.1 0.98 ok'.split(' '))
})

test('a run is saved as one document, and no run replaces another', () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-report-'))
  const base = {
    commit: 'abc1234',
    mode: 'quick',
    node: 'v22',
    cpu: '2 x CPU',
    versions: {},
    micro: [],
    gc: null
  } as const
  const document: Document = { ...base, date: '2026-11-21T05:06:07.089Z', load: [ROW] }
  const name = save(document, pathToFileURL(`${folder}/`))
  assert.equal(name, '2026-11-21T050607Z-abc1234-quick.json')
  assert.deepEqual(JSON.parse(readFileSync(join(folder, name), 'utf8')), document)
  rmSync(folder, { recursive: true })
})
