/**
 * Where a tenant's list goes on: what a client shows in a query opens for the tenant, the kind and the account that it
 * was sealed for, and the provider is first for what was sealed, with pages of its own length.
 */
import assert from 'node:assert/strict'
import { FormatError } from '#backends/llm/formats/format.ts'
import { storedPathOf } from '#backends/llm/stored/apis.ts'
import { openCursor, sealCursor } from '#backends/llm/stored/page-cursor.ts'
import { pagerOf } from '#backends/llm/stored/pagers.ts'
import { openId } from '#backends/llm/stored/stores.ts'
import { TenantList } from '#backends/llm/stored/tenant-list.ts'

export const name = 'llm-page-cursor'

const store = { tag: 'abcd', key: Buffer.alloc(32, 1) }
const other = { tag: 'bcde', key: Buffer.alloc(32, 2) }
const ANN = { ...store, tenant: 'ann' }
const BOB = { ...store, tenant: 'bob' }

export const dictionary = [
  ...[
    'page_',
    'after=',
    'before=',
    'after_id=',
    'before_id=',
    'pageToken=',
    'page=',
    'limit=',
    'pageSize=',
    '&',
    '%',
    '-1',
    '1e9'
  ],
  ...['order=desc', 'offset=1', 'fields=a', 'callback=a', 'purpose=batch', 'limit=1&limit=2']
]

const LISTS = [
  ...['/v1/files', '/v1/vector_stores', '/v1/batches'].map((path) => storedPathOf(path, false)!),
  ...['/v1/messages/batches', '/v1/skills'].map((path) => storedPathOf(path, true)!),
  storedPathOf('/v1beta/cachedContents', false)!
]

export function run(data: Buffer): void {
  const text = data.toString()
  cursor(text)
  for (const { api } of LISTS) list(text, api)
}

function cursor(text: string): void {
  const opened = openCursor(text, 'file', ANN)
  if (opened !== null) {
    assert.equal(openCursor(text, 'file', BOB), null)
    assert.equal(openCursor(text, 'batch', ANN), null)
    assert.equal(openCursor(text, 'file', { ...other, tenant: 'ann' }), null)
    assert.ok(opened.skip >= 0 && Number.isSafeInteger(opened.skip))
  }
  // Longer ones are none that a provider gives.
  if (text.length > 4_000 || JSON.stringify(text).length > 4_000) return
  const sealed = sealCursor({ at: text, skip: data3(text) }, 'file', ANN)
  const again = openCursor(sealed, 'file', ANN)
  if (sealed.length <= 8_192) assert.deepEqual(again, { at: text, skip: data3(text) })
  assert.match(sealed, /^page_[A-Za-z0-9_-]+$/)
  assert.equal(openCursor(sealed, 'file', BOB), null)
}

const data3 = (text: string): number => text.length % 100

function list(text: string, api: (typeof LISTS)[number]['api']): void {
  const pager = pagerOf(api)!
  const access = { stores: [store, other], tenant: 'ann' }
  let made: TenantList
  try {
    made = new TenantList(api, pager, text, access)
  } catch (error) {
    if (error instanceof FormatError) return
    throw error
  }
  const first = new URLSearchParams(made.firstQuery(made.query))
  assert.deepEqual(first.getAll(pager.size), [String(pager.sizeMax)])
  const shown = new URLSearchParams(text)
  for (const name of [pager.after, pager.before]) {
    const sent = name === null ? [] : first.getAll(name)
    if (name === null || sent.length === 0) continue
    assert.equal(sent.length, 1)
    const word = shown.get(name)!
    const place = openCursor(word, api.kind, ANN) ?? openCursor(word, api.kind, { ...other, tenant: 'ann' })
    const id = pager.by === 'id' ? openId(word, api.kind, access) : null
    assert.ok(sent[0] === place?.at || sent[0] === id?.raw)
  }
}
