/** Policy `backendTLS` of a file (docs/specification.md#backend-tls): the schema, and the files that it names. */

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { BackendTls } from '#engine/contract/backend-transport/transport.ts'
import { FieldError, type Sources } from '#engine/contract/policy.ts'
import { type NamedSecret, secretEntry } from '#engine/contract/secrets.ts'
import { secret } from '#engine/kit/secret.ts'
import { host } from '#engine/schema/net.ts'
import { cel, cels, keywords } from '#engine/schema/rule.ts'
import { list, longString, misplacedKeys, refusedKeys, shortString, tinyString, z } from '#engine/schema/schema.ts'
import { authoritiesRef, secretRef } from '#engine/schema/secret-ref.ts'
import { describedInResources, onlyInFiles } from '#engine/schema/spelling.ts'
import { together } from '#engine/schema/together.ts'

/** docs/specification.md#backend-tls. */
const NAMES_MAX = 16

/** Names of the specification, beside those of a file that say the same. */
const TWINS = [
  ['hostname', 'sni'],
  ['subjectAltNames', 'verifySubjectAltNames'],
  ['alpn', 'alpnProtocols']
] as const

/** Entries of secrets; the second name of authorities is that of Kubernetes. */
const CERT_ENTRY = 'tls.crt'
const KEY_ENTRY = 'tls.key'
const CA_ENTRIES = ['ca.cert', 'ca.crt'] as const

const SECRETS = [
  ['mtlsCertificateRef', 'cert', 'key'],
  ['caCertificateRefs', 'root']
] as const

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
      error: 'must be a host name: labels of lower-case letters, digits and "-", with dots between them',
      params: keywords({ pattern: SNI.source })
    })
    .refine((name) => isIP(name) === 0, {
      error: 'must be a name: SNI has no addresses (RFC 6066)',
      params: cel('!isIP(self)')
    })
const altName = () =>
  shortString().regex(
    /^(?:[a-z][a-z0-9+.-]*:\/\/[!-~]+|[A-Za-z0-9_.:-]+)$/i,
    'must be a DNS name, an address or a URI such as spiffe://domain/path, not a pattern'
  )
const protocol = () => tinyString().regex(/^[!-~]+$/, 'must be visible ASCII characters')

const HOSTNAME = "In SNI and in the certificate. Default: the destination's host."
const ALT_NAMES = 'The certificate must be for one of these instead: DNS names, addresses or URIs.'
const PROTOCOLS = 'Protocols to offer. Default h2, http/1.1.'

/** Of what is checked here, what resources have. */
const IN_RESOURCES = cels(
  {
    expression: '!(has(self.verifySubjectAltNames) && has(self.insecureSkipVerify))',
    message: 'must have at most one of verifySubjectAltNames, insecureSkipVerify'
  },
  {
    expression: "!(has(self.caCertificateRefs) && has(self.insecureSkipVerify) && self.insecureSkipVerify == 'All')",
    message: 'is never looked at with insecureSkipVerify: All',
    field: 'caCertificateRefs'
  }
)

const SCHEMA = z
  .strictObject({
    cert: onlyInFiles(longString().optional()).describe('File with our own certificate and its chain (PEM), for mTLS.'),
    key: onlyInFiles(longString().optional()).describe('File with the key of cert (PEM).'),
    root: onlyInFiles(longString().optional()).describe(
      "File with the authorities that are trusted (PEM). Default: the system's."
    ),
    hostname: onlyInFiles(serverName().optional()).describe(HOSTNAME),
    sni: describedInResources(sni().optional(), HOSTNAME).describe('Another name of hostname.'),
    insecure: onlyInFiles(z.boolean().optional()).describe(
      'Nothing of the certificate is verified. As insecureSkipVerify: All.'
    ),
    insecureHost: onlyInFiles(z.boolean().optional()).describe('Its name is not. As insecureSkipVerify: Hostname.'),
    insecureSkipVerify: z.enum(['All', 'Hostname']).optional().describe('What of the certificate is not verified.'),
    subjectAltNames: onlyInFiles(list(altName(), 1, NAMES_MAX).optional()).describe(ALT_NAMES),
    verifySubjectAltNames: describedInResources(list(altName(), 1, NAMES_MAX).optional(), ALT_NAMES).describe(
      'Another name of subjectAltNames.'
    ),
    alpn: onlyInFiles(list(protocol(), 1, NAMES_MAX).optional()).describe(PROTOCOLS),
    alpnProtocols: describedInResources(list(protocol(), 1, NAMES_MAX).optional(), PROTOCOLS).describe(
      'Another name of alpn.'
    ),
    mtlsCertificateRef: list(secretRef(`${CERT_ENTRY}, ${KEY_ENTRY} and perhaps ${CA_ENTRIES[0]}`), 1, 1)
      .optional()
      .describe('Instead of cert and key: a secret.'),
    caCertificateRefs: list(authoritiesRef(CA_ENTRIES[0]), 1, 1)
      .optional()
      .describe('Instead of root: a secret. It goes before the authorities that are beside the certificate.'),
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
    together<RawTls>(
      [],
      ({ value, issues }) => {
        const report = (path: string, message: string) => {
          issues.push({ code: 'custom', path: [path], message, input: value })
        }
        for (const [one, other] of TWINS) {
          if (value[one] !== undefined && value[other] !== undefined) {
            report(other, `says again what ${one} says: keep one of them`)
          }
        }
        for (const [ref, ...instead] of SECRETS) {
          for (const key of value[ref] === undefined ? [] : instead.filter((one) => value[one] !== undefined)) {
            report(ref, `says again what ${key} says: keep one of them`)
          }
        }
        if ((value.cert === undefined) !== (value.key === undefined)) {
          report(
            value.cert === undefined ? 'key' : 'cert',
            `needs ${value.cert === undefined ? 'cert' : 'key'} beside it`
          )
        }
        checkVerify(value, report)
      },
      IN_RESOURCES
    )
  )
  .meta({ id: 'BackendTls' })

interface RawTls {
  readonly cert?: unknown
  readonly key?: unknown
  readonly root?: unknown
  readonly mtlsCertificateRef?: unknown
  readonly caCertificateRefs?: unknown
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
  for (const key of ['root', 'caCertificateRefs'] as const) {
    if (isAll && value[key] !== undefined) report(key, `is never looked at with ${skip}: keep one of them`)
  }
}

// One, so that the JSON Schema has it once.
export const backendTls = () => SCHEMA

export type FileTls = z.output<typeof SCHEMA>

export function verifyOf(raw: RawTls): NonNullable<BackendTls['verify']> {
  if (raw.insecure === true || raw.insecureSkipVerify === 'All') return 'none'
  return raw.insecureHost === true || raw.insecureSkipVerify === 'Hostname' ? 'chain' : 'full'
}

/** Throws a FieldError for a file or a secret that cannot be read or does not hold what it should. */
export function readTls(file: FileTls, sources: Sources): BackendTls {
  const own = identityOf(file, sources)
  const alpn = file.alpn ?? file.alpnProtocols
  return {
    hostname: file.hostname ?? file.sni ?? null,
    ca: authoritiesOf(file, sources),
    cert: own === null ? null : own.cert,
    key: own === null ? null : secret(own.key),
    verify: verifyOf(file),
    subjectAltNames: file.subjectAltNames ?? file.verifySubjectAltNames ?? null,
    ...(alpn === undefined ? {} : { alpn: [...new Set(alpn)] })
  }
}

/** What is read, how messages call it, and the field that refers to it. */
interface Material {
  readonly text: string
  readonly name: string
  readonly at: readonly PropertyKey[]
}

interface Pem {
  readonly cert: string
  readonly key: string
}

/** Our own certificate and its key; null: none. */
function identityOf(file: FileTls, sources: Sources): Pem | null {
  const [ref] = file.mtlsCertificateRef ?? []
  if (ref !== undefined) {
    const at = ['mtlsCertificateRef', 0, 'name']
    const named = secretAt(ref.name, at, sources)
    const cert = certificates(entryOf(named, CERT_ENTRY, at))
    return { cert, key: keyOf(entryOf(named, KEY_ENTRY, at), cert) }
  }
  if (file.cert === undefined || file.key === undefined) return null
  const cert = certificates(fileAt('cert', file.cert, sources))
  return { cert, key: keyOf(fileAt('key', file.key, sources), cert) }
}

function authoritiesOf(file: FileTls, sources: Sources): string | null {
  if (file.root !== undefined) return certificates(fileAt('root', file.root, sources))
  const [ref] = file.caCertificateRefs ?? []
  if (ref !== undefined) {
    const at = ['caCertificateRefs', 0, 'name']
    const named = secretAt(ref.name, at, sources)
    return certificates(entryOf(named, caEntry(named) ?? CA_ENTRIES[0], at))
  }
  const [beside] = file.mtlsCertificateRef ?? []
  if (beside === undefined) return null
  const at = ['mtlsCertificateRef', 0, 'name']
  const named = secretAt(beside.name, at, sources)
  const entry = caEntry(named)
  return entry === undefined ? null : certificates(entryOf(named, entry, at))
}

const caEntry = ({ entries }: NamedSecret) => CA_ENTRIES.find((entry) => entries.has(entry))

function fileAt(field: string, path: string, sources: Sources): Material {
  return { text: attempt([field], () => sources.readFile(path)), name: path, at: [field] }
}

function secretAt(name: string, at: readonly PropertyKey[], { secrets }: Sources): NamedSecret {
  return attempt(at, () => secrets.get(name))
}

function entryOf(named: NamedSecret, entry: string, at: readonly PropertyKey[]): Material {
  return { text: attempt(at, () => secretEntry(named, entry)), name: `'${entry}' of secret '${named.name}'`, at }
}

function attempt<T>(at: readonly PropertyKey[], read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new FieldError(at, (error as Error).message)
  }
}

const CERTIFICATE = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^-]*-----END (?:TRUSTED )?CERTIFICATE-----/g

/** The certificates of a text, each of which can be read. What stands between them is left out. */
function certificates({ text, name, at }: Material): string {
  const found = text.match(CERTIFICATE)
  if (found === null) throw new FieldError(at, `${name} has no certificate (PEM)`)
  const damaged = damagedOf(found)
  if (damaged !== null) throw new FieldError(at, `certificate ${damaged} of ${name} is damaged`)
  return `${found.join('\n')}\n`
}

/** What is wrong with a text that should have certificates; null: nothing. */
export function pemProblem(text: string): string | null {
  const found = text.match(CERTIFICATE)
  if (found === null) return 'has no certificate (PEM)'
  const damaged = damagedOf(found)
  return damaged === null ? null : `has a certificate that is damaged, number ${damaged}`
}

/** The number of the first that cannot be read; null: all can. */
function damagedOf(all: readonly string[]): number | null {
  for (const [i, pem] of all.entries()) {
    try {
      new X509Certificate(pem)
    } catch {
      return i + 1
    }
  }
  return null
}

function keyOf({ text, name, at }: Material, cert: string): string {
  let key: ReturnType<typeof createPrivateKey>
  try {
    key = createPrivateKey(text)
  } catch {
    // OpenSSL's message is of no use, and the text is secret.
    const isEncrypted = /ENCRYPTED/.test(text)
    throw new FieldError(at, isEncrypted ? `${name} is encrypted` : `${name} has no private key (PEM)`)
  }
  if (!new X509Certificate(cert).checkPrivateKey(key)) {
    throw new FieldError(at, `${name} is not the key of the first certificate in cert`)
  }
  return text
}
