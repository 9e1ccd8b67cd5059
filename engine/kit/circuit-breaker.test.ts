import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CircuitBreaker } from './circuit-breaker.ts'

const PAUSES = { firstMs: 1_000, maxMs: 8_000 }

describe('a circuit breaker', () => {
  it('opens for twice as long with each failure in a row, up to a maximum', () => {
    const breaker = new CircuitBreaker(PAUSES)
    const pauses: number[] = []
    for (let i = 0; i < 40; i++) {
      breaker.failed(i)
      pauses.push(breaker.openUntil - i)
    }
    deepEqual(pauses.slice(0, 5), [1_000, 2_000, 4_000, 8_000, 8_000])
    deepEqual([pauses.at(-1), breaker.failures], [8_000, 16])
    breaker.succeeded()
    breaker.failed(50)
    equal(breaker.openUntil, 1_050)
  })

  it('lets one probe through when its pause is over, and closes when that succeeds', () => {
    const breaker = new CircuitBreaker(PAUSES)
    deepEqual([breaker.isClosed, breaker.allows(0)], [true, true])
    breaker.failed(0)
    deepEqual([breaker.isClosed, breaker.allows(999), breaker.allows(1_000)], [false, false, true])
    breaker.probes++
    equal(breaker.allows(1_001), false)
    breaker.probes--
    breaker.succeeded()
    deepEqual([breaker.isClosed, breaker.allows(1_002)], [true, true])
  })

  it('takes attempts that were under way together for one failure, and lets no older success close it', () => {
    const breaker = new CircuitBreaker(PAUSES)
    breaker.failed(10, 1)
    breaker.failed(20, 2)
    deepEqual([breaker.failures, breaker.openUntil], [1, 1_020])
    // The second report asks for less than what is left.
    breaker.failed(30, 3, () => 5)
    equal(breaker.openUntil, 1_020)
    breaker.succeeded(9)
    equal(breaker.isClosed, false)
    breaker.failed(2_000, 1_500)
    deepEqual([breaker.failures, breaker.openUntil], [2, 4_000])
    breaker.succeeded(2_000)
    equal(breaker.isClosed, true)
  })

  it('pauses for the given time, and takes over the state of another thread', () => {
    const breaker = new CircuitBreaker(PAUSES)
    breaker.failed(0, 0, (ownMs) => ownMs / 2)
    equal(breaker.openUntil, 500)
    breaker.adopt(3, 900)
    deepEqual([breaker.allows(899), breaker.allows(900)], [false, true])
    breaker.failed(1_000)
    equal(breaker.openUntil, 9_000)
    breaker.adopt(0, 0)
    equal(breaker.isClosed, true)
  })
})
