/**
 * Providers of a simulated fleet, which answer with what differs from call to call and write down what they ask for it:
 * by prices of their own, in whole nanos, so that nothing here rests on engine/prices.
 */
import type { ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { type MockRequest, startModels } from '#engine/testing/models.ts'

/** Whose call it is: every prompt says so. */
export interface Caller {
  readonly key: string
  readonly team: string
  readonly day: string
}

/** What one answer was worth. */
export interface Entry extends Caller {
  readonly model: string
  readonly nanos: number
  /** By the names of the books' measures. */
  readonly counts: Readonly<Record<string, number>>
}

interface Answer {
  /** Of what is written down. */
  readonly counts: Readonly<Record<string, number>>
  readonly nanos: number
  send(response: ServerResponse): void
}

export interface Fleet {
  readonly port: number
  readonly entries: readonly Entry[]
}

const CALLER = /(key-\d+) (team-\d+) (\d{4}-\d\d-\d\d)/
export const promptOf = ({ key, team, day }: Caller): string => `${key} ${team} ${day}`

const json =
  (body: object, status = 200) =>
  (response: ServerResponse) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
const event = (data: { readonly type: string } & object): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
const stream =
  (text: string, isWhole = true) =>
  (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(text)
    if (isWhole) response.end()
  }

/** OpenAI's chat; `more`: of the answer. */
function chat(model: string, n: number, share = 1, more: object = {}): Answer {
  const [cached, uncached, reasoning, spoken] = [n % 7, (n * 31) % 997, n % 5, (n * 17) % 499]
  const usage = {
    prompt_tokens: cached + uncached,
    completion_tokens: spoken + reasoning,
    total_tokens: cached + uncached + spoken + reasoning,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning }
  }
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }]
  return {
    counts: {
      ...{ uncachedInputTokens: uncached, cacheReadTokens: cached },
      ...{ outputTokens: spoken + reasoning, reasoningTokens: reasoning }
    },
    // 3, 0.30 and 15 dollars for a million tokens.
    nanos: (uncached * 3_000 + cached * 300 + (spoken + reasoning) * 15_000) * share,
    send: json({ id: 'c', object: 'chat.completion', created: 1, model, choices, usage, ...more })
  }
}

/** OpenAI's Responses, with searches: those that open a page cost nothing. */
function respond(model: string, n: number): Answer {
  const [input, cached, output, searches] = [10 + (n % 300), n % 10, 1 + (n % 90), n % 3]
  const search = (type: string, i: number) => ({
    ...{ type: 'web_search_call', id: `ws_${type}_${i}`, status: 'completed' },
    action: type === 'search' ? { type, query: 'q' } : { type, url: 'https://a.test/' }
  })
  const content = [{ type: 'output_text', text: 'Hi', annotations: [] }]
  const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }
  const calls = [...Array.from({ length: searches }, (_, i) => search('search', i)), search('open_page', 0)]
  const usage = {
    ...{ input_tokens: input, input_tokens_details: { cached_tokens: cached } },
    ...{ output_tokens: output, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: input + output }
  }
  return {
    counts: { uncachedInputTokens: input - cached, cacheReadTokens: cached, outputTokens: output, searches },
    nanos: (input - cached) * 3_000 + cached * 300 + output * 15_000 + searches * 10_000_000,
    send: json({
      ...{ id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model, usage },
      output: [...calls, item]
    })
  }
}

/** Usage of Anthropic with writes of both lifetimes, and searches. */
function claude(n: number) {
  const [fresh, read, short, long, spoken, searches] = [(n * 13) % 301, n % 50, n % 3, n % 4, 1 + ((n * 7) % 97), n % 3]
  const usage = {
    ...{ input_tokens: fresh, cache_read_input_tokens: read, cache_creation_input_tokens: short + long },
    cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
    ...{ output_tokens: spoken, server_tool_use: { web_search_requests: searches } }
  }
  const counts = {
    ...{ uncachedInputTokens: fresh, cacheReadTokens: read, cacheWriteTokens: short + long },
    ...{ outputTokens: spoken, searches }
  }
  // 3, 0.30, 3.75, 6 and 15 dollars for a million tokens, 10 for a thousand searches.
  const nanos = fresh * 3_000 + read * 300 + short * 3_750 + long * 6_000 + spoken * 15_000 + searches * 10_000_000
  return { usage, counts, nanos }
}

const message = (model: string, usage: object, more: object = {}) => ({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model, content: [], stop_reason: null },
  ...{ stop_sequence: null, usage, ...more }
})
const began = (model: string, usage: object) =>
  event({ type: 'message_start', message: message(model, usage) } as never)
const opened = event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as never)
const delta = (text: string) =>
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } } as never)

function whole(model: string, n: number): Answer {
  const { usage, counts, nanos } = claude(n)
  const content = [{ type: 'text', text: 'Hi' }]
  return { counts, nanos, send: json(message(model, usage, { content, stop_reason: 'end_turn' })) }
}

function streamed(model: string, n: number): Answer {
  const { usage, counts, nanos } = claude(n)
  const ended = [
    event({ type: 'content_block_stop', index: 0 } as never),
    event({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage } as never),
    event({ type: 'message_stop' })
  ].join('')
  const text = began(model, { ...usage, output_tokens: 1 }) + opened + delta('Hello') + delta(' there') + ended
  return { counts, nanos, send: stream(text) }
}

/** Three pieces, and no more: the client leaves, or the connection breaks. A token each, and the input, are paid. */
function begun(model: string, n: number, breaks: boolean): Answer {
  const text =
    began(model, { input_tokens: 100 + n, output_tokens: 0 }) + opened + delta('The') + delta(' sky') + delta(' is ')
  return {
    // No usage tells of the pieces; the record of a call that goes on has the tokens of the last provider.
    counts: breaks ? {} : { uncachedInputTokens: 100 + n },
    nanos: (100 + n) * 3_000 + 3 * 15_000,
    send: (response) => {
      stream(text, false)(response)
      if (breaks) response.write('', () => void response.socket!.destroySoon())
    }
  }
}

function rest(model: string, n: number): Answer {
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', model, ...more })}\n\n`
  const usage = { prompt_tokens: 50 + n, completion_tokens: 4, total_tokens: 54 + n }
  const choice = (delta: object, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason }]
  })
  const text =
    chunk(choice({ role: 'assistant', content: 'blue.' })) + chunk(choice({}, 'stop')) + chunk({ choices: [], usage })
  // 1 and 2 dollars for a million tokens.
  return {
    counts: { uncachedInputTokens: 50 + n, outputTokens: 4 },
    nanos: (50 + n) * 1_000 + 4 * 2_000,
    send: stream(`${text}data: [DONE]\n\n`)
  }
}

function painted(n: number): Answer {
  const [text, image, output] = [n % 40, n % 90, 1_000 + n]
  const usage = {
    ...{ input_tokens: text + image, input_tokens_details: { text_tokens: text, image_tokens: image } },
    ...{ output_tokens: output, total_tokens: text + image + output }
  }
  return {
    counts: { uncachedInputTokens: text + image, inputImageTokens: image, outputTokens: output },
    // 5 dollars for a million tokens of text, 10 of pictures, 40 that are painted.
    nanos: text * 5_000 + image * 10_000 + output * 40_000,
    send: json({ created: 1, data: [{ b64_json: 'QQ' }], usage })
  }
}

type Say = (n: number, request: MockRequest) => Answer | null

/** By model. Null: it has no answer to that one, and asks for nothing. */
const MODELS: Readonly<Record<string, Say>> = {
  chat: (n) => (n % 11 === 0 ? null : chat('chat', n)),
  responds: (n) => respond('responds', n),
  flex: (n) => chat('flex', 2 * n, 1 / 2, { service_tier: 'flex' }),
  'claude-streamed': (n) => streamed('claude-streamed', n),
  'claude-for-chat': (n) => whole('claude-for-chat', n),
  'claude-for-gemini': (n) => whole('claude-for-gemini', n),
  left: (n) => begun('left', n, false),
  breaks: (n) => (n % 3 === 0 ? begun('breaks', n, true) : streamed('breaks', n)),
  'goes-on': (n) => rest('goes-on', n),
  down: (n) => (n % 2 === 0 ? null : chat('down', n)),
  second: (n) => chat('second', n),
  watched: (n) => chat('watched', n),
  copied: (n) => chat('copied', n),
  kept: (n) => chat('kept', n),
  embed: (n) => ({
    counts: { uncachedInputTokens: n },
    // 0.02 dollars for a million tokens.
    nanos: n * 20,
    send: json({
      ...{ object: 'list', model: 'embed', usage: { prompt_tokens: n, total_tokens: n } },
      data: [{ object: 'embedding', index: 0, embedding: [0.5] }]
    })
  }),
  paint: (n) => painted(n),
  // 4 cents each.
  draw: (_, { body }) => ({
    counts: { pictures: Number(body.n) },
    nanos: Number(body.n) * 40_000_000,
    send: json({ created: 1, data: Array.from({ length: Number(body.n) }, () => ({ url: 'https://a.test/' })) })
  }),
  // 15 dollars for a million characters.
  say: (_, { body }) => ({
    counts: {},
    nanos: String(body.input).length * 15_000,
    send: (response) => void response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(Buffer.from([255, 251, 0]))
  }),
  // 0.0001 dollars a second.
  hear: (n) => ({
    counts: { seconds: 1 + (n % 60) },
    nanos: (1 + (n % 60)) * 100_000,
    send: json({ text: 'Ahoy.', usage: { type: 'duration', seconds: 1 + (n % 60) } })
  }),
  // 2 dollars for a thousand searches.
  rank: (n) => ({
    counts: { searches: 1 + (n % 4) },
    nanos: (1 + (n % 4)) * 2_000_000,
    send: json({
      ...{ id: 'r', results: [{ index: 0, relevance_score: 0.9 }] },
      meta: { billed_units: { search_units: 1 + (n % 4) } }
    })
  })
}

/** Requests go to /MODEL/..., those of Cohere to its own path. */
export async function startFleet(t: TestContext): Promise<Fleet> {
  const models = await startModels()
  t.after(() => models.close())
  const entries: Entry[] = []
  const nths = new Map<string, number>()
  models.instead = (request, response) => {
    const model = request.path === '/v2/rerank' ? 'rank' : request.path.split('/')[1]!
    const n = (nths.get(model) ?? 0) + 1
    nths.set(model, n)
    const [, key, team, day] = CALLER.exec(request.bytes.toString('latin1'))!
    const answer = MODELS[model]!(n, request)
    if (answer === null) json({ error: { message: 'no', type: 'server_error' } }, 500)(response)
    else {
      const { counts, nanos } = answer
      entries.push({ key: key!, team: team!, day: day!, model, counts, nanos })
      answer.send(response)
    }
    return true
  }
  return { port: models.port, entries }
}
