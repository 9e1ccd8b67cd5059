import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent } from '#backends/llm/conversation.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { BROKEN, EndingTap } from './cost-tap.ts'

class Tap extends EndingTap {
  isAtBoundary = true
  readonly #write: (event: ChatEvent) => string

  constructor(write = (event: ChatEvent): string => (event.kind === 'error' ? `${event.error.message};` : '')) {
    super()
    this.#write = write
  }

  protected errorWriter() {
    return { write: this.#write }
  }
}

const ERROR = { ...BROKEN, message: 'no', type: 'filter' } as const
const ex = {} as Exchange

test('an error of the gateway ends a stream once, and the provider is not to blame', () => {
  const tap = new Tap()
  equal(tap.endWithError(ERROR)?.toString(), 'no;')
  deepEqual([tap.cost.isOver, tap.cost.errorType, tap.cost.hasBroken], [true, 'filter', false])
  equal(tap.endWithError(ERROR), null)
  equal(tap.fault(ex, 'UPSTREAM_RESET')?.length, 0)
})

test('a fault blames the provider where it is its own', () => {
  for (const [code, isBlamed] of [
    ['UPSTREAM_RESET', true],
    ['CLIENT_GONE', false]
  ] as const) {
    const tap = new Tap()
    equal(tap.fault(ex, code) === null, false)
    equal(tap.cost.hasBroken, isBlamed, code)
  }
})

test('within an event nothing can be said', () => {
  const tap = new Tap()
  tap.isAtBoundary = false
  deepEqual([tap.endWithError(ERROR), tap.fault(ex, 'UPSTREAM_RESET')], [null, null])
  equal(tap.cost.isOver, false)
})

test('an error that cannot be written ends the connection', () => {
  const tap = new Tap(() => {
    throw new RangeError('too deep')
  })
  equal(tap.endWithError(ERROR), null)
  equal(tap.fault(ex, 'UPSTREAM_RESET'), null)
})
