/** Request targets: whatever is accepted is clean and parses to itself. */
import assert from 'node:assert/strict'
import { isAuthority, parseTarget } from '#engine/http/target.ts'

export const name = 'target'

export const dictionary = [
  '/',
  '..',
  '/../',
  '%2e',
  '%2E%2e',
  '?',
  '#',
  'http://',
  'https://',
  '*',
  'a',
  '[::1]',
  ':80',
  '//',
  '@',
  '\\',
  '%'
]

export function run(data: Buffer): void {
  const text = data.subarray(0, 4096).latin1Slice()
  for (const method of ['GET', 'OPTIONS']) check(text, method)
}

function check(text: string, method: string): void {
  const target = parseTarget(text, method)
  if (target === null) return
  const { authority, path, query } = target
  assert.ok(path.startsWith('/') || (path === '*' && method === 'OPTIONS' && query === ''))
  assert.ok(query === '' || query.startsWith('?'))
  assert.ok(!`${path}${query}`.includes('#'))
  assert.ok(!path.includes('?'))
  assert.ok(path.length + query.length <= text.length + 1)
  if (authority !== null) assert.ok(isAuthority(authority) && authority === authority.toLowerCase())
  assert.deepEqual(parseTarget(path + query, method), { authority: null, path, query })
  if (authority === null && path !== '*') assert.equal(path, text.replace(/\?.*$/s, ''))
}
