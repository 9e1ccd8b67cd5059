/** HTTPS by uWebSockets.js: one app for the listeners of a port, with one certificate for each name (SNI). */
import { X509Certificate } from 'node:crypto'
import type { ClientTls } from '#engine/contract/transport.ts'
import type { Bind } from '#engine/ir/snapshot.ts'
import { reveal } from '#engine/kit/secret.ts'
import { openSslNames } from '#engine/socket/cipher-suites.ts'
import { principalOf } from '#engine/socket/peer-certificate.ts'
import type { AppOptions, TemplatedApp, Uws } from './library.ts'
import { withPemFiles } from './pem-files.ts'

type Listener = Bind['listeners'][number]

/** Its own defaults have suites without forward secrecy and with CBC; those of TLS 1.3 are the three that there are. */
const CIPHERS = openSslNames(null, '1.2', '1.2').join(':')

/**
 * `serve` is called for each listener, while what is added to the app is for connections to its name: the library looks
 * up handlers by the name that the handshake was made with. Throws an Error that names the listener whose certificate
 * the library does not take.
 */
export function tlsApp(
  uws: Uws,
  listeners: readonly Listener[],
  serve: (app: TemplatedApp, tls: ClientTls) => void
): TemplatedApp {
  const rest = listeners.find(({ hostname }) => hostname === '*')
  // Without a certificate the handshake for an unknown server name fails.
  const app = rest === undefined ? uws.SSLApp({}) : withOptions(rest, (options) => uws.SSLApp(options))
  if (rest !== undefined) serve(app, factsOf(rest))
  for (const listener of listeners) {
    if (listener === rest) continue
    const name = listener.hostname.toLowerCase()
    withOptions(listener, (options) => {
      // A name whose certificate is bad is left out in silence, and what is served for it served for all.
      uws.SSLApp(options)
      app.addServerName(name, options)
    })
    app.domain(name)
    serve(app, factsOf(listener))
  }
  return app
}

function withOptions<T>(listener: Listener, use: (options: AppOptions) => T): T {
  const { name, tls } = listener
  if (tls === null) throw new Error(`listener ${name}: there is no certificate`)
  try {
    return withPemFiles([tls.cert, reveal(tls.key)], ([cert, key]) =>
      use({ cert_file_name: cert!, key_file_name: key!, ssl_ciphers: CIPHERS })
    )
  } catch (error) {
    throw new Error(`listener ${name}: tls: uWebSockets.js does not take the certificate: ${(error as Error).message}`)
  }
}

/** The library tells nothing of the handshake: of names that are not exact, version and suite nothing is known. */
function factsOf({ name, hostname, tls }: Listener): ClientTls {
  const serverName = hostname === '*' ? '' : hostname.toLowerCase()
  const localPrincipal = tls === null ? '' : principalOf(new X509Certificate(tls.cert))
  const unknown = { version: '', cipher: '', alpn: '', peer: null, clientCa: null }
  return { listener: name, serverName, ...unknown, localPrincipal }
}

export function isHttps(listeners: readonly Listener[]): boolean {
  return listeners.some(({ protocol }) => protocol === 'HTTPS')
}

/** Whether an app made for `before` serves `after` too. */
export function isSameTls(before: readonly Listener[], after: readonly Listener[]): boolean {
  return (
    before.length === after.length &&
    before.every(({ name, hostname, protocol, tls }, i) => {
      const other = after[i]!
      return name === other.name && hostname === other.hostname && protocol === other.protocol && tls === other.tls
    })
  )
}
