/** The life of a workload certificate: asked for, renewed, not renewed, expired; and roots that are replaced. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import type { MeshCredentials } from '#engine/contract/endpoint.ts'
import { SECRET_KEY } from '#engine/kit/secret.ts'
import { type Authority, authority } from '#engine/testing/certificates.ts'
import { ManualTime } from '#engine/testing/manual-time.ts'
import { WorkloadCertificate } from './workload-certificate.ts'

const root = authority('root.test')
const next = authority('next.test')
/** Certificates of openssl are for a day from now. */
const BEGUN = Date.now()
const DAY_MS = 86_400_000
const HALF_MS = DAY_MS / 2
const MINUTE_MS = 60_000

/** A certificate of this process; asks are answered by the test. */
function rig(t: { after(work: () => void): void }) {
  const clock = new ManualTime()
  const { now, after, random } = clock
  const logged: string[] = []
  const published: MeshCredentials[] = []
  const own = { roots: root.cert, signer: root as Authority, fault: '', requests: 0 }
  const certificate = new WorkloadCertificate({
    trustDomain: 'mesh.test',
    identity: 'ns/demo/sa/edge',
    roots: () => own.roots,
    sign: async (request) => {
      own.requests++
      if (own.fault !== '') throw new Error(own.fault)
      return [own.signer.sign(request), own.signer.cert]
    },
    onCredentials: (credentials) => published.push(credentials),
    time: { now, after, random, wallNow: () => BEGUN + clock.ms },
    log: (level, message) => logged.push(`${level} ${message}`)
  })
  t.after(() => certificate.close())
  const last = () => published.at(-1)!
  const serial = () => {
    const credentials = last()
    return 'reason' in credentials ? credentials.reason : new X509Certificate(credentials.cert).serialNumber
  }
  return { clock, logged, published, own, certificate, last, serial, settled: () => new Promise(setImmediate) }
}

test('the first comes at the start, with its key and the root, and is for this workload', async (t) => {
  const { certificate, last, logged } = rig(t)
  await certificate.start()
  const credentials = last()
  ok(!('reason' in credentials))
  equal(new X509Certificate(credentials.cert).subjectAltName, 'URI:spiffe://mesh.test/ns/demo/sa/edge')
  match(credentials.key[SECRET_KEY], /BEGIN PRIVATE KEY/)
  equal(credentials.ca.trim(), root.cert.trim())
  match(logged.join('\n'), /^info this process is spiffe:\/\/mesh\.test\/ns\/demo\/sa\/edge in the mesh until /)
})

test('it is renewed after half of its life', async (t) => {
  const { certificate, clock, own, serial, settled, published } = rig(t)
  await certificate.start()
  const before = serial()
  clock.pass(HALF_MS - MINUTE_MS)
  await settled()
  equal(own.requests, 1)
  clock.pass(2 * MINUTE_MS)
  await settled()
  equal(own.requests, 2)
  ok(serial() !== before)
  equal(published.length, 2)
})

test('without an authority it is used until it expires, which is told, and then nothing is', async (t) => {
  const { certificate, clock, own, last, logged, settled } = rig(t)
  await certificate.start()
  own.fault = 'istiod:15012: it is gone'
  clock.pass(HALF_MS + MINUTE_MS)
  await settled()
  match(logged.at(-1)!, /^warn the certificate of the mesh is not renewed: istiod:15012: it is gone; it is used until /)
  const lines = logged.length
  for (let i = 0; i < 8; i++) {
    clock.pass(MINUTE_MS)
    await settled()
  }
  ok(own.requests > 8)
  equal(logged.length, lines, 'the same is told once')
  clock.pass(DAY_MS / 4)
  await settled()
  match(logged.at(-1)!, /, which is soon$/)
  ok(!('reason' in last()))
  clock.pass(DAY_MS / 4)
  await settled()
  const gone = last()
  ok('reason' in gone)
  match(logged.join('\n'), /error the certificate of the mesh: it has expired at .*: its workloads cannot be reached/)
  own.fault = ''
  // Certificates of openssl begin now, which is a day ago for this clock.
  own.signer = { ...root, sign: () => root.issue('/O=a', ['URI:spiffe://mesh.test/ns/demo/sa/edge'], 9).cert }
  clock.pass(MINUTE_MS)
  await settled()
  match(logged.at(-1)!, /a certificate for another key$/)
})

test('at the start without an authority there is a reason, asked is again, and what comes counts', async (t) => {
  const { certificate, clock, own, published, settled, logged } = rig(t)
  own.fault = 'istiod:15012: nobody is there'
  await certificate.start()
  deepEqual(published, [{ reason: own.fault }])
  match(logged.join('\n'), /^warn there is no certificate of the mesh, and its workloads cannot be reached: istiod/)
  own.fault = ''
  clock.pass(MINUTE_MS)
  await settled()
  ok(!('reason' in published.at(-1)!))
})

test('one for another workload, for another key, or past by this clock is not used', async (t) => {
  const { certificate, clock, own, published, logged, settled } = rig(t)
  own.signer = { ...root, sign: () => root.issue('/O=a', ['URI:spiffe://mesh.test/ns/demo/sa/other']).cert }
  await certificate.start()
  match(logged.at(-1)!, /is not for spiffe:\/\/mesh\.test\/ns\/demo\/sa\/edge$/)
  own.signer = { ...root, sign: () => 'nothing' }
  clock.pass(MINUTE_MS)
  await settled()
  match(logged.at(-1)!, /has given no certificate$/)
  own.signer = root
  clock.pass(2 * DAY_MS)
  await settled()
  match(logged.at(-1)!, /are clocks wrong\?$/)
  ok(published.every((one) => 'reason' in one))
})

test('roots that are replaced are believed beside those of before, as soon as they are there', async (t) => {
  const { certificate, clock, own, last, serial, settled } = rig(t)
  await certificate.start()
  const before = serial()
  own.roots = `${root.cert}\n${next.cert}`
  clock.pass(MINUTE_MS)
  const both = last()
  ok(!('reason' in both))
  equal(both.ca.match(/BEGIN CERTIFICATE/g)!.length, 2)
  equal(serial(), before)
  own.roots = 'no certificate'
  clock.pass(MINUTE_MS)
  equal(serial(), before)
  own.roots = root.cert
  own.signer = next
  clock.pass(HALF_MS)
  await settled()
  const rotated = last()
  ok(!('reason' in rotated))
  ok(serial() !== before)
  // The answer has the new root before the ConfigMap has it.
  ok(rotated.ca.includes(next.cert.trim()) && rotated.ca.includes(root.cert.trim()))
})
