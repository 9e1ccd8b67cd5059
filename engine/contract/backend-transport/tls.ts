/** Policy `backendTLS` of a file (docs/specification.md#backend-tls): the schema, and the files that it names. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { BackendTls } from '#engine/contract/backend-transport/transport.ts'
import { FieldError, type Sources } from '#engine/contract/policy.ts'
import { secret } from '#engine/kit/secret.ts'
import { host } from '#engine/schema/net.ts'
import { list, longString, misplacedKeys, refusedKeys, shortString, tinyString, z } from '#engine/schema/schema.ts'
import { together } from '#engine/schema/together.ts'

/** docs/specification.md#backend-tls. */
const NAMES_MAX = 16

/** Names of the specification, beside those of a file that say the same. */
const TWINS = [
  ['hostname', 'sni'],
  ['subjectAltNames', 'verifySubjectAltNames'],
  ['alpn', 'alpnProtocols']
] as const

const OF_RESOURCES = 'is for resources of Kubernetes: a file has'

const serverName = () => host().refine((name) => isIP(name) === 0, 'must be a name: SNI has no addresses (RFC 6066)')
/** SNI of docs/specification.md#leaf-types. */
const SNI_CHARS_MAX = 253
const SNI = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/
const sni = () =>
  z
    .string()
    .min(1, 'must not be empty')
    .max(SNI_CHARS_MAX, `must have at most ${SNI_CHARS_MAX} characters`)
    .refine((name) => name === '' || name.length > SNI_CHARS_MAX || SNI.test(name), {
      error: 'must be a host name: labels of lower-case letters, digits and "-", with dots between them'
    })
    .refine((name) => isIP(name) === 0, 'must be a name: SNI has no addresses (RFC 6066)')
const altName = () =>
  shortString().regex(
    /^(?:[a-z][a-z0-9+.-]*:\/\/[!-~]+|[A-Za-z0-9_.:-]+)$/i,
    'must be a DNS name, an address or a URI such as spiffe://domain/path, not a pattern'
  )
const protocol = () => tinyString().regex(/^[!-~]+$/, 'must be visible ASCII characters')

const SCHEMA = z
  .strictObject({
    cert: longString().optional().describe('File with our own certificate and its chain (PEM), for mTLS.'),
    key: longString().optional().describe('File with the key of cert (PEM).'),
    root: longString().optional().describe("File with the authorities that are trusted (PEM). Default: the system's."),
    hostname: serverName().optional().describe("In SNI and in the certificate. Default: the destination's host."),
    sni: sni().optional().describe('Another name of hostname.'),
    insecure: z.boolean().optional().describe('Nothing of the certificate is verified. As insecureSkipVerify: All.'),
    insecureHost: z.boolean().optional().describe('Its name is not. As insecureSkipVerify: Hostname.'),
    insecureSkipVerify: z.enum(['All', 'Hostname']).optional().describe('What of the certificate is not verified.'),
    subjectAltNames: list(altName(), 1, NAMES_MAX)
      .optional()
      .describe('The certificate must be for one of these instead: DNS names, addresses or URIs.'),
    verifySubjectAltNames: list(altName(), 1, NAMES_MAX).optional().describe('Another name of subjectAltNames.'),
    alpn: list(protocol(), 1, NAMES_MAX).optional().describe('Protocols to offer. Default h2, http/1.1.'),
    alpnProtocols: list(protocol(), 1, NAMES_MAX).optional().describe('Another name of alpn.'),
    mtlsCertificateRef: z.never({ error: `${OF_RESOURCES} cert and key` }).optional(),
    caCertificateRefs: z.never({ error: `${OF_RESOURCES} root` }).optional(),
    ...misplacedKeys('authorities are called root', ['ca', 'caCert']),
    ...refusedKeys('TLS setting', [
      'crl',
      'keyExchangeGroups',
      'spiffe',
      'minTLSVersion',
      'maxTLSVersion',
      'cipherSuites'
    ])
  })
  .check(
    together<RawTls>([], ({ value, issues }) => {
      const report = (path: string, message: string) => {
        issues.push({ code: 'custom', path: [path], message, input: value })
      }
      for (const [one, other] of TWINS) {
        if (value[one] !== undefined && value[other] !== undefined) {
          report(other, `says again what ${one} says: keep one of them`)
        }
      }
      if ((value.cert === undefined) !== (value.key === undefined)) {
        report(
          value.cert === undefined ? 'key' : 'cert',
          `needs ${value.cert === undefined ? 'cert' : 'key'} beside it`
        )
      }
      checkVerify(value, report)
    })
  )
  .meta({ id: 'BackendTls' })

interface RawTls {
  readonly cert?: unknown
  readonly key?: unknown
  readonly root?: unknown
  readonly hostname?: unknown
  readonly sni?: unknown
  readonly insecure?: unknown
  readonly insecureHost?: unknown
  readonly insecureSkipVerify?: unknown
  readonly subjectAltNames?: unknown
  readonly verifySubjectAltNames?: unknown
  readonly alpn?: unknown
  readonly alpnProtocols?: unknown
}

/** At most one of verifySubjectAltNames and insecureSkipVerify (docs/specification.md#backend-tls). */
function checkVerify(value: RawTls, report: (path: string, message: string) => void): void {
  const skips = [
    ...(value.insecure === true ? ['insecure'] : []),
    ...(value.insecureHost === true ? ['insecureHost'] : []),
    ...(value.insecureSkipVerify === undefined ? [] : ['insecureSkipVerify'])
  ]
  const [skip] = skips
  if (skip === undefined) return
  for (const other of skips.slice(1)) report(other, `says again, or otherwise, what ${skip} says: keep one of them`)
  const names = value.subjectAltNames === undefined ? 'verifySubjectAltNames' : 'subjectAltNames'
  if (value[names] !== undefined) report(names, `is never looked at with ${skip}: keep one of them`)
  const isAll = value.insecure === true || value.insecureSkipVerify === 'All'
  if (isAll && value.root !== undefined) report('root', `is never looked at with ${skip}: keep one of them`)
}

// One, so that the JSON Schema has it once.
export const backendTls = () => SCHEMA

export type FileTls = z.output<typeof SCHEMA>

export function verifyOf(raw: RawTls): NonNullable<BackendTls['verify']> {
  if (raw.insecure === true || raw.insecureSkipVerify === 'All') return 'none'
  return raw.insecureHost === true || raw.insecureSkipVerify === 'Hostname' ? 'chain' : 'full'
}

/** Throws a FieldError for a file that cannot be read or does not hold what it should. */
export function readTls(file: FileTls, sources: Sources): BackendTls {
  const cert = file.cert === undefined ? null : certificates('cert', file.cert, sources)
  const key = file.key === undefined || cert === null ? null : keyOf(file.key, cert, sources)
  const alpn = file.alpn ?? file.alpnProtocols
  return {
    hostname: file.hostname ?? file.sni ?? null,
    ca: file.root === undefined ? null : certificates('root', file.root, sources),
    cert,
    key: key === null ? null : secret(key),
    verify: verifyOf(file),
    subjectAltNames: file.subjectAltNames ?? file.verifySubjectAltNames ?? null,
    ...(alpn === undefined ? {} : { alpn: [...new Set(alpn)] })
  }
}

const CERTIFICATE = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^-]*-----END (?:TRUSTED )?CERTIFICATE-----/g

/** The certificates of a file, each of which can be read. What stands between them is left out. */
function certificates(field: 'cert' | 'root', path: string, sources: Sources): string {
  const found = readText(field, path, sources).match(CERTIFICATE)
  if (found === null) throw new FieldError([field], `${path} has no certificate (PEM)`)
  found.forEach((pem, i) => {
    try {
      new X509Certificate(pem)
    } catch {
      throw new FieldError([field], `certificate ${i + 1} of ${path} is damaged`)
    }
  })
  return `${found.join('\n')}\n`
}

function keyOf(path: string, cert: string, sources: Sources): string {
  const text = readText('key', path, sources)
  let key: ReturnType<typeof createPrivateKey>
  try {
    key = createPrivateKey(text)
  } catch {
    // OpenSSL's message is of no use, and the text is secret.
    const isEncrypted = /ENCRYPTED/.test(text)
    throw new FieldError(['key'], isEncrypted ? `${path} is encrypted` : `${path} has no private key (PEM)`)
  }
  if (!new X509Certificate(cert).checkPrivateKey(key)) {
    throw new FieldError(['key'], `${path} is not the key of the first certificate in cert`)
  }
  return text
}

function readText(field: string, path: string, sources: Sources): string {
  try {
    return sources.readFile(path)
  } catch (error) {
    throw new FieldError([field], (error as Error).message)
  }
}
