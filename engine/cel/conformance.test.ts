import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { MISSES, printCel, runCel } from './testing/conformance.ts'

test('the published conformance data: what passes goes on passing, what fails is known and has its reason', () => {
  const report = runCel()
  const unknown = report.misses.filter(({ name }) => !Object.keys(MISSES).some((prefix) => name.startsWith(prefix)))
  assert.deepEqual(unknown, [])
  assert.equal(report.passed, 1636)
  assert.equal(report.failed, 14)
  assert.ok(report.passed / (report.passed + report.failed) >= 0.99)
  const page = readFileSync(new URL('../../docs/cel.md', import.meta.url), 'utf8')
  assert.ok(page.includes(printCel(report, false).join('\n')), 'docs/cel.md shows other numbers')
})
