/** A provider that reads forms as they come, and a client that sends them as slowly as a test wants. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

export interface Taken {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly request: IncomingMessage
  readonly response: ServerResponse
  bytes: number
  /** All that has come; empty where the test did not want it. */
  readonly pieces: Buffer[]
  /** The request has come to its end. */
  isWhole: boolean
  /** Settles when the request is whole or has been broken off. */
  readonly over: Promise<void>
}

export interface Taker {
  readonly port: number
  readonly taken: Taken[]
  /** The next request's head. */
  next(): Promise<Taken>
}

/** `begin`: what is done when the head of a request has come; true: it reads the body itself. */
export async function startTaker(
  t: TestContext,
  { begin = () => false, keeps = true }: { begin?: (taken: Taken) => boolean; keeps?: boolean } = {}
): Promise<Taker> {
  const taken: Taken[] = []
  const waiting: ((one: Taken) => void)[] = []
  const server = createServer((request, response) => {
    const over = new Promise<void>((resolve) => request.once('close', resolve).once('end', resolve))
    const { url = '', headers } = request
    const one: Taken = { path: url, headers, request, response, bytes: 0, pieces: [], isWhole: false, over }
    taken.push(one)
    waiting.shift()?.(one)
    request.on('error', () => {})
    if (begin(one)) return
    request.on('data', (chunk: Buffer) => {
      one.bytes += chunk.length
      if (keeps) one.pieces.push(chunk)
    })
    request.on('end', () => {
      one.isWhole = true
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ text: 'Ahoy.' }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const next = () => new Promise<Taken>((resolve) => waiting.push(resolve))
  return { port: (server.address() as AddressInfo).port, taken, next }
}

export const BOUNDARY = 'b0'
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`

export const field = (name: string, value: string): string =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`

/** Its head alone. */
export const file = (name = 'file', filename = 'a.wav'): string =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"; filename="${filename}"\r\n\r\n`

export const END = `--${BOUNDARY}--\r\n`

export interface Sender {
  readonly socket: Socket
  send(...pieces: readonly (string | Buffer)[]): void
  /** Status and body of the answer. */
  answered(): Promise<{ readonly status: number; readonly head: string; readonly body: string }>
}

/** `length` null: in chunks. */
export async function startSender(
  t: TestContext,
  port: number,
  path: string,
  { length, key, headers = '' }: { length: number | null; key: string; headers?: string }
): Promise<Sender> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  let text = ''
  const framing = length === null ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
  })
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: a.test\r\nAuthorization: Bearer ${key}\r\nContent-Type: ${FORM_TYPE}\r\n` +
      `${headers}${framing}\r\n\r\n`
  )
  const send: Sender['send'] = (...pieces) => {
    for (const piece of pieces) {
      const bytes = Buffer.from(piece as string)
      if (length === null) socket.write(`${bytes.length.toString(16)}\r\n`)
      socket.write(bytes)
      if (length === null) socket.write('\r\n')
    }
  }
  const parsed = () => {
    const end = text.indexOf('\r\n\r\n')
    if (end < 0) return null
    const head = text.slice(0, end)
    const body = text.slice(end + 4)
    const wanted = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN)
    const isWhole = Number.isNaN(wanted) ? body.endsWith('0\r\n\r\n') : body.length >= wanted
    return isWhole ? { status: Number(head.slice(9, 12)), head, body } : null
  }
  const answered = async () => {
    for (;;) {
      const made = parsed()
      if (made !== null) return made
      if (socket.closed) throw new Error(`the connection ended: ${text.slice(0, 200)}`)
      await Promise.race([once(socket, 'data'), once(socket, 'close')])
    }
  }
  return { socket, send, answered }
}
