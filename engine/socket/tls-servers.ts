/**
 * The certificates of one listener: which of them a handshake may show is known by the name that the client asks for
 * (SNI), before the handshake begins. Among those OpenSSL chooses by the keys that the client takes, so for each name
 * there is at most one certificate of each type of key.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { dnsNamesOf } from './peer-certificate.ts'
import { type TlsKeyPair, TlsServer, type TlsServerSettings } from './tls-server.ts'

interface Candidate {
  readonly pair: TlsKeyPair
  /** Lower case: "a.test", "*.a.test". */
  readonly names: readonly string[]
  /** Of its key: "rsa", "ec", "ed25519". */
  readonly keyType: string
}

export class TlsServers {
  /** For names that no certificate is for: the first certificate, with others of a name of its own. */
  readonly #default: TlsServer
  /** By names in certificates. */
  readonly #byName = new Map<string, TlsServer>()

  /**
   * `settings.certificates`: any number of them, the preferred first. Throws an Error where one of them, its key,
   * versions and cipher suites do not fit each other.
   */
  constructor(settings: TlsServerSettings, secret: Uint8Array) {
    const { certificates } = settings
    const made = new Map<string, TlsServer>()
    const serverOf = (chosen: readonly Candidate[]): TlsServer => {
      const key = JSON.stringify(chosen.map(({ pair }) => certificates.indexOf(pair)))
      const known = made.get(key)
      if (known !== undefined) return known
      const server = new TlsServer({ ...settings, certificates: chosen.map(({ pair }) => pair) }, secret)
      made.set(key, server)
      return server
    }
    if (certificates.length === 1) {
      this.#default = new TlsServer(settings, secret)
      return
    }
    const all = certificates.map(candidateOf)
    const [first] = all
    this.#default = serverOf(onePerKeyType(all.filter((one) => one === first || sharesName(one, first!))))
    for (const name of new Set(all.flatMap(({ names }) => names))) {
      const exact = all.filter(({ names }) => names.includes(name))
      const wild = all.filter(({ names }) => names.includes(wildcardOf(name)))
      this.#byName.set(name, serverOf(onePerKeyType([...exact, ...wild])))
    }
  }

  /** `serverName`: lower case; '' for a client that names none. */
  find(serverName: string): TlsServer {
    if (this.#byName.size === 0) return this.#default
    return this.#byName.get(serverName) ?? this.#byName.get(wildcardOf(serverName)) ?? this.#default
  }
}

function candidateOf(pair: TlsKeyPair): Candidate {
  const names = dnsNamesOf(new X509Certificate(pair.cert)).map((name) => name.toLowerCase())
  return { pair, names, keyType: createPrivateKey(pair.key).asymmetricKeyType ?? '' }
}

const sharesName = ({ names }: Candidate, other: Candidate): boolean => names.some((name) => other.names.includes(name))

/** The first of each. */
function onePerKeyType(candidates: readonly Candidate[]): Candidate[] {
  return candidates.filter((one, i) => candidates.findIndex(({ keyType }) => keyType === one.keyType) === i)
}

/** A star stands for one label (RFC 9525 section 6.3). */
const wildcardOf = (name: string): string => `*${name.slice(name.includes('.') ? name.indexOf('.') : name.length)}`
