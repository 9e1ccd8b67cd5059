/** What is written in one round, and what waits for its end. */
import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { atRoundEnd, inTurn, markDirty } from './round.ts'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('rounds', () => {
  it('all turns of one round leave together, and so many wires at once', async () => {
    const flushed: number[] = []
    const write = (count: number) => {
      for (let i = 0; i < count; i++) {
        inTurn(() => {
          markDirty({ flush: () => flushed.push(i) })
        })
      }
    }
    write(63)
    equal(flushed.length, 0)
    await new Promise((resolve) => setImmediate(resolve))
    equal(flushed.length, 63)
    write(65)
    equal(flushed.length, 63 + 64)
    await new Promise((resolve) => setImmediate(resolve))
    equal(flushed.length, 63 + 65)
  })

  it('a flush may cause further turns and writes: nothing is flushed twice or forgotten', async () => {
    const flushed: string[] = []
    const late = { flush: () => flushed.push('late') }
    const first = {
      flush() {
        flushed.push('first')
        inTurn(() => {
          markDirty(late)
        })
      }
    }
    inTurn(() => {
      markDirty(first)
      markDirty({ flush: () => flushed.push('second') })
    })
    await new Promise((resolve) => setImmediate(resolve))
    deepEqual(flushed, ['first', 'second', 'late'])
  })

  it('a step that a flush causes is taken, and what it writes leaves', async () => {
    const taken = new Promise((resolve) => {
      markDirty({ flush: () => atRoundEnd(() => markDirty({ flush: () => resolve(true) })) })
    })
    equal(await Promise.race([taken, turn().then(turn)]), true)
  })
})
