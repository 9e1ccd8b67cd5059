/** Principals, of certificates that openssl has made. */
import { equal } from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { authority } from '#engine/testing/certificates.ts'
import { peerOf, principalOf } from './peer-certificate.ts'

const { issue } = authority('test')

const CASES: readonly (readonly [what: string, subject: string, names: readonly string[], principal: string])[] = [
  [
    'a SPIFFE ID behind other names',
    '/CN=c',
    ['DNS:a.test', 'URI:spiffe://td/a', 'URI:spiffe://td/b'],
    'spiffe://td/a'
  ],
  ['a URI without an authority', '/CN=c', ['DNS:a.test', 'URI:urn:example:a'], 'urn:example:a'],
  ['the first DNS name', '/CN=c', ['email:a@b.test', 'IP:192.0.2.1', 'DNS:a.test', 'DNS:b.test'], 'a.test'],
  ['the subject where other names are there alone', '/O=o/CN=c', ['email:a@b.test', 'IP:192.0.2.1'], 'CN=c,O=o'],
  ['the subject without names', '/C=DE/O=o/CN=c', [], 'CN=c,O=o,C=DE'],
  // openssl takes -subj for Latin-1: what is two octets of UTF-8 is two letters.
  ['the subject with escapes', '/O=a, "b"/CN=ü', [], 'CN=\\C3\\83\\C2\\BC,O=a\\, \\"b\\"']
]

for (const [what, subject, names, principal] of CASES) {
  test(`a principal: ${what}`, () => {
    const certificate = new X509Certificate(issue(subject, names).cert)
    equal(principalOf(certificate), principal)
    equal(peerOf(certificate.raw)?.principal, principal)
  })
}
