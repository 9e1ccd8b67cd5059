/** What clients of a simulated fleet call, and the gateway's models for it. */
import { type Caller, promptOf } from './providers.fixture.ts'

export interface Call {
  readonly path: string
  readonly body: object | FormData
  readonly headers?: Readonly<Record<string, string>>
  /** The client leaves when this is there. */
  readonly until?: string
}

type Make = (who: Caller, n: number) => Call

const turns = (who: Caller) => [{ role: 'user', content: promptOf(who) }]
const completions: Make = (who) => ({ path: '/v1/chat/completions', body: { messages: turns(who) } })
const long: Make = (who) => ({
  path: '/v1/chat/completions',
  body: { messages: turns(who), stream: true, max_tokens: 100 }
})
const messages =
  (more: object): Make =>
  (who) => ({
    path: '/v1/messages',
    body: { max_tokens: 200, messages: turns(who), ...more },
    headers: { 'anthropic-version': '2023-06-01' }
  })

function spoken(who: Caller): Call {
  const body = new FormData()
  body.set('prompt', promptOf(who))
  body.set('file', new File(['RIFF'], 'a.wav', { type: 'audio/wav' }))
  return { path: '/v1/audio/transcriptions', body }
}

/** What is called, and how: in the words of four formats, streamed and not. */
export interface Kind {
  readonly what: string
  /** As clients name it. */
  readonly model: string
  readonly make: Make
  /** By the names of providers. Absent: the same one. */
  readonly models?: readonly string[]
}

const picture: Make = (who, n) => ({ path: '/v1/images/generations', body: { prompt: promptOf(who), n: 1 + (n % 3) } })

export const KINDS: readonly Kind[] = [
  { what: 'chat', model: 'chat', make: completions },
  { what: 'chat, in the flex tier', model: 'flex', make: completions },
  {
    what: 'Responses, with searches',
    model: 'responds',
    make: (who) => ({ path: '/v1/responses', body: { input: promptOf(who) } })
  },
  { what: 'Messages, streamed, with caches and searches', model: 'claude-streamed', make: messages({ stream: true }) },
  { what: 'chat, of a model that speaks Messages', model: 'claude-for-chat', make: completions },
  {
    what: 'Gemini, of a model that speaks Messages',
    model: 'claude-for-gemini',
    make: (who) => ({
      path: '/v1beta/models/claude-for-gemini:generateContent',
      body: { contents: [{ role: 'user', parts: [{ text: promptOf(who) }] }] }
    })
  },
  { what: 'a stream that its client leaves', model: 'left', make: (who, n) => ({ ...long(who, n), until: ' is ' }) },
  {
    what: 'a stream that may break, and goes on elsewhere',
    model: 'breaks',
    models: ['breaks', 'goes-on'],
    make: long
  },
  {
    what: 'a model that fails every other time, and the next',
    model: 'steady',
    models: ['down', 'second'],
    make: completions
  },
  { what: 'chat with a shadow', model: 'shadowed', models: ['watched', 'copied'], make: completions },
  { what: 'chat twice, then from the cache', model: 'kept', make: completions },
  { what: 'embeddings', model: 'embed', make: (who) => ({ path: '/v1/embeddings', body: { input: promptOf(who) } }) },
  { what: 'pictures, by tokens', model: 'paint', make: picture },
  { what: 'pictures, by the piece', model: 'draw', make: picture },
  {
    what: 'speech',
    model: 'say',
    make: (who, n) => ({
      path: '/v1/audio/speech',
      body: { voice: 'alloy', input: promptOf(who).padEnd(40 + (n % 50), '.') }
    })
  },
  { what: 'transcriptions', model: 'hear', make: spoken },
  {
    what: 'ranking',
    model: 'rank',
    make: (who) => ({ path: '/v1/rerank', body: { query: promptOf(who), documents: ['a', 'b'] } })
  }
]

const CHAT = { input: 3, cacheRead: 0.3, output: 15 }
const CLAUDE = { ...CHAT, cacheWrite5m: 3.75, cacheWrite1h: 6, perSearch: 0.01 }

/** `llm` of the gateway, with the providers' prices in dollars. */
export function llmOf(port: number): object {
  const base = `http://127.0.0.1:${port}`
  const model = (name: string, provider: string, prices: object, more: object = {}) => ({
    ...{ name, provider, prices: [prices] },
    params: { baseUrl: `${base}/${name}/v1`, apiKey: 'of-provider' },
    ...more
  })
  return {
    port: 0,
    cache: { ttl: '1h' },
    streams: { continue: 1 },
    // Whether a provider rests must not hang on the time that calls take.
    failover: { cooldown: { failures: 1000 } },
    models: [
      model('chat', 'openai', CHAT),
      model('flex', 'openai', { ...CHAT, flex: { percent: 50 } }),
      model('responds', 'openai', { ...CHAT, perSearch: 0.01 }),
      ...['claude-streamed', 'claude-for-chat', 'claude-for-gemini', 'left'].map((name) =>
        model(name, 'anthropic', CLAUDE)
      ),
      model('breaks', 'anthropic', CLAUDE, { fallbacks: ['goes-on'] }),
      model('goes-on', 'vllm', { input: 1, output: 2 }),
      ...['down', 'second', 'watched', 'copied', 'kept'].map((name) => model(name, 'openai', CHAT)),
      model('embed', 'openai', { input: 0.02 }),
      model('paint', 'openai', { input: 5, inputImage: 10, output: 40 }),
      model('draw', 'openai', { perImage: 0.04 }),
      model('say', 'openai', { perMillionCharacters: 15 }),
      model('hear', 'openai', { perSecond: 0.0001 }),
      // Each of Cohere's APIs has a path of its own.
      model('rank', 'cohere', { perSearch: 0.002 }, { params: { baseUrl: base, apiKey: 'of-provider' } })
    ],
    virtualModels: [
      { name: 'steady', routing: { failover: { targets: [{ model: 'down' }, { model: 'second', priority: 1 }] } } },
      {
        name: 'shadowed',
        routing: { failover: { targets: [{ model: 'watched' }] } },
        shadow: { model: 'copied', percent: 100 }
      }
    ]
  }
}
