/** A stack whose clock is the test's: it stands still until the test lets time pass. */
import { mock } from 'node:test'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import { type Stack, type StackOptions, startStack } from './stack.ts'

export interface StillStack {
  readonly stack: Stack
  pass(ms: number): void
}

/** `close` ends what is behind the stack. */
export async function withStillStack(
  options: StackOptions,
  close: () => void,
  run: (stand: StillStack) => Promise<void>
): Promise<void> {
  let now = performance.now()
  const clock = mock.method(performance, 'now', () => now)
  const timers = new TimerWheel()
  const stack = await startStack({ ...options, timers })
  const pass = (ms: number) => {
    now += ms
    timers.advance()
  }
  try {
    await run({ stack, pass })
  } finally {
    stack.close()
    close()
    clock.mock.restore()
  }
}

/** All of `count` connections are busy, and who has more to ask has asked. */
export async function busy(stack: Stack, count = 4): Promise<void> {
  while (stack.upstream.counts().busy < count) await new Promise((resolve) => setImmediate(resolve))
  for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve))
}
