import { deepEqual, equal, ok } from 'node:assert/strict'
import { it } from 'node:test'
import { turnStartedAt } from './round.ts'
import { TimerWheel, WheelTimer } from './timer-wheel.ts'

/** A wheel with a clock of its own. */
function wheelAt(start: number) {
  let now = start
  const wheel = new TimerWheel(() => now)
  return {
    wheel,
    now: () => now,
    /** Moves the clock in steps of one tick, as the interval would. */
    pass(ms: number, step = 20) {
      for (const end = now + ms; now < end; ) {
        now = Math.min(now + step, end)
        wheel.advance()
      }
    }
  }
}

it('never fires early, and at most two ticks late, whatever the delay', () => {
  for (const delay of [0, 1, 19, 20, 21, 500, 10_239, 10_240, 10_241, 33_333]) {
    const { wheel, now, pass } = wheelAt(12_345.6)
    const due = now() + delay
    let firedAt = -1
    wheel.arm(
      new WheelTimer(() => {
        firedAt = now()
      }),
      now(),
      delay
    )
    pass(delay + 100)
    ok(firedAt >= due && firedAt <= due + 40, `${delay}: ${firedAt - due}`)
    equal(wheel.size, 0)
  }
})

it('moves a timer later and earlier', () => {
  const { wheel, now, pass } = wheelAt(0)
  const fired: number[] = []
  const timer = new WheelTimer(() => fired.push(now()))
  wheel.arm(timer, now(), 100)
  wheel.arm(timer, now(), 1_000)
  pass(900)
  deepEqual(fired, [])
  wheel.arm(timer, now(), 40)
  pass(80)
  equal(fired.length, 1)
  pass(1_000)
  equal(fired.length, 1)
})

it('does not fire what is disarmed or removed', () => {
  const { wheel, now, pass } = wheelAt(0)
  const fail = new WheelTimer(() => ok(false))
  wheel.arm(fail, now(), 50)
  wheel.disarm(fail)
  pass(200)
  equal(wheel.size, 0)
  wheel.arm(fail, now(), 50)
  wheel.remove(fail)
  equal(wheel.size, 0)
  pass(200)
})

it('a callback may arm, remove and re-arm any timer of the same tick', () => {
  const { wheel, now, pass } = wheelAt(0)
  const fired: string[] = []
  const removed = new WheelTimer(() => fired.push('removed'))
  const moved = new WheelTimer(() => fired.push('moved'))
  const last = new WheelTimer(() => fired.push('last'))
  const first = new WheelTimer(() => {
    fired.push('first')
    wheel.remove(removed)
    wheel.remove(moved)
    wheel.arm(moved, now(), 300)
    wheel.arm(first, now(), 5_000)
  })
  // The newest stands first in its list.
  for (const timer of [last, removed, moved, first]) wheel.arm(timer, now(), 50)
  pass(100)
  deepEqual(fired, ['first', 'last'])
  pass(300)
  deepEqual(fired, ['first', 'last', 'moved'])
  equal(wheel.size, 1)
  pass(4_700)
  deepEqual(fired, ['first', 'last', 'moved', 'first'])
})

it('catches up after a stall of any length', () => {
  for (const stall of [1_000, 10_240, 1_000_000]) {
    const { wheel, now, pass } = wheelAt(1_000)
    let fired = 0
    for (let i = 0; i < 600; i++) wheel.arm(new WheelTimer(() => fired++), now(), i)
    pass(stall, stall)
    equal(fired, 600)
    equal(wheel.size, 0)
  }
})

it('agrees with a plain list of deadlines', () => {
  const { wheel, now, pass } = wheelAt(777)
  let seed = 1
  const random = (limit: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % limit
  }
  const expected = new Map<number, number>()
  const timers = Array.from(
    { length: 50 },
    (_, i) =>
      new WheelTimer(() => {
        const due = expected.get(i)!
        ok(now() >= due && now() <= due + 60, `timer ${i} due ${due} fired ${now()}`)
        expected.delete(i)
      })
  )
  for (let step = 0; step < 5_000; step++) {
    const i = random(timers.length)
    const action = random(4)
    if (action < 3) {
      const delay = random(action === 0 ? 15_000 : 300)
      wheel.arm(timers[i]!, now(), delay)
      expected.set(i, now() + delay)
    } else {
      if (random(2) === 0) wheel.disarm(timers[i]!)
      else wheel.remove(timers[i]!)
      expected.delete(i)
    }
    pass(random(40), 40)
    for (const due of expected.values()) ok(due > now() - 60)
  }
  pass(20_000)
  equal(expected.size, 0)
  equal(wheel.size, 0)
})

it('fires in a turn of its own: the clock of turns has been read for it', () => {
  const { wheel, now, pass } = wheelAt(0)
  const before = performance.now()
  let readAt = 0
  wheel.arm(
    new WheelTimer(() => {
      readAt = turnStartedAt
    }),
    now(),
    10
  )
  pass(40)
  ok(readAt >= before)
})
