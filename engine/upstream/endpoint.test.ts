/** Names with several addresses, some of them dead, over sockets that a test decides about. */

import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ErrorCode } from '#engine/contract/errors.ts'
import { BODY_LENGTH, BODY_NONE, type ClientStream, Exchange } from '#engine/contract/exchange.ts'
import type { ServerEvents } from '#engine/contract/exchange-events.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { llhttp } from '#engine/http/llhttp.ts'
import { KnownEnds } from '#engine/socket/connection-ends.ts'
import { inTurn } from '#engine/socket/round.ts'
import type { Address, SocketLayer } from '#engine/socket/socket-layer.ts'
import { TimerWheel, type WheelTimer } from '#engine/socket/timer-wheel.ts'
import { BULK_NONE, type Bulk, NO_OWNER, type Wire } from '#engine/socket/wire.ts'
import { DestinationState } from './destination.ts'
import { EndpointState } from './endpoint.ts'
import { MeshTls } from './mesh.ts'
import { Resolver } from './resolver.ts'

const { memory } = llhttp()

/** A wire that keeps what is written to it; `answer` makes its owner read. */
class FakeWire implements Wire {
  owner = NO_OWNER
  bulk: Bulk = BULK_NONE
  readonly ends = new KnownEnds('', 0, '')
  readonly congested = false
  handed = 0
  written = ''
  /** How much of it a test has let go. */
  left = 0
  isBroken = false
  open = true
  readonly ip: string

  constructor(ip: string) {
    this.ip = ip
  }

  get waiting(): number {
    return this.written.length - this.left
  }

  unsent(): string | null {
    return this.isBroken ? null : this.written.slice(this.left)
  }

  /** The end of a round. */
  flush(): void {
    if (this.waiting > 0) this.handed++
    this.left = this.written.length
  }

  break(): void {
    this.isBroken = true
  }

  write(text: string): void {
    this.written += text
  }

  writeBytes(chunk: Buffer, start: number, end: number): void {
    this.written += chunk.latin1Slice(start, end)
  }

  answer(text: string): void {
    memory.bytes.write(text, memory.shared, 'latin1')
    this.owner.onRead(memory.shared, memory.shared + text.length, null)
  }

  pause(): void {}
  resume(): void {}
  finish(): void {}

  close(): void {
    this.destroy()
  }

  destroy(): void {
    this.open = false
  }

  reset(): void {
    this.destroy()
  }
}

/** `reaches`: answers, and then has much to do before TLS is there. */
type Behaviour = 'accepts' | 'refuses' | 'ignores' | 'reaches'

interface Bench {
  readonly endpoint: EndpointState
  readonly wires: FakeWire[]
  readonly dialled: string[]
  /** Addresses whose connections were given up. */
  readonly left: string[]
  readonly faults: ErrorCode[]
  send(): Exchange
  /** Lets time pass for the endpoint's timers. */
  pass(ms: number): void
}

const NO_EVENTS: ServerEvents = {
  onServerReady() {},
  onInterim() {},
  onResponse() {},
  onResponseBody: () => true,
  onResponseEnd() {},
  onServerWritable() {},
  onServerFault() {}
}

/** Timers on a clock that is `ahead` of the machine's: timers are armed by that. */
function clockwork(ahead: () => number): TimerWheel {
  return new (class extends TimerWheel {
    override arm(timer: WheelTimer, now: number, delayMs: number): void {
      super.arm(timer, now + ahead(), delayMs)
    }
  })(() => performance.now() + ahead())
}

/** An endpoint whose name has `addresses`, each with its behaviour. */
function bench(addresses: Record<string, Behaviour>, options: { poolMax?: number; guarded?: boolean } = {}): Bench {
  const wires: FakeWire[] = []
  const dialled: string[] = []
  const left: string[] = []
  const faults: ErrorCode[] = []
  let ahead = 0
  const timers = clockwork(() => ahead)
  const sockets: SocketLayer = {
    kind: 'net',
    listen: () => Promise.reject(new Error('not here')),
    startTls: () => () => {},
    connect(address: Address, done, _tls, dial) {
      const ip = 'ip' in address ? address.ip : ''
      dialled.push(ip)
      const behaviour = addresses[ip]
      const leave = () => void left.push(ip)
      if (behaviour === 'ignores') return leave
      queueMicrotask(() => {
        if (behaviour === 'reaches') return dial?.reached?.()
        if (behaviour === 'refuses') return done('ECONNREFUSED', null)
        const wire = new FakeWire(ip)
        wires.push(wire)
        done(null, wire)
      })
      return leave
    }
  }
  const events = { ...NO_EVENTS, onServerFault: (_ex: Exchange, code: ErrorCode) => faults.push(code) }
  const found = Object.keys(addresses).map((ip) => ({ ip, family: ip.includes(':') ? (6 as const) : (4 as const) }))
  const resolver = new Resolver('a.test', () => Promise.resolve({ addresses: found, ttlMs: 60_000 }))
  const site = new DestinationState(
    { host: 'a.test', port: 80, unixPath: null },
    { guarded: options.guarded ?? false, allow: [], connectTimeoutMs: 1_000, tls: null },
    { resolver }
  )
  const endpoint = new EndpointState(site, {
    sockets,
    mesh: new MeshTls(),
    llhttp: llhttp(),
    timers,
    events,
    idleTimeoutMs: 60_000,
    poolMax: options.poolMax ?? 8,
    requestsPerConnectionMax: 0,
    observer: { connected() {}, connectFailed() {}, retried() {} }
  })
  const client = { remoteAddress: '' } as ClientStream
  return {
    endpoint,
    wires,
    dialled,
    left,
    faults,
    send() {
      const ex = new Exchange(client, 'GET', '/', '', 'a.test', new HeaderBlock(), BODY_NONE, 0, performance.now())
      ex.requestDone = true
      endpoint.send(ex)
      return ex
    },
    pass(ms) {
      ahead += ms
      timers.advance()
    }
  }
}

const ONE = { poolMax: 1 }
const settle = () => new Promise<void>((resolve) => setImmediate(resolve))
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'

describe('endpoints with several addresses', () => {
  it('tries the next address when one refuses, and avoids that one for a while', async () => {
    const { send, dialled, faults, wires } = bench({ '192.0.2.1': 'refuses', '192.0.2.2': 'accepts' })
    for (let i = 0; i < 6; i++) {
      send()
      await settle()
      wires.at(-1)!.answer(`${OK}x`)
    }
    deepEqual(faults, [])
    equal(dialled.filter((ip) => ip === '192.0.2.1').length, 1)
    equal(wires.length, 6)
  })

  it('tries the next address when one never answers, and avoids that one for a while', async () => {
    const { send, dialled, faults, wires, pass } = bench({ '192.0.2.1': 'ignores', '192.0.2.2': 'accepts' })
    for (let i = 0; i < 4; i++) {
      send()
      await settle()
      pass(300)
      await settle()
    }
    deepEqual(faults, [])
    equal(wires.length, 4)
    ok(dialled.filter((ip) => ip === '192.0.2.1').length <= 2, dialled.join())
  })

  it('dials another family beside an address that is silent, and closes the loser', async () => {
    const addresses = { '2001:db8::1': 'ignores', '2001:db8::2': 'ignores', '192.0.2.1': 'accepts' } as const
    const { send, dialled, left, wires, pass, endpoint, faults } = bench(addresses)
    const ex = send()
    await settle()
    equal(dialled.length, 1)
    pass(200)
    await settle()
    // RFC 8305 section 5: 250 ms.
    equal(dialled.length, 1)
    pass(100)
    await settle()
    if (dialled[0] !== '192.0.2.1') {
      deepEqual(dialled, [dialled[0], '192.0.2.1'])
      deepEqual(left, [dialled[0]])
    }
    equal(wires.length, 1)
    equal(ex.endpoint, '192.0.2.1:80')
    equal(endpoint.total, 1)
    equal(endpoint.busy, 1)
    pass(5_000)
    deepEqual(faults, [])
  })

  it('does not race an address that has answered and is still at its handshake', async () => {
    const { send, dialled, pass, endpoint } = bench({ '192.0.2.1': 'reaches', '192.0.2.2': 'reaches' })
    const ex = send()
    await settle()
    pass(900)
    await settle()
    equal(dialled.length, 1)
    ex.pending!.abort()
    equal(endpoint.total, 0)
  })

  it('an abort closes every connection of the race', async () => {
    const { send, left, pass, endpoint } = bench({ '192.0.2.1': 'ignores', '2001:db8::1': 'ignores' })
    const ex = send()
    await settle()
    pass(300)
    await settle()
    equal(endpoint.total, 2)
    ex.pending!.abort()
    equal(endpoint.total, 0)
    deepEqual(left.toSorted(), ['192.0.2.1', '2001:db8::1'])
  })

  it('when none of a race answers in time, each counts as failed and the exchange hears of it once', async () => {
    const { send, left, pass, endpoint, faults } = bench({ '192.0.2.1': 'ignores', '2001:db8::1': 'ignores' })
    send()
    await settle()
    pass(300)
    await settle()
    pass(1_400)
    deepEqual(faults, ['CONNECT_TIMEOUT'])
    deepEqual([endpoint.total, endpoint.usable, left.length], [0, false, 2])
  })

  it('an address that is back from its ejection is tried by one exchange, not by all', async () => {
    const addresses: Record<string, Behaviour> = { '192.0.2.1': 'refuses', '192.0.2.2': 'accepts' }
    const { send, dialled, faults } = bench(addresses)
    while (!dialled.includes('192.0.2.1')) {
      send()
      await settle()
    }
    addresses['192.0.2.1'] = 'ignores'
    const before = performance.now() + 520
    while (performance.now() < before) await settle()
    dialled.length = 0
    for (let i = 0; i < 6; i++) send()
    await settle()
    equal(dialled.filter((ip) => ip === '192.0.2.1').length, 1)
    deepEqual(faults, [])
  })

  it('one refused address refuses the name, in any order', async () => {
    for (const addresses of [
      { '192.0.32.8': 'accepts', '10.0.0.1': 'accepts' },
      { '10.0.0.1': 'accepts', '192.0.32.8': 'accepts' }
    ] as const) {
      const { send, faults, dialled } = bench(addresses, { guarded: true })
      for (let i = 0; i < 4; i++) send()
      await settle()
      deepEqual(faults, new Array(4).fill('ADDRESS_REFUSED'))
      deepEqual(dialled, [])
    }
  })

  it('reports when all addresses refuse, or none answers', async () => {
    const refused = bench({ '192.0.2.1': 'refuses', '192.0.2.2': 'refuses' })
    refused.send()
    await settle()
    deepEqual(refused.faults, ['CONNECT_FAILURE'])
    equal(refused.endpoint.total, 0)
    equal(refused.endpoint.usable, false)
    const silent = bench({ '192.0.2.1': 'ignores' })
    silent.send()
    await settle()
    silent.pass(1_100)
    deepEqual(silent.faults, ['CONNECT_TIMEOUT'])
    equal(silent.endpoint.total, 0)
  })

  it('gives up connecting when the exchange is aborted', async () => {
    const { send, endpoint, pass, faults } = bench({ '192.0.2.1': 'ignores' })
    const ex = send()
    await settle()
    equal(endpoint.total, 1)
    ex.pending!.abort()
    equal(endpoint.total, 0)
    pass(2_000)
    deepEqual(faults, [])
  })

  /** Three connections at the limit, two of them to one address; `pair` are those two. */
  async function atLimit() {
    const made = bench({ '192.0.2.1': 'accepts', '192.0.2.2': 'accepts' }, { poolMax: 3 })
    for (let i = 0; i < 3; i++) made.send()
    await settle()
    equal(made.wires.length, 3)
    const pair = made.wires.filter(({ ip }) => made.wires.filter((wire) => wire.ip === ip).length === 2)
    equal(pair.length, 2)
    return { ...made, pair }
  }

  it('at the limit takes an idle connection to another address rather than wait', async () => {
    const { send, pair, endpoint, dialled } = await atLimit()
    for (let round = 0; round < 4; round++) {
      // Both addresses have one busy connection now, and only one has an idle one.
      pair[0]!.answer(OK)
      equal(endpoint.idle, 1)
      ok(send().server !== null, `round ${round}`)
    }
    equal(dialled.length, 3)
  })

  it('at the limit dials when the idle connections of the other address turn out to be too old', async (t) => {
    const { send, wires, dialled, endpoint, faults } = bench({ '10.0.0.1': 'accepts', '10.0.0.2': 'accepts' }, ONE)
    const first = send()
    await settle()
    wires[0]!.answer('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: timeout=1\r\n\r\n')
    equal(first.server, null)
    equal(endpoint.idle, 1)
    // The loop has been busy: the timer of the connection is late.
    const now = performance.now()
    t.mock.method(performance, 'now', () => now + 2_000)
    const second = inTurn(() => send())
    await settle()
    deepEqual(faults, [])
    ok(second.server !== null)
    deepEqual(dialled, ['10.0.0.1', '10.0.0.2'])
    equal(endpoint.total, 1)
  })

  it('gives a connection that becomes free to the exchange that waits longest', async () => {
    const { send, pair, endpoint } = await atLimit()
    const waiting = [send(), send(), send(), send()]
    ok(waiting.every((ex) => ex.server === null))
    for (const ex of waiting) {
      pair[0]!.answer(OK)
      ok(ex.server !== null)
    }
    equal(endpoint.idle, 0)
    equal(endpoint.busy, 3)
  })

  /** A POST of which this much of its body has come. */
  function post(endpoint: EndpointState, body: string): Exchange {
    const client = { remoteAddress: '' } as ClientStream
    const ex = new Exchange(client, 'POST', '/', '', 'a.test', new HeaderBlock(), BODY_LENGTH, 10, performance.now())
    endpoint.send(ex)
    const bytes = Buffer.from(body)
    ex.bodySent = true
    ex.server!.sendBody(bytes, 0, bytes.length, null)
    return ex
  }

  it('repeats a POST of which nothing has left, and none of which something may have, or is lost', async () => {
    for (const [before, expected] of [
      [() => {}, []],
      [(wire: FakeWire) => wire.flush(), ['UPSTREAM_RESET']],
      [(wire: FakeWire) => wire.break(), ['UPSTREAM_RESET']]
    ] as const) {
      const { send, endpoint, wires, faults } = bench({ '192.0.2.1': 'accepts' })
      send()
      await settle()
      const [wire] = wires
      wire!.flush()
      wire!.answer(OK)
      const ex = post(endpoint, 'begin')
      before(wire!)
      wire!.owner.onEnd()
      await settle()
      deepEqual(faults, expected)
      equal(wires.length, expected.length === 0 ? 2 : 1)
      if (wires.length === 1) continue
      deepEqual([ex.heldRequest?.join(), ex.bodySent], ['begin', false])
      equal(wires[1]!.written, wire!.written.slice(wire!.left, -'begin'.length))
    }
  })

  it('refuses to dial guarded addresses', async () => {
    const { send, faults, dialled } = bench({ '127.0.0.1': 'accepts' }, { guarded: true })
    send()
    await settle()
    deepEqual(faults, ['ADDRESS_REFUSED'])
    deepEqual(dialled, [])
  })

  it('a name without addresses is a failure, not a loop', async () => {
    const { send, faults } = bench({})
    send()
    await settle()
    deepEqual(faults, ['DNS_FAILURE'])
  })
})
