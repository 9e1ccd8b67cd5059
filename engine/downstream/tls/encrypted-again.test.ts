/** TLS that ends here in front of TCP, and begins again towards the backend. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import tls from 'node:tls'
import { authority, type Pair, selfSigned } from '#engine/testing/certificates.ts'
import { startGateway } from '#engine/testing/gateway.ts'

const folder = mkdtempSync(join(tmpdir(), 'weir-tls-again-'))
after(() => rmSync(folder, { recursive: true }))
const put = (name: string, { cert, key }: Pair): void => {
  writeFileSync(join(folder, `${name}.pem`), cert)
  writeFileSync(join(folder, `${name}.key`), key)
}
const servers = authority('servers')
const db = servers.issue('/CN=db', ['DNS:db.test'])
put('edge', selfSigned(['edge.test']))
put('us', servers.issue('/CN=us'))
writeFileSync(join(folder, 'servers.pem'), servers.cert)

interface Server {
  readonly port: number
  /** Names in SNI, agreed protocols and names in the certificates of clients. */
  readonly seen: string[]
  /** What came before TLS. */
  readonly before: string[]
}

/** Says back what it hears, over TLS. With `line`: behind a line in clear text. */
async function echo(t: TestContext, { line = false } = {}): Promise<Server> {
  const seen: string[] = []
  const before: string[] = []
  const options = { ...db, ca: servers.cert, requestCert: true, rejectUnauthorized: false, isServer: true }
  const server = net.createServer({ pauseOnConnect: line }, (socket) => {
    socket.on('error', () => {})
    const secure = () => {
      const own = new tls.TLSSocket(socket, options)
      own.on('error', () => {})
      own.on('secure', () => seen.push(`${own.servername} ${own.alpnProtocol} ${own.getPeerCertificate().subject?.CN}`))
      own.pipe(own)
    }
    if (!line) {
      secure()
      return
    }
    socket.once('readable', () => {
      const bytes: Buffer = socket.read()
      const end = bytes.indexOf('\n') + 1
      before.push(bytes.toString('latin1', 0, end))
      socket.unshift(bytes.subarray(end))
      secure()
    })
    socket.resume().pause()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return { port: (server.address() as net.AddressInfo).port, seen, before }
}

async function gateway(t: TestContext, { port }: Server, backendTls: string, more = '') {
  const started = await startGateway(
    `binds:
- port: 0
  listeners:
  - name: ends
    protocol: TLS
    tls: { cert: edge.pem, key: edge.key }
    tcpRoutes: [{ backends: [{ backend: db }] }]
  - name: passes
    hostname: db.test
    protocol: TLS
    tcpRoutes: [{ backends: [{ backend: db }] }]
backends:
- { name: db, host: "127.0.0.1:${port}", policies: { backendTLS: ${backendTls}${more} } }
`,
    { folder }
  )
  t.after(() => started.close())
  return started.port
}

/** What comes back of "hello" until the connection ends. */
async function hello(port: number, servername: string): Promise<string> {
  const socket = tls.connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false })
  socket.on('error', () => {})
  let received = ''
  socket.on('data', (chunk: Buffer) => {
    received += chunk
    socket.end()
  })
  socket.write('hello')
  await once(socket, 'close')
  return received
}

const KNOWN = '{ root: servers.pem, hostname: db.test, cert: us.pem, key: us.key }'

test('the backend is verified, and gets its name, our certificate and no protocol', async (t) => {
  const server = await echo(t)
  const port = await gateway(t, server, KNOWN)
  equal(await hello(port, 'edge.test'), 'hello')
  deepEqual(server.seen, ['db.test false us'])
})

test('what is passed on unread is not encrypted twice', async (t) => {
  const server = await echo(t)
  const port = await gateway(t, server, KNOWN)
  equal(await hello(port, 'db.test'), 'hello')
  deepEqual(server.seen, ['db.test false undefined'])
})

test('a server that is not the right one gets nothing', async (t) => {
  const server = await echo(t)
  for (const wrong of ['{ root: edge.pem, hostname: db.test }', '{ root: servers.pem, hostname: other.test }'])
    equal(await hello(await gateway(t, server, wrong), 'edge.test'), '')
})

test('a PROXY header goes before TLS', async (t) => {
  const server = await echo(t, { line: true })
  const port = await gateway(t, server, KNOWN, ', tcp: { proxyProtocol: v1 }')
  equal(await hello(port, 'edge.test'), 'hello')
  match(server.before[0]!, /^PROXY TCP4 127\.0\.0\.1 127\.0\.0\.1 \d+ \d+\r\n$/)
})
