/**
 * Ids of what providers keep: what a client shows in a path, a query and a body is opened for its tenant alone, and
 * what has been sealed opens again as it was.
 */
import assert from 'node:assert/strict'
import type { JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { storedPathOf } from '#backends/llm/stored/apis.ts'
import { References, sealBody } from '#backends/llm/stored/references.ts'
import { StoredRequest } from '#backends/llm/stored/request.ts'
import { isRawId, isSealedWith, readMark, sealId } from '#backends/llm/stored/seal.ts'
import { openId } from '#backends/llm/stored/stores.ts'

export const name = 'llm-stored'

const store = { tag: 'abcd', key: Buffer.alloc(32, 1) }
const ANN = { stores: [store], tenant: 'ann' }
const BOB = { stores: [store], tenant: 'bob' }
const SEAL = { ...store, tenant: 'ann' }
const FILE = sealId('file-1', 'file', SEAL)

export const dictionary = [
  ...[
    FILE,
    sealId('files/abc', 'file', SEAL),
    sealId('resp_1', 'response', SEAL),
    'abcd',
    '/v1beta/files/',
    '/v1/files/'
  ],
  ...[
    '"file_id":"',
    '"previous_response_id":"',
    '"container":{"id":"',
    '"object":"file"',
    '"id":"',
    '%2F',
    '..',
    '\\u005f'
  ]
]

export function run(data: Buffer): void {
  const text = data.toString()
  opened(text)
  path(text.replaceAll(/[^!-~]/g, ''))
  body(text)
}

function opened(text: string): void {
  for (const kind of ['file', 'response'] as const) {
    const found = openId(text, kind, ANN)
    if (found !== null) {
      assert.equal(sealId(found.raw, kind, SEAL), text)
      assert.equal(openId(text, kind, BOB), null)
    }
    const sealed = sealId(text, kind, SEAL)
    if (!isRawId(text)) assert.equal(sealed, text)
    else {
      assert.deepEqual(openId(sealed, kind, ANN), { raw: text, store })
      assert.equal(openId(sealed, kind, BOB), null)
      assert.ok(isSealedWith(readMark(sealed)!, kind, SEAL))
    }
  }
}

/** Never another path than that of an object of the tenant. */
function path(text: string): void {
  for (const [start, isAnthropic] of [
    ['/v1/files/', false],
    ['/v1beta/files/', false],
    ['/v1/messages/batches/', true]
  ] as const) {
    const at = storedPathOf(start + text, isAnthropic)
    if (at === null) continue
    const made = tried(
      () =>
        new StoredRequest(at, { bytes: Buffer.alloc(0), contentType: '', isPiece: false, query: `?after=${text}` }, ANN)
    )
    if (made === null) continue
    const written = tried(() => made.path((model) => model))
    if (written === null) continue
    assert.match(written, /^(?:\/[A-Za-z0-9_~.:=%-]+)+$/)
    assert.ok(!written.split('/').some((one) => one === '..' || one === '.'))
    if (at.rest.length > 0 && at.api.methods === undefined && at.api.collection !== 'models')
      assert.equal(made.store, store)
  }
}

function body(text: string): void {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return
  }
  if (!isObject(value as JsonObject)) return
  const json = value as JsonObject
  const before = JSON.stringify(json)
  const sealed = sealBody(json, SEAL, 'file')
  // It is a copy where it differs.
  assert.equal(JSON.stringify(json), before)
  tried(() => new References(BOB).openBody(sealed))
  const back = tried(() => new References(ANN).openBody(json))
  if (back !== null && before === JSON.stringify(back)) assert.equal(back, json)
}

function tried<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof FormatError) return null
    throw error
  }
}
