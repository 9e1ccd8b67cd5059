/** Several certificates of one listener, and clients that may show one, in a whole gateway. */
import { deepEqual, equal } from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { authority, type Pair, selfSigned } from '#engine/testing/certificates.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'

const folder = mkdtempSync(join(tmpdir(), 'weir-tls-certificates-'))
after(() => rmSync(folder, { recursive: true }))
const put = (name: string, { cert, key }: Pair) => {
  writeFileSync(join(folder, `${name}.pem`), cert)
  writeFileSync(join(folder, `${name}.key`), key)
}

const clients = authority('clients')
const good = clients.issue('/CN=good')
const stranger = authority('x').issue('/CN=good')
const expired = clients.issue('/CN=good', [], -1)

const FILE = `
binds:
- port: 0
  listeners:
  - name: several
    protocol: HTTPS
    tls:
      cert: main.pem
      key: main.key
      additionalCertificates:
      - { cert: main-rsa.pem, key: main-rsa.key }
      - { cert: wild.pem, key: wild.key }
      - { cert: one.pem, key: one.key }
    routes: [{ policies: { directResponse: { status: 200, body: several } } }]
  - name: lenient
    hostname: lenient.test
    protocol: HTTPS
    tls: { cert: main.pem, key: main.key, root: clients.pem, mtlsMode: allowInsecureFallback }
    routes:
    - policies:
        transformations:
          response: { set: { x-who: "has(source.subject) ? source.subject : 'nobody'" } }
        directResponse: { status: 200, body: lenient }
`

const GET = (host: string) => `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`

async function dial(port: number, servername: string, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const at = { host: '127.0.0.1', port, rejectUnauthorized: false, ...(servername === '' ? {} : { servername }) }
  const socket = connect({ ...at, ...options })
  await once(socket, 'secureConnect')
  return socket
}

/** The name and the type of key of the certificate that is shown. */
async function shown(port: number, servername: string, options: ConnectionOptions = {}): Promise<string> {
  const socket = await dial(port, servername, options)
  const certificate = socket.getPeerX509Certificate()!
  socket.destroy()
  return `${certificate.subject} ${certificate.publicKey.asymmetricKeyType}`
}

/** Header x-who of the answer, and whether the session went on. */
async function who(port: number, options: ConnectionOptions): Promise<{ who: string; isReused: boolean }> {
  const socket = await dial(port, 'lenient.test', options)
  const isReused = socket.isSessionReused()
  let received = ''
  socket.on('data', (chunk: Buffer) => {
    received += chunk
  })
  socket.write(GET('lenient.test'))
  await once(socket, 'close')
  return { who: /x-who: (.*)\r/.exec(received)?.[1] ?? received, isReused }
}

describe('certificates of listeners', () => {
  let gateway: TestGateway
  before(async () => {
    put('main', selfSigned(['main.test']))
    put('main-rsa', selfSigned(['main.test'], 'rsa'))
    put('wild', selfSigned(['*.wild.test', 'two.test'], 'rsa'))
    put('one', selfSigned(['one.wild.test']))
    writeFileSync(join(folder, 'clients.pem'), clients.cert)
    gateway = await startGateway(FILE, { folder })
  })
  after(() => gateway.close())

  it('the one is shown that fits the name, then the keys that the client takes', async () => {
    const { port } = gateway
    const onlyRsa = { sigalgs: 'rsa_pss_rsae_sha256' }
    const rsaOf12 = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' } as const
    deepEqual(
      [
        await shown(port, 'main.test'),
        await shown(port, 'main.test', onlyRsa),
        await shown(port, 'MAIN.test', rsaOf12),
        await shown(port, 'a.wild.test'),
        await shown(port, 'one.wild.test'),
        await shown(port, 'one.wild.test', onlyRsa),
        await shown(port, 'two.test'),
        await shown(port, 'other.test'),
        await shown(port, '', onlyRsa)
      ],
      [
        ...['CN=main.test ec', 'CN=main.test rsa', 'CN=main.test rsa', 'CN=*.wild.test rsa', 'CN=one.wild.test ec'],
        ...['CN=*.wild.test rsa', 'CN=*.wild.test rsa', 'CN=main.test ec', 'CN=main.test rsa']
      ]
    )
  })

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    it(`with allowInsecureFallback only a certificate that passes is a name, ${version}`, async () => {
      const limits = { minVersion: version, maxVersion: version }
      const names = []
      for (const pair of [good, stranger, expired, {}])
        names.push((await who(gateway.port, { ...limits, ...pair })).who)
      deepEqual(names, ['CN=good', 'nobody', 'nobody', 'nobody'])
    })

    it(`a session that goes on grants no more than it did, ${version}`, async () => {
      const limits = { minVersion: version, maxVersion: version }
      for (const [pair, name] of [
        [good, 'CN=good'],
        [stranger, 'nobody']
      ] as const) {
        const at = { host: '127.0.0.1', port: gateway.port, servername: 'lenient.test', rejectUnauthorized: false }
        const first = connect({ ...at, ...limits, ...pair })
        const [session] = (await once(first, 'session')) as [Buffer]
        first.destroy()
        deepEqual(await who(gateway.port, { ...limits, ...pair, session }), { who: name, isReused: true })
      }
    })
  }

  it('other listeners of the port ask for none', async () => {
    const socket = await dial(gateway.port, 'main.test', good)
    equal(socket.getPeerX509Certificate()!.subject, 'CN=main.test')
    socket.destroy()
  })
})
