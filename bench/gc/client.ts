/**
 * The other two ends of the garbage gate in one process: a backend with one fixed answer and a
 * client with a fixed number of connections. Apart from bench/load on purpose: the committed
 * number must not move when the load generator is changed.
 */
import { type AddressInfo, connect, createServer } from 'node:net'

/** Short, because a body that leaves as text is garbage too, and would hide what a request adds. */
const BODY = 'x'.repeat(64)
const ANSWER = `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: no-cache\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`
const requestWith = (credentials: string) =>
  'GET /bench HTTP/1.1\r\nHost: bench.example.com\r\nUser-Agent: bench\r\nAccept: */*\r\n' +
  `Accept-Encoding: gzip\r\nAuthorization: ${credentials}\r\nX-Request-Id: 7f3c2a10\r\n\r\n`
const HEAD_END = '\r\n\r\n'

/** What a model is asked, and answers: short for the same reason. */
const QUESTION = JSON.stringify({ model: 'm', max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] })
const callWith = (credentials: string) =>
  'POST /v1/chat/completions HTTP/1.1\r\nHost: bench.example.com\r\nUser-Agent: bench\r\nAccept: */*\r\n' +
  `Content-Type: application/json\r\nContent-Length: ${QUESTION.length}\r\nAuthorization: ${credentials}\r\n\r\n${QUESTION}`
const COMPLETION = JSON.stringify({
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19, prompt_tokens_details: { cached_tokens: 4 } }
})
const CALL_ANSWER = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${COMPLETION.length}\r\n\r\n${COMPLETION}`
const LENGTH = /\r\nContent-Length: (\d+)/i

/** What clients ask for. */
export type Asks = 'page' | 'model'

const EXCHANGES: { readonly [asks in Asks]: { request: (credentials: string) => string; body: string } } = {
  page: { request: requestWith, body: BODY },
  model: { request: callWith, body: COMPLETION }
}

/** Answers GETs with ANSWER, and all else as a model does, on a free port of 127.0.0.1; gives the port. */
function serve(): Promise<number> {
  const server = createServer({ noDelay: true }, (socket) => {
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      for (let end = text.indexOf(HEAD_END); end >= 0; end = text.indexOf(HEAD_END)) {
        const head = text.slice(0, end)
        const over = end + HEAD_END.length + Number(LENGTH.exec(head)?.[1] ?? 0)
        if (text.length < over) break
        text = text.slice(over)
        socket.write(head.startsWith('GET ') ? ANSWER : CALL_ANSWER, 'latin1')
      }
    })
    // The gateway drops its connections when it closes.
    socket.on('error', () => socket.destroy())
  })
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}

interface Order {
  readonly port: number
  readonly connections: number
  readonly count: number
  readonly credentials: string
  readonly asks: Asks
}

/** Sends `count` requests over `connections` connections, one at a time on each. Rejects on any wrong answer. */
function send({ port, connections, count, credentials, asks }: Order): Promise<void> {
  const { request: requestFor, body } = EXCHANGES[asks]
  const request = requestFor(credentials)
  let sent = 0
  let answered = 0
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const open = () => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true })
    const next = () => {
      if (sent === count) return
      sent++
      socket.write(request, 'latin1')
    }
    let text = ''
    socket.on('connect', next)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      const end = text.indexOf(HEAD_END)
      if (end < 0 || text.length < end + HEAD_END.length + Number(LENGTH.exec(text)?.[1] ?? body.length)) return
      if (!text.startsWith('HTTP/1.1 200 ') || !text.endsWith(HEAD_END + body))
        reject(new Error(`wrong answer: ${text}`))
      text = ''
      answered++
      if (answered === count) resolve()
      else next()
    })
    socket.on('close', () => reject(new Error(`a connection was closed after ${answered} of ${count} answers`)))
    socket.on('error', reject)
    sockets.push(socket)
  }
  const sockets: ReturnType<typeof connect>[] = []
  for (let i = 0; i < Math.min(connections, count); i++) open()
  return promise.finally(() => {
    for (const socket of sockets) socket.removeAllListeners('close').destroy()
  })
}

/** Messages from the gate: orders; answers 'done' or { failed }. */
if (import.meta.main) {
  process.on('message', (order: Order) => {
    send(order).then(
      () => process.send!('done'),
      (error: Error) => process.send!({ failed: error.message })
    )
  })
  process.on('disconnect', () => process.exit(0))
  process.send!({ backendPort: await serve() })
}
