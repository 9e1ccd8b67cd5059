import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cacheFolder } from './compile-cache.ts'

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'weir-cache-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

test('the cache lies below the caches of the user, or in the folder that systemd made', (t) => {
  const home = folder(t)
  assert.equal(cacheFolder({}, home), join(home, '.cache', 'weir'))
  assert.equal(statSync(join(home, '.cache', 'weir')).mode & 0o777, 0o700)
  const caches = folder(t)
  assert.equal(cacheFolder({ XDG_CACHE_HOME: caches }, home), join(caches, 'weir'))
  const systemd = join(folder(t), 'link')
  symlinkSync(folder(t), systemd)
  assert.equal(cacheFolder({ XDG_CACHE_HOME: caches, CACHE_DIRECTORY: systemd }, home), join(systemd, 'weir'))
})

test('there is none where another user could write to it, or where nobody can', (t) => {
  const open = folder(t)
  chmodSync(open, 0o777)
  assert.equal(cacheFolder({ XDG_CACHE_HOME: open }), null)
  const caches = folder(t)
  mkdirSync(join(caches, 'weir'))
  chmodSync(join(caches, 'weir'), 0o770)
  assert.equal(cacheFolder({ XDG_CACHE_HOME: caches }), null)
  const linked = folder(t)
  symlinkSync(folder(t), join(linked, 'weir'))
  assert.equal(cacheFolder({ XDG_CACHE_HOME: linked }), null)
  const file = join(folder(t), 'file')
  writeFileSync(file, '')
  assert.equal(cacheFolder({ XDG_CACHE_HOME: file }), null)
})
