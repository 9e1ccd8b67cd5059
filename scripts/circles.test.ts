import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkCircles } from './circles.ts'
import { asLines } from './fixture.ts'
import { importsOf } from './imports.ts'

/** The findings for files that are given as path -> text. */
function judge(files: Readonly<Record<string, string>>): string[] {
  const imports = Object.entries(files).map(([path, text]) => [path, importsOf(text)] as const)
  return asLines(checkCircles(new Map(imports)))
}

test('two files that load each other are found, however they say it', () => {
  const forms = [
    "import { b } from './b.ts'",
    "import './b.ts'",
    "export { b } from './b.ts'",
    "const { b } = await import('./b.ts')",
    // Only its names are erased: the file is still loaded.
    "import { type B } from './b.ts'",
    "import {\n  a,\n  type B\n} from './b.ts'"
  ]
  for (const form of forms) {
    assert.deepEqual(judge({ 'x/a.ts': form, 'x/b.ts': "import { a } from './a.ts'" }), [
      'x/a.ts:0 circle of 2 files that load each other: pass one as an argument (x/a.ts x/b.ts)'
    ])
  }
})

test('a circle of three that types close passes, one of four does not', () => {
  const forms = ["import type { T } from './a.ts'", "export type { T } from './a.ts'", "export type * from './a.ts'"]
  for (const form of forms) {
    const files = { 'x/a.ts': "import './b.ts'", 'x/b.ts': "import './c.ts'", 'x/c.ts': form }
    assert.deepEqual(judge(files), [])
    assert.deepEqual(judge({ ...files, 'x/c.ts': "import './d.ts'", 'x/d.ts': form }), [
      'x/a.ts:0 circle of 4 files, types included: move what they share below them (x/a.ts x/b.ts x/c.ts x/d.ts)'
    ])
  }
})

test('circles that meet are one; each circle apart has a finding of its own', () => {
  const findings = judge({
    'x/a.ts': "import './b.ts'\nimport './c.ts'",
    'x/b.ts': "import './a.ts'",
    'x/c.ts': "import './a.ts'\nimport './lone.ts'",
    'x/lone.ts': '',
    'y/a.ts': "import './b.ts'",
    'y/b.ts': "import './a.ts'"
  })
  assert.equal(findings.length, 2)
  assert.match(findings[0]!, /^x\/a\.ts:0 circle of 3 files .* \(x\/a\.ts x\/b\.ts x\/c\.ts\)$/)
  assert.match(findings[1]!, /^y\/a\.ts:0 circle of 2 files/)
})

test("a worker's file by URL, a package and a file that imports itself close no circle", () => {
  assert.deepEqual(
    judge({
      'x/a.ts': "new Worker(new URL('./b.ts', import.meta.url))\nimport zod from 'zod'\nimport './a.ts'",
      'x/b.ts': "import { a } from './a.ts'"
    }),
    []
  )
})
