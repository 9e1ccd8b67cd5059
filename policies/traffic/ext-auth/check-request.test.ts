/** What is written straight from the header table is what the generated code reads. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { ClientTls } from '#engine/contract/transport.ts'
import type { AttributeContext } from '#engine/proto/generated/envoy/service/auth/v3/attribute_context.ts'
import { CheckRequest } from '#engine/proto/generated/envoy/service/auth/v3/external_auth.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { type CheckParts, checkRequest } from './check-request.ts'

const TEMPLATE = { extensions: Buffer.alloc(0), allowed: null }
const PARTS: CheckParts = { metadata: null, body: null, asBytes: false, id: '1' }

const attributes = (ex: Parameters<typeof checkRequest>[0], template = TEMPLATE, parts = PARTS): AttributeContext =>
  CheckRequest.decode(checkRequest(ex, template, parts)).attributes!

test('any number of fields of any length, each once', () => {
  for (const count of [0, 1, 63, 64, 65, 200]) {
    const ex = fakeExchange({ target: '/a?b' })
    const expected: Record<string, string> = {}
    for (let i = 0; i < count; i++) {
      const value = 'v'.repeat(i * 37)
      ex.request.receive(`X-${i}`, value)
      ex.request.append(`x-${i}`, 'again')
      expected[`x-${i}`] = `${value},again`
    }
    const { headers } = attributes(ex).request!.http!
    deepEqual(Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-'))), expected)
  }
})

test('only the fields that are allowed', () => {
  const ex = fakeExchange()
  ex.request.receive('X-A', '1')
  ex.request.receive('X-B', '2')
  const template = { ...TEMPLATE, allowed: new Set(['x-b']) }
  deepEqual(attributes(ex, template as never).request!.http!.headers, { 'x-b': '2' })
})

test('over TLS: the principals of both certificates and the server name, as far as they are known', () => {
  const over = (principal: string | null, localPrincipal: string, serverName: string) => {
    const ex = fakeExchange()
    const names = { subjectAltNames: [], subject: 'CN=ann', issuer: '', serial: '', fingerprintSha256: '', pem: '' }
    const tls: ClientTls = {
      ...{ listener: '', serverName, version: 'TLSv1.3', cipher: '', alpn: '', localPrincipal },
      peer: principal === null ? null : { ...names, principal }
    }
    Object.defineProperty(ex.client, 'tls', { value: tls })
    const { source, destination, tlsSession, request } = attributes(ex)
    equal(request?.http?.scheme, 'https')
    return [source?.principal, destination?.principal, tlsSession?.sni]
  }
  deepEqual(over('spiffe://td/ünit', 'a.test', 'a.test'), ['spiffe://td/ünit', 'a.test', 'a.test'])
  deepEqual(over(null, 'a.test', ''), ['', 'a.test', undefined])
  deepEqual(over(null, '', 'b.test'), ['', '', 'b.test'])
  equal(attributes(fakeExchange()).tlsSession, undefined)
})

test('a body is text where it is UTF-8, and bytes else', () => {
  const http = (body: Buffer, asBytes = false) =>
    attributes(fakeExchange(), TEMPLATE, { ...PARTS, body, asBytes }).request!.http!
  equal(http(Buffer.from('grün')).body, 'grün')
  deepEqual([...http(Buffer.from([255, 0])).rawBody], [255, 0])
  deepEqual([...http(Buffer.from('a'), true).rawBody], [97])
  equal(http(Buffer.alloc(100_000, 97)).body.length, 100_000)
})

test('octets of a field are the text that they are in UTF-8, and "!" else', () => {
  const ex = fakeExchange()
  ex.request.receive('X-A', 'caf\xc3\xa9')
  ex.request.receive('X-B', 'caf\xe9')
  ex.request.receive('X-C', `${'v'.repeat(300)}\xc3\xa9`)
  const { headers } = attributes(ex).request!.http!
  deepEqual([headers['x-a'], headers['x-b'], headers['x-c']], ['café', 'caf!', `${'v'.repeat(300)}é`])
})
