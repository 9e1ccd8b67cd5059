import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { backends } from '#backends/index.ts'
import { hashOf, loadConfig } from './load.ts'
import { POLICIES, withRoute } from './testing/fakes.ts'

const folder = mkdtempSync(join(tmpdir(), 'weir-sources-'))
after(() => rmSync(folder, { recursive: true }))
mkdirSync(join(folder, 'sub'))
writeFileSync(join(folder, 'sub', 'keys'), 'the keys')

function load(text: string) {
  return loadConfig(text, { file: 'weir.yaml', folder, env: {}, policies: POLICIES, backends, processors: 1 })
}

/** "line:column: path: message", the folder left out. */
function mistakes(text: string): string[] {
  const result = load(text)
  const errors = result.ok ? [] : result.errors
  return errors.map(({ line, column, path, message }) =>
    `${line}:${column}: ${path}: ${message}`.replaceAll(folder, '@')
  )
}

test('contents of files replace their paths in the Snapshot: on routes, on listeners, under every name', () => {
  const text = `binds:
- port: 3000
  listeners:
  - policies: { keys: { file: ${join(folder, 'sub', 'keys')} } }
    routes:
    - policies: { keyFile: { file: sub/keys } }
`
  const result = load(text)
  assert.ok(result.ok)
  const [listener] = result.snapshot.binds[0]!.listeners
  assert.deepEqual(listener!.policies, { keys: { text: 'the keys' } })
  assert.deepEqual(listener!.routes[0]!.policies, { keys: { text: 'the keys' } })
  assert.deepEqual(result.files, [{ path: join(folder, 'sub', 'keys'), text: 'the keys' }])
})

test('relative paths begin at the working directory when no folder is given', () => {
  const text = withRoute('policies: { keyFile: { file: package.json } }')
  const result = loadConfig(text, { file: 'f', env: {}, policies: POLICIES, backends, processors: 1 })
  assert.deepEqual(
    result.files.map(({ path }) => path),
    [join(process.cwd(), 'package.json')]
  )
  assert.ok(result.ok)
})

test('a file that cannot be read is a mistake at the field, in words', () => {
  writeFileSync(join(folder, 'large'), Buffer.alloc(1024 * 1024 + 1, 'x'))
  writeFileSync(join(folder, 'latin1'), Buffer.from([0xe9]))
  const rows: [string, string][] = [
    ['missing', 'cannot read @/missing: there is no such file'],
    ['sub', 'cannot read @/sub: it is a folder, not a file'],
    ['sub/keys/x', 'cannot read @/sub/keys/x: a part of its path is a file, not a folder'],
    ['/dev/null', 'cannot read /dev/null: it is not a regular file'],
    ['large', 'cannot read @/large: it is longer than 1 MiB'],
    ['latin1', 'cannot read @/latin1: it is not UTF-8 text']
  ]
  for (const [file, message] of rows) {
    const text = withRoute(`policies: { keyFile: { file: ${file} } }`)
    const path = 'binds[0].listeners[0].routes[0].policies.keyFile.file'
    assert.deepEqual(mistakes(text), [`1:${text.indexOf('file:') + 1}: ${path}: ${message}`], file)
  }
})

test('text where a path should be is not repeated: it may be a key', () => {
  for (const value of ['"-----BEGIN PRIVATE KEY----- c2VjcmV0"', '"c2VjcmV0\\nc2VjcmV0"', '"c2VjcmV0\\0"']) {
    const text = withRoute(`policies: { keyFile: { file: ${value} } }`)
    const result = loadConfig(text, { file: 'f', env: {}, policies: POLICIES, backends, processors: 1, folder })
    assert.ok(!result.ok)
    assert.match(result.errors[0]!.message, /^must be the path of a file, not the text of it$/, value)
    assert.doesNotMatch(JSON.stringify([result.errors, result.files]), /c2VjcmV0/, value)
  }
})

test('a file that is there is right, whatever its name looks like', () => {
  const store = join(folder, '5b1c9h0ylmdzkpcxg3v4q0a8rj7w2nfs-nss-cacert-3.98')
  mkdirSync(store)
  const names = [
    join(store, 'ca-bundle.crt'),
    'jwks-d41d8cd98f00b204e9800998ecf8427e.json',
    'wildcardexamplecom2026.pem',
    '6f9619ff-8b86-d011-b42d-00cf4fc964ff',
    'c2VjcmV0c2VjcmV0MTIzNDU2Nzg5MA=='
  ]
  for (const name of names) {
    const full = resolve(folder, name)
    const text = withRoute(`policies: { keyFile: { file: ${JSON.stringify(name)} } }`)
    assert.match(mistakes(text)[0]!, /: must be the path of a file, not the text of it$/, name)
    writeFileSync(full, 'keys')
    const result = load(text)
    assert.ok(result.ok, name)
    assert.deepEqual(result.files, [{ path: full, text: 'keys' }])
  }
})

test('the contents of the file are validated too, and other mistakes are reported beside it', () => {
  writeFileSync(join(folder, 'bad'), 'bad')
  const bad = withRoute('policies: { keyFile: { file: bad } }')
  assert.match(mistakes(bad)[0]!, /policies\.keyFile: does not do$/)
  const both = withRoute('nme: x, policies: { keyFile: { file: missing } }')
  assert.deepEqual(
    mistakes(both).map((mistake) => /(nme|keyFile)/.exec(mistake)![0]),
    ['nme', 'keyFile']
  )
})

test('a file that is missing is among those to watch', () => {
  const result = load(withRoute('policies: { keyFile: { file: missing } }'))
  assert.deepEqual(result.files, [{ path: join(folder, 'missing'), text: '' }])
})

test('one loading reads a file once: all policies see the same text', () => {
  let reads = 0
  const readFile = () => String(++reads)
  const policies = 'policies: { keyFile: { file: a } }'
  const text = `binds: [{ port: 1, listeners: [{ ${policies}, routes: [{ ${policies} }] }] }]`
  const result = loadConfig(text, { file: 'f', env: {}, policies: POLICIES, backends, processors: 1, readFile })
  assert.ok(result.ok)
  assert.deepEqual([reads, result.snapshot.binds[0]!.listeners[0]!.policies], [1, { keys: { text: '1' } }])
})

test('the hash tells configurations apart whose files differ', () => {
  const files = (path: string, text: string) => [{ path, text }]
  const hashes = [hashOf('x'), hashOf('x', files('a', '1')), hashOf('x', files('a', '2')), hashOf('x', files('b', '1'))]
  assert.equal(new Set(hashes).size, 4)
})
