/** Google: the Gemini API, and Vertex AI with what others offer there. Thoughts cost what output costs. */
import type { Line, PriceList } from '#backends/llm/prices/list.ts'
import { CLAUDE_GLOBAL, CLAUDE_OLDER } from './anthropic.ts'

const LONG = 200_000
const BATCH = { batch: 50 }

/** "Grounding with Google Search": 14 for a thousand searches; before Gemini 3, 35 for a thousand grounded prompts. */
const withSearches = (lines: readonly Line[]): readonly Line[] =>
  lines.map(([models, dollars]) => {
    const isChat = models.startsWith('gemini-') && !models.startsWith('gemini-embedding')
    return isChat ? [models, { ...dollars, search: models.startsWith('gemini-3') ? 0.014 : 0.035 }] : [models, dollars]
  })

const GEMINI = (): readonly Line[] => withSearches(MODELS)

const MODELS: readonly Line[] = [
  ['gemini-3.7-flash gemini-3.6-flash', { input: 1.5, cacheRead: 0.15, output: 7.5, ...BATCH }],
  ['gemini-3.5-flash', { input: 1.5, cacheRead: 0.15, output: 9, ...BATCH }],
  ['gemini-3.5-flash-lite', { input: 0.3, cacheRead: 0.03, output: 2.5, ...BATCH }],
  [
    'gemini-3.1-pro-preview gemini-3.1-pro-preview-customtools gemini-3-pro-preview',
    { input: 2, cacheRead: 0.2, output: 12, ...BATCH, long: { above: LONG, input: 4, cacheRead: 0.4, output: 18 } }
  ],
  [
    'gemini-3.1-flash-lite gemini-3.1-flash-lite-preview',
    { input: 0.25, cacheRead: 0.025, inputAudio: 0.5, output: 1.5, ...BATCH }
  ],
  ['gemini-3-flash-preview', { input: 0.5, cacheRead: 0.05, inputAudio: 1, output: 3, ...BATCH }],
  ['gemini-3-pro-image gemini-3-pro-image-preview', { input: 2, output: 12, outputImage: 120, ...BATCH }],
  ['gemini-3.1-flash-image gemini-3.1-flash-image-preview', { input: 0.5, output: 3, outputImage: 60, ...BATCH }],
  [
    'gemini-2.5-pro',
    {
      input: 1.25,
      cacheRead: 0.125,
      output: 10,
      ...BATCH,
      long: { above: LONG, input: 2.5, cacheRead: 0.25, output: 15 }
    }
  ],
  ['gemini-2.5-flash', { input: 0.3, cacheRead: 0.03, inputAudio: 1, output: 2.5, ...BATCH }],
  ['gemini-2.5-flash-lite', { input: 0.1, cacheRead: 0.01, inputAudio: 0.3, output: 0.4, ...BATCH }],
  ['gemini-2.5-flash-image gemini-2.5-flash-image-preview', { input: 0.3, output: 2.5, outputImage: 30, ...BATCH }],
  ['gemini-2.5-flash-preview-tts', { input: 0.5, output: 10, outputAudio: 10 }],
  ['gemini-2.5-pro-preview-tts', { input: 1, output: 20, outputAudio: 20 }],
  ['gemini-live-2.5-flash', { input: 0.5, inputAudio: 3, output: 2, outputAudio: 12 }],
  ['gemini-2.0-flash', { input: 0.1, cacheRead: 0.025, inputAudio: 0.7, output: 0.4, ...BATCH }],
  ['gemini-2.0-flash-lite', { input: 0.075, output: 0.3, ...BATCH }],
  [
    'gemini-1.5-pro',
    {
      input: 1.25,
      cacheRead: 0.3125,
      output: 5,
      ...BATCH,
      long: { above: 128_000, input: 2.5, cacheRead: 0.625, output: 10 }
    }
  ],
  [
    'gemini-1.5-flash',
    {
      input: 0.075,
      cacheRead: 0.01875,
      output: 0.3,
      ...BATCH,
      long: { above: 128_000, input: 0.15, cacheRead: 0.0375, output: 0.6 }
    }
  ],
  ['gemini-embedding-001', { input: 0.15, batch: 80 }],
  ['imagen-4.0-generate', { image: 0.04 }],
  ['imagen-4.0-ultra-generate', { image: 0.06 }],
  ['imagen-4.0-fast-generate', { image: 0.02 }]
]

const VERTEX: readonly Line[] = [['llama-3.1-405b-instruct-maas', { input: 5, output: 16 }]]

export const geminiList = (): PriceList => ({
  provider: 'gemini',
  source: 'https://ai.google.dev/gemini-api/docs/pricing',
  date: '2026-08-21',
  lines: GEMINI()
})

export const vertexList = (): PriceList => ({
  provider: 'vertexai',
  source: 'https://cloud.google.com/vertex-ai/generative-ai/pricing',
  date: '2026-08-21',
  lines: [...GEMINI(), ...CLAUDE_GLOBAL(), ...CLAUDE_OLDER(), ...VERTEX]
})
