/** Request targets: whatever is accepted is clean, parses to itself, and resolves dots as RFC 3986 says. */
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
  for (const segment of path.split('/')) assert.ok(!/^(?:\.|%2e){1,2}$/i.test(segment))
  assert.deepEqual(parseTarget(path + query, method), { authority: null, path, query })
  if (authority === null && path !== '*') assert.equal(path, removeDots(text.replace(/\?.*$/s, '')))
}

/** RFC 3986 section 5.2.4, step by step: `rest` is its input buffer, `out` its output buffer. */
function removeDots(path: string): string {
  let rest = path
  let out = ''
  while (rest !== '') {
    const segment = /^\/[^/]*/.exec(rest)![0]
    const after = rest.slice(segment.length)
    const plain = segment.replace(/%2e/gi, '.')
    if (plain === '/..') out = out.slice(0, Math.max(out.lastIndexOf('/'), 0))
    if (plain === '/.' || plain === '/..') rest = after === '' ? '/' : after
    else {
      out += segment
      rest = after
    }
  }
  return out
}
