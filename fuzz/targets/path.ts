/** Paths: a normal form is its own normal form, hides no dots, and has no reading that its listener rules out. */
import assert from 'node:assert/strict'
import { decodedPath, isPlainPath, normalPath, PATH_DEFAULTS, type PathRules, readingsOf } from '#engine/http/path.ts'

export const name = 'path'

export const dictionary = [
  '/',
  '//',
  '%2F',
  '%2f',
  '%5c',
  '\\',
  ';a',
  '%3b',
  '/../',
  '/.',
  '%2e',
  '%25',
  '%c3%a9',
  '%ff',
  '%00',
  '%'
]

const UNDONE: PathRules = {
  mergeSlashes: true,
  escapedSlashes: 'unescape',
  backslashes: 'unescape',
  parameters: 'strip',
  doubleEncoding: 'keep',
  invalidUtf8: 'keep'
}

export function run(data: Buffer): void {
  const sent = `/${data
    .subarray(0, 4096)
    .latin1Slice()
    .replace(/[^!"$->@-~]/g, '')}`
  for (const rules of [PATH_DEFAULTS, UNDONE, { ...PATH_DEFAULTS, backslashes: 'keep' } as const]) check(sent, rules)
}

function check(sent: string, rules: PathRules): void {
  const normal = normalPath(sent, rules)
  if (normal === null) return
  const { path } = normal
  assert.ok(path.startsWith('/') && path.length <= sent.length * 3)
  assert.deepEqual(normalPath(path, rules), { path, isElsewhere: false })
  if (isPlainPath(sent)) assert.equal(path, sent)
  for (const segment of path.split('/')) assert.ok(segment !== '.' && segment !== '..')
  const text = decodedPath(path)
  assert.ok(!/[\0-\x1f\x7f]/.test(text))
  const readings = readingsOf(path)
  if (readings === null) return
  assert.equal(readings[0], path)
  if (rules === UNDONE) assert.deepEqual(readings, [path])
  assert.ok(readings.length <= 16)
  for (const reading of readings) assert.ok(readings.length > 1 || decodedPath(reading) === text)
}
