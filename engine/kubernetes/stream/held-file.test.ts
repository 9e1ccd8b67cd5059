import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { VERSION } from '#engine/contract/version.ts'
import type { Backend } from '#engine/ir/snapshot.ts'
import { bindOf, routeOf, snapshotOf } from '#engine/testing/snapshot.ts'
import { HeldFile } from './held-file.ts'
import type { Held } from './received.ts'

const KEY = 'k'.repeat(32)
const held: Held = {
  ...{ epoch: 'epoch', version: 7, program: VERSION, endpointsVersion: 3 },
  draft: snapshotOf([bindOf([{ name: 'a canary' }])]),
  endpoints: { 'shop:80': [{ host: '10.0.0.1', port: 80, unixPath: null, weight: 1 }] }
}

/** Of several records. */
const large: Held = {
  ...held,
  draft: snapshotOf(
    [
      bindOf([{ routes: Array.from({ length: 250 }, (_, i) => routeOf({ name: `r${i}` })) }, { name: 'second' }]),
      bindOf([{ routes: [routeOf({ name: 'last' })] }], 81)
    ],
    Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`b${i}`, { kind: 'static', policies: {} } as Backend]))
  ),
  endpoints: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`shop-${i}:80`, held.endpoints['shop:80']!]))
}

test('what is kept comes back, is sealed and of its user alone; what was damaged is not used', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-held-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = new HeldFile(folder, KEY, 'demo/web')
  assert.equal(file.read(), null)
  file.write(held)
  file.write(held)
  assert.deepEqual(file.read(), held)
  const [name, ...others] = readdirSync(folder)
  assert.deepEqual(others, [])
  const path = join(folder, name!)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const bytes = readFileSync(path)
  assert.equal(bytes.includes('a canary'), false)
  for (const other of [new HeldFile(folder, 'x'.repeat(32), 'demo/web'), new HeldFile(folder, KEY, 'demo/other')]) {
    assert.throws(() => other.read(), /written with another key, for another Gateway or version, or is damaged/)
  }
  for (const cut of [0, 1, 12, 27, 28, bytes.length - 1]) {
    writeFileSync(path, bytes.subarray(0, cut))
    assert.throws(() => file.read(), /is damaged/)
  }
  for (const at of [0, 15, 40, bytes.length - 1]) {
    const bent = Buffer.from(bytes)
    bent[at]! ^= 1
    writeFileSync(path, bent)
    assert.throws(() => file.read(), /is damaged/)
  }
})

test('what is large is kept between other work, and what comes meanwhile takes its place', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-held-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = new HeldFile(folder, KEY, 'demo/web')
  let turns = 0
  const count = () => {
    turns++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  await file.writeSoon(large)
  clearImmediate(counting)
  assert.ok(turns > 4, `${turns} turns of the event loop`)
  assert.deepEqual(file.read(), large)
  const [late, later] = [
    { ...large, version: 8 },
    { ...held, version: 9 }
  ]
  const stopped = file.writeSoon(late)
  file.write(later)
  await stopped
  assert.deepEqual(file.read(), later)
  await Promise.all([file.writeSoon(later), file.writeSoon(late)])
  assert.deepEqual(file.read(), late)
  assert.deepEqual(readdirSync(folder).length, 1)
})
