/** Requests between workers, where one is busy, ends, or begins anew: nothing is done twice, and nothing is lost. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { Worker } from 'node:worker_threads'
import { OwnerRequests } from '#backends/mcp/bridge/owner-requests.ts'
import type { RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import type { LinkEvents } from '#backends/mcp/targets/target.ts'
import { ask, Heard, turns } from '#backends/mcp/testing/scripted.ts'
import { newClaim, take } from '#engine/kit/claim.ts'
import { Bus, type BusMessage } from './bus.ts'
import { CLAIM_MAX_MS, RemoteRequests } from './remote-requests.ts'

const WORKER = new URL('./remote-worker.fixture.ts', import.meta.url)
const REQUESTER = { index: 0, count: 2 }

interface Rig {
  readonly bus: Bus
  readonly ownerRequests: OwnerRequests
}

function rig(t: TestContext, channel: string, place = REQUESTER): Rig {
  const bus = new Bus(channel, place)
  // What waits for a worker keeps no process alive.
  const alive = setInterval(() => undefined, 10_000)
  t.after(() => {
    clearInterval(alive)
    bus.close()
  })
  return { bus, ownerRequests: new OwnerRequests(bus, new RemoteRequests(bus)) }
}

function send({ ownerRequests }: Rig, name = 'pay', timeoutMs = 60_000): Heard & { leave: () => void } {
  const heard = new Heard()
  const message = ask(7, 'tools/call', { name })
  const request = { backend: 'b', target: 'bank', sessionKey: 'ann', party: '', headers: [], message, timeoutMs }
  return Object.assign(heard, { leave: ownerRequests.send('worker-1', request, heard) })
}

/** The owner, in this thread: what it was asked, and how each was to be ended. */
function owner(t: TestContext, channel: string) {
  const { bus, ownerRequests } = rig(t, channel, { index: 1, count: 2 })
  const begun: { name: unknown; timeoutMs: number; events: LinkEvents }[] = []
  let dismissed = 0
  const carryOut = (_: unknown, { params }: { params?: { name?: unknown } }, events: LinkEvents, timeoutMs: number) => {
    begun.push({ name: params?.name, timeoutMs, events })
    return () => void dismissed++
  }
  ownerRequests.serve('b', new Map([['bank', carryOut as never]]))
  return { bus, begun, dismissed: () => dismissed }
}

const done: RpcResponse = { jsonrpc: '2.0', id: 0, result: { paid: true } }

describe('a request for another worker', () => {
  /** A real thread that is busy until `open`. Its answers say all that it has begun with, by name. */
  async function busy(t: TestContext, channel: string) {
    const gate = newClaim()
    const thread = new Worker(WORKER, { workerData: { channel, gate } })
    t.after(() => thread.terminate())
    await once(thread, 'message')
    thread.postMessage('block')
    await once(thread, 'message')
    return (): void => void take(gate, 1)
  }

  it('waits for a busy worker longer than the two seconds that it had', async (t) => {
    const here = rig(t, t.name)
    const open = await busy(t, t.name)
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const sent = send(here)
    t.mock.timers.tick(CLAIM_MAX_MS - 1)
    open()
    deepEqual(await sent.result(), { begun: ['pay'] })
  })

  for (const [how, giveUp] of [
    ['whose client has left', (sent: ReturnType<typeof send>) => sent.leave()],
    ['that nobody took in time', (_: unknown, t: TestContext) => t.mock.timers.tick(CLAIM_MAX_MS)]
  ] as const) {
    it(`${how} is never begun, and may be sent again`, async (t) => {
      const here = rig(t, t.name)
      const open = await busy(t, t.name)
      t.mock.timers.enable({ apis: ['setTimeout'] })
      const sent = send(here, 'given up')
      giveUp(sent, t)
      if (how.startsWith('that')) {
        const end = await sent.end
        match('kind' in end ? end.message : '', /was not carried out, and may be sent again/)
      }
      const again = send(here, 'again')
      open()
      deepEqual(await again.result(), { begun: ['again'] })
    })
  }

  it('that is carried out is not given up for taking long, and is dismissed once the client leaves', async (t) => {
    const here = rig(t, t.name)
    const there = owner(t, t.name)
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const [stays, leaves] = [send(here, 'stays'), send(here, 'leaves')]
    while (there.begun.length < 2) await turns(1)
    t.mock.timers.tick(CLAIM_MAX_MS)
    leaves.leave()
    while (there.dismissed() < 1) await turns(1)
    there.begun[0]!.events.answered(done)
    deepEqual(await stays.end, { ...done, id: 7 })
    equal(there.dismissed(), 1)
  })

  it('has less time by as much as it has waited', async (t) => {
    const here = rig(t, t.name)
    const there = owner(t, t.name)
    const publish = t.mock.method(here.bus, 'publish')
    send(here, 'pay', 5_000)
    while (there.begun.length < 1) await turns(1)
    const { timeoutMs } = there.begun[0]!
    ok(timeoutMs >= 1 && timeoutMs <= 5_000)
    // As one comes to it that was busy for all of it.
    const published = publish.mock.calls[0]!.arguments[0] as Extract<BusMessage, { kind: 'request' }>
    const claim = newClaim()
    here.bus.publish({ ...published, request: 'late', claim, sentAt: published.sentAt - 10_000 })
    while (there.begun.length < 2) await turns(1)
    equal(there.begun[1]!.timeoutMs, 1)
  })

  it('that arrives twice is carried out once', async (t) => {
    const here = rig(t, t.name)
    const there = owner(t, t.name)
    const publish = t.mock.method(here.bus, 'publish')
    const sent = send(here)
    here.bus.publish(publish.mock.calls[0]!.arguments[0]!)
    send(here, 'behind it')
    while (there.begun.at(-1)?.name !== 'behind it') await turns(1)
    deepEqual(
      there.begun.map(({ name }) => name),
      ['pay', 'behind it']
    )
    there.begun[0]!.events.answered(done)
    deepEqual(await sent.end, { ...done, id: 7 })
  })

  it('that a worker ended without taking goes to its successor; one that it had taken has failed', async (t) => {
    const here = rig(t, t.name)
    const taken = send(here, 'nobody is there yet')
    const first = owner(t, t.name)
    while (first.begun.length < 1) await turns(1)
    first.bus.close()
    const waits = send(here, 'nobody is there any more')
    const second = owner(t, t.name)
    const end = await taken.end
    match('kind' in end ? `${end.kind}: ${end.message}` : '', /^broken: .* may have been carried out/)
    while (second.begun.length < 1) await turns(1)
    deepEqual(
      [...first.begun, ...second.begun].map(({ name }) => name),
      ['nobody is there yet', 'nobody is there any more']
    )
    second.begun[0]!.events.answered(done)
    deepEqual(await waits.end, { ...done, id: 7 })
  })
})
