/** docs/examples/grpc.yaml, driven by real clients of HTTP/2 and of HTTP/1.1 before real servers. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { type Http2Origin, startHttp2Origin } from '#engine/testing/h2-origin.ts'
import { type Origin, startOrigin, statuses } from '#engine/testing/origin.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'

const FILE = readFileSync(new URL('../docs/examples/grpc.yaml', import.meta.url), 'utf8')
const GRPC = { ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' }

const message = (text: string): Buffer => Buffer.from(`\0\0\0\0${String.fromCharCode(text.length)}${text}`, 'latin1')

interface Answer {
  readonly headers: IncomingHttpHeaders
  readonly trailers: IncomingHttpHeaders
  readonly body: string
}

/** One call with one message. */
async function call(session: ClientHttp2Session, path: string, more: IncomingHttpHeaders = {}): Promise<Answer> {
  const stream = session.request({ ...GRPC, ':path': path, ...more })
  let [headers, trailers, body]: [IncomingHttpHeaders, IncomingHttpHeaders, string] = [{}, {}, '']
  stream.on('response', (received) => {
    headers = received
  })
  stream.on('trailers', (received) => {
    trailers = received
  })
  stream.on('data', (chunk: Buffer) => {
    body += chunk.toString('latin1')
  })
  stream.end(message('ping'))
  await once(stream, 'close')
  return { headers, trailers, body }
}

describe('gRPC from end to end', () => {
  let orders: Http2Origin
  let site: Origin
  let gateway: TestGateway
  let session: ClientHttp2Session
  let refusals = 0
  const folder = mkdtempSync(join(tmpdir(), 'weir-grpc-'))
  const fd = openSync(join(folder, 'log'), 'w')
  const log = () => readFileSync(join(folder, 'log'), 'utf8')

  const serve = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void => {
    const path = String(headers[':path'])
    if (path.endsWith('/Slow')) return
    if (path.endsWith('/Busy') && ++refusals < 3) {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '14' }, { endStream: true })
      return
    }
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'grpc-message': 'fine' }))
    stream.on('data', (chunk: Buffer) => stream.write(chunk))
    stream.on('end', () => stream.end())
  }

  before(async () => {
    orders = await startHttp2Origin(serve)
    site = await startOrigin((response) => response.end('site'))
    const text = FILE.replace('port: 8080', 'port: 0')
    gateway = await startGateway(text.replace(':9001', `:${orders.port}`).replace(':9002', `:${site.port}`), {
      log: { format: 'text', fd }
    })
    session = connect(`http://127.0.0.1:${gateway.port}`)
    await once(session, 'connect')
  })

  after(async () => {
    session.destroy()
    await gateway.close()
    orders.close()
    site.close()
    closeSync(fd)
    rmSync(folder, { recursive: true })
  })

  it('a call passes with its trailers', async () => {
    const { headers, trailers, body } = await call(session, '/shop.Orders/Get')
    assert.equal(headers[':status'], 200)
    assert.equal(body, message('ping').toString('latin1'))
    assert.deepEqual([trailers['grpc-status'], trailers['grpc-message']], ['0', 'fine'])
    const seen = orders.seen.at(-1)!
    assert.deepEqual([seen.headers.te, seen.headers['content-type']], ['trailers', 'application/grpc'])
  })

  it('both sides speak at the same time', async () => {
    const stream = session.request({ ...GRPC, ':path': '/shop.Orders/Chat' })
    for (let i = 0; i < 5; i++) {
      stream.write(message(`m${i}`))
      const [chunk] = (await once(stream, 'data')) as [Buffer]
      assert.equal(chunk.toString('latin1'), message(`m${i}`).toString('latin1'))
    }
    stream.end()
    const [trailers] = (await once(stream, 'trailers')) as [IncomingHttpHeaders]
    assert.equal(trailers['grpc-status'], '0')
  })

  it('a server that is unavailable is asked again', async () => {
    const { trailers } = await call(session, '/shop.Orders/Busy')
    assert.deepEqual([trailers['grpc-status'], refusals], ['0', 3])
  })

  it('a call ends with its deadline, and refusals have a gRPC status', async () => {
    const late = await call(session, '/shop.Orders/Slow', { 'grpc-timeout': '50m' })
    assert.deepEqual([late.headers[':status'], late.headers['grpc-status']], [200, '4'])
    assert.equal(late.headers['grpc-message'], 'the request took longer than the configured timeout')
    const other = await call(session, '/other.Service/Get', { ':authority': 'a.test' })
    // The site speaks HTTP/1.1.
    assert.deepEqual([other.headers[':status'], other.headers['grpc-status']], [200, '14'])
  })

  it('over HTTP/1.1 it is refused; the site is served', async () => {
    const request = (method: string, path: string, type: string) =>
      `${method} ${path} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Type: ${type}\r\nContent-Length: 0\r\n\r\n`
    const refused = await exchangeRaw(gateway.port, request('POST', '/shop.Orders/Get', 'application/grpc'))
    assert.deepEqual(statuses(refused), [505])
    assert.match(await exchangeRaw(gateway.port, request('GET', '/', 'text/plain')), /site$/)
  })

  it('the access log has the status of gRPC', async () => {
    await call(session, '/shop.Orders/Get')
    // Lines leave in batches.
    const last = /reason=REQUEST_TIMEOUT[\s\S]*\/shop\.Orders\/Get /
    while (!last.test(log())) await nextTurn()
    assert.match(log(), /http\.path=\/shop\.Orders\/Get http\.version=HTTP\/2 http\.status=200 grpc\.status=0 /)
    assert.match(log(), /http\.status=200 grpc\.status=4 reason=REQUEST_TIMEOUT /)
  })
})
