/** Every input in fuzz/corpus/, seeds and found faults, against its target: a fault found once stays fixed. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { test } from 'node:test'
import { CORPUS, corpusFiles, loadTarget, RUN_MS_MAX, targetFiles } from './target.ts'

const targets = await Promise.all(targetFiles().map(loadTarget))

test('every folder of the corpus belongs to a target, and every target has one', () => {
  const names = targets.map((target) => target.name).sort()
  assert.deepEqual(readdirSync(CORPUS).sort(), names)
  for (const name of names) assert.ok(corpusFiles(CORPUS, name).length > 0, `fuzz/corpus/${name} is empty`)
})

for (const target of targets) {
  test(`${target.name} stands its corpus`, async () => {
    for (const file of corpusFiles(CORPUS, target.name)) {
      const startedAt = performance.now()
      try {
        await target.run(readFileSync(file))
      } catch (error) {
        throw new Error(`fuzz/corpus/${target.name}/${basename(file)}`, { cause: error })
      }
      const elapsedMs = performance.now() - startedAt
      assert.ok(elapsedMs < RUN_MS_MAX, `${basename(file)} took ${elapsedMs.toFixed(0)} ms`)
    }
  })
}
