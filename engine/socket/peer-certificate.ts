/** A certificate, from its bytes to what expressions may read of it and what services are told. */
import { X509Certificate } from 'node:crypto'

/** A client's certificate as expressions see it (source.*). */
export interface PeerCertificate {
  /** Distinguished names, RFC 2253 order as OpenSSL prints them. */
  readonly subject: string
  readonly issuer: string
  readonly subjectAltNames: readonly string[]
  /** Hexadecimal, lower case. */
  readonly serial: string
  readonly fingerprintSha256: string
  readonly pem: string
  /** Who it speaks for, in one text: principalOf. */
  readonly principal: string
}

/** Names of one certificate that are read; more are no identity. */
const NAMES_MAX = 256
const READ_TYPES = ['DNS', 'URI', 'IP Address', 'email']

/** Null without bytes: no certificate was shown. */
export function peerOf(der: Buffer | undefined): PeerCertificate | null {
  if (der === undefined) return null
  const certificate = new X509Certificate(der)
  return {
    subject: nameOf(certificate.subject),
    issuer: nameOf(certificate.issuer),
    subjectAltNames: altNames(certificate.subjectAltName),
    serial: certificate.serialNumber.toLowerCase(),
    fingerprintSha256: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
    pem: certificate.toString(),
    principal: principalOf(certificate)
  }
}

/**
 * The first URI of a certificate, else its first DNS name, else its subject (Peer.principal in
 * envoy/service/auth/v3/attribute_context.proto). Of the subject, octets beyond ASCII are escaped, as RFC 2253 section
 * 2.4 allows and Envoy does.
 */
export function principalOf({ subjectAltName, subject }: X509Certificate): string {
  const names = typedNames(subjectAltName)
  const name = names.find(({ type }) => type === 'URI') ?? names.find(({ type }) => type === 'DNS')
  return name?.value ?? nameOf(subject).replace(/[^\x20-\x7e]+/g, escaped)
}

const escaped = (text: string): string => Buffer.from(text).toString('hex').toUpperCase().replace(/../g, '\\$&')

/** Node prints one attribute a line, escaped as RFC 2253 has it, in the order of the certificate. */
function nameOf(lines: string | undefined): string {
  return (lines ?? '').split('\n').filter(Boolean).reverse().join(',')
}

/** The values of typedNames. */
export const altNames = (text: string | undefined): string[] => typedNames(text).map(({ value }) => value)

/** The names of servers that it is for. */
export const dnsNamesOf = ({ subjectAltName }: X509Certificate): string[] =>
  typedNames(subjectAltName).flatMap(({ type, value }) => (type === 'DNS' ? value : []))

interface AltName {
  /** One of READ_TYPES. */
  readonly type: string
  readonly value: string
}

/**
 * "DNS:a.test, URI:spiffe://b, IP Address:192.0.2.1" -> types and values. Node prints one with a comma, a quotation
 * mark or other odd characters as a JSON string, so that a value never passes for two.
 */
function typedNames(text: string | undefined): AltName[] {
  const names: AltName[] = []
  for (const [, type, value] of (text ?? '').matchAll(/([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/gy)) {
    if (names.length < NAMES_MAX && READ_TYPES.includes(type!)) names.push({ type: type!, value: plain(value!) })
  }
  return names
}

function plain(value: string): string {
  if (!value.startsWith('"')) return value
  try {
    return String(JSON.parse(value))
  } catch {
    // What is no JSON after all stands for itself.
    return value
  }
}
