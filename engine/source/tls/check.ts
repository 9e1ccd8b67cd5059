/** Mistakes in TLS that no schema sees: files and what is in them, settings that do not fit each other. */

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import type { Sources } from '#engine/contract/policy.ts'
import { capabilitiesOf } from '#engine/downstream/transports.ts'
import type { TlsVersion } from '#engine/ir/frontend.ts'
import { entriesOf, objectOf, type Path, type Placed, type Raw, text } from '#engine/schema/placed.ts'
import { CIPHER_SUITES, versionOfSuite } from '#engine/socket/cipher-suites.ts'
import { TlsServers } from '#engine/socket/tls-servers.ts'
import {
  type ConfigTree,
  type Finding,
  listenersOf,
  type PlacedBind,
  type PlacedListener
} from '#engine/source/tree.ts'
import { versionsOf } from './schema.ts'
import { transportFaults } from './transport.ts'

/** Whatever else is wrong. */
export function checkTls(tree: ConfigTree, sources: Sources): Finding[] {
  return new Checks(tree, sources).run()
}

/** For a configuration without mistakes: certificates that clients will refuse. `now`: milliseconds. */
export function tlsWarnings(tree: ConfigTree, sources: Sources, now = Date.now()): Finding[] {
  const warnings: Finding[] = []
  for (const { raw, path } of listenersOf(tree)) {
    const leaves = pairsOf(objectOf(raw.tls), [...path, 'tls']).flatMap(({ raw: pair, path: at }) => {
      const cert = text(pair.cert)
      const leaf = cert === undefined ? undefined : certificatesOf(sources.readFile(cert))[0]
      return leaf === undefined ? [] : [{ leaf, at: [...at, 'cert'] }]
    })
    for (const { leaf, at } of leaves) {
      const message = dateDoubtOf(leaf, now)
      if (message !== null) warnings.push({ path: at, message, at: 'value' })
    }
    const message = nameDoubtOf(leaves, text(raw.hostname) ?? '*')
    if (message !== null) warnings.push({ path: leaves[0]!.at, message, at: 'value' })
  }
  return warnings
}

/** The pair of the listener itself, then the additional ones. */
function pairsOf(tls: Raw, path: Path): Placed[] {
  return [{ raw: tls, path }, ...entriesOf(tls.additionalCertificates, [...path, 'additionalCertificates'])]
}

function dateDoubtOf(leaf: X509Certificate, now: number): string | null {
  if (Date.parse(leaf.validTo) < now) return `the certificate has expired (${leaf.validTo}): clients will refuse it`
  if (Date.parse(leaf.validFrom) > now) return `the certificate is not valid before ${leaf.validFrom}`
  return null
}

function nameDoubtOf(leaves: readonly { readonly leaf: X509Certificate }[], hostname: string): string | null {
  if (leaves.length === 0 || hostname.includes('*')) return null
  if (leaves.some(({ leaf }) => leaf.checkHost(hostname) !== undefined)) return null
  const what = leaves.length === 1 ? 'the certificate is not' : 'none of the certificates is'
  return `${what} for "${hostname}": clients will refuse it`
}

const CLEAR_TEXT: readonly unknown[] = ['HTTP', 'TCP']

class Checks {
  readonly #tree: ConfigTree
  readonly #sources: Sources
  readonly #findings: Finding[] = []

  constructor(tree: ConfigTree, sources: Sources) {
    this.#tree = tree
    this.#sources = sources
  }

  run(): Finding[] {
    const frontend = objectOf(objectOf(this.#tree.top.raw.frontendPolicies).tls)
    const at = ['frontendPolicies', 'tls']
    const isSound = this.#checkSettings(frontend, {}, at, null)
    for (const bind of this.#tree.binds) {
      this.#checkMix(bind)
      for (const listener of bind.listeners) this.#checkListener(listener, isSound ? frontend : {})
    }
    return this.#findings
  }

  #report(path: Path, message: string, at: Finding['at'] = 'value', hint?: string): void {
    this.#findings.push({ path, message, at, hint })
  }

  // --- listeners of one port ---

  #checkMix({ raw, path, listeners }: PlacedBind): void {
    const first = listeners[0]
    for (const listener of listeners) {
      if (isClear(listener) === isClear(first!)) continue
      const message = 'TLS and clear text cannot share a port: the other listeners of this one are of the other kind'
      this.#report([...listener.path, 'protocol'], message)
    }
    if (listeners.every(isClear)) return
    const capabilities = capabilitiesOf(raw.transport)
    const https = listeners.filter((listener) => listener.raw.protocol === 'HTTPS')
    const frontend = objectOf(objectOf(this.#tree.top.raw.frontendPolicies).tls)
    for (const { place, message } of transportFaults(capabilities, frontend, https))
      this.#report(
        [...path, 'transport'],
        `${capabilities.name} cannot honour ${place}: ${message}`,
        'value',
        'use transport auto or node'
      )
  }

  #checkListener(listener: PlacedListener, frontend: Raw): void {
    const { raw, path } = listener
    const at = [...path, 'tls']
    if (raw.tls === undefined) {
      if (raw.protocol !== 'HTTPS') return
      const hint = 'tls: { cert: cert.pem, key: key.pem }'
      this.#report([...path, 'protocol'], 'HTTPS needs tls, with cert and key', 'value', hint)
      return
    }
    if (isClear(listener)) {
      const protocol = text(raw.protocol) ?? 'HTTP'
      this.#report(at, `is of protocols HTTPS and TLS, and this listener speaks ${protocol}`, 'key', 'protocol: HTTPS')
      return
    }
    const tls = objectOf(raw.tls)
    if (tls.mtlsMode !== undefined && tls.root === undefined)
      this.#report([...at, 'mtlsMode'], 'needs root: without authorities no client is asked for a certificate', 'key')
    const all = pairsOf(tls, at).map((pair) => this.#checkPair(pair))
    const pairs = all.flatMap((pair) => pair ?? [])
    const root = this.#read(tls.root, [...at, 'root'])
    const hasRoot = tls.root === undefined || (root !== null && this.#certificates(root, [...at, 'root']) !== null)
    const types = new Set(pairs.map(({ keyType }) => keyType))
    const isSound = [...(types.size === 0 ? [null] : types)].every((type) =>
      this.#checkSettings(tls, frontend, at, type)
    )
    if (hasRoot && isSound && pairs.length === all.length) this.#tryOut(pairs, root, tls, frontend)
  }

  // --- settings that must fit each other ---

  /** `around`: what holds where `raw` says nothing. `keyType`: of the certificate's key, where it is known. */
  #checkSettings(raw: Raw, around: Raw, at: Path, keyType: string | null): boolean {
    const { min, max, suites } = settingsOf(raw, around)
    if (min > max) {
      const key = ['minTLSVersion', 'minProtocolVersion', 'maxTLSVersion'].find((name) => raw[name] !== undefined)
      this.#report(
        [...at, key ?? 'maxProtocolVersion'],
        `the lowest version (${min}) is above the highest one (${max})`
      )
      return false
    }
    if (suites === null) return true
    const usable = suites.filter((suite) => versionOfSuite(suite) >= min && versionOfSuite(suite) <= max)
    const place = raw.cipherSuites === undefined ? at : [...at, 'cipherSuites']
    if (usable.length === 0) {
      const spoken = min === max ? min : `${min} and ${max}`
      this.#report(place, `none of the cipher suites is for a version that is spoken (${spoken})`, 'key')
      return false
    }
    const kind = keyType === 'rsa' || keyType === 'rsa-pss' ? '_ECDHE_RSA_' : '_ECDHE_ECDSA_'
    const fits = (suite: string) => versionOfSuite(suite) === '1.3' || suite.includes(kind)
    if (keyType === null || usable.some(fits)) return true
    this.#report(place, `none of the cipher suites fits the certificate, which has a key of type ${keyType}`, 'key')
    return false
  }

  // --- files ---

  /** Null when something is wrong, which is then reported. */
  #checkPair({ raw, path: at }: Placed): Pair | null {
    const cert = this.#read(raw.cert, [...at, 'cert'])
    const key = this.#read(raw.key, [...at, 'key'])
    const chain = cert === null ? null : this.#certificates(cert, [...at, 'cert'])
    const object = key === null ? null : this.#key(key, [...at, 'key'])
    if (chain === null || object === null) return null
    if (!chain[0]!.checkPrivateKey(object)) {
      this.#report([...at, 'key'], 'the key does not belong to the certificate (the first one in the file of cert)')
      return null
    }
    return { cert: cert!, key: key!, keyType: object.asymmetricKeyType ?? null, at }
  }

  #read(path: unknown, at: Path): string | null {
    if (typeof path !== 'string' || path === '') return null
    try {
      return this.#sources.readFile(path)
    } catch (error) {
      this.#report(at, (error as Error).message)
      return null
    }
  }

  #certificates(pem: string, at: Path): X509Certificate[] | null {
    try {
      const found = certificatesOf(pem)
      if (found.length > 0) return found
      const swapped = pem.includes('PRIVATE KEY-----') ? 'it has a private key: are cert and key swapped?' : undefined
      this.#report(at, 'the file has no certificate in PEM (-----BEGIN CERTIFICATE-----)', 'value', swapped)
    } catch {
      // OpenSSL's words are about ASN.1; what matters is which certificate.
      this.#report(at, 'the file has a certificate that cannot be read')
    }
    return null
  }

  /** Nothing of the key is ever part of a message. */
  #key(pem: string, at: Path): KeyObject | null {
    try {
      return createPrivateKey(pem)
    } catch (error) {
      const isEncrypted =
        (error as NodeJS.ErrnoException).code === 'ERR_MISSING_PASSPHRASE' || /ENCRYPTED/.test(pem.slice(0, 200))
      const plain = 'the file has no private key in PEM (-----BEGIN PRIVATE KEY-----)'
      this.#report(at, isEncrypted ? 'the key is encrypted: weir takes one without a passphrase' : plain)
      return null
    }
  }

  /** What OpenSSL alone knows: keys that are too short, odd curves, signatures that are too weak. */
  #tryOut(pairs: readonly Pair[], clientCa: string | null, tls: Raw, frontend: Raw): void {
    const { min, max, suites } = settingsOf(tls, frontend)
    const settings = { clientCa, minVersion: min, maxVersion: max, cipherSuites: suites, alpn: ['http/1.1'] }
    for (const { cert, key, at } of pairs) {
      try {
        new TlsServers({ ...settings, certificates: [{ cert, key }] }, new Uint8Array(32))
      } catch (error) {
        const { reason, code } = error as { reason?: string; code?: string }
        this.#report([...at, 'cert'], `OpenSSL refuses it: ${reason ?? code ?? 'unknown reason'}`)
      }
    }
  }
}

interface Pair {
  readonly cert: string
  readonly key: string
  readonly keyType: string | null
  /** Where it stands. */
  readonly at: Path
}

interface Settings {
  readonly min: TlsVersion
  readonly max: TlsVersion
  readonly suites: readonly string[] | null
}

function settingsOf(raw: Raw, around: Raw): Settings {
  const own = versionsOf(raw)
  const outer = versionsOf(around)
  const list = (value: unknown): string[] | null => {
    const known = Array.isArray(value) ? value.filter((suite) => CIPHER_SUITES.includes(suite as string)) : []
    return known.length === 0 ? null : (known as string[])
  }
  return {
    min: own.min ?? outer.min ?? '1.2',
    max: own.max ?? outer.max ?? '1.3',
    suites: list(raw.cipherSuites) ?? list(around.cipherSuites)
  }
}

function isClear({ raw }: PlacedListener): boolean {
  return CLEAR_TEXT.includes(raw.protocol ?? 'HTTP')
}

/** Throws an Error for one that cannot be read. */
function certificatesOf(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
  return blocks.map((block) => new X509Certificate(block))
}
