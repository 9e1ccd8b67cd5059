/** Every input in fuzz/corpus/, seeds and found faults, against its target: a fault found once stays fixed. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { test } from 'node:test'
import { cpuMs, spentMs } from '#engine/testing/cpu.ts'
import { CORPUS, corpusFiles, loadTarget, RUN_MS_MAX, targetFiles } from './target.ts'

/** RUN_MS_MAX is meant for a machine on which this takes REFERENCE_MS. */
const REFERENCE_MS = 30
function reference(): number {
  let hash = 1
  for (let i = 0; i < 10_000_000; i++) hash = (Math.imul(hash, 31) + i) | 0
  return hash
}
reference()
const allowedMs = RUN_MS_MAX * Math.max(1, cpuMs(reference) / REFERENCE_MS)

const targets = await Promise.all(targetFiles().map(loadTarget))

test('every folder of the corpus belongs to a target, and every target has one', () => {
  const names = targets.map((target) => target.name).sort()
  assert.deepEqual(readdirSync(CORPUS).sort(), names)
  for (const name of names) assert.ok(corpusFiles(CORPUS, name).length > 0, `fuzz/corpus/${name} is empty`)
})

for (const target of targets) {
  test(`${target.name} stands its corpus`, async () => {
    for (const file of corpusFiles(CORPUS, target.name)) {
      const before = process.threadCpuUsage()
      try {
        await target.run(readFileSync(file))
      } catch (error) {
        throw new Error(`fuzz/corpus/${target.name}/${basename(file)}`, { cause: error })
      }
      const tookMs = spentMs(before)
      assert.ok(tookMs < allowedMs, `${basename(file)} took ${tookMs.toFixed(0)} ms of the processor`)
    }
  })
}
