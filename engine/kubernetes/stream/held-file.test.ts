import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { VERSION } from '#engine/contract/version.ts'
import { bindOf, snapshotOf } from '#engine/testing/snapshot.ts'
import { HeldFile } from './held-file.ts'
import type { Held } from './received.ts'

const KEY = 'k'.repeat(32)
const held: Held = {
  ...{ epoch: 'epoch', version: 7, program: VERSION, endpointsVersion: 3 },
  draft: snapshotOf([bindOf([{ name: 'a canary' }])]),
  endpoints: { 'shop:80': [{ host: '10.0.0.1', port: 80, unixPath: null, weight: 1 }] }
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
