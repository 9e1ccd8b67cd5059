/** What waits for the end of an exchange is told once, also when it begins to wait after that end. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { STEP_RECORDED, STEP_REQUEST } from './exchange.ts'
import { abortSignal, forgetEnd, listenForEnd, signalOf, whenOver } from './exchange-signal.ts'

const exchange = () => ({ step: STEP_REQUEST as number, slots: null })

/** As the lifecycle ends one. */
function end(ex: ReturnType<typeof exchange>): void {
  ex.step = STEP_RECORDED
  if (ex.slots !== null) abortSignal(ex)
}

test('a signal is one for the exchange, and aborts with it', () => {
  const ex = exchange()
  const signal = signalOf(ex)
  equal(signalOf(ex), signal)
  equal(signal.aborted, false)
  end(ex)
  equal(signal.aborted, true)
})

test('a hook that has waited past the end gets a signal that is aborted', () => {
  const ex = exchange()
  end(ex)
  equal(signalOf(ex).aborted, true)
})

test('listeners are called once, removed ones are not called', () => {
  const ex = exchange()
  const calls: string[] = []
  const listener = (name: string) => ({ exchangeOver: () => calls.push(name) })
  const [one, two] = [listener('one'), listener('two')]
  listenForEnd(ex, one)
  listenForEnd(ex, two)
  forgetEnd(ex, one)
  end(ex)
  deepEqual(calls, ['two'])
  listenForEnd(ex, listener('late'))
  deepEqual(calls, ['two', 'late'])
})

test('listeners are called once, last added first; removed ones are not called, wherever they stood', () => {
  const ex = exchange()
  const calls: string[] = []
  whenOver(ex, () => calls.push('first'))
  const callOff = whenOver(ex, () => calls.push('called off'))
  const callOffLater = whenOver(ex, () => calls.push('called off by another'))
  whenOver(ex, () => {
    calls.push('last')
    callOffLater()
  })
  callOff()
  abortSignal(ex)
  abortSignal(ex)
  deepEqual(calls, ['last', 'first'])
})
