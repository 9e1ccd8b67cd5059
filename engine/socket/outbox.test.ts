import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Outbox } from './outbox.ts'
import { inTurn, markDirty } from './round.ts'

/** Ends a round: everything that was gathered in it has left. */
async function endRound(): Promise<void> {
  inTurn(() => markDirty({ flush() {} }))
  await new Promise((resolve) => setImmediate(resolve))
}

describe('the outbox', () => {
  it('begins anew with each round, behind what the kernel has not taken', async () => {
    const outbox = new Outbox()
    outbox.beginRound()
    outbox.addText('one')
    outbox.add(Buffer.from('.two.'), 1, 4)
    outbox.beginRound()
    deepEqual([outbox.used, outbox.bytes.latin1Slice(0, 6)], [6, 'onetwo'])
    equal(outbox.keep(3), false)
    await endRound()
    outbox.beginRound()
    outbox.addText('three')
    deepEqual([outbox.used, outbox.bytes.latin1Slice(0, 8)], [8, 'onethree'])
  })

  it('serves until half of it is kept: a peer that takes nothing costs what it was sent, not an outbox', async () => {
    const outbox = new Outbox()
    let stuck = 0
    do {
      await endRound()
      outbox.beginRound()
      outbox.add(Buffer.alloc(1_000, 'x'), 0, 1_000)
      stuck++
    } while (!outbox.keep(outbox.used) && stuck < 1_000)
    equal(stuck, 132)
    equal(outbox.fits(120_000), true)
  })
})
