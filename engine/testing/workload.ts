/** A workload of a mesh for tests: what a sidecar does for the server behind it. */
import { once } from 'node:events'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Pair } from './certificates.ts'

export interface Workload {
  readonly port: number
  /** Of each handshake that was done: what the client has shown, and what it has offered by ALPN. */
  readonly peers: { readonly names: string; readonly serial: string; readonly alpn: readonly string[] }[]
  /** Resolves with the first of them. */
  readonly shaken: Promise<void>
  /** "HTTP/2.0 http GET /path" of each request. */
  readonly requests: string[]
  close(): void
}

/** Answers with `answer`. `ca`: whose certificates it takes. `onPeer`: after each handshake. */
export async function startWorkload(own: Pair, ca: string, answer = '', onPeer = () => {}): Promise<Workload> {
  const peers: Workload['peers'] = []
  const requests: string[] = []
  const shaken = Promise.withResolvers<void>()
  const sockets = new Set<TLSSocket>()
  let offered: readonly string[] = []
  const server = createSecureServer({
    ...own,
    ca,
    requestCert: true,
    rejectUnauthorized: true,
    allowHTTP1: true,
    ALPNCallback({ protocols }) {
      offered = protocols
      // Without the name of the mesh a sidecar takes the connection for one from outside of it.
      if (protocols[0] !== 'istio') return undefined
      return protocols.find((name) => name === 'h2' || name === 'http/1.1')
    }
  })
  server.on('secureConnection', (socket: TLSSocket) => {
    sockets.add(socket)
    const { subjectaltname = '', serialNumber } = socket.getPeerCertificate()
    peers.push({ names: subjectaltname, serial: serialNumber, alpn: offered })
    shaken.resolve()
    onPeer()
  })
  server.on('request', (request, response) => {
    requests.push(`HTTP/${request.httpVersion} ${request.headers[':scheme'] ?? '-'} ${request.method} ${request.url}`)
    response.setHeader('content-length', Buffer.byteLength(answer))
    response.end(answer)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    peers,
    shaken: shaken.promise,
    requests,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    }
  }
}
