/** First mistakes: each is refused with its place, cause and mending; what is meant loads; the page says the same. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '#scripts/files.ts'
import { answerTo, loaded, PAGE, pageText } from './page.ts'
import { GROUPS } from './table.ts'

const ALL = GROUPS.flatMap(({ mistakes }) => mistakes)

test('there are fifty at least, each with a name of its own', () => {
  ok(ALL.length >= 50, String(ALL.length))
  equal(new Set(ALL.map(({ what }) => what)).size, ALL.length)
})

for (const mistake of ALL) {
  test(mistake.what, () => {
    const answer = answerTo(mistake)
    match(answer, mistake.says)
    match(answer, new RegExp(`^${mistake.file ?? 'weir.yaml'}:\\d+:\\d+: `))
    if (mistake.instead === undefined) return
    const result = loaded(mistake.instead)
    deepEqual(result.ok ? result.warnings : result.errors, [])
  })
}

test('the page is what is printed', () => {
  const path = join(ROOT, PAGE)
  const text = pageText()
  if (process.env.WRITE_MISTAKES === '1') writeFileSync(path, text)
  equal(readFileSync(path, 'utf8'), text, `WRITE_MISTAKES=1 npm test -- scripts/mistakes/mistakes.test.ts writes it`)
})
