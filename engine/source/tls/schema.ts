/** TLS towards clients: `tls` of a listener, and frontendPolicies.tls (docs/specification.md#frontend-tls). */

import type { Sources } from '#engine/contract/policy.ts'
import type { FrontendTls, ListenerTls, TlsVersion } from '#engine/ir/frontend.ts'
import { PROTOCOL_DEFAULTS } from '#engine/ir/plain.ts'
import { secret } from '#engine/kit/secret.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { positiveDuration } from '#engine/schema/duration.ts'
import { list, longString, misplacedKeys, refusedKeys, z } from '#engine/schema/schema.ts'
import { inResources } from '#engine/schema/spelling.ts'
import { CIPHER_SUITES } from '#engine/socket/cipher-suites.ts'

const ALPN_MAX = 16

const VERSIONS: Readonly<Record<string, TlsVersion>> = { TLS_V1_2: '1.2', TLS_V1_3: '1.3' }

const listenerVersion = () => z.enum(['TLS_V1_2', 'TLS_V1_3'])
const VERSION = z.enum(['1.2', '1.3'])
/** YAML reads 1.2 without quotes as a number, which is never intended. */
const version = () =>
  inResources(z.union([VERSION, z.literal([1.2, 1.3])], { error: 'must be 1.2 or 1.3' }).transform(String), VERSION)
const cipherSuites = () => list(z.enum(CIPHER_SUITES as [string, ...string[]]), 1, CIPHER_SUITES.length).optional()

const CERTIFICATES_MAX = 64

const keyPair = () =>
  z.strictObject({
    cert: longString().describe('As cert of the listener.'),
    key: longString().describe('As key of the listener.')
  })

export const listenerTlsSchema = z
  .strictObject({
    cert: longString().describe('Path of a PEM file: the certificate, then those between it and its authority.'),
    key: longString().describe('Path of a PEM file: the private key, not encrypted.'),
    root: longString()
      .optional()
      .describe('Path of a PEM file: authorities. Clients then have to show a certificate of one of them (mTLS).'),
    mtlsMode: z
      .enum(['strict', 'allowInsecureFallback'])
      .optional()
      .describe(
        'With root. Default strict. allowInsecureFallback: clients are asked for a certificate, and let in without ' +
          'one, or with one that does not pass, which then counts as none.'
      ),
    additionalCertificates: list(keyPair(), 1, CERTIFICATES_MAX)
      .optional()
      .describe('More than one: the name that a client asks for (SNI), then the keys that it takes choose.'),
    minTLSVersion: listenerVersion().optional().describe('Default: that of frontendPolicies.tls.'),
    maxTLSVersion: listenerVersion().optional().describe('Default: that of frontendPolicies.tls.'),
    cipherSuites: cipherSuites().describe('Default: those of frontendPolicies.tls.'),
    ...misplacedKeys('authorities are called root', ['ca', 'caCert', 'clientCa']),
    ...misplacedKeys('is called cert here', ['certificate', 'certFile']),
    ...misplacedKeys('is called key here', ['keyFile', 'privateKey']),
    ...misplacedKeys('is called minTLSVersion here', ['minProtocolVersion']),
    ...misplacedKeys('is called maxTLSVersion here', ['maxProtocolVersion']),
    ...refusedKeys('listener TLS setting', ['crl', 'keyExchangeGroups', 'mode', 'spiffe'])
  })
  .describe('Of protocols HTTPS and TLS: TLS ends here. The files are read again when they change.')

export const frontendTlsSchema = atLeastOne({
  handshakeTimeout: positiveDuration('must be longer than 0')
    .optional()
    .describe('From the accepted connection to the end of the handshake. Default 15s.'),
  alpnProtocols: list(z.enum(['h2', 'http/1.1'], { error: alpnMessage }), 1, ALPN_MAX)
    .optional()
    .describe('The preferred first. Default [h2, http/1.1].'),
  minProtocolVersion: version().optional().describe('Default 1.2.'),
  maxProtocolVersion: version().optional().describe('Default 1.3.'),
  cipherSuites: cipherSuites().describe('Default: all nine.'),
  ...refusedKeys('frontend TLS setting', ['keyExchangeGroups'])
})

function alpnMessage({ input }: { readonly input?: unknown }): string | undefined {
  return typeof input === 'string' ? `weir does not speak "${input}" behind TLS; it speaks h2 and http/1.1` : undefined
}

type ListenerTlsInput = z.output<typeof listenerTlsSchema>

/** The files have been read, and found sound, once (check.ts). */
export function translateListenerTls(input: ListenerTlsInput | undefined, sources: Sources): ListenerTls | null {
  if (input === undefined) return null
  return {
    ...pairOf(input, sources),
    clientCa: input.root === undefined ? null : sources.readFile(input.root),
    ...(input.mtlsMode === 'allowInsecureFallback' ? { allowsUnverified: true } : {}),
    ...(input.additionalCertificates === undefined
      ? {}
      : { additionalCertificates: input.additionalCertificates.map((pair) => pairOf(pair, sources)) }),
    minVersion: VERSIONS[input.minTLSVersion ?? ''] ?? null,
    maxVersion: VERSIONS[input.maxTLSVersion ?? ''] ?? null,
    cipherSuites: input.cipherSuites ?? null
  }
}

function pairOf({ cert, key }: z.output<ReturnType<typeof keyPair>>, sources: Sources) {
  return { cert: sources.readFile(cert), key: secret(sources.readFile(key)) }
}

export function translateFrontendTls(input: z.output<typeof frontendTlsSchema> | undefined): FrontendTls {
  const defaults = PROTOCOL_DEFAULTS.tls
  return {
    handshakeTimeoutMs: input?.handshakeTimeout ?? defaults.handshakeTimeoutMs,
    alpn: [...new Set(input?.alpnProtocols ?? defaults.alpn)],
    minVersion: (input?.minProtocolVersion as TlsVersion | undefined) ?? defaults.minVersion,
    maxVersion: (input?.maxProtocolVersion as TlsVersion | undefined) ?? defaults.maxVersion,
    cipherSuites: input?.cipherSuites ?? defaults.cipherSuites
  }
}

/** The settings as far as they are sound, whatever is wrong with the others. */
export function versionsOf(raw: Record<string, unknown>): { min: TlsVersion | null; max: TlsVersion | null } {
  const of = (input: string, frontend: string): TlsVersion | null => {
    const text = String(raw[input] ?? raw[frontend] ?? '')
    return VERSIONS[text] ?? (text === '1.2' || text === '1.3' ? text : null)
  }
  return { min: of('minTLSVersion', 'minProtocolVersion'), max: of('maxTLSVersion', 'maxProtocolVersion') }
}
