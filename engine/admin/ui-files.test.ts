import { deepEqual, equal, match } from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { codingFor, UI_POLICY, UiFiles } from './ui-files.ts'

const PAGE = '<!doctype html><title>Weir</title>'
const SCRIPT = 'console.log(1)'

/** As bundleUi writes it. */
async function built(t: TestContext): Promise<UiFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-ui-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await mkdir(join(folder, 'assets'))
  for (const [name, text] of [
    ['index.html', PAGE],
    ['assets/main-ABC.js', SCRIPT]
  ] as const) {
    await writeFile(join(folder, `${name}.br`), brotliCompressSync(text))
    await writeFile(join(folder, `${name}.gz`), gzipSync(text))
  }
  await writeFile(join(folder, 'assets', 'inter-ABC.woff2'), 'font')
  await writeFile(join(folder, 'secret.html.gz'), gzipSync('secret'))
  await writeFile(join(folder, 'assets', 'notes.txt'), 'notes')
  return new UiFiles(folder)
}

const ask = (files: UiFiles, path: string, headers: IncomingHttpHeaders = {}, method = 'GET') =>
  files.answer({ method, path, query: new URLSearchParams(), headers, body: async () => Buffer.alloc(0) })

test('the page is at every path below /ui/, under a strict policy, and a 304 if it is the same', async (t) => {
  const files = await built(t)
  for (const path of ['/ui/', '/ui/keys', '/ui/routes/a/b', '/ui/../secret.html']) {
    const reply = await ask(files, path)
    deepEqual([reply!.status, Buffer.from(reply!.bytes!).toString()], [200, PAGE], path)
    equal(reply!.headers!['content-security-policy'], UI_POLICY)
    equal(reply!.headers!['cache-control'], 'no-cache')
    const again = await ask(files, path, { 'if-none-match': `"other", W/${reply!.headers!.etag}` })
    deepEqual([again!.status, again!.bytes], [304, undefined])
    equal((await ask(files, path, { 'if-none-match': '"other"' }))!.status, 200)
  }
})

test('assets are kept for good, as the browser can unpack them', async (t) => {
  const files = await built(t)
  const script = await ask(files, '/ui/assets/main-ABC.js', { 'accept-encoding': 'gzip, deflate, br' })
  deepEqual(Buffer.from(script!.bytes!), brotliCompressSync(SCRIPT))
  deepEqual(
    [script!.type, script!.headers!['content-encoding'], script!.headers!.vary],
    ['text/javascript; charset=utf-8', 'br', 'accept-encoding']
  )
  match(script!.headers!['cache-control']!, /immutable/)
  const gzipped = await ask(files, '/ui/assets/main-ABC.js', { 'accept-encoding': 'gzip' })
  deepEqual(Buffer.from(gzipped!.bytes!), gzipSync(SCRIPT))
  const plain = await ask(files, '/ui/assets/main-ABC.js')
  deepEqual([Buffer.from(plain!.bytes!).toString(), plain!.headers!['content-encoding']], [SCRIPT, undefined])
  const font = await ask(files, '/ui/assets/inter-ABC.woff2', { 'accept-encoding': 'br' })
  deepEqual([font!.type, font!.headers!['content-encoding']], ['font/woff2', undefined])
})

test('nothing else is sent: no other file, no path out of the folder, no other method', async (t) => {
  const files = await built(t)
  for (const name of [
    '',
    'none.js',
    '../index.html',
    '../secret.html',
    '..%2fsecret.html',
    'main-ABC.js.br',
    'notes.txt'
  ])
    equal((await ask(files, `/ui/assets/${name}`))!.status, 404, name)
  equal(await ask(files, '/uix'), null)
  equal(await ask(files, '/config_dump'), null)
  const post = await ask(files, '/ui/', {}, 'POST')
  deepEqual([post!.status, post!.headers], [405, { allow: 'GET, HEAD' }])
  equal((await ask(files, '/ui/', {}, 'HEAD'))!.status, 200)
})

test('where nothing has been built, it says how to', async () => {
  const files = new UiFiles(join(tmpdir(), 'weir-ui-that-is-not-there'))
  const reply = await ask(files, '/ui/')
  equal(reply!.status, 503)
  match(reply!.body, /npm run build/)
  equal((await ask(files, '/ui/assets/main.js'))!.status, 404)
})

test('a coding is chosen by what the browser takes', () => {
  for (const [accepted, coding] of [
    ['', null],
    ['identity', null],
    ['gzip, deflate, br, zstd', 'br'],
    ['GZIP', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['br;q=0.0, gzip;q=0', null],
    ['brotli', null]
  ] as const)
    equal(codingFor(accepted), coding, accepted)
})
