/**
 * An MCP server for tests, polite or hostile: its first argument says how it behaves. Where a second one is a port, it
 * holds a connection to it: when that closes, the process is dead.
 */
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

const [, , manner = 'polite', port] = process.argv

const say = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

interface Message {
  readonly id?: number | string
  readonly method?: string
  readonly params?: {
    readonly name?: string
    readonly arguments?: Record<string, unknown>
    readonly requestId?: number
  }
  readonly result?: object
}

const held: (number | string)[] = []
let initialized = 0
const heard: string[] = []

const calls: Record<string, (id: number | string, message: Message) => void> = {
  echo: (id, { params }) => say({ id, result: { echo: params?.arguments ?? {}, wireId: id } }),
  environment: (id) => say({ id, result: { env: process.env, pid: process.pid, initialized, heard } }),
  hold: (id) => held.push(id),
  letGo: (id) => {
    for (const one of held.splice(0)) say({ id: one, result: { held: true } })
    say({ id, result: {} })
  },
  notify: (id, { params }) => {
    for (const method of (params?.arguments?.methods ?? []) as string[]) say({ method, params: {} })
    say({ id, result: {} })
  },
  progress: (id, { params }) => {
    say({ method: 'notifications/progress', params: { progressToken: params?.arguments?.token, progress: 1 } })
    say({ id, result: {} })
  },
  ask: (id) => say({ id: `asked-${id}`, method: 'roots/list' }),
  afterwards: (id) => {
    // One write: both lines come together.
    const late = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/late' })
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n${late}\n`)
  },
  die: () => process.exit(3),
  huge: (id, { params }) => say({ id, result: { text: 'x'.repeat(Number(params?.arguments?.bytes)) } }),
  garbage: (id) => {
    process.stdout.write(
      'Listening on stdio!\n[1,2]\n{"jsonrpc":"2.0"}\n{"id":1,"result":{}}\n\u0000\n{"jsonrpc":"2.0","id":{},"method":"x"}\n'
    )
    say({ id: 424242, result: {} })
    say({ id: 'x', result: {} })
    say({ id, result: { survived: true } })
  },
  flood: (id, { params }) => {
    for (let i = 0; i < Number(params?.arguments?.messages); i++)
      say({ method: 'notifications/flood', params: { text: 'x'.repeat(100_000) } })
    say({ id, result: {} })
  },
  stderr: (id) => {
    process.stderr.write(`the key is ${process.env.THE_KEY}\n${'y'.repeat(5000)}\n`)
    for (let i = 0; i < 500; i++) process.stderr.write(`line ${i}\n`)
    say({ id, result: {} })
  },
  deep: (id) => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000)
    process.stdout.write(`{"jsonrpc":"2.0","method":"notifications/deep","params":{"x":${deep}}}\n`)
    process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"x":${deep}}}\n`)
  },
  endless: () => {
    const chunk = 'x'.repeat(65_536)
    const more = () => {
      while (process.stdout.write(chunk));
      process.stdout.once('drain', more)
    }
    more()
  }
}

function answer(message: Message): void {
  const { id, method = '', params } = message
  heard.push(method)
  if (method === 'initialize')
    say({ id, result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: manner, version: '1' } } })
  else if (method === 'notifications/initialized') initialized++
  else if (method === 'notifications/cancelled')
    say({ method: 'notifications/heard', params: { cancelled: params?.requestId } })
  else if (method === '') say({ id: Number(String(id).split('-')[1]), result: { answered: message.result } })
  else if (id !== undefined) (calls[params?.name ?? ''] ?? calls.echo)!(id, message)
}

function serve(): void {
  if (manner === 'banner') process.stdout.write('*** Welcome to the server ***\n')
  if (manner === 'stubborn') {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => undefined)
    setInterval(() => undefined, 1000)
  }
  if (manner === 'deaf') {
    setInterval(() => undefined, 1000)
    return
  }
  createInterface({ input: process.stdin }).on('line', (line) => answer(JSON.parse(line) as Message))
}

if (manner === 'dies') {
  process.stderr.write('cannot find my configuration\n')
  process.exit(9)
}
if (port === undefined) serve()
else {
  const socket = connect(Number(port), '127.0.0.1', () => {
    socket.write(`${process.pid}\n`)
    serve()
  })
  // It goes with the test.
  socket.on('error', () => process.exit(1))
  if (manner !== 'stubborn') socket.unref()
}
