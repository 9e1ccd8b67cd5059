/** Names with several addresses, some of them dead, over sockets that a test decides about. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ErrorCode } from '#engine/contract/errors.ts'
import { BODY_NONE, Exchange } from '#engine/contract/exchange.ts'
import type { ClientStream, ServerEvents } from '#engine/contract/transport.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { llhttp } from '#engine/http/llhttp.ts'
import { TimerWheel } from '#engine/kit/timer-wheel.ts'
import { type Address, NOBODY, type SocketLayer, type Wire } from '#engine/socket/wire.ts'
import { EndpointState } from './endpoint.ts'
import { Resolver } from './resolver.ts'

const { memory } = llhttp()

/** A wire that keeps what is written to it; `answer` makes its owner read. */
class FakeWire implements Wire {
  owner = NOBODY
  bulk = false
  readonly remoteAddress = ''
  readonly localAddress = ''
  readonly remotePort = 0
  readonly congested = false
  written = ''
  open = true
  readonly ip: string

  constructor(ip: string) {
    this.ip = ip
  }

  speaksFor(): void {}

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

type Behaviour = 'accepts' | 'refuses' | 'ignores'

interface Bench {
  readonly endpoint: EndpointState
  readonly wires: FakeWire[]
  readonly dialled: string[]
  readonly faults: ErrorCode[]
  send(): Exchange
  /** Lets time pass for the endpoint's timers. */
  pass(ms: number): void
}

/** An endpoint whose name has `addresses`, each with its behaviour. */
function bench(addresses: Record<string, Behaviour>, options: { poolMax?: number; guarded?: boolean } = {}): Bench {
  const wires: FakeWire[] = []
  const dialled: string[] = []
  const faults: ErrorCode[] = []
  let ahead = 0
  const timers = new TimerWheel(() => performance.now() + ahead)
  const sockets: SocketLayer = {
    kind: 'net',
    listen: () => Promise.reject(new Error('not here')),
    startTls: () => () => {},
    connect(address: Address, done) {
      const ip = 'ip' in address ? address.ip : ''
      dialled.push(ip)
      const behaviour = addresses[ip]
      if (behaviour === 'ignores') return () => {}
      queueMicrotask(() => {
        if (behaviour === 'refuses') return done('ECONNREFUSED', null)
        const wire = new FakeWire(ip)
        wires.push(wire)
        done(null, wire)
      })
      return () => {}
    }
  }
  const events: ServerEvents = {
    onServerReady() {},
    onInterim() {},
    onResponse() {},
    onResponseBody: () => true,
    onResponseEnd() {},
    onServerWritable() {},
    onServerFault: (_ex, code) => faults.push(code)
  }
  const found = Object.keys(addresses).map((ip) => ({ ip, family: 4 as const }))
  const resolver = new Resolver('a.test', () => Promise.resolve({ addresses: found, ttlMs: 60_000 }))
  const endpoint = new EndpointState(
    { host: 'a.test', port: 80, unixPath: null },
    { guarded: options.guarded ?? false, allow: [], connectTimeoutMs: 1_000, tls: null },
    {
      sockets,
      llhttp: llhttp(),
      timers,
      events,
      idleTimeoutMs: 60_000,
      poolMax: options.poolMax ?? 8,
      requestsPerConnectionMax: 0,
      observer: { connected() {}, connectFailed() {}, retried() {} }
    },
    resolver
  )
  const client = {} as ClientStream
  return {
    endpoint,
    wires,
    dialled,
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
      pass(1_100)
      await settle()
    }
    deepEqual(faults, [])
    equal(wires.length, 4)
    ok(dialled.filter((ip) => ip === '192.0.2.1').length <= 2, dialled.join())
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
