import { deepEqual, equal, match, ok, throws } from 'node:assert/strict'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ChangedMeanwhile, ConfigFile, NotWritable, VERSIONS_MAX } from './config-file.ts'

function fileIn(t: TestContext, text = 'one') {
  const folder = mkdtempSync(join(tmpdir(), 'weir-config-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'weir.yaml')
  writeFileSync(path, text)
  return { folder, path, file: new ConfigFile(path) }
}

test('a text takes the place of the one that is known, which is kept for the owner alone', (t) => {
  const { folder, path, file } = fileIn(t)
  chmodSync(path, 0o640)
  const { text, textHash, why } = file.read()
  deepEqual([text, why], ['one', null])
  const inode = statSync(path).ino
  equal(file.write('two', textHash), file.read().textHash)
  deepEqual([readFileSync(path, 'utf8'), statSync(path).mode & 0o777], ['two', 0o640])
  ok(statSync(path).ino !== inode)
  const [version, ...more] = file.versions()
  equal(more.length, 0)
  equal(file.version(version!.id), 'one')
  equal(new Date(version!.replacedAt).toISOString(), version!.replacedAt)
  const versions = join(folder, '.weir.yaml.versions')
  deepEqual([statSync(versions).mode & 0o777, statSync(join(versions, version!.id)).mode & 0o777], [0o700, 0o600])
  deepEqual(readdirSync(folder).toSorted(), ['.weir.yaml.versions', 'weir.yaml'])
})

test('what somebody else has written meanwhile stays', (t) => {
  const { folder, path, file } = fileIn(t)
  const { textHash } = file.read()
  writeFileSync(path, 'theirs')
  throws(() => file.write('mine', textHash), ChangedMeanwhile)
  equal(readFileSync(path, 'utf8'), 'theirs')
  deepEqual(readdirSync(folder), ['weir.yaml'])
})

test('a link goes on to lead to the file that is changed', (t) => {
  const { folder, path } = fileIn(t)
  const link = join(folder, 'link.yaml')
  symlinkSync('weir.yaml', link)
  const file = new ConfigFile(link)
  file.write('two', file.read().textHash)
  ok(lstatSync(link).isSymbolicLink())
  equal(readFileSync(path, 'utf8'), 'two')
  equal(new ConfigFile(path).versions().length, 1)
})

test('so many versions are kept, the newest first', (t) => {
  const { file } = fileIn(t, '0')
  for (let i = 1; i <= VERSIONS_MAX + 5; i++) file.write(String(i), file.read().textHash)
  const kept = file.versions().map(({ id }) => file.version(id))
  equal(kept.length, VERSIONS_MAX)
  deepEqual(new Set(kept), new Set(Array.from({ length: VERSIONS_MAX }, (_, i) => String(i + 5))))
})

test('the same text again keeps nothing', (t) => {
  const { file } = fileIn(t)
  file.write('one', file.read().textHash)
  deepEqual(file.versions(), [])
})

test('a name of a version leads nowhere else', (t) => {
  const { folder, file } = fileIn(t)
  mkdirSync(join(folder, '.weir.yaml.versions'))
  for (const id of ['../weir.yaml', '..', '', 'x', '2026-11-24T10-00-00.000Z-0123456789ab/../../weir.yaml'])
    equal(file.version(id), null)
})

test('what is no text, and what is too long, is not shown', (t) => {
  const { path, file } = fileIn(t)
  writeFileSync(path, Buffer.from([0x62, 0xff]))
  deepEqual([file.read().text, file.read().why], [null, 'it is not UTF-8'])
  writeFileSync(path, Buffer.alloc(1024 * 1024 + 1, 0x20))
  deepEqual([file.read().text, file.read().why], [null, 'it is longer than 1 MiB'])
})

test('a file that cannot be put in place is left as it is, and the reason said', (t) => {
  const { folder, path, file } = fileIn(t)
  // Root may write everywhere; nobody can make a folder where a file is.
  writeFileSync(join(folder, '.weir.yaml.versions'), 'in the way')
  throws(
    () => file.write('two', file.read().textHash),
    (error) => error instanceof NotWritable && error.message !== ''
  )
  equal(readFileSync(path, 'utf8'), 'one')
  deepEqual(readdirSync(folder).toSorted(), ['.weir.yaml.versions', 'weir.yaml'])
  rmSync(path)
  throws(
    () => file.read(),
    (error) => match((error as NodeJS.ErrnoException).code ?? '', /ENOENT/) === undefined
  )
})
