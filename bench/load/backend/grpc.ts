/**
 * A gRPC server as a process of its own, for calls of one message each way: it says the message again. Writes its port
 * to stdout. HTTP/2 on clear text.
 */
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'

/** Serves on a free port of 127.0.0.1; gives the port. */
function serve(): Promise<number> {
  const server = createServer({ settings: { maxConcurrentStreams: 1000 } })
  server.on('stream', (stream) => {
    const pieces: Buffer[] = []
    stream.on('data', (piece: Buffer) => pieces.push(piece))
    // Proxies drop connections when they are stopped; no client is left.
    stream.on('error', () => stream.close())
    stream.on('end', () => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.end(Buffer.concat(pieces))
    })
  })
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', 4096, () => resolve((server.address() as AddressInfo).port))
  })
}

if (import.meta.main) process.stdout.write(`${await serve()}\n`)
