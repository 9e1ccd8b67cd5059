import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { INPUT_BYTES_MAX, Mutator, Random } from './mutate.ts'
import { loadTarget } from './target.ts'
import { fuzz } from './watch.ts'

function planted(name: string): string {
  return fileURLToPath(new URL(`./testdata/${name}.ts`, import.meta.url))
}

function corpusFolder(t: TestContext): string {
  const corpus = mkdtempSync(join(tmpdir(), 'weir-corpus-'))
  t.after(() => rmSync(corpus, { recursive: true }))
  return corpus
}

function inputs(seed: number, count: number): string[] {
  const mutator = new Mutator(seed, [Buffer.from('GET / HTTP/1.1\r\n\r\n'), Buffer.from('POST')], ['Host: '])
  return Array.from({ length: count }, () => mutator.next().toString('latin1'))
}

test('the same seed makes the same inputs, another seed others', () => {
  assert.deepEqual(inputs(7, 500), inputs(7, 500))
  assert.notDeepEqual(inputs(7, 500), inputs(8, 500))
})

test('the seeds come first and unchanged; inputs are bounded, mostly short, and hold words of the dictionary', () => {
  const made = inputs(1, 5000)
  assert.deepEqual(made.slice(0, 3), ['', 'GET / HTTP/1.1\r\n\r\n', 'POST'])
  const lengths = made.map((input) => input.length).sort((a, b) => a - b)
  assert.ok(lengths.at(-1)! <= INPUT_BYTES_MAX)
  assert.ok(lengths[2500]! < 1024, `median ${lengths[2500]}`)
  assert.ok(made.some((input) => input.includes('Host: ')))
})

test('random numbers stay in their range and reach its ends', () => {
  const random = new Random(3)
  const seen = new Set(Array.from({ length: 1000 }, () => random.below(4)))
  assert.deepEqual([...seen].sort(), [0, 1, 2, 3])
  for (let i = 0; i < 1000; i++) assert.ok(random.small(10) >= 1 && random.small(10) <= 10)
})

test('a crash is found, made small, and kept', async (t) => {
  const corpus = corpusFolder(t)
  const { fault, file } = await fuzz({ file: planted('crashing'), corpus, seed: 1, seconds: 30 })
  assert.match(fault!, /the planted fault/)
  assert.equal(readFileSync(file!, 'latin1'), 'magic')
  assert.match(file!, /crashing.crash-[0-9a-f]{12}$/)
})

test('a run that does not end is found, and its input kept', async (t) => {
  const corpus = corpusFolder(t)
  mkdirSync(join(corpus, 'hanging'))
  writeFileSync(join(corpus, 'hanging', 'seed'), 'please stop here')
  const { fault, file } = await fuzz({ file: planted('hanging'), corpus, seed: 1, seconds: 30 })
  assert.match(fault!, /longer than 1000 ms/)
  assert.equal(readFileSync(file!, 'latin1'), 'please stop here')
})

test('a sound target ends with its time', async (t) => {
  const { runs, fault, file } = await fuzz({ file: planted('sound'), corpus: corpusFolder(t), seed: 1, seconds: 0.2 })
  assert.ok(runs > 0)
  assert.deepEqual([fault, file], [null, null])
})

test('a file that is no target is refused', async (t) => {
  await assert.rejects(loadTarget(fileURLToPath(new URL('./mutate.ts', import.meta.url))), /must export const name/)
  const request = { file: planted('missing'), corpus: corpusFolder(t), seed: 1, seconds: 1 }
  await assert.rejects(fuzz(request), /Cannot find module/)
})
