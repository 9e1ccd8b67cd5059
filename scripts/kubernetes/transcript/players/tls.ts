/** A server of TLS that prints what each client showed it: the name, the protocol, the certificate. */
import { readFileSync } from 'node:fs'
import { createSecureServer } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { CERTIFICATES } from './mesh.ts'
import { PLAYER_PORT } from './relay.ts'

export const TLS_NAME = 'secure.example'

export async function playTlsServer(): Promise<void> {
  const server = createSecureServer({
    cert: readFileSync(`${CERTIFICATES}/server.crt`),
    key: readFileSync(`${CERTIFICATES}/server.key`),
    requestCert: true,
    // Who shows none is served, and the line says so.
    rejectUnauthorized: false,
    allowHTTP1: true
  })
  server.on('secureConnection', (socket: TLSSocket & { readonly servername?: string }) => {
    const { subject } = socket.getPeerCertificate()
    console.log(`SNI ${socket.servername} | ALPN ${socket.alpnProtocol} | certificate of ${subject?.CN ?? 'nobody'}`)
  })
  server.on('request', (_request, response) => response.end('over TLS'))
  server.listen(PLAYER_PORT)
}
