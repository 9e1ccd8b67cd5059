import { deepEqual, doesNotMatch, ok } from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { bundleUi } from './bundle.ts'

/** Of all pages together, fonts and icons with them: one visit by a slow line. */
const BYTES_MAX = 300_000
/** Of them, what is fetched before the first page shows something. */
const FIRST_BYTES_MAX = 90_000

describe('the browser application', () => {
  let folder = ''
  let bytes = 0
  let page = ''

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'weir-ui-'))
    bytes = (await bundleUi(folder)).bytes
    page = gunzipSync(await readFile(join(folder, 'index.html.gz'))).toString()
  })

  after(() => rm(folder, { recursive: true, force: true }))

  test('is small, and what is needed first is a part of that', async () => {
    ok(bytes < BYTES_MAX, `${bytes} bytes`)
    const sizes = await Promise.all(
      [...page.matchAll(/"\/ui\/assets\/([^"]+)"/g)].map(([, name]) => readFile(join(folder, 'assets', `${name}.br`)))
    )
    const font = (await readdir(join(folder, 'assets'))).find((name) => name.endsWith('.woff2'))!
    const first = sizes.reduce((sum, { length }) => sum + length, (await readFile(join(folder, 'assets', font))).length)
    ok(first < FIRST_BYTES_MAX, `${first} bytes`)
  })

  test('has a page without inline code or style, whose files are all there', async () => {
    doesNotMatch(page, /<script>|<script(?![^>]*src=)|<style|style=|\son\w+=|https?:\/\/(?!www\.w3\.org)/)
    const names = new Set(await readdir(join(folder, 'assets')))
    const named = [...page.matchAll(/"\/ui\/assets\/([^"]+)"/g)].map(([, name]) => name!)
    ok(named.length >= 4, page)
    deepEqual(
      named.filter((name) => !names.has(`${name}.br`) || !names.has(`${name}.gz`)),
      []
    )
  })

  test('names no server but its own', async () => {
    for (const name of await readdir(join(folder, 'assets'))) {
      if (!/\.(?:js|css)\.gz$/.test(name)) continue
      const text = gunzipSync(await readFile(join(folder, 'assets', name))).toString()
      doesNotMatch(text, /url\(["']?https?:|import\(["']https?:|fetch\(["']https?:/, name)
    }
  })
})
