import { deepEqual, equal } from 'node:assert/strict'
import { after, it } from 'node:test'
import { KnownEnds } from './connection-ends.ts'
import { PipeEnd } from './pipe.ts'
import { BULK_NONE, NO_OWNER, type Wire } from './wire.ts'

const MEMORY = Buffer.alloc(16)

// The clock of stalls keeps no process alive; without sockets nothing else would.
const alive = setInterval(() => {}, 60_000)
after(() => clearInterval(alive))

/** A wire that only notes what is asked of it. */
function fakeWire(done: string[], name: string): Wire & { congested: boolean } {
  const note = (what: string) => () => void done.push(`${name} ${what}`)
  return {
    owner: NO_OWNER,
    bulk: BULK_NONE,
    congested: false,
    handed: 0,
    waiting: 0,
    unsent: () => '',
    ends: new KnownEnds('', 0, ''),
    write() {},
    writeBytes() {},
    finish: note('finish'),
    pause: note('pause'),
    resume: note('resume'),
    close: note('close'),
    destroy: note('destroy'),
    reset: note('reset')
  }
}

function pair(stallMs: number) {
  const done: string[] = []
  const wires = [fakeWire(done, 'client'), fakeWire(done, 'server')] as const
  const client = new PipeEnd(wires[0], MEMORY, () => {}, stallMs)
  const server = new PipeEnd(wires[1], MEMORY, () => {}, stallMs)
  const closed = Promise.withResolvers<void>()
  let open = 2
  const onClosed = () => {
    if (--open === 0) closed.resolve()
  }
  client.join(server, onClosed)
  server.join(client, onClosed)
  done.length = 0
  return { done, client, wires, server, closed: closed.promise, isOpen: () => open === 2 }
}

it('gives up both ends when one takes nothing: a paused wire hears nothing of its peer', async () => {
  const { done, client, wires, closed } = pair(1)
  wires[1].congested = true
  client.onRead(0, 8, null)
  deepEqual(done, ['client pause'])
  await closed
  deepEqual(done, ['client pause', 'client reset', 'server reset'])
})

it('goes on when the other end takes bytes again in time', async () => {
  const slow = pair(1)
  slow.wires[1].congested = true
  slow.client.onRead(0, 8, null)
  slow.server.onDrain()
  deepEqual(slow.done, ['client pause', 'client resume'])
  // Stalls later, so its end shows that the clock has passed the first one by.
  const later = pair(1)
  later.wires[1].congested = true
  later.client.onRead(0, 8, null)
  await later.closed
  equal(slow.isOpen(), true)
})
