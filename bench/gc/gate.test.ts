import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countGarbage, gateText, judge } from './gate.ts'

const STAND_IN = import.meta.resolve('./testdata/standin.ts')
/** Few, because bytes are counted here; the gate itself counts scavenges, which needs more GETs. */
const SIZE = { warmup: 1_000, gets: 2_000 }
/** Code that is never optimised allocates the same from the first request to the last. */
const FLAGS = ['--no-opt', '--no-maglev', '--no-sparkplug']

test('one closure and one promise more per request are seen in the bytes', async () => {
  const bytesPerGet = async (extra: 'none' | 'closure' | 'promise') =>
    (await countGarbage(SIZE, STAND_IN, extra, FLAGS)).bytes / SIZE.gets
  const lean = await bytesPerGet('none')
  assert.ok(lean > 500 && lean < 20_000, `bytes of the stand-in: ${lean}`)
  const closure = (await bytesPerGet('closure')) - lean
  assert.ok(closure > 50 && closure < 200, `bytes of a closure: ${closure}`)
  const promise = (await bytesPerGet('promise')) - lean
  assert.ok(promise > 25 && promise < 200, `bytes of a promise: ${promise}`)
})

test('the gate fails above its tolerance only, and asks for a lower number when there is one', () => {
  const expected = { course: 'plain', gets: 100_000, scavenges: 250, tolerance: 0.01 } as const
  const of = (scavenges: number) => judge({ scavenges, bytes: 2_100 * 100_000 }, expected)
  assert.equal(of(250).passed, true)
  assert.equal(of(252).passed, true)
  assert.equal(of(256).passed, false)
  assert.match(
    gateText(of(256)),
    /^gc: plain: 256 scavenges per 100000 requests \(2100 bytes for each\); 250 .* FAILED$/
  )
  assert.match(gateText(of(240)), /ok; commit the lower number/)
})

test('a gateway that answers wrongly fails the gate instead of looking lean', async () => {
  await assert.rejects(countGarbage({ warmup: 1, gets: 1 }, import.meta.resolve('./testdata/wrong.ts')), /wrong answer/)
})
