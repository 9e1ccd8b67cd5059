/** Data planes and controllers that do not keep to the protocol, and connections that are cut anywhere. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientHttp2Stream, connect, createSecureServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { SYSTEM_TIME, type Time } from '#engine/contract/time.ts'
import { bindOf, routeOf, snapshotOf } from '#engine/testing/snapshot.ts'
import { makeCertificate } from './certificate.ts'
import { SnapshotClient } from './client.ts'
import { GATEWAY_HEADER, POD_HEADER, STREAM_PATH } from './messages.ts'
import { Published } from './published.ts'
import type { ReceivedDraft } from './received.ts'
import { encodeRecord, RecordReader, SNAPSHOT_BYTES_MAX } from './records.ts'
import { SnapshotServer } from './server.ts'

const TLS = makeCertificate({ names: ['127.0.0.1'], validDays: 1, now: Date.now() })
const GATEWAY = 'demo/web'
const snapshot = snapshotOf([bindOf([{ routes: [routeOf({ name: 'a' })] }])])

async function controller(
  t: TestContext,
  time: Time = SYSTEM_TIME,
  review = async (token: string) => token === 'good'
) {
  const faults: string[] = []
  const server = new SnapshotServer({
    port: 0,
    host: '127.0.0.1',
    tls: TLS,
    time,
    authenticate: (token) => review(token),
    onChange: () => {},
    log: (_level, message) => faults.push(message)
  })
  const port = await server.listen()
  t.after(() => server.close())
  server.publish(GATEWAY, { draft: snapshot, endpoints: {} })
  return { server, port, faults }
}

interface RawDataPlane {
  readonly stream: ClientHttp2Stream
  /** Resolves with the next record. */
  next(): Promise<unknown>
}

async function rawDataPlane(t: TestContext, port: number, more: Record<string, string> = {}): Promise<RawDataPlane> {
  const session = connect(`https://127.0.0.1:${port}`, { ca: TLS.cert })
  t.after(() => session.destroy())
  session.on('error', () => undefined)
  const own = { authorization: 'Bearer good', [GATEWAY_HEADER]: GATEWAY, [POD_HEADER]: 'web-1' }
  const stream = session.request({ ':method': 'POST', ':path': STREAM_PATH, ...own, ...more }, { endStream: false })
  stream.on('error', () => undefined)
  const waiting: ((value: unknown) => void)[] = []
  const reader = new RecordReader(SNAPSHOT_BYTES_MAX, (value) => waiting.shift()?.(value))
  stream.on('data', (chunk: Buffer) => reader.push(chunk))
  return { stream, next: () => new Promise((resolve) => waiting.push(resolve)) }
}

const hello = { kind: 'hello', epoch: '', snapshot: 0, endpoints: 0 }

describe('a data plane that', () => {
  const cases: Record<string, Buffer> = {
    'says garbage': Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    'announces a huge record': Buffer.from([0x7f, 0xff, 0xff, 0xff]),
    'says what no data plane says': encodeRecord({ kind: 'snapshot' }),
    'says twice what it holds': Buffer.concat([encodeRecord(hello), encodeRecord(hello)])
  }
  for (const [what, bytes] of Object.entries(cases)) {
    test(`${what} is cut off, and others are served`, async (t) => {
      const { server, port, faults } = await controller(t)
      const bad = await rawDataPlane(t, port)
      bad.stream.write(bytes)
      await once(bad.stream, 'close')
      assert.match(faults.join(), /data plane web-1 of demo\/web is cut off: /)
      const good = await rawDataPlane(t, port)
      good.stream.write(encodeRecord(hello))
      assert.equal(((await good.next()) as { kind: string }).kind, 'endpoints')
      assert.equal(server.dataPlanes(GATEWAY).length, 1)
    })
  }

  test('answers for versions that it was never sent is not believed', async (t) => {
    const { server, port } = await controller(t)
    const plane = await rawDataPlane(t, port)
    plane.stream.write(encodeRecord(hello))
    await plane.next()
    const { epoch, version } = (await plane.next()) as { epoch: string; version: number }
    const answer = { kind: 'answer', epoch, version, reason: null }
    for (const one of [
      { ...answer, version: 99 },
      { ...answer, epoch: 'other' },
      { ...answer, version: 0 }
    ]) {
      plane.stream.write(encodeRecord(one))
    }
    plane.stream.write(encodeRecord({ ...answer, reason: 'first' }))
    plane.stream.write(encodeRecord({ ...answer, reason: 'second' }))
    plane.stream.end()
    await once(plane.stream, 'close')
    assert.deepEqual(server.dataPlanes(GATEWAY), [])
  })

  test('asks for anything else, or names no Gateway, is refused', async (t) => {
    const { port } = await controller(t)
    const cases: [Record<string, string>, number][] = [
      [{ ':path': '/metrics' }, 404],
      [{ authorization: 'Basic abc' }, 401],
      [{ [GATEWAY_HEADER]: 'demo' }, 400],
      [{ [GATEWAY_HEADER]: '../etc/passwd' }, 400],
      [{ [POD_HEADER]: 'a b' }, 400],
      [{ authorization: 'Bearer bad' }, 403]
    ]
    for (const [headers, expected] of cases) {
      const { stream } = await rawDataPlane(t, port, headers)
      const [{ ':status': status }] = (await once(stream, 'response')) as [{ ':status': number }]
      assert.equal(status, expected, JSON.stringify(headers))
    }
  })

  test('leaves while its token is reviewed costs nothing but its own stream', async (t) => {
    const reviewed = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    let reviews = 0
    const { server, port } = await controller(t, SYSTEM_TIME, async () => {
      if (++reviews > 1) return true
      begun.resolve()
      await reviewed.promise
      return true
    })
    const bad = await rawDataPlane(t, port)
    bad.stream.write(encodeRecord(hello))
    await begun.promise
    bad.stream.close(8)
    await once(bad.stream, 'close')
    const good = await rawDataPlane(t, port)
    good.stream.write(encodeRecord(hello))
    await good.next()
    reviewed.resolve()
    await good.next()
    assert.equal(server.dataPlanes(GATEWAY).length, 1)
  })

  test('takes nothing is not written to beyond what waits, and is given up', async (t) => {
    const stalls: (() => void)[] = []
    const time: Time = {
      ...SYSTEM_TIME,
      after: (ms, call) => {
        if (ms !== 60_000) return SYSTEM_TIME.after(ms, call)
        stalls.push(call)
        return () => stalls.splice(stalls.indexOf(call), 1)
      }
    }
    const { server, port } = await controller(t, time)
    const plane = await rawDataPlane(t, port)
    plane.stream.pause()
    plane.stream.removeAllListeners('data')
    const closed = once(plane.stream, 'close')
    plane.stream.write(encodeRecord(hello))
    // More than the windows of HTTP/2 hold: each version has a route of 100 KB that the one before has not.
    let version = 1
    while (stalls.length === 0) {
      const body = `${'x'.repeat(100_000)}${version}`
      const routes = [routeOf({ name: 'a', policies: { directResponse: { status: 200, body } } })]
      version = server.publish(GATEWAY, { draft: snapshotOf([bindOf([{ routes }])]), endpoints: {} })
      await new Promise((resolve) => setImmediate(resolve))
    }
    for (let i = 0; i < 1_000; i++) server.publish(GATEWAY, { draft: { ...snapshot }, endpoints: {} })
    assert.equal(stalls.length, 1)
    stalls[0]!()
    plane.stream.resume()
    await closed
    assert.deepEqual(server.dataPlanes(GATEWAY), [])
  })
})

/** `serve`: what it does with each stream. */
async function fakeController(t: TestContext, serve: (stream: ServerHttp2Stream) => void): Promise<number> {
  const server = createSecureServer({ ...TLS })
  server.on('stream', (stream) => {
    stream.on('error', () => undefined)
    serve(stream)
  })
  server.on('session', (session) => session.on('error', () => undefined))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

function dataPlane(t: TestContext, port: number, time: Time) {
  const got: ReceivedDraft[] = []
  const logged: string[] = []
  const [draft, log] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const client = new SnapshotClient({
    address: `127.0.0.1:${port}`,
    ca: () => TLS.cert,
    token: () => 'good',
    gateway: GATEWAY,
    pod: 'web-1',
    held: null,
    time,
    onSnapshot: async (received) => {
      got.push(received)
      draft.resolve()
    },
    onEndpoints: () => {},
    onHeld: () => {},
    log: (_level, message) => {
      logged.push(message)
      log.resolve()
    }
  })
  t.after(() => client.close())
  client.start()
  return {
    got,
    logged,
    draft: draft.promise,
    log: log.promise
  }
}

/** Pauses between connections are over at once. */
const HASTY: Time = { ...SYSTEM_TIME, after: (ms, call) => SYSTEM_TIME.after(ms > 10_000 ? ms : 0, call) }

function publishedBytes(): Buffer {
  const published = new Published('epoch')
  published.publish({
    draft: snapshot,
    endpoints: { 'a:80': [{ host: '10.0.0.1', port: 80, unixPath: null, weight: 1 }] }
  })
  return Buffer.concat([published.endpointsSince(0), published.snapshotSince(0)])
}

describe('a controller that', () => {
  test('is cut off behind each byte is come back to, until it has said everything', async (t) => {
    const bytes = publishedBytes()
    let cut = 0
    const port = await fakeController(t, (stream) => {
      stream.respond({ ':status': 200 })
      if (cut >= bytes.length) {
        stream.write(bytes)
        return
      }
      // A step of seven is coprime to what has fours in it, and a seventh of the time.
      stream.write(bytes.subarray(0, cut), () => stream.session?.destroy())
      cut += 7
    })
    const plane = dataPlane(t, port, HASTY)
    await plane.draft
    assert.deepEqual(plane.got[0]!.draft, snapshot)
    assert.ok(cut >= bytes.length)
  })

  const cases: Record<string, [Buffer, RegExp]> = {
    'says garbage': [Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), /a record of \d+ bytes/],
    'announces a huge record': [Buffer.from([0xff, 0xff, 0xff, 0xff]), /a record of 4294967295 bytes/],
    'claims more elements than there are': [Buffer.from([0, 0, 0, 5, 0xdd, 0xff, 0xff, 0xff, 0xff]), /no MessagePack/],
    'says what no controller says': [encodeRecord({ kind: 'answer' }), /version that is no whole number|text belongs/],
    'changes what is not held': [
      encodeRecord({ kind: 'endpoints', epoch: 'e', version: 9, base: 8, changes: {} }),
      /changes of endpoints since 8, which are not held/
    ],
    'gives runs of routes that are not there': [
      encodeRecord({
        ...{ kind: 'snapshot', program: '1', epoch: 'e', version: 1, base: 0 },
        delta: { ...snapshot, goneBackends: [], binds: [{ port: 1, listeners: [{ routes: [[0, 4e9]] }] }] }
      }),
      /a change that does not fit/
    ]
  }
  for (const [what, [bytes, fault]] of Object.entries(cases)) {
    test(`${what} changes nothing, and is come back to`, async (t) => {
      let streams = 0
      const port = await fakeController(t, (stream) => {
        stream.respond({ ':status': 200 })
        stream.write(++streams === 1 ? bytes : publishedBytes())
      })
      const plane = dataPlane(t, port, HASTY)
      await plane.draft
      assert.match(plane.logged.join('\n'), fault)
      assert.deepEqual([plane.got.length, plane.got[0]!.draft], [1, snapshot])
    })
  }

  test('does not answer is given up', async (t) => {
    const waits: (() => void)[] = []
    const time: Time = {
      ...SYSTEM_TIME,
      after: (_ms, call) => {
        waits.push(call)
        return () => {}
      }
    }
    const request = Promise.withResolvers<void>()
    const port = await fakeController(t, () => request.resolve())
    const plane = dataPlane(t, port, time)
    await request.promise
    waits[0]!()
    await plane.log
    assert.match(plane.logged[0]!, /it does not answer; what runs stays, trying again/)
  })
})
