import assert from 'node:assert/strict'
import { test } from 'node:test'
import { duration } from './duration.ts'

test('Go durations become milliseconds', () => {
  const cases: [string, number][] = [
    ['0', 0],
    ['0s', 0],
    ['15s', 15_000],
    ['1.5s', 1_500],
    ['1h30m', 5_400_000],
    ['250ms', 250],
    ['1µs', 1],
    ['1ns', 1],
    ['1000us', 1]
  ]
  for (const [text, ms] of cases) assert.equal(duration().parse(text), ms, text)
})

test('days and weeks are not units, and the message says how to write them', () => {
  for (const text of ['30d', '7 days', '2w']) {
    assert.match(duration().safeParse(text).error!.issues[0]!.message, /in hours.*"720h" for 30 days/, text)
  }
  assert.match(duration().safeParse('soon').error!.issues[0]!.message, /such as "30s"/)
})

test('an invalid duration is refused', () => {
  for (const text of ['', '15', '-1s', '1 s', 's', '1d', '1.s', '.5s', '1sx', '99999999999h', 15]) {
    assert.equal(duration().safeParse(text).success, false, String(text))
  }
})
