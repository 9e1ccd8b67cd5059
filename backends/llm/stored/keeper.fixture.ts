/** A provider that keeps what it is sent, for the tests of this folder: as OpenAI, Anthropic and Google answer. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

type Json = Record<string, unknown>

export interface KeptRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly bytes: Buffer
  /** Of a JSON body; {}: it is none. */
  readonly body: Json
}

export interface Keeper {
  readonly port: number
  readonly requests: KeptRequest[]
  /** By id. */
  readonly objects: Map<string, Json>
  readonly contents: Map<string, Buffer>
}

const ID = (prefix: string, keeper: Keeper): string =>
  `${prefix}${keeper.objects.size + 1}x${'0af9'.repeat(4)}${keeper.port}`

/** `account`: a part of its ids. */
export async function startKeeper(t: TestContext): Promise<Keeper> {
  const keeper = { port: 0, requests: [] as KeptRequest[], objects: new Map<string, Json>(), contents: new Map() }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => void answer(keeper, read(request, Buffer.concat(chunks)), response))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  keeper.port = (server.address() as AddressInfo).port
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return keeper
}

function read({ method = '', url = '', headers }: IncomingMessage, bytes: Buffer): KeptRequest {
  const { pathname, searchParams } = new URL(url, 'http://x')
  const isJson = (headers['content-type'] ?? '').includes('json') && bytes[0] === 123
  const body = isJson ? (JSON.parse(bytes.toString()) as Json) : {}
  return { method, path: pathname, query: searchParams, headers, bytes, body }
}

async function answer(keeper: Keeper, request: KeptRequest, response: ServerResponse): Promise<void> {
  keeper.requests.push(request)
  const parts = request.path.split('/').filter((part) => part !== '')
  const made = request.path.includes('/v1beta/')
    ? google(keeper, request, response)
    : await (request.headers['anthropic-version'] === undefined ? openai : anthropic)(
        keeper,
        request,
        parts.slice(1),
        response
      )
  if (made === null) return
  const [status, body] = made
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

type Answer = readonly [status: number, body: Json] | null

const missing = (what: string): Answer => [
  404,
  { error: { message: `no such ${what}`, type: 'invalid_request_error' } }
]

const KINDS: Readonly<Record<string, readonly [prefix: string, object: string]>> = {
  batches: ['batch_', 'batch'],
  conversations: ['conv_', 'conversation'],
  vector_stores: ['vs_', 'vector_store'],
  responses: ['resp_', 'response'],
  uploads: ['upload_', 'upload'],
  containers: ['cntr_', 'container']
}

async function openai(
  keeper: Keeper,
  request: KeptRequest,
  parts: string[],
  response: ServerResponse
): Promise<Answer> {
  const [collection = '', id, sub] = parts
  const { method, body } = request
  if (collection === 'files') return openaiFiles(keeper, request, parts, response)
  if (collection === 'realtime') return realtime(keeper, parts, response)
  const kind = KINDS[collection]
  if (kind === undefined) return missing('path')
  if (id === undefined && method === 'GET') return [200, page(keeper, kind[1])]
  if (id === undefined) return create(keeper, request, kind, response)
  const object = keeper.objects.get(id)
  if (object === undefined) return missing(id)
  if (method === 'DELETE') {
    keeper.objects.delete(id)
    return [200, { id, object: `${kind[1]}.deleted`, deleted: true }]
  }
  if (sub === 'files' && method === 'POST') {
    return [200, { id: body.file_id, object: 'vector_store.file', vector_store_id: id, status: 'completed' }]
  }
  if (sub === 'input_items' || sub === 'items') {
    return [
      200,
      { object: 'list', data: [{ id: 'msg_1', type: 'message' }], first_id: 'msg_1', last_id: 'msg_1', has_more: false }
    ]
  }
  if (request.query.get('stream') === 'true') return stream(object, response)
  if (sub === 'cancel') object.status = 'cancelled'
  return [200, object]
}

function create(
  keeper: Keeper,
  { body }: KeptRequest,
  [prefix, object]: readonly [string, string],
  response: ServerResponse
): Answer {
  const id = ID(prefix, keeper)
  const { stream: isStreamed, tools: _, input: __, ...echoed } = body
  const made: Json = { id, object, status: 'completed', ...echoed }
  if (object === 'response')
    Object.assign(made, { output: [], usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } })
  if (object === 'batch') made.output_file_id = body.input_file_id
  keeper.objects.set(id, made)
  return isStreamed === true ? stream(made, response) : [200, made]
}

/** A piece of text between the two events that name the answer. */
function stream(object: Json, response: ServerResponse): null {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const events: Json[] = [
    { type: 'response.created', sequence_number: 0, response: { ...object, status: 'in_progress', usage: null } },
    {
      type: 'response.output_text.delta',
      sequence_number: 1,
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      delta: String(object.id)
    },
    { type: 'response.completed', sequence_number: 2, response: object }
  ]
  for (const event of events) response.write(`event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`)
  response.end()
  return null
}

function page(keeper: Keeper, object: string): Json {
  const data = [...keeper.objects.values()].filter((one) => one.object === object || one.type === object)
  return { object: 'list', data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more: false }
}

async function openaiFiles(
  keeper: Keeper,
  request: KeptRequest,
  [, id, sub]: string[],
  response: ServerResponse
): Promise<Answer> {
  const { method, headers, bytes } = request
  if (id === undefined && method === 'GET') return [200, page(keeper, 'file')]
  if (id === undefined) {
    const form = await new Response(bytes, { headers: { 'content-type': headers['content-type']! } }).formData()
    const file = form.get('file') as File
    const made = ID('file-', keeper)
    keeper.contents.set(made, Buffer.from(await file.arrayBuffer()))
    keeper.objects.set(made, { id: made, object: 'file', filename: file.name, purpose: form.get('purpose') })
    return [200, keeper.objects.get(made)!]
  }
  const object = keeper.objects.get(id)
  if (object === undefined) return missing(id)
  if (method === 'DELETE') {
    keeper.objects.delete(id)
    return [200, { id, object: 'file', deleted: true }]
  }
  if (sub !== 'content') return [200, object]
  response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(keeper.contents.get(id))
  return null
}

function realtime(keeper: Keeper, [, calls, id]: string[], response: ServerResponse): Answer {
  if (calls !== 'calls')
    return [200, { value: 'ek_1', expires_at: 1, session: { id: 'sess_1', object: 'realtime.session' } }]
  if (id !== undefined) return keeper.objects.has(id) ? [200, {}] : missing(id)
  const made = ID('rtc_', keeper)
  keeper.objects.set(made, {})
  response.writeHead(201, { 'content-type': 'application/sdp', location: `/v1/realtime/calls/${made}` }).end('v=0\r\n')
  return null
}

async function anthropic(
  keeper: Keeper,
  request: KeptRequest,
  parts: string[],
  response: ServerResponse
): Promise<Answer> {
  const { method, bytes, headers } = request
  const [first, ...rest] = parts[0] === 'messages' ? parts.slice(1) : parts
  const [id, sub] = rest
  const isBatch = first === 'batches'
  if (id === undefined && method === 'GET') return [200, page(keeper, isBatch ? 'message_batch' : 'file')]
  if (id === undefined && isBatch) {
    const made = ID('msgbatch_', keeper)
    const results = `https://api.anthropic.com/v1/messages/batches/${made}/results`
    keeper.objects.set(made, { id: made, type: 'message_batch', processing_status: 'ended', results_url: results })
    return [200, keeper.objects.get(made)!]
  }
  if (id === undefined) {
    const form = await new Response(bytes, { headers: { 'content-type': headers['content-type']! } }).formData()
    const made = ID('file_', keeper)
    keeper.objects.set(made, { id: made, type: 'file', filename: (form.get('file') as File).name })
    return [200, keeper.objects.get(made)!]
  }
  const object = keeper.objects.get(id)
  if (object === undefined) return missing(id)
  if (sub === 'results') {
    const line = { custom_id: 'a', result: { type: 'succeeded', message: { id: 'msg_1' } } }
    response.writeHead(200, { 'content-type': 'application/x-jsonl' }).end(`${JSON.stringify(line)}\n`)
    return null
  }
  if (method === 'DELETE') return [200, { id, type: isBatch ? 'message_batch_deleted' : 'file_deleted' }]
  return [200, object]
}

function google(keeper: Keeper, request: KeptRequest, response: ServerResponse): Answer {
  const { path, method, headers, body, bytes, query } = request
  const uploads = path.startsWith('/upload/')
  if (uploads && headers['x-goog-upload-command'] === 'start') {
    const url = `https://generativelanguage.googleapis.com/upload/v1beta/files?upload_id=UP-${keeper.port}&upload_protocol=resumable&key=AIza`
    response
      .writeHead(200, { 'x-goog-upload-url': url, 'x-goog-upload-control-url': url, 'x-goog-upload-status': 'active' })
      .end()
    return null
  }
  if (uploads) {
    const name = `files/abc${keeper.port}`
    const file = {
      name,
      uri: `https://generativelanguage.googleapis.com/v1beta/${name}`,
      mimeType: 'text/plain',
      state: 'ACTIVE'
    }
    keeper.objects.set(name, file)
    keeper.contents.set(query.get('upload_id') ?? '', bytes)
    response.setHeader('x-goog-upload-status', 'final')
    return [200, { file }]
  }
  const name = path.replace('/v1beta/', '')
  if (name === 'cachedContents' && method === 'POST') {
    const made = { name: `cachedContents/c${keeper.port}`, model: body.model }
    keeper.objects.set(made.name, made)
    return [200, made]
  }
  if (name.endsWith(':batchGenerateContent')) {
    const made = {
      name: `batches/b${keeper.port}`,
      metadata: { name: `batches/b${keeper.port}`, model: name, state: 'BATCH_STATE_PENDING' }
    }
    keeper.objects.set(made.name, made)
    return [200, made]
  }
  if (name.includes(':generateContent'))
    return [200, { candidates: [{ content: { role: 'model', parts: [{ text: 'ok' }] } }] }]
  const object = keeper.objects.get(name)
  if (object === undefined) return missing(name)
  return [200, method === 'DELETE' ? {} : object]
}
