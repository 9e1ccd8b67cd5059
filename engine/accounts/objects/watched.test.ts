/** A place for owners that fails: each failure is counted, and the log has a line for each operation and minute. */
import { deepEqual, match, rejects } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ObjectFile } from './file.ts'
import { type OwnersOperation, watchedOwners } from './watched.ts'

function brokenFile(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'weir-owners-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'objects.db')
  writeFileSync(path, 'this is no database, and long enough for one to have a header of its own here: '.repeat(20))
  return new ObjectFile({ folder, fsync: 'no' }, Date.now)
}

test('what cannot be written down is counted each time, and logged once a minute for each operation', async (t) => {
  const file = brokenFile(t)
  const counted: OwnersOperation[] = []
  const lines: string[] = []
  let now = 0
  const watch = {
    failed: (operation: OwnersOperation) => counted.push(operation),
    log: (_: string, line: string) => lines.push(line),
    now: () => now
  }
  const owners = watchedOwners(file, watch)
  await rejects(owners.note('h', ['o']), /not a database/)
  await rejects(owners.note('h', ['o']), /not a database/)
  await rejects(owners.forget('h', 'o'))
  await rejects(owners.owned('h', ['o']))
  deepEqual(counted, ['note', 'note', 'forget', 'owned'])
  deepEqual(lines.length, 3)
  match(lines[0]!, /could not be written down, and is in no list until it is asked for by id: .*not a database/)
  now = 60_000
  await rejects(owners.note('h', ['o']))
  deepEqual(lines.length, 4)
  await file.close()
})
