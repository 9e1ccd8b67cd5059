/**
 * A request through the gateway itself, for pages that try things: it goes to a port of the gateway on this machine and
 * nowhere else, as any client's would, with all policies. The answer comes as it arrives, in lines of JSON.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Reply } from '#engine/admin/server.ts'
import type { AdminState } from '#engine/admin/state.ts'
import type { Bind, Snapshot } from '#engine/ir/snapshot.ts'
import { z } from '#engine/schema/schema.ts'
import { type Call, type Operation, refusal } from './operation.ts'

/** A conversation with pictures. */
const BODY_BYTES_MAX = 4 * 1024 * 1024
/** Of an answer: pages show text. What comes behind it is left out, and the end says so. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024
/** Models that think take minutes. */
const ANSWER_MS_MAX = 600_000
/** The admin port closes connections on which nothing moves (server.ts). */
const WAITING_MS = 5_000
const AT_ONCE_MAX = 16
const HEADERS_MAX = 100
/** Set here, or of one connection (RFC 9110, section 7.6.1). */
const NOT_SENT = new Set(['host', 'content-length', 'transfer-encoding', 'connection', 'keep-alive', 'te', 'upgrade'])

const wanted = () =>
  z.strictObject({
    method: z.string().regex(/^[A-Z]{3,16}$/),
    url: z.string().max(8192).describe('Of a port of this gateway: "http://shop.example:8080/cart".'),
    headers: z
      .array(z.tuple([z.string(), z.string()]))
      .max(HEADERS_MAX)
      .optional(),
    body: z.string().optional()
  })
type Wanted = z.infer<ReturnType<typeof wanted>>

/** What lines of the answer are, in this order; `waiting` may come between any two. */
export type SentLine =
  | {
      readonly kind: 'head'
      readonly status: number
      readonly headers: readonly [string, string][]
      readonly ms: number
    }
  | { readonly kind: 'piece'; readonly text: string; readonly ms: number }
  | { readonly kind: 'waiting'; readonly ms: number }
  | { readonly kind: 'end'; readonly isCut: boolean; readonly ms: number }
  | { readonly kind: 'failed'; readonly message: string; readonly ms: number }

export function sendOperation(state: () => AdminState): Operation {
  let underWay = 0
  const answer = ({ body }: Call): Reply => {
    const read = wanted().safeParse(body)
    if (!read.success) {
      const [issue] = read.error.issues
      return refusal(400, 'INVALID', issue!.message, issue!.path.join('.'))
    }
    const target = targetOf(read.data, state().snapshot)
    if (typeof target === 'string') return refusal(400, 'INVALID', target, 'url')
    const wrong = wrongHeader(read.data)
    if (wrong !== null) return refusal(400, 'INVALID', wrong, 'headers')
    if (underWay >= AT_ONCE_MAX) return refusal(429, 'TOO_MANY', `${AT_ONCE_MAX} requests are under way: wait for one`)
    const stream = async function* (signal: AbortSignal) {
      underWay++
      try {
        for await (const line of send(read.data, target, signal)) yield `${JSON.stringify(line)}\n`
      } finally {
        underWay--
      }
    }
    return { status: 200, type: 'application/x-ndjson', body: '', stream }
  }
  return {
    ...{ id: 'sendRequest', method: 'POST', path: '/send', tag: 'Requests', role: 'test' },
    summary: 'Sends a request through a port of the gateway, and answers with what comes back, as it comes.',
    body: { schema: wanted(), bytesMax: BODY_BYTES_MAX },
    replies: {
      200: { about: 'A line of JSON for the head, each piece and the end.', types: ['application/x-ndjson'] }
    },
    refusals: { 429: `${AT_ONCE_MAX} are under way.` },
    answer
  }
}

interface Target {
  readonly url: URL
  readonly isTls: boolean
}

/** What is wrong with the URL, as text. */
function targetOf({ url: text }: Wanted, snapshot: Snapshot | null): Target | string {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return 'must be a URL such as "http://localhost:8080/path"'
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const binds = snapshot?.binds ?? []
  const bind = binds.find((one) => one.port === port)
  if (bind === undefined) {
    const known = binds.map((one) => one.port).join(', ')
    return `port ${port} is none of this gateway's; ${known === '' ? 'it has none' : `it has ${known}`}`
  }
  const isTls = url.protocol === 'https:'
  return speaks(bind, isTls) ? { url, isTls } : `no listener of port ${port} speaks ${isTls ? 'HTTPS' : 'HTTP'}`
}

function speaks({ listeners }: Bind, isTls: boolean): boolean {
  return listeners.some(({ protocol }) => protocol === (isTls ? 'HTTPS' : 'HTTP'))
}

/** Names are tokens, values have no line breaks (RFC 9110, section 5). */
function wrongHeader({ headers = [] }: Wanted): string | null {
  for (const [name, value] of headers) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return 'a name has characters that names of headers do not have'
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
      return `the value of ${name.toLowerCase()} has a character that no header may have`
  }
  return null
}

async function* send(wish: Wanted, target: Target, signal: AbortSignal): AsyncGenerator<SentLine> {
  const startedAt = performance.now()
  const ms = () => Math.round((performance.now() - startedAt) * 10) / 10
  const over = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS_MAX)])
  const waiting = (): SentLine => ({ kind: 'waiting', ms: ms() })
  try {
    let message: IncomingMessage | null = null
    for await (const step of whileWaiting(answered(wish, target, over))) {
      if (step === null) yield waiting()
      else message = step
    }
    if (message === null) return
    yield { kind: 'head', status: message.statusCode ?? 0, headers: pairs(message.rawHeaders), ms: ms() }
    const decoder = new TextDecoder()
    const pieces = message[Symbol.asyncIterator]() as AsyncIterator<Buffer>
    let bytes = 0
    for (;;) {
      let next: IteratorResult<Buffer> | null = null
      for await (const step of whileWaiting(pieces.next())) {
        if (step === null) yield waiting()
        else next = step
      }
      if (next === null || next.done === true) break
      bytes += next.value.length
      if (bytes > ANSWER_BYTES_MAX) {
        message.destroy()
        break
      }
      yield { kind: 'piece', text: decoder.decode(next.value, { stream: true }), ms: ms() }
    }
    yield { kind: 'end', isCut: bytes > ANSWER_BYTES_MAX, ms: ms() }
  } catch (problem) {
    // Of the connection: what was sent is in none of these messages.
    yield { kind: 'failed', message: over.aborted ? 'it took too long' : (problem as Error).message, ms: ms() }
  }
}

/** The value, and a null each time that it lets wait. */
async function* whileWaiting<T>(value: Promise<T>): AsyncGenerator<T | null> {
  for (;;) {
    const { promise: tick, resolve } = Promise.withResolvers<null>()
    const timer = setTimeout(() => resolve(null), WAITING_MS)
    try {
      const first = await Promise.race([value.then((found) => ({ found })), tick])
      if (first !== null) {
        yield first.found
        return
      }
    } finally {
      clearTimeout(timer)
    }
    yield null
  }
}

/** Resolves with the head of the answer. */
function answered(wish: Wanted, { url, isTls }: Target, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const { method, headers = [], body } = wish
  const own = headers.filter(([name]) => !NOT_SENT.has(name.toLowerCase()))
  const length = body === undefined ? [] : ['content-length', String(Buffer.byteLength(body))]
  const options = {
    // Whatever the name is: the gateway of this process is asked, and gets the name as Host and SNI.
    ...{ host: '127.0.0.1', port: url.port || (isTls ? 443 : 80), method, path: url.pathname + url.search, signal },
    headers: ['host', url.host, ...own.flat(), ...length],
    agent: false,
    // It is this process that answers.
    ...(isTls ? { servername: url.hostname, rejectUnauthorized: false } : {})
  }
  const request = isTls ? httpsRequest(options) : httpRequest(options)
  request.once('response', resolve)
  request.once('error', reject)
  request.end(body)
  return promise
}

function pairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, i): [string, string][] => (i % 2 === 0 ? [[name, raw[i + 1] ?? '']] : []))
}
