/** docs/examples/tls.yaml, with certificates of this run and curl. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { authority, type Pair, selfSigned } from '#engine/testing/certificates.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { startOrigin } from '#engine/testing/origin.ts'

const run = promisify(execFile)
const EXAMPLE = readFileSync(join(import.meta.dirname, '../docs/examples', 'tls.yaml'), 'utf8')

test('two certificates on one port, and clients that must show theirs', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-tls-example-'))
  t.after(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'tls'))
  const put = (name: string, { cert, key }: Pair): void => {
    writeFileSync(join(folder, 'tls', `${name}.pem`), cert)
    writeFileSync(join(folder, 'tls', `${name}.key`), key)
  }
  const clients = authority('company')
  put('shop', selfSigned(['*.shop.test']))
  put('admin', selfSigned(['admin.test']))
  put('clients', clients)
  put('operator', clients.issue('/O=Shop/CN=operator'))
  put('visitor', clients.issue('/O=Shop/CN=visitor'))
  const origin = await startOrigin()
  const text = EXAMPLE.replace('port: 8080', 'port: 0').replaceAll(':9001', `:${origin.port}`)
  const gateway = await startGateway(text, { folder })
  t.after(async () => {
    await gateway.close()
    origin.close()
  })
  const curl = async (host: string, ca: string, who?: string): Promise<string> => {
    const to = ['--resolve', `${host}:${gateway.port}:127.0.0.1`, '--cacert', join(folder, 'tls', `${ca}.pem`)]
    const path = (kind: string) => join(folder, 'tls', `${who}.${kind}`)
    const own = who === undefined ? [] : ['--cert', path('pem'), '--key', path('key')]
    const options = ['-sS', '-o', join(folder, 'body'), '-w', '%{http_code}', `https://${host}:${gateway.port}/`]
    return (await run('curl', [...to, ...own, ...options])).stdout
  }
  assert.equal(await curl('a.shop.test', 'shop'), '200')
  assert.equal(await curl('admin.test', 'admin', 'operator'), '200')
  const { headers } = origin.seen.at(-1)!
  assert.equal(headers[headers.findIndex((name) => name.toLowerCase() === 'x-client') + 1], 'CN=operator,O=Shop')
  assert.equal(await curl('admin.test', 'admin', 'visitor'), '403')
  await assert.rejects(curl('admin.test', 'admin'))
})
