/** Clients of HTTPS that read slowly: what they get in the end is what the backend sent. */
import { equal } from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:http2'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { after, before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { selfSigned } from '#engine/testing/certificates.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'

const TOTAL = 32 * 1024 * 1024
/** The client lets the gateway run into its buffers so often. */
const REST_EVERY = 1024 * 1024
const REST_TURNS = 300

/** No two places of it are alike for long. */
function* content(): Generator<Buffer> {
  for (let at = 0, n = 0; at < TOTAL; n++) {
    const piece = Buffer.alloc(Math.min(1 + ((n * 7919) % 150_000), TOTAL - at), `${n} `)
    at += piece.length
    yield piece
  }
}

const SUM = createHash('sha256')
for (const piece of content()) SUM.update(piece)
const EXPECTED = SUM.digest('hex')

async function readSlowly(body: Readable): Promise<string> {
  const sum = createHash('sha256')
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    sum.update(chunk)
    bytes += chunk.length
    if (bytes < REST_EVERY) continue
    bytes = 0
    for (let i = 0; i < REST_TURNS; i++) await turn()
  }
  return sum.digest('hex')
}

describe('slow clients of HTTPS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-tls-slow-'))
  const origin = createServer((request, answer) => {
    if (request.url === '/sized') answer.setHeader('content-length', TOTAL)
    pipeline(content, answer).catch(() => {
      // The client has gone: its test tells.
    })
  })
  let gateway: TestGateway
  before(async () => {
    await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
    const { cert, key } = selfSigned(['localhost'])
    writeFileSync(join(folder, 'c.pem'), cert)
    writeFileSync(join(folder, 'k.pem'), key)
    const backend = `127.0.0.1:${(origin.address() as AddressInfo).port}`
    gateway = await startGateway(
      `binds:
- port: 0
  listeners:
  - { protocol: HTTPS, tls: { cert: c.pem, key: k.pem }, routes: [{ backends: [{ host: "${backend}" }] }] }
`,
      { folder }
    )
  })
  after(async () => {
    await gateway.close()
    origin.close()
    rmSync(folder, { recursive: true })
  })

  for (const path of ['/sized', '/chunked']) {
    it(`${path.slice(1)} by HTTP/1.1`, async () => {
      const body = await new Promise<Readable>((resolve, reject) => {
        const { port } = gateway
        request({ port, path, rejectUnauthorized: false, agent: false }, resolve).on('error', reject).end()
      })
      equal(await readSlowly(body), EXPECTED)
    })

    it(`${path.slice(1)} by HTTP/2`, async () => {
      const session = connect(`https://localhost:${gateway.port}`, { rejectUnauthorized: false })
      equal(await readSlowly(session.request({ ':path': path })), EXPECTED)
      session.close()
    })
  }
})
