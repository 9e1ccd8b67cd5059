/**
 * A gRPC server as a process of its own, for calls of one message each way: it says the message again, or, asked by
 * Authorization/Check, that the request is allowed and has a field more. Writes its port to stdout. HTTP/2 on clear
 * text.
 */
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { CheckResponse } from '#engine/proto/generated/envoy/service/auth/v3/external_auth.ts'

const CHECK = '/envoy.service.auth.v3.Authorization/Check'

function allowed(): Buffer {
  const header = { header: { key: 'x-user', value: 'ann', rawValue: Buffer.alloc(0) }, append: undefined }
  const ok = {
    headers: [{ ...header, appendAction: 2 as const, keepEmptyValue: false }],
    headersToRemove: [],
    dynamicMetadata: undefined,
    responseHeadersToAdd: [],
    queryParametersToSet: [],
    queryParametersToRemove: []
  }
  const message = CheckResponse.encode({
    status: { code: 0, message: '', details: [] },
    httpResponse: { $case: 'okResponse', value: ok },
    dynamicMetadata: undefined
  }).finish()
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

/** Serves on a free port of 127.0.0.1; gives the port. */
function serve(): Promise<number> {
  const server = createServer({ settings: { maxConcurrentStreams: 1000 } })
  const ok = allowed()
  server.on('stream', (stream, headers) => {
    const pieces: Buffer[] = []
    stream.on('data', (piece: Buffer) => pieces.push(piece))
    // Proxies drop connections when they are stopped; no client is left.
    stream.on('error', () => stream.close())
    stream.on('end', () => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.end(headers[':path'] === CHECK ? ok : Buffer.concat(pieces))
    })
  })
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', 4096, () => resolve((server.address() as AddressInfo).port))
  })
}

if (import.meta.main) process.stdout.write(`${await serve()}\n`)
