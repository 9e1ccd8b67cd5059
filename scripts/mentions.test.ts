import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asLines } from './fixture.ts'
import { checkLinks, checkMentions, Tree } from './mentions.ts'

const PAGES: Readonly<Record<string, string>> = {
  'docs/tls.md': '# TLS\n\n## Keys, and `their` files\n',
  'docs/README.md': '# Reading order\n'
}
const tree = new Tree(['engine/kit/ring.ts', 'engine/kit/ring.test.ts', 'README.md', ...Object.keys(PAGES)], (path) => {
  return PAGES[path] ?? ''
})
const mentions = (text: string) => asLines(checkMentions('engine/kit/ring.ts', text, tree))
const links = (text: string) => asLines(checkLinks('docs/README.md', text, tree))

test('files and folders that are there may be named, in any form', () => {
  for (const text of [
    'see engine/kit/ring.ts, or `engine/kit/{ring,ring.test}.ts`; all of engine/kit/ and engine/kit.',
    '#engine/kit/ring.ts; ring.ts, and ring.test.ts',
    'docs/tls.md, docs/tls.md#keys-and-their-files (docs/tls.md)',
    'engine/cel/*.ts, docs/design/NNN-<title>.md, policies/<section>/<policy>.ts',
    'https://example.com/engine/gone.ts, other/engine/gone.ts, ./gone.ts, undici/lib/gone.ts'
  ]) {
    assert.deepEqual(mentions(text), [], text)
  }
})

test('a path, a name or a heading that is not there is found, with its line', () => {
  assert.deepEqual(mentions('\nengine/kit/rang.ts'), ['engine/kit/ring.ts:2 there is no engine/kit/rang.ts'])
  assert.deepEqual(mentions('`engine/kit/{ring,rang}.ts`'), ['engine/kit/ring.ts:1 there is no engine/kit/rang.ts'])
  assert.deepEqual(mentions('engine/kat/'), ['engine/kit/ring.ts:1 there is no engine/kat/'])
  assert.deepEqual(mentions('kit/ring.ts, kit/rang.ts'), ['engine/kit/ring.ts:1 no path ends with kit/rang.ts'])
  assert.deepEqual(mentions('see rang.ts'), ['engine/kit/ring.ts:1 no file is called rang.ts'])
  assert.deepEqual(mentions('docs/tls.md#locks'), ['engine/kit/ring.ts:1 docs/tls.md has no heading #locks'])
})

test('papers that are not in the repository are refused', () => {
  for (const text of [
    '(spec 2.6)',
    'Spec 2.6, TLS',
    'spec section 8',
    'DESIGN section 3',
    'reference/peer.md',
    'reference field.md'
  ])
    assert.match(mentions(text)[0] ?? '', /is not in the repository: cite docs\/specification\.md/, text)
  assert.deepEqual(mentions('the specification, RFC 9113 section 5, BackendSpec 2'), [])
})

test('links lead to a file, and to a heading that it has', () => {
  assert.deepEqual(
    links(
      '[a](tls.md) [b](tls.md#keys-and-their-files) [c](../README.md) [d](https://example.com/#x) [e](#reading-order)'
    ),
    []
  )
  assert.deepEqual(links('[a](tsl.md)\n[b](tls.md#locks) [c](#x)'), [
    'docs/README.md:1 broken link: tsl.md',
    'docs/README.md:2 broken link: tls.md#locks',
    'docs/README.md:2 broken link: #x'
  ])
})
