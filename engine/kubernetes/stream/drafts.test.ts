/** Drafts come out of the stream as they went in: those of every example of the documentation. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { prepareBackends } from '#engine/build/prepare.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { exampleFiles } from '#engine/testing/certificates.ts'
import { policies } from '#policies/index.ts'
import { readToDataPlane } from './messages.ts'
import { Published } from './published.ts'
import { Received } from './received.ts'
import { decodeRecord } from './records.ts'

const FOLDER = join(import.meta.dirname, '../../../docs/examples')
const FILES = readdirSync(FOLDER).filter((file) => file.endsWith('.yaml'))

test('every example, and a change of it, arrives as it is', () => {
  let count = 0
  const readFile = exampleFiles()
  for (const file of FILES) {
    const text = readFileSync(join(FOLDER, file), 'utf8')
    const prepare: Parameters<typeof loadConfig>[1]['prepare'] = (draft, warn) => prepareBackends(draft, backends, warn)
    const loaded = loadConfig(text, { file, env: {}, folder: FOLDER, policies, backends, readFile, prepare })
    if (!loaded.ok) continue
    count++
    const { snapshot } = loaded
    const published = new Published('epoch')
    const received = new Received(null)
    const sent = () => {
      const record = readToDataPlane(decodeRecord(published.snapshotSince(received.draft?.version ?? 0)))
      assert.ok(record.kind === 'snapshot')
      return received.takeSnapshot(record).draft
    }
    published.publish({ draft: snapshot, endpoints: {} })
    assert.deepStrictEqual(sent(), snapshot, file)
    const [first, ...others] = snapshot.binds
    const changed = { ...snapshot, binds: [{ ...first!, port: 1 }, ...others] }
    published.publish({ draft: changed, endpoints: {} })
    assert.deepStrictEqual(sent(), changed, file)
  }
  assert.ok(count > 20, `${count} examples`)
})
