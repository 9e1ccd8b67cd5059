/** The canonical workloads. Their names are stable: results are compared by them over the years. */
import { CREDENTIALS } from '#engine/testing/chain.ts'
import type { AnswerName } from './backend/answers.ts'
import { CHAT_PATH } from './backend/models.ts'
import type { Job } from './generator/job.ts'
import { routePath, type WireName } from './peers/peer.ts'

export interface Workload {
  readonly name: string
  /** What it does, for --list. */
  readonly about: string
  /** Workloads of one group run interleaved and share a table. */
  readonly group: string
  /** tool: h2load makes the requests. */
  readonly mode: 'throughput' | 'idle' | 'first' | 'tool'
  readonly wire: WireName
  /** Of HTTP/2: requests at a time on each connection. */
  readonly streams: number
  readonly connections: number
  readonly fresh: boolean
  /** How many times as long the load before the first round is: streams are few, and code is compiled by count. */
  readonly settles: number
  readonly answer: AnswerName
  readonly requests: readonly string[]
  readonly threads: number
  readonly routes: number
  /** The route has the policies of engine/testing/chain.ts. */
  readonly hasChain: boolean
  /** Requests are logged, into a file. */
  readonly isLogged: boolean
  /** A service is asked about each request (Setup.checkPort). */
  readonly isChecked: boolean
  /** Clients ask models; null: nothing but HTTP. */
  readonly model: 'native' | 'converted' | null
  /** Only this peer; null: every peer that is installed. */
  readonly peer: string | null
  /** Whom others are compared with, if it can be measured here. */
  readonly reference: string
  /** Ratios are to this workload of the same peer; null: to the reference peer on the same workload. */
  readonly base: string | null
}

export const IDLE_CONNECTIONS = 10_000
/** Files that idle-10k needs in one process, beside its connections. */
const FILES_SPARE = 500
/** Requests of the routes workloads go to this many routes in turn, spread over all. */
const ROUTES_USED = 64

const BEARER = 'Bearer 0123456789abcdef0123456789abcdef'
const GET = request('GET /1k', '')
const DEFAULTS = {
  mode: 'throughput',
  wire: 'http',
  streams: 1,
  reference: 'nginx',
  connections: 64,
  fresh: false,
  settles: 1,
  answer: 'kilobyte',
  requests: [GET],
  threads: 1,
  routes: 0,
  hasChain: false,
  isLogged: false,
  isChecked: false,
  model: null,
  peer: null,
  base: null
} as const

const asks = (stream: boolean, more = '') =>
  request(
    `POST ${CHAT_PATH}`,
    JSON.stringify({
      model: 'm',
      max_tokens: 1000,
      ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
      messages: [
        { role: 'system', content: 'You are a helpful assistant. '.repeat(8) },
        { role: 'user', content: 'What is the capital of France? '.repeat(16) }
      ]
    }),
    more
  )

/** How clients reach the gateway, beside HTTP/1.1 on clear text; certificates are of ECDSA P-256. */
const WIRE_WORKLOADS: readonly Workload[] = [
  { ...DEFAULTS, name: 'tls-get-1k', group: 'tls-get-1k', about: 'get-1k over TLS', wire: 'https' },
  {
    ...DEFAULTS,
    name: 'tls-churn',
    group: 'tls-churn',
    about: 'a new connection and a whole TLS handshake for every request',
    wire: 'https',
    fresh: true,
    requests: [request('GET /1k', '', 'Connection: close\r\n')]
  },
  {
    ...DEFAULTS,
    name: 'tls-answer-1m',
    group: 'tls-answer-1m',
    about: 'answer-1m over TLS',
    wire: 'https',
    connections: 16,
    answer: 'megabyte',
    requests: [request('GET /1m', '')]
  },
  { ...multiplexed('h2c'), name: 'h2c-16x16', about: 'HTTP/2 on clear text, 16 connections with 16 requests each' },
  { ...multiplexed('h2'), name: 'h2-16x16', about: 'HTTP/2 over TLS, 16 connections with 16 requests each' },
  {
    ...multiplexed('grpc'),
    name: 'grpc-unary',
    about: 'gRPC calls of 128 bytes each way, 16 connections with 16 calls each',
    reference: 'envoy'
  },
  {
    ...DEFAULTS,
    name: 'tcp-1m',
    group: 'tcp-1m',
    about: 'answer-1m through a TCP listener; figures per MB',
    wire: 'tcp',
    connections: 16,
    answer: 'megabyte',
    requests: [request('GET /1m', '')],
    reference: 'haproxy'
  }
]

/** Clients of chat completions, to a provider that speaks them, or to one of Anthropic; and the same as plain HTTP. */
const MODEL_WORKLOADS: readonly Workload[] = (
  [
    ['plain', null],
    ['native', 'native'],
    ['converted', 'converted']
  ] as const
).flatMap(([name, model]): Workload[] => {
  const tokens = model === null ? 'as plain HTTP' : `${name}, with its tokens counted`
  const stream = {
    ...DEFAULTS,
    model,
    requests: [asks(true)],
    answer: 'chatEvents',
    connections: 200,
    settles: 3
  } as const
  return [
    {
      ...DEFAULTS,
      name: `chat-${name}`,
      group: 'chat',
      about: `chat completion, 1 KB answer, ${tokens}`,
      model,
      answer: 'chat',
      requests: [asks(false)]
    },
    {
      ...stream,
      name: `chat-stream-${name}`,
      group: 'chat-stream',
      about: `200 streams of 50 pieces every 10 ms, ${tokens}; figures per stream`
    },
    {
      ...stream,
      name: `chat-stream-512-${name}`,
      group: 'chat-stream-512',
      about: `as chat-stream, 512 at a time, ${tokens}`,
      connections: 512
    },
    {
      ...stream,
      name: `chat-first-${name}`,
      group: `chat-first-${name}`,
      about: `streams that begin at once, one by one, ${tokens}: time to the first token`,
      mode: 'first',
      requests: [asks(true, 'X-Bench: stream\r\n')],
      answer: 'chatAtOnce',
      connections: 1
    }
  ]
})

export const WORKLOADS: readonly Workload[] = [
  {
    ...DEFAULTS,
    name: 'get-1k',
    group: 'get-1k',
    about: 'GET, ten header fields each way, 1 KB answer, 64 connections'
  },
  {
    ...DEFAULTS,
    name: 'get-1k-logged',
    group: 'get-1k-logged',
    about: 'get-1k without X-Request-Id, each logged to a file as the proxy ships',
    isLogged: true,
    requests: [GET.replace(/X-Request-Id: .*\r\n/, '')]
  },
  {
    ...DEFAULTS,
    name: 'ext-auth-grpc',
    group: 'ext-auth-grpc',
    about: 'get-1k, each allowed by a service over gRPC, which adds a field',
    isChecked: true,
    settles: 4,
    reference: 'envoy'
  },
  {
    ...DEFAULTS,
    name: 'post-4k',
    group: 'post-4k',
    about: 'POST of 4 KB, short answer, 64 connections',
    answer: 'accepted',
    requests: [request('POST /4k', 'x'.repeat(4096))]
  },
  {
    ...DEFAULTS,
    name: 'answer-1m',
    group: 'answer-1m',
    about: 'GET, 1 MB answer, 16 connections',
    connections: 16,
    answer: 'megabyte',
    requests: [request('GET /1m', '')]
  },
  {
    ...DEFAULTS,
    name: 'sse-200',
    group: 'sse-200',
    about: '200 event streams, 50 events every 10 ms each; figures per stream',
    connections: 200,
    settles: 3,
    answer: 'events',
    requests: [request('GET /sse', '')]
  },
  {
    ...DEFAULTS,
    name: 'churn',
    group: 'churn',
    about: 'as get-1k, but a new connection for every request',
    fresh: true,
    requests: [request('GET /1k', '', 'Connection: close\r\n')]
  },
  {
    ...DEFAULTS,
    name: 'idle-10k',
    group: 'idle-10k',
    about: '10,000 idle keepalive connections; resident memory over the empty process',
    mode: 'idle',
    connections: IDLE_CONNECTIONS
  },
  ...[1, 100, 5000].map((routes) => routed(routes)),
  ...[false, true].map((hasChain) => chained(hasChain)),
  ...WIRE_WORKLOADS,
  ...MODEL_WORKLOADS,
  ...[1, 2].map(
    (threads): Workload => ({
      ...DEFAULTS,
      name: `workers-${threads}`,
      group: 'workers',
      about: `get-1k with ${threads} worker${threads > 1 ? 's' : ''}`,
      threads
    })
  )
]

/** Why `workload` cannot run where a process may open `files` files; null when it can. */
export function obstacle(workload: Workload, files: number): string | null {
  const needed = workload.connections + FILES_SPARE
  return files >= needed ? null : `a process may open ${files} files, ${needed} are needed (ulimit -n)`
}

/** The generator's job for `workload`, less what differs from run to run. */
export function jobOf({
  connections,
  fresh,
  requests,
  wire
}: Workload): Pick<Job, 'connections' | 'hasTls' | 'fresh' | 'requests'> {
  return { connections, hasTls: wire === 'https', fresh, requests }
}

/** Asked by h2load. */
function multiplexed(wire: WireName): Omit<Workload, 'name' | 'about'> {
  return { ...DEFAULTS, mode: 'tool', wire, group: `${wire}-multiplexed`, connections: 16, streams: 16 }
}

/** The same requests with and without the policies. */
function chained(hasChain: boolean): Workload {
  return {
    ...DEFAULTS,
    name: hasChain ? 'chain-on' : 'chain-off',
    group: 'chain',
    about: `get-1k with a JWT, ${hasChain ? 'verified, three rules, a limit per caller, four header policies' : 'which nobody reads'}`,
    requests: [request('GET /1k', '', '', CREDENTIALS)],
    hasChain,
    peer: 'weir',
    base: 'chain-off'
  }
}

function routed(routes: number): Workload {
  const step = routes / ROUTES_USED
  const requests = Array.from({ length: ROUTES_USED }, (_, i) =>
    request(`GET ${routePath(Math.floor(i * step))}/items/${String(i).padStart(2, '0')}`, '')
  )
  return {
    ...DEFAULTS,
    name: `routes-${routes}`,
    group: 'routes',
    about: `get-1k through ${routes} route${routes > 1 ? 's' : ''} by path prefix`,
    requests,
    routes,
    peer: 'weir',
    base: 'routes-1'
  }
}

/** A whole request with ten header fields, `more` and the framing of its body aside. */
function request(line: string, body: string, more = '', credentials = BEARER): string {
  const framing = body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`
  return (
    `${line} HTTP/1.1\r\n` +
    'Host: bench.example.com\r\n' +
    'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)\r\n' +
    'Accept: application/json, text/plain, */*\r\n' +
    'Accept-Encoding: gzip, deflate, br\r\n' +
    'Accept-Language: en-GB,en;q=0.9\r\n' +
    `Authorization: ${credentials}\r\n` +
    'Cookie: session=6c9b1f2e3d4a5b6c; theme=dark\r\n' +
    'Referer: https://bench.example.com/start\r\n' +
    'Cache-Control: no-cache\r\n' +
    `X-Request-Id: 7f3c2a10-5b1e-4c7d-9a50-1d2e3f405162\r\n${more}${framing}\r\n${body}`
  )
}
