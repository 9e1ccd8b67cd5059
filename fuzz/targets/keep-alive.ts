/** Keep-Alive of answers: any text gives times and numbers that a pool can work with, by parameter or all at once. */
import assert from 'node:assert/strict'
import { parseKeepAlive, usableMs } from '#engine/http/keep-alive.ts'

export const name = 'keep-alive'
export const dictionary = ['timeout', 'max', '=', ',', '"', ' ', '\t', '0', '999999999']

export function run(data: Buffer): void {
  const text = data.toString('latin1')
  const hint = parseKeepAlive(text)
  for (const value of [hint.timeoutMs, hint.max]) {
    assert.ok(value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && value >= 0), `${value}`)
  }
  const usable = usableMs(hint)
  assert.ok(usable >= 0 && (usable < hint.timeoutMs || usable === 0 || usable === Number.POSITIVE_INFINITY))
  // The strictest of its parts.
  const parts = text.split(',').map(parseKeepAlive)
  assert.equal(Math.min(...parts.map(({ timeoutMs }) => timeoutMs)), hint.timeoutMs)
  assert.equal(Math.min(...parts.map(({ max }) => max)), hint.max)
}
