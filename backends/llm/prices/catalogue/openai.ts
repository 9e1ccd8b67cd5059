/** OpenAI. Priority has no prices for long requests, which it does not take: the same per cent holds for them. */
import type { Line, PriceList } from '#backends/llm/prices/list.ts'

/** Half price for batches and for flex. */
const HALF = { batch: 50, flex: 50 }
const FAST = { ...HALF, priority: 200 }
/** Requests above this have other prices ("Pricing", long context). */
const LONG = 272_000

const GPT_5: readonly Line[] = [
  [
    'gpt-5.6 gpt-5.6-sol',
    {
      input: 5,
      cacheRead: 0.5,
      cacheWrite5m: 6.25,
      output: 30,
      ...FAST,
      long: { above: LONG, input: 10, cacheRead: 1, cacheWrite5m: 12.5, output: 45 }
    }
  ],
  [
    'gpt-5.6-terra',
    {
      input: 2,
      cacheRead: 0.2,
      cacheWrite5m: 2.5,
      output: 12,
      ...FAST,
      long: { above: LONG, input: 4, cacheRead: 0.4, cacheWrite5m: 5, output: 18 }
    }
  ],
  [
    'gpt-5.6-luna',
    {
      input: 0.2,
      cacheRead: 0.02,
      cacheWrite5m: 0.25,
      output: 1.2,
      ...FAST,
      long: { above: LONG, input: 0.4, cacheRead: 0.04, cacheWrite5m: 0.5, output: 1.8 }
    }
  ],
  [
    'gpt-5.5',
    {
      input: 5,
      cacheRead: 0.5,
      output: 30,
      ...HALF,
      priority: 250,
      long: { above: LONG, input: 10, cacheRead: 1, output: 45 }
    }
  ],
  ['gpt-5.5-pro', { input: 30, output: 180, ...HALF, long: { above: LONG, input: 60, output: 270 } }],
  [
    'gpt-5.4',
    { input: 2.5, cacheRead: 0.25, output: 15, ...FAST, long: { above: LONG, input: 5, cacheRead: 0.5, output: 22.5 } }
  ],
  ['gpt-5.4-pro', { input: 30, output: 180, ...HALF, long: { above: LONG, input: 60, output: 270 } }],
  ['gpt-5.4-mini', { input: 0.75, cacheRead: 0.075, output: 4.5, ...FAST }],
  ['gpt-5.4-nano', { input: 0.2, cacheRead: 0.02, output: 1.25, ...HALF }],
  ['gpt-5.3 gpt-5.3-chat', { input: 1.75, cacheRead: 0.175, output: 14 }],
  ['gpt-5.2 gpt-5.2-chat', { input: 1.75, cacheRead: 0.175, output: 14, ...FAST }],
  ['gpt-5.2-codex gpt-5.3-codex', { input: 1.75, cacheRead: 0.175, output: 14, priority: 200 }],
  ['gpt-5.2-pro', { input: 21, output: 168, batch: 50 }],
  ['gpt-5 gpt-5-chat gpt-5.1 gpt-5.1-chat', { input: 1.25, cacheRead: 0.125, output: 10, ...FAST }],
  ['gpt-5-codex gpt-5.1-codex gpt-5.1-codex-max', { input: 1.25, cacheRead: 0.125, output: 10, priority: 200 }],
  ['gpt-5-search-api', { input: 1.25, cacheRead: 0.125, output: 10 }],
  ['gpt-5-pro', { input: 15, output: 120, batch: 50 }],
  ['gpt-5-mini', { input: 0.25, cacheRead: 0.025, output: 2, ...HALF, priority: 180 }],
  ['gpt-5.1-codex-mini', { input: 0.25, cacheRead: 0.025, output: 2 }],
  ['gpt-5-nano', { input: 0.05, cacheRead: 0.005, output: 0.4, ...HALF }]
]

const OLDER: readonly Line[] = [
  ['gpt-4.1', { input: 2, cacheRead: 0.5, output: 8, batch: 50, priority: 175 }],
  ['gpt-4.1-mini', { input: 0.4, cacheRead: 0.1, output: 1.6, batch: 50, priority: 175 }],
  ['gpt-4.1-nano', { input: 0.1, cacheRead: 0.025, output: 0.4, batch: 50, priority: 200 }],
  ['gpt-4o', { input: 2.5, cacheRead: 1.25, output: 10, batch: 50, priority: 170 }],
  ['gpt-4o-2024-05-13 chatgpt-4o', { input: 5, output: 15, batch: 50 }],
  [
    'gpt-4o-mini',
    { input: 0.15, cacheRead: 0.075, output: 0.6, batch: 50, priority: { input: 0.25, cacheRead: 0.125, output: 1 } }
  ],
  // Each of its calls searches.
  ['gpt-4o-search-preview', { input: 2.5, output: 10, request: 0.025 }],
  ['gpt-4o-mini-search-preview', { input: 0.15, output: 0.6 }],
  ['o1', { input: 15, cacheRead: 7.5, output: 60, batch: 50 }],
  ['o1-pro', { input: 150, output: 600, batch: 50 }],
  ['o1-mini o3-mini', { input: 1.1, cacheRead: 0.55, output: 4.4, batch: 50 }],
  ['o3', { input: 2, cacheRead: 0.5, output: 8, ...HALF, priority: 175 }],
  ['o3-pro', { input: 20, output: 80, batch: 50 }],
  [
    'o4-mini',
    {
      input: 1.1,
      cacheRead: 0.275,
      output: 4.4,
      batch: 50,
      flex: { input: 0.55, cacheRead: 0.138, output: 2.2 },
      priority: { input: 2, cacheRead: 0.5, output: 8 }
    }
  ],
  ['o3-deep-research', { input: 10, cacheRead: 2.5, output: 40, batch: 50 }],
  ['o4-mini-deep-research', { input: 2, cacheRead: 0.5, output: 8, batch: 50 }],
  ['gpt-4-turbo gpt-4-0125-preview gpt-4-1106-preview', { input: 10, output: 30, batch: 50 }],
  ['gpt-4', { input: 30, output: 60, batch: 50 }],
  ['gpt-3.5-turbo', { input: 0.5, output: 1.5, batch: 50 }],
  ['gpt-3.5-turbo-1106', { input: 1, output: 2 }],
  ['gpt-3.5-turbo-instruct', { input: 1.5, output: 2 }],
  ['ft:gpt-4o', { input: 3.75, cacheRead: 1.875, output: 15, batch: 50 }],
  ['ft:gpt-4o-mini', { input: 0.3, cacheRead: 0.15, output: 1.2, batch: 50 }],
  ['ft:gpt-4.1', { input: 3, cacheRead: 0.75, output: 12, batch: 50 }],
  ['ft:gpt-4.1-mini', { input: 0.8, cacheRead: 0.2, output: 3.2, batch: 50 }],
  ['ft:gpt-3.5-turbo', { input: 3, output: 6, batch: 50 }]
]

export const OPENAI_CHAT: readonly Line[] = [...GPT_5, ...OLDER]

export const OPENAI_EMBEDDINGS: readonly Line[] = [
  ['text-embedding-3-small', { input: 0.02, batch: 50 }],
  ['text-embedding-3-large', { input: 0.13, batch: 50 }],
  ['text-embedding-ada-002 text-embedding-ada-002-v2', { input: 0.1, batch: 50 }]
]

const SOUND: readonly Line[] = [
  [
    'gpt-realtime gpt-realtime-1.5',
    { input: 4, cacheRead: 0.4, inputAudio: 32, inputImage: 5, output: 16, outputAudio: 64 }
  ],
  ['gpt-realtime-2', { input: 4, cacheRead: 0.4, inputAudio: 32, inputImage: 5, output: 24, outputAudio: 64 }],
  [
    'gpt-realtime-mini',
    { input: 0.6, cacheRead: 0.06, cacheReadAudio: 0.3, inputAudio: 10, inputImage: 0.8, output: 2.4, outputAudio: 20 }
  ],
  ['gpt-4o-realtime-preview', { input: 5, cacheRead: 2.5, inputAudio: 40, output: 20, outputAudio: 80 }],
  ['gpt-4o-mini-realtime-preview', { input: 0.6, cacheRead: 0.3, inputAudio: 10, output: 2.4, outputAudio: 20 }],
  ['gpt-audio gpt-audio-1.5', { input: 2.5, inputAudio: 32, output: 10, outputAudio: 64 }],
  ['gpt-audio-mini', { input: 0.6, inputAudio: 10, output: 2.4, outputAudio: 20 }],
  ['gpt-4o-audio-preview', { input: 2.5, inputAudio: 40, output: 10, outputAudio: 80 }],
  ['gpt-4o-mini-audio-preview', { input: 0.15, inputAudio: 10, output: 0.6, outputAudio: 20 }],
  ['gpt-4o-transcribe gpt-4o-transcribe-diarize', { input: 2.5, inputAudio: 6, output: 10 }],
  ['gpt-4o-mini-transcribe', { input: 1.25, inputAudio: 3, output: 5 }],
  ['gpt-4o-mini-tts', { input: 0.6, output: 12, outputAudio: 12 }],
  ['whisper-1', { second: 0.0001 }],
  ['tts-1', { character: 15 }],
  ['tts-1-hd', { character: 30 }]
]

/** Text in, text cached, pictures in and out; dall-e by picture. */
const PICTURES: readonly Line[] = [
  ['gpt-image-1', { input: 5, cacheRead: 1.25, inputImage: 10, output: 40, outputImage: 40 }],
  ['gpt-image-1-mini', { input: 2, cacheRead: 0.2, cacheReadImage: 0.25, inputImage: 2.5, output: 8, outputImage: 8 }],
  ['gpt-image-1.5 chatgpt-image', { input: 5, cacheRead: 1.25, inputImage: 8, output: 10, outputImage: 32 }],
  ['gpt-image-2', { input: 5, cacheRead: 1.25, cacheReadImage: 2, inputImage: 8, output: 30, outputImage: 30 }],
  [
    'dall-e-3',
    {
      images: [
        { size: '1024x1024', quality: 'standard', price: 0.04 },
        { size: '1024x1024', quality: 'hd', price: 0.08 },
        { quality: 'standard', price: 0.08 },
        { quality: 'hd', price: 0.12 }
      ]
    }
  ],
  ['dall-e-2', { images: [{ size: '256x256', price: 0.016 }, { size: '512x512', price: 0.018 }, { price: 0.02 }] }],
  ['omni-moderation text-moderation text-moderation-stable', { input: 0, output: 0 }]
]

/** Of the web search tool of Responses: 10 for a thousand. The old `web_search_preview` may cost more. */
const SEARCH = 0.01

const withSearches = (lines: readonly Line[]): readonly Line[] =>
  lines.map(([models, dollars]) => [models, { ...dollars, search: SEARCH }])

export const openaiList = (): PriceList => ({
  provider: 'openai',
  source: 'https://developers.openai.com/api/docs/pricing',
  date: '2026-08-21',
  lines: [...withSearches(OPENAI_CHAT), ...OPENAI_EMBEDDINGS, ...SOUND, ...PICTURES]
})
