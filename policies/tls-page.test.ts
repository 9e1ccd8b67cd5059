/** docs/tls.md, as it stands there: its certificates, its files, its curl lines. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { startGateway } from '#engine/testing/gateway.ts'
import { startHttp2Origin } from '#engine/testing/h2-origin.ts'
import { startOrigin } from '#engine/testing/origin.ts'

const run = promisify(execFile)
const PAGE = readFileSync(new URL('../docs/tls.md', import.meta.url), 'utf8')

/** The first block of `kind` below the title that begins with `title`. */
function block(title: string, kind: string): string {
  const part = PAGE.slice(PAGE.indexOf(`## ${title}`))
  const found = new RegExp(`\`\`\`${kind}\\n([\\s\\S]*?)\`\`\``).exec(part.slice(0, part.indexOf('\n## ', 3)))?.[1]
  assert.ok(found !== undefined, `${title}: no ${kind}`)
  return found
}

describe('docs/tls.md', () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-tls-page-'))
  /** The page's ports, and what stands in for them. */
  const ports = new Map<number, number>()
  const closes: (() => unknown)[] = [() => rmSync(folder, { recursive: true })]
  let seen: { readonly headers: readonly string[] }[] = []

  /** A server of TLS with a certificate of the page. */
  async function secure(port: number, name: string): Promise<void> {
    const pair = { cert: readFileSync(join(folder, `${name}.pem`)), key: readFileSync(join(folder, `${name}.key`)) }
    const server = createServer(pair, (_, response) => response.end(name))
    await new Promise<void>((done) => void server.listen(0, done))
    ports.set(port, (server.address() as AddressInfo).port)
    closes.push(
      () => server.close(),
      () => server.closeAllConnections()
    )
  }

  before(async () => {
    await run('bash', ['-ec', block('Certificates to try', 'sh')], { cwd: folder })
    const origin = await startOrigin()
    seen = origin.seen
    const calls = await startHttp2Origin((stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.resume().on('end', () => stream.end())
    })
    ports.set(9001, origin.port).set(9002, calls.port)
    await secure(9443, 'shop')
    await secure(9444, 'blog')
    closes.push(
      () => origin.close(),
      () => calls.close()
    )
  })
  after(async () => {
    for (const close of closes.reverse()) await close()
  })

  /** Runs `asked` against the file below a title; `curl` replaces the port of the page. */
  async function served(title: string, check: (curl: (line: string) => Promise<string>) => Promise<void>) {
    const text = block(title, 'yaml').replace(/port: 8\d+/, 'port: 0')
    const yaml = text.replaceAll(/localhost:(9\d+)/g, (_, port) => `localhost:${ports.get(Number(port))}`)
    const gateway = await startGateway(yaml, { folder })
    const curl = async (line: string): Promise<string> => {
      const command = line.replace(/^\$ curl/, 'curl -sS').replaceAll(/:(8443|8080)\b/g, `:${gateway.port}`)
      return (await run('bash', ['-ec', command.trim()], { cwd: folder })).stdout
    }
    try {
      await check(curl)
    } finally {
      await gateway.close()
    }
  }

  it('HTTPS in front of an HTTP server', () =>
    served('HTTPS in front', async (curl) => {
      const output = await curl(`${block('HTTPS in front', 'console').trim()} -i`)
      assert.match(output, /^HTTP\/2 200[\s\S]*strict-transport-security: max-age=31536000/)
    }))

  it('gRPC', () =>
    served('The same with gRPC', async (curl) => {
      const call = "-H 'content-type: application/grpc' -H 'te: trailers' --data-binary @/dev/null -D -"
      const output = await curl(`$ curl --cacert ca.pem ${call} https://localhost:8443/shop.Orders/Get`)
      assert.match(output, /^HTTP\/2 200[\s\S]*grpc-status: 0/)
      assert.match(await curl('$ curl --cacert ca.pem https://localhost:8443/ -i'), /^HTTP\/2 200/)
    }))

  it('clients that must show a certificate', () =>
    served('Clients that must', async (curl) => {
      const line = `${block('Clients that must', 'console').trim()} -i`
      assert.match(await curl(line), /^HTTP\/2 200/)
      const { headers } = seen.at(-1)!
      assert.equal(headers[headers.indexOf('x-client') + 1], 'alice')
      assert.match(await curl(line.replaceAll('alice.', 'blog.')), /^HTTP\/2 403/)
      await assert.rejects(curl('$ curl --cacert ca.pem https://localhost:8443/'))
    }))

  it('pass-through to two servers by name', () =>
    served('Pass-through', async (curl) => {
      const line = block('Pass-through', 'console')
      assert.equal(await curl(line), 'shop')
      assert.equal(await curl(line.replace('shop.test', 'blog.test')), 'blog')
      await assert.rejects(curl(line.replace('shop.test', 'other.test')), /curl: \(35\)/)
    }))

  it('TLS to a backend with an authority of your own', () =>
    served('TLS to a backend', async (curl) => {
      assert.equal(await curl('$ curl http://localhost:8080/'), 'shop')
    }))
})
