/** A request for the certificate of a workload (PKCS #10, RFC 2986) with a key of its own. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { bits, boolean, implicit, integer, octets, oid, pem, sequence, set, tagged } from '#engine/kit/der.ts'

const ECDSA_SHA256 = sequence(oid('1.2.840.10045.4.3.2'))
const EXTENSION_REQUEST = oid('1.2.840.113549.1.9.14')
const ALTERNATIVE_NAMES = oid('2.5.29.17')
const VERSION_1 = integer(Buffer.from([0]))
/** The name of a workload is its URI alone. */
const NO_SUBJECT = sequence()
const URI = 6

export interface CertificateRequest {
  /** PEM. */
  readonly text: string
  readonly key: KeyObject
}

/** `uri`: "spiffe://cluster.local/ns/demo/sa/edge". The key is on the curve P-256. */
export function certificateRequest(uri: string): CertificateRequest {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  // Critical where there is no subject (RFC 5280 section 4.2.1.6).
  const names = sequence(ALTERNATIVE_NAMES, boolean(true), octets(sequence(implicit(URI, Buffer.from(uri)))))
  const attributes = tagged(0, sequence(EXTENSION_REQUEST, set(sequence(names))))
  const content = sequence(VERSION_1, NO_SUBJECT, publicKey.export({ type: 'spki', format: 'der' }), attributes)
  const signature = sign('sha256', content, privateKey)
  return { text: pem('CERTIFICATE REQUEST', sequence(content, ECDSA_SHA256, bits(signature))), key: privateKey }
}
