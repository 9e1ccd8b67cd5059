/** Mistakes in listeners of TLS: each clear, at its place, and never with anything of a key. */

import { deepEqual, equal, ok } from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import { backends } from '#backends/index.ts'
import { isSecret } from '#engine/kit/secret.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { authority, selfSigned } from '#engine/testing/certificates.ts'

const a = selfSigned(['a.test'])
const b = selfSigned(['b.test'])
const rsa = selfSigned(['a.test'], 'rsa')
const encrypted = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' }
}).privateKey
const short = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs1', format: 'pem' })

const FILES: Readonly<Record<string, string>> = {
  'a.pem': a.cert,
  'a.key': a.key,
  'b.pem': b.cert,
  'b.key': b.key,
  'rsa.pem': rsa.cert,
  'rsa.key': rsa.key,
  'other-rsa.key': String(short),
  'encrypted.key': encrypted,
  'garbage.pem': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
  'garbage.key': '-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n',
  'empty.pem': ''
}

function load(listeners: string, top = '') {
  const text = `binds:\n- port: 8443\n  listeners:\n${listeners}\n${top}`
  const readFile = (path: string): string => {
    const found = FILES[path.slice(path.lastIndexOf('/') + 1)]
    if (found !== undefined) return found
    throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
  }
  return loadConfig(text, { file: 'f', env: {}, policies: [], backends, processors: 1, readFile, folder: '/etc' })
}

/** "path: message" of every mistake. */
function mistakes(listeners: string, top = ''): string[] {
  const result = load(listeners, top)
  return result.ok ? [] : result.errors.map(({ path, message }) => `${path}: ${message}`)
}

const AT = 'binds[0].listeners[0].'
const https = (tls: string) => `  - { protocol: HTTPS, tls: { ${tls} } }`
const PAIR = 'cert: a.pem, key: a.key'

describe('listeners of TLS in the file', () => {
  it('become listeners of the Snapshot, with the key as a secret', () => {
    const result = load(https(`${PAIR}, root: b.pem, minTLSVersion: TLS_V1_3`))
    ok(result.ok, JSON.stringify(result))
    const { protocol, tls } = result.snapshot.binds[0]!.listeners[0]!
    equal(protocol, 'HTTPS')
    deepEqual([tls!.cert, tls!.clientCa, tls!.minVersion, tls!.maxVersion], [a.cert, b.cert, '1.3', null])
    ok(isSecret(tls!.key))
    const names = result.files.map(({ path }) => path)
    deepEqual(names, ['/etc/a.pem', '/etc/a.key', '/etc/b.pem'])
  })

  const rows: readonly (readonly [listeners: string, expected: string, top?: string])[] = [
    ['  - { protocol: HTTPS }', `${AT}protocol: HTTPS needs tls, with cert and key`],
    [`  - { tls: { ${PAIR} } }`, `${AT}tls: is of protocols HTTPS and TLS, and this listener speaks HTTP`],
    ['  - { protocol: HTTP2 }', `${AT}protocol: is HTTP, or HTTPS with tls: both speak HTTP2 too`],
    ['  - { protocol: gRPC }', `${AT}protocol: is HTTP, or HTTPS with tls: both speak gRPC too`],
    [https('cert: a.pem'), `${AT}tls.key: is required`],
    [
      https('cert: a.pem, key: b.key'),
      `${AT}tls.key: the key does not belong to the certificate (the first one in the file of cert)`
    ],
    [
      https('cert: rsa.pem, key: other-rsa.key'),
      `${AT}tls.key: the key does not belong to the certificate (the first one in the file of cert)`
    ],
    [https('cert: nowhere.pem, key: a.key'), `${AT}tls.cert: cannot read /etc/nowhere.pem: there is no such file`],
    [
      https('cert: a.key, key: a.pem'),
      `${AT}tls.cert: the file has no certificate in PEM (-----BEGIN CERTIFICATE-----)`
    ],
    [https('cert: garbage.pem, key: a.key'), `${AT}tls.cert: the file has a certificate that cannot be read`],
    [
      https('cert: empty.pem, key: a.key'),
      `${AT}tls.cert: the file has no certificate in PEM (-----BEGIN CERTIFICATE-----)`
    ],
    [
      https('cert: a.pem, key: garbage.key'),
      `${AT}tls.key: the file has no private key in PEM (-----BEGIN PRIVATE KEY-----)`
    ],
    [
      https('cert: a.pem, key: encrypted.key'),
      `${AT}tls.key: the key is encrypted: weir takes one without a passphrase`
    ],
    [
      https(`${PAIR}, root: empty.pem`),
      `${AT}tls.root: the file has no certificate in PEM (-----BEGIN CERTIFICATE-----)`
    ],
    [
      https(`${PAIR}, minTLSVersion: TLS_V1_3, maxTLSVersion: TLS_V1_2`),
      `${AT}tls.minTLSVersion: the lowest version (1.3) is above the highest one (1.2)`
    ],
    [
      https(`${PAIR}, minTLSVersion: TLS_V1_3`),
      `${AT}tls.minTLSVersion: the lowest version (1.3) is above the highest one (1.2)`,
      'frontendPolicies: { tls: { maxProtocolVersion: "1.2" } }'
    ],
    [
      https(`${PAIR}, cipherSuites: [TLS13_AES_128_GCM_SHA256], maxTLSVersion: TLS_V1_2`),
      `${AT}tls.cipherSuites: none of the cipher suites is for a version that is spoken (1.2)`
    ],
    [
      https(`${PAIR}, cipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]`),
      `${AT}tls.cipherSuites: none of the cipher suites fits the certificate, which has a key of type ec`
    ],
    [
      https(`${PAIR}, additionalCertificates: [{ cert: b.pem, key: b.key }, { cert: rsa.pem, key: b.key }]`),
      `${AT}tls.additionalCertificates[1].key: the key does not belong to the certificate (the first one in the file of cert)`
    ],
    [
      https(`${PAIR}, additionalCertificates: [{ cert: rsa.pem }]`),
      `${AT}tls.additionalCertificates[0].key: is required`
    ],
    [
      https(`${PAIR}, mtlsMode: allowInsecureFallback`),
      `${AT}tls.mtlsMode: needs root: without authorities no client is asked for a certificate`
    ],
    [https(`${PAIR}, mode: dynamicCa`), `${AT}tls.mode: listener TLS setting 'mode' is not in this version of weir`],
    [https(`${PAIR}, ca: b.pem`), `${AT}tls.ca: authorities are called root`],
    [https(`${PAIR}, clientCa: b.pem`), `${AT}tls.clientCa: authorities are called root`],
    [https(`${PAIR}, minProtocolVersion: "1.2"`), `${AT}tls.minProtocolVersion: is called minTLSVersion here`],
    [https(`${PAIR}, maxProtocolVersion: "1.2"`), `${AT}tls.maxProtocolVersion: is called maxTLSVersion here`],
    [https(`certificate: a.pem, key: a.key`), `${AT}tls.certificate: is called cert here`],
    [https(`cert: a.pem, privateKey: a.key`), `${AT}tls.privateKey: is called key here`],
    [
      https('cert: "-----BEGIN CERTIFICATE-----\\nMIIB", key: "-----BEGIN PRIVATE KEY-----\\nMIIB"'),
      `${AT}tls.key: must be the path of a file, not the text of it`
    ],
    [
      `${https(PAIR)}\n  - { hostname: b.test }`,
      'binds[0].listeners[1].protocol: TLS and clear text cannot share a port: the other listeners of this one are of the other kind'
    ],
    [
      `  - { protocol: TLS, tls: { ${PAIR} }, tcpRoutes: [{ backends: [{ dynamic: {} }] }] }`,
      `${AT}tcpRoutes[0].backends[0].dynamic: takes TLS on to the server that the client names: behind tls, which ends it, it would be clear text`
    ],
    [
      `  - { protocol: TCP, tls: { ${PAIR} } }`,
      `${AT}tls: is of protocols HTTPS and TLS, and this listener speaks TCP`
    ],
    [
      `  - { protocol: TLS, tls: { ${PAIR} }, routes: [] }`,
      `${AT}routes: are for requests of HTTP: a listener of protocol TLS has tcpRoutes`
    ],
    [
      `${https(PAIR)}\n${https(PAIR)}`,
      'binds[0].listeners[1].hostname: there is already a listener for the host "*" in line 4'
    ]
  ]
  it('takes HTTPS, TLS that ends here and TLS that is passed on, on one port', () => {
    const result = load(`${https(PAIR)}
  - { hostname: b.test, protocol: TLS, tls: { ${PAIR}, root: b.pem }, tcpRoutes: [{ backends: [{ host: "b:1" }] }] }
  - { hostname: c.test, protocol: TLS, tcpRoutes: [{ backends: [{ dynamic: {} }] }] }`)
    ok(result.ok, JSON.stringify(result))
    deepEqual(
      result.snapshot.binds[0]!.listeners.map(({ protocol, tls }) => `${protocol} ${tls?.clientCa === b.cert}`),
      ['HTTPS false', 'TLS true', 'TLS false']
    )
  })

  for (const [listeners, expected, top] of rows) {
    it(`says: ${expected.slice(expected.indexOf(': ') + 2)} (${listeners.trim().slice(0, 60)})`, () => {
      const all = mistakes(listeners, top)
      ok(all.includes(expected), `${expected}\n${all.join('\n')}`)
      ok(!/c2VjcmV0|MII|AAAA/.test(all.join('\n')), 'something of a file is in a message')
    })
  }

  it('lets uws serve HTTPS whose every setting it can honour, and names the others', () => {
    const fits = `frontendPolicies:
  http: { http1IdleTimeout: 12s, http1HeaderTimeout: 12s, http1MaxHeaders: 98 }
  tcp: { keepalives: { time: 0s } }
  tls: { alpnProtocols: [http/1.1], handshakeTimeout: 12s`
    const of = (listener: string, top: string): string[] => {
      const text = `binds:\n- { port: 1, transport: uws, listeners: [${listener}] }\n${top}`
      const readFile = (path: string) => FILES[path.split('/').at(-1)!]!
      const result = loadConfig(text, { file: 'f', env: {}, policies: [], backends, processors: 1, readFile })
      return result.ok ? [] : result.errors.map(({ message }) => message)
    }
    deepEqual(of(`{ protocol: HTTPS, tls: { ${PAIR} } }`, `${fits} }`), [])
    const more =
      'additionalCertificates: [{ cert: b.pem, key: b.key }], root: b.pem, minTLSVersion: TLS_V1_3, cipherSuites: [TLS13_AES_128_GCM_SHA256]'
    const own = `{ name: x, protocol: HTTPS, hostname: "*.a.test", tls: { ${PAIR}, ${more} } }`
    deepEqual(of(own, `${fits}, maxProtocolVersion: "1.2" }`), [
      'uws cannot honour frontendPolicies.tls maximum version (1.2): it speaks TLS 1.2 and 1.3, which cannot be set',
      'uws cannot honour listener x minimum version (1.3): it speaks TLS 1.2 and 1.3, which cannot be set',
      'uws cannot honour listener x cipherSuites (TLS13_AES_128_GCM_SHA256): its suites of TLS 1.3 cannot be set',
      'uws cannot honour listener x root (given): it asks no client for a certificate',
      'uws cannot honour listener x additionalCertificates (given): it has one certificate for a name',
      'uws cannot honour listener x hostname (*.a.test): its wildcards stand for one label',
      'the lowest version (1.3) is above the highest one (1.2)'
    ])
    const defaults = of(`{ protocol: HTTPS, tls: { ${PAIR} } }`, '')
    for (const message of [
      'uws cannot honour the default frontendPolicies.tls alpnProtocols (h2,http/1.1): it speaks HTTP/1.1 only: [http/1.1]',
      'uws cannot honour the default frontendPolicies.tls handshakeTimeout (15000ms): it waits 12000ms for a handshake'
    ])
      ok(defaults.includes(message), defaults.join('\n'))
    const passed = of('{ name: t, protocol: TLS, tcpRoutes: [] }', `${fits} }`)
    ok(passed.includes('uws serves HTTP and HTTPS only, and t has protocol TLS'), passed.join('\n'))
  })

  it('warns of certificates that clients will refuse', () => {
    const key = authority('ca').issue('/CN=old.test', ['DNS:old.test'], -1)
    const files: Record<string, string> = { ...FILES, 'old.pem': key.cert, 'old.key': key.key }
    const listeners = `  - { protocol: HTTPS, tls: { cert: old.pem, key: old.key } }
  - { hostname: z.test, protocol: HTTPS, tls: { ${PAIR} } }
  - { hostname: a.test, protocol: HTTPS, tls: { ${PAIR} } }
  - hostname: c.test
    protocol: HTTPS
    tls: { cert: b.pem, key: b.key, additionalCertificates: [{ cert: a.pem, key: a.key }] }
  - hostname: b.test
    protocol: HTTPS
    tls: { cert: a.pem, key: a.key, additionalCertificates: [{ cert: b.pem, key: b.key }] }`
    const text = `binds:\n- port: 8443\n  listeners:\n${listeners}\n`
    const readFile = (path: string) => files[path.slice(path.lastIndexOf('/') + 1)]!
    const result = loadConfig(text, { file: 'f', env: {}, policies: [], backends, processors: 1, readFile })
    ok(result.ok, JSON.stringify(result))
    equal(result.warnings.length, 3)
    ok(/listeners\[0\]\.tls\.cert: the certificate has expired/.test(result.warnings[0]!))
    ok(/listeners\[1\]\.tls\.cert: the certificate is not for "z\.test"/.test(result.warnings[1]!))
    ok(/listeners\[3\]\.tls\.cert: none of the certificates is for "c\.test"/.test(result.warnings[2]!))
  })
})
