import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { makeCertificate } from './certificate.ts'

const NOW = Date.UTC(2026, 10, 23, 8)

test('a certificate names what it is for, is its own authority and valid from a day ago', () => {
  const names = ['weir.weir-system.svc', 'localhost', '127.0.0.1', '::1', 'fd00::2:3']
  const { cert, key } = makeCertificate({ names, validDays: 365, now: NOW })
  const made = new X509Certificate(cert)
  assert.match(key, /PRIVATE KEY/)
  assert.equal(made.ca, true)
  assert.equal(made.verify(made.publicKey), true)
  assert.equal(made.checkIssued(made), true)
  for (const name of ['weir.weir-system.svc', 'localhost']) assert.equal(made.checkHost(name), name)
  for (const name of ['127.0.0.1', '::1', 'fd00::2:3']) assert.equal(made.checkIP(name), name)
  assert.equal(made.checkHost('other.svc'), undefined)
  assert.equal(Date.parse(made.validFrom), NOW - 86_400_000)
  assert.equal(Date.parse(made.validTo), NOW + 365 * 86_400_000)
  assert.deepEqual(made.keyUsage, ['1.3.6.1.5.5.7.3.1'])
})
