import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folderOf, startServer } from './daemon.ts'
import { findSystemProgram, systemProgram } from './system-programs.ts'

test('a program is found in the folders of PATH in their order, and where packages put servers', (t) => {
  const [first, second] = [folderOf(t), folderOf(t)]
  mkdirSync(join(first, 'serve'))
  writeFileSync(join(second, 'serve'), '#!/bin/sh\n')
  assert.equal(findSystemProgram('serve', `${first}::${second}`), null, 'a folder and a file that nobody may execute')
  chmodSync(join(second, 'serve'), 0o755)
  assert.equal(findSystemProgram('serve', `${first}::${second}`), join(second, 'serve'))
  // Of the package passwd, which every Debian has.
  assert.match(systemProgram('nologin', first), /sbin\/nologin$/)
})

test('one that is not installed is named', (t) => {
  assert.throws(() => systemProgram('serve', folderOf(t)), /^Error: serve is not installed, and this test starts it: /)
})

test('a server that is missing, cannot start or ends is an error at once, with what it said', async (t) => {
  const folder = folderOf(t)
  const file = join(folder, 'serve')
  const start = () => startServer('serve', [], 1, folder)
  await assert.rejects(start, /serve is not installed/)
  writeFileSync(file, '#!/bin/sh\necho the port is taken >&2\nexit 3\n')
  chmodSync(file, 0o755)
  await assert.rejects(start, /serve has ended \(3\): the port is taken/)
  writeFileSync(file, '#!/no/such/shell\n')
  await assert.rejects(start, /serve cannot be started: spawn .* ENOENT/)
})
