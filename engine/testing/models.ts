/**
 * A provider of models for tests: it speaks the wire formats of OpenAI (chat completions), Anthropic, Gemini and
 * Bedrock as their documentation shows them, streamed and not. It answers "Hello, world" in two pieces, or with a call
 * of the first tool that it is given, and always with the same usage: 12 tokens in, 4 of them cached, and
 * 7 out.
 */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Body, PIECES, TOOL_ARGUMENTS } from './models-answer.ts'
import { answerConverse } from './models-converse.ts'

export { PIECES, TOOL_ARGUMENTS } from './models-answer.ts'

export interface Asked {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Body
  /** The body as it came. */
  readonly bytes: Buffer
}

export interface Models {
  readonly port: number
  readonly asked: Asked[]
  /** Answers instead of the usual, when it returns true. */
  instead: ((asked: Asked, response: ServerResponse) => boolean) | null
  /** The usual answer, for who has looked at the request first. */
  answer(asked: Asked, response: ServerResponse): void
  close(): void
}

type Wire = readonly (readonly [event: string | null, data: object | '[DONE]'])[]

export async function startModels(): Promise<Models> {
  const asked: Asked[] = []
  const models = { port: 0, asked, instead: null as Models['instead'], answer, close: () => {} }
  const server = createServer((request: IncomingMessage, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const bytes = Buffer.concat(chunks)
      const body = bytes.length === 0 ? {} : JSON.parse(bytes.toString())
      const one = { path: request.url ?? '', headers: request.headers, body, bytes }
      asked.push(one)
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
function answer({ path, body }: Asked, response: ServerResponse): void {
  const name = path.split('?')[0]!
  if (name.endsWith('/chat/completions')) send(response, body.stream === true, completion(body), completionEvents(body))
  else if (name.startsWith('/v1/messages')) send(response, body.stream === true, message(body), messageEvents(body))
  else if (name.endsWith(':rawPredict')) send(response, false, message(body), [])
  else if (name.endsWith(':streamRawPredict')) send(response, true, {}, messageEvents(body))
  else if (path.includes(':streamGenerateContent')) send(response, true, {}, geminiEvents(body))
  else if (path.includes(':generateContent')) send(response, false, gemini(body), [])
  else if (/^\/model\/[^/]+\/converse(?:-stream)?$/.test(name)) answerConverse(name, body, response)
  else {
    response.statusCode = 404
    send(response, false, { error: { message: `no such path: ${path}`, type: 'invalid_request_error' } }, [])
  }
}

function send(response: ServerResponse, isStreamed: boolean, whole: object, events: Wire): void {
  if (!isStreamed) {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(whole))
    return
  }
  response.setHeader('content-type', 'text/event-stream')
  for (const [name, data] of events) {
    const text = data === '[DONE]' ? data : JSON.stringify(data)
    response.write(`${name === null ? '' : `event: ${name}\n`}data: ${text}\n\n`)
  }
  response.end()
}

// --- OpenAI, chat completions ---

const OPENAI_USAGE = {
  prompt_tokens: 12,
  completion_tokens: 7,
  total_tokens: 19,
  prompt_tokens_details: { cached_tokens: 4, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 2, audio_tokens: 0 }
}

function completion(body: Body): object {
  const name = body.tools?.[0]?.function?.name
  const call = { id: 'call_1', type: 'function', function: { name, arguments: TOOL_ARGUMENTS } }
  const message =
    name === undefined
      ? { role: 'assistant', content: PIECES.join(''), refusal: null }
      : { role: 'assistant', content: null, tool_calls: [call], refusal: null }
  const choice = { index: 0, message, logprobs: null, finish_reason: name === undefined ? 'stop' : 'tool_calls' }
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: body.model,
    choices: [choice],
    usage: OPENAI_USAGE
  }
}

function completionEvents(body: Body): Wire {
  const name = body.tools?.[0]?.function?.name
  const chunk = (delta: object, finish: string | null = null) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: body.model,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }]
  })
  const call = (more: object) => chunk({ tool_calls: [{ index: 0, ...more }] })
  const parts =
    name === undefined
      ? PIECES.map((content) => chunk({ content }))
      : [
          call({ id: 'call_1', type: 'function', function: { name, arguments: '' } }),
          call({ function: { arguments: TOOL_ARGUMENTS.slice(0, 5) } }),
          call({ function: { arguments: TOOL_ARGUMENTS.slice(5) } })
        ]
  const usage = { ...chunk({}), choices: [], usage: OPENAI_USAGE }
  const all = [
    chunk({ role: 'assistant', content: name === undefined ? '' : null }),
    ...parts,
    chunk({}, name === undefined ? 'stop' : 'tool_calls'),
    ...(body.stream_options?.include_usage === true ? [usage] : [])
  ]
  return [...all.map((data) => [null, data] as const), [null, '[DONE]']]
}

// --- Anthropic ---

const MESSAGE_USAGE = { input_tokens: 8, cache_creation_input_tokens: 0, cache_read_input_tokens: 4, output_tokens: 7 }

function message(body: Body): object {
  const name = body.tools?.[0]?.name
  const content =
    name === undefined
      ? { type: 'text', text: PIECES.join('') }
      : { type: 'tool_use', id: 'toolu_1', name, input: JSON.parse(TOOL_ARGUMENTS) }
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: body.model,
    content: [content],
    stop_reason: name === undefined ? 'end_turn' : 'tool_use',
    stop_sequence: null,
    usage: MESSAGE_USAGE
  }
}

function messageEvents(body: Body): Wire {
  const name = body.tools?.[0]?.name
  const start = { ...message(body), content: [], stop_reason: null, usage: { ...MESSAGE_USAGE, output_tokens: 1 } }
  const block = name === undefined ? { type: 'text', text: '' } : { type: 'tool_use', id: 'toolu_1', name, input: {} }
  const deltas =
    name === undefined
      ? PIECES.map((text) => ({ type: 'text_delta', text }))
      : ['', TOOL_ARGUMENTS.slice(0, 5), TOOL_ARGUMENTS.slice(5)].map((partial_json) => ({
          type: 'input_json_delta',
          partial_json
        }))
  const stop = { stop_reason: name === undefined ? 'end_turn' : 'tool_use', stop_sequence: null }
  return [
    ['message_start', { type: 'message_start', message: start }],
    ['content_block_start', { type: 'content_block_start', index: 0, content_block: block }],
    ['ping', { type: 'ping' }],
    ...deltas.map((delta) => ['content_block_delta', { type: 'content_block_delta', index: 0, delta }] as const),
    ['content_block_stop', { type: 'content_block_stop', index: 0 }],
    ['message_delta', { type: 'message_delta', delta: stop, usage: { output_tokens: 7 } }],
    ['message_stop', { type: 'message_stop' }]
  ]
}

// --- Gemini ---

const GEMINI_USAGE = {
  promptTokenCount: 12,
  cachedContentTokenCount: 4,
  candidatesTokenCount: 5,
  thoughtsTokenCount: 2,
  totalTokenCount: 19
}

function gemini(body: Body, parts: readonly object[] = geminiParts(body), isLast = true): object {
  const candidate = { content: { role: 'model', parts }, index: 0, ...(isLast ? { finishReason: 'STOP' } : {}) }
  return {
    candidates: [candidate],
    ...(isLast ? { usageMetadata: GEMINI_USAGE } : {}),
    modelVersion: 'gemini-2',
    responseId: 'resp-1'
  }
}

function geminiParts(body: Body): object[] {
  const name = body.tools?.[0]?.functionDeclarations?.[0]?.name
  return name === undefined
    ? [{ text: PIECES.join('') }]
    : [{ functionCall: { name, args: JSON.parse(TOOL_ARGUMENTS) } }]
}

function geminiEvents(body: Body): Wire {
  const hasTool = body.tools?.[0]?.functionDeclarations?.[0] !== undefined
  if (hasTool) return [[null, gemini(body)]]
  return PIECES.map((text, i) => [null, gemini(body, [{ text }], i === PIECES.length - 1)] as const)
}
