/** What uWebSockets.js fixes, without a setting (docs/design/005-uws-transport.md has the source of the numbers). */
import type {
  HttpLimit,
  ListenerFacts,
  SettingFault,
  TlsVersions,
  TransportCapabilities
} from '#engine/contract/transport-capabilities.ts'

/** Header fields per request; one more is answered 431 before we see the request. */
const HEADERS_MAX = 98
/** Largest request head, if UWS_HTTP_MAX_HEADERS_SIZE was set to this before the binary was loaded. */
export const HEAD_BYTES_MAX = 64 * 1024
/** Idle connections are closed after 10 s, counted in ticks of 4 s; the same clock runs while a head arrives. */
const IDLE_TIMEOUT_MS = 12_000

const idleSeconds = IDLE_TIMEOUT_MS / 1000

const HTTP: readonly HttpLimit[] = [
  {
    key: 'http1IdleTimeout',
    field: 'idleTimeoutMs',
    honours: (ms) => ms === IDLE_TIMEOUT_MS,
    fact: `it closes idle connections after ${idleSeconds}s`,
    advice: `set it to ${idleSeconds}s`
  },
  {
    key: 'http1HeaderTimeout',
    field: 'headTimeoutMs',
    honours: (ms) => ms === IDLE_TIMEOUT_MS,
    fact: `it waits ${idleSeconds}s for a request head`,
    advice: `set it to ${idleSeconds}s`
  },
  {
    key: 'http1MaxHeaders',
    field: 'headersMax',
    honours: (count) => count <= HEADERS_MAX,
    fact: `it takes at most ${HEADERS_MAX} header fields`,
    advice: `set it to ${HEADERS_MAX} or less`
  },
  headBytesLimit(HEAD_BYTES_MAX)
]

function headBytesLimit(bytesMax: number): HttpLimit {
  return {
    key: 'maxHeaderSize',
    field: 'headBytesMax',
    honours: (bytes) => bytes <= bytesMax,
    fact: `it takes request heads of at most ${bytesMax} bytes`,
    advice: `set it to ${bytesMax} or less`
  }
}

export const UWS: TransportCapabilities = {
  name: 'uws',
  protocols: ['HTTP', 'HTTPS'],
  readsProxyHeaders: false,
  sendsTcpProbes: false,
  knowsClientPort: false,
  knowsDestination: false,
  http: HTTP,
  tlsFaults(tls) {
    const faults = versionFaults(tls)
    if (tls.alpn.join() !== 'http/1.1')
      faults.push({ key: 'alpnProtocols', value: tls.alpn.join(), fact: 'it speaks HTTP/1.1 only: [http/1.1]' })
    if (tls.handshakeTimeoutMs !== IDLE_TIMEOUT_MS) {
      const fact = `it waits ${IDLE_TIMEOUT_MS}ms for a handshake`
      faults.push({ key: 'handshakeTimeout', value: `${tls.handshakeTimeoutMs}ms`, fact })
    }
    return faults
  },
  listenerFaults({ hostname = '*', tls }: ListenerFacts) {
    const faults = tls == null ? [] : versionFaults(tls)
    if (tls != null && tls.clientCa !== null)
      faults.push({ key: 'root', value: 'given', fact: 'it asks no client for a certificate' })
    if (tls?.hasSeveralCertificates === true)
      faults.push({ key: 'additionalCertificates', value: 'given', fact: 'it has one certificate for a name' })
    if (hostname !== '*' && hostname.includes('*'))
      faults.push({ key: 'hostname', value: hostname, fact: 'its wildcards stand for one label' })
    return faults
  },
  warning:
    'uws does not see header fields behind one with an empty name, takes bytes above 7F beside Content-Length and ' +
    'Transfer-Encoding for blanks, and takes chunks that are framed badly: do not use it behind another proxy, use node'
}

/** Of a library that was loaded with another limit on request heads. */
export function uwsWith(headBytesMax: number): TransportCapabilities {
  return { ...UWS, http: [...HTTP.slice(0, -1), headBytesLimit(headBytesMax)] }
}

function versionFaults({ minVersion, maxVersion, cipherSuites }: TlsVersions): SettingFault[] {
  const faults: SettingFault[] = []
  const fact = 'it speaks TLS 1.2 and 1.3, which cannot be set'
  if ((minVersion ?? '1.2') !== '1.2') faults.push({ key: 'minimum version', value: String(minVersion), fact })
  if ((maxVersion ?? '1.3') !== '1.3') faults.push({ key: 'maximum version', value: String(maxVersion), fact })
  if (cipherSuites !== null)
    faults.push({ key: 'cipherSuites', value: cipherSuites.join(), fact: 'its suites of TLS 1.3 cannot be set' })
  return faults
}
