/**
 * A provider of models for tests, on a port of its own: what backends/demo/models answers, and a record of what it
 * received; and Bedrock's Converse, whose streams are bytes.
 */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { eventText, mockAnswer } from '#backends/demo/models/answers.ts'
import type { Body } from '#backends/demo/models/wire.ts'

import { answerConverse } from './models-converse.ts'

export { type Body, PIECES, TOOL_ARGUMENTS } from '#backends/demo/models/wire.ts'

export interface MockRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Body
  /** The body as it came. */
  readonly bytes: Buffer
}

export interface Models {
  readonly port: number
  readonly requests: MockRequest[]
  /** Answers instead of the usual, when it returns true. */
  instead: ((request: MockRequest, response: ServerResponse) => boolean) | null
  /** The usual answer, for who has looked at the request first. */
  answer(request: MockRequest, response: ServerResponse): void
  close(): void
}

export async function startModels(): Promise<Models> {
  const requests: MockRequest[] = []
  const models = { port: 0, requests, instead: null as Models['instead'], answer, close: () => {} }
  const server = createServer((request: IncomingMessage, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const bytes = Buffer.concat(chunks)
      // Forms are for the tests to read.
      const isJson = bytes.length > 0 && request.headers['content-type']?.startsWith('multipart/') !== true
      const body: Body = isJson ? JSON.parse(bytes.toString()) : {}
      const one = { path: request.url ?? '', headers: request.headers, body, bytes }
      requests.push(one)
      if (models.instead?.(one, response) !== true) answer(one, response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  models.port = (server.address() as AddressInfo).port
  models.close = () => {
    server.close()
    server.closeAllConnections()
  }
  return models
}

/** Azure's and Vertex AI's paths end like those of the formats that they speak. */
export function answer({ path, body, headers }: MockRequest, response: ServerResponse): void {
  const name = path.split('?')[0]!
  if (/^\/model\/[^/]+\/converse(?:-stream)?$/.test(name)) {
    answerConverse(name, body, response)
    return
  }
  const found = mockAnswer(path, body, headers)
  if (found === null) {
    const error = { message: `no such path: ${path}`, type: 'invalid_request_error' }
    response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
    return
  }
  const { status, whole, events } = found
  response.writeHead(status, { 'content-type': events === null ? 'application/json' : 'text/event-stream' })
  if (events === null) {
    response.end(JSON.stringify(whole))
    return
  }
  for (const event of events) response.write(eventText(event))
  response.end()
}
