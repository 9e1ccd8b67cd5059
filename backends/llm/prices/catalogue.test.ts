/** The catalogue by what providers report: each usage as the provider's reference shows it, with its cost by hand. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { readUsage as ofCompletions } from '#backends/llm/formats/completions/usage.ts'
import { Fields } from '#backends/llm/formats/fields.ts'
import { readUsage as ofGemini } from '#backends/llm/formats/gemini/usage.ts'
import { readUsage as ofMessages } from '#backends/llm/formats/messages/usage.ts'
import type { PriceRow } from '#engine/contract/price-list.ts'
import { xorshift32 } from '#engine/kit/random.ts'
import { Prices } from '#engine/prices/book.ts'
import { costOf, estimateOf, type TokenCounts } from '#engine/prices/cost.ts'
import { comparedModels } from './catalogue/compared.ts'
import { priceCatalogue } from './catalogue.ts'

const BOOK = new Prices(priceCatalogue)
const NONE: TokenCounts = {
  ...{ input: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, inputAudio: 0, inputImage: 0 },
  ...{ output: 0, reasoning: 0, outputAudio: 0, outputImage: 0 }
}

const completions = (prompt: number, completion: number, more: object = {}): TokenCounts =>
  ofCompletions({ prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, ...more })
const messages = (usage: object): TokenCounts => ofMessages(Fields.of(usage as never, ''))
const gemini = (usage: object): TokenCounts => ofGemini(Fields.of(usage as never, ''))

const cached = (tokens: number) => ({ prompt_tokens_details: { cached_tokens: tokens } })

/** Picodollars; millionths of a dollar have six zeros. */
const CALLS: readonly (readonly [provider: string, model: string, tokens: TokenCounts, picos: number])[] = [
  // 86 x 1.25 + 1920 x 0.125 + 300 x 10; thoughts are a part of output.
  [
    'openai',
    'gpt-5-2025-08-07',
    completions(2006, 300, { ...cached(1920), completion_tokens_details: { reasoning_tokens: 256 } }),
    3_347_500_000
  ],
  // 272,000 is not long: 272000 x 2.5; one more is: 272001 x 5.
  ['openai', 'gpt-5.4', completions(272_000, 0), 680_000_000_000],
  ['openai', 'gpt-5.4', completions(272_001, 0), 1_360_005_000_000],
  // 200 of audio x 32, 100 of text x 4; 50 x 64 and 10 x 16.
  ['openai', 'gpt-realtime', { ...NONE, input: 300, inputAudio: 200, output: 60, outputAudio: 50 }, 10_160_000_000],
  ['openai', 'ft:gpt-4o-mini-2024-07-18:acme::id', completions(1000, 100), 420_000_000],
  ['openai', 'text-embedding-3-small', completions(8, 0), 160_000],
  // 21 x 3 + 188086 x 0.3 + 100 x 3.75 + 50 x 6 + 393 x 15.
  [
    'anthropic',
    'claude-sonnet-4-6',
    messages({
      input_tokens: 21,
      cache_creation_input_tokens: 150,
      cache_read_input_tokens: 188_086,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 50 },
      output_tokens: 393
    }),
    63_058_800_000
  ],
  ['anthropic', 'claude-haiku-4-5-20251001', messages({ input_tokens: 10, output_tokens: 20 }), 110_000_000],
  // 1000 - 200 of text x 1.25 + 200 x 0.125; 50 + 100 of thoughts x 10.
  [
    'gemini',
    'models/gemini-2.5-pro',
    gemini({ promptTokenCount: 1000, cachedContentTokenCount: 200, candidatesTokenCount: 50, thoughtsTokenCount: 100 }),
    2_525_000_000
  ],
  [
    'vertexai',
    'publishers/google/models/gemini-2.5-flash',
    gemini({
      promptTokenCount: 110,
      promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 100 }],
      candidatesTokenCount: 4
    }),
    113_000_000
  ],
  ['vertexai', 'claude-sonnet-4-5@20250929', completions(100, 10), 450_000_000],
  // In the regions of a profile a tenth more than with global.
  ['bedrock', 'global.anthropic.claude-sonnet-4-5-20250929-v1:0', completions(100, 10), 450_000_000],
  ['bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', completions(100, 10), 495_000_000],
  ['bedrock', 'anthropic.claude-3-haiku-20240307-v1:0', completions(100, 10), 37_500_000],
  [
    'bedrock',
    'arn:aws:bedrock:us-east-1:1:inference-profile/eu.amazon.nova-lite-v1:0',
    completions(100, 10),
    8_400_000
  ],
  ['azureopenai', 'gpt-4o-2024-11-20', completions(100, 10), 350_000_000],
  ['mistral', 'mistral-large-latest', completions(13, 434), 657_500_000],
  ['groq', 'llama-3.3-70b-versatile', completions(18, 343), 281_590_000],
  ['deepseek', 'deepseek-chat', completions(495, 30, { prompt_cache_hit_tokens: 320 }), 33_796_000],
  ['xai', 'grok-4-0709', completions(32, 9), 231_000_000],
  ['cohere', 'command-a-03-2025', completions(100, 10), 350_000_000],
  ['together', 'meta-llama/Llama-3.3-70B-Instruct-Turbo', completions(100, 10), 96_800_000],
  ['fireworks', 'accounts/fireworks/models/kimi-k2p5', completions(100, 10), 90_000_000],
  // 0.012 for the request.
  ['perplexity', 'sonar', completions(14, 100), 12_114_000_000],
  ['cerebras', 'gpt-oss-120b', completions(100, 10), 42_500_000],
  ['voyage', 'voyage-3.5', completions(100, 0), 6_000_000],
  ['jina', 'jina-embeddings-v2-base-en', completions(100, 0), 2_000_000],
  ['moonshot', 'kimi-k2.6', completions(100, 10, cached(50)), 95_500_000]
]

for (const [provider, model, tokens, picos] of CALLS) {
  test(`${provider} ${model}: ${picos} picodollars`, () => {
    const price = BOOK.find(provider, [model], [])
    equal(price === null ? null : costOf(price.row, countsOf(tokens), null), picos)
  })
}

function countsOf(tokens: TokenCounts): TokenCounts {
  const kinds = Object.keys(NONE) as (keyof TokenCounts)[]
  return Object.fromEntries(kinds.map((kind) => [kind, tokens[kind]])) as unknown as TokenCounts
}

test('units beside tokens: searches, seconds, characters, pictures by size and quality', () => {
  const cost = (provider: string, model: string, units: object) =>
    costOf(BOOK.find(provider, [model], [])!.row, NONE, null, units)
  equal(cost('cohere', 'rerank-v3.5', { counts: { search: 2 } }), 4_000_000_000)
  equal(cost('openai', 'whisper-1', { counts: { second: 30 } }), 3_000_000_000)
  equal(cost('openai', 'tts-1', { counts: { character: 100 } }), 1_500_000_000)
  const hd = { counts: { image: 2 }, imageSize: '1024x1792', imageQuality: 'hd' }
  equal(cost('openai', 'dall-e-3', hd), 240_000_000_000)
  equal(cost('openai', 'gpt-4o', { counts: { image: 1 } }), 'no price for image')
})

test('a fine-tuned model, one of another provider, and a longer name are not taken for what they resemble', () => {
  for (const [provider, model] of [
    ['openai', 'ft:gpt-5:acme::id'],
    ['openai', 'claude-sonnet-4-5'],
    ['openai', 'gpt-5-x'],
    ['custom', 'gpt-5'],
    ['openai', ''],
    ['openai', 'g'.repeat(10_000)],
    ['openai', '__proto__']
  ] as const)
    equal(BOOK.find(provider, [model], []), null, model)
})

test('costs are whole, add up from their kinds, and rise with each of them', () => {
  const random = xorshift32(7)
  const rows = priceCatalogue().filter(({ rates }) => rates.input !== undefined && rates.output !== undefined)
  const count = () => Math.floor(random() * 10_000)
  for (let i = 0; i < 2000; i++) {
    const row: PriceRow = { ...rows[i % rows.length]!, long: [] }
    const request = row.rates.request ?? 0
    const parts = [count(), count(), count(), count(), count(), count(), count()] as const
    const [plain, cacheRead, cacheWrite5m, cacheWrite1h, text, reasoning, outputAudio] = parts
    const input = plain + cacheRead + cacheWrite5m + cacheWrite1h
    const tokens = {
      ...NONE,
      input,
      cacheRead,
      cacheWrite5m,
      cacheWrite1h,
      reasoning,
      outputAudio,
      output: text + reasoning + outputAudio
    }
    const cost = costOf(row, tokens, null) as number
    ok(Number.isSafeInteger(cost) && cost >= 0)
    const of = (one: Partial<TokenCounts>) => (costOf(row, { ...NONE, ...one }, null) as number) - request
    const kinds = [
      ...[of({ input: plain }), of({ input: cacheRead, cacheRead }), of({ input: cacheWrite5m, cacheWrite5m })],
      ...[of({ input: cacheWrite1h, cacheWrite1h }), of({ output: text }), of({ output: reasoning, reasoning })],
      of({ output: outputAudio, outputAudio })
    ]
    equal(
      kinds.reduce((sum, one) => sum + one, request),
      cost
    )
    for (const more of [{ input: input + 1 }, { output: tokens.output + 1 }])
      ok((costOf(row, { ...tokens, ...more }, null) as number) >= cost)
    ok(estimateOf(row, input, text)! >= of({ input: plain, output: text }))
  }
})

test('what two collections agree on is in the catalogue', () => {
  const rows = priceCatalogue()
  for (const [provider, models] of comparedModels()) {
    const known = new Set(rows.filter((row) => row.provider === provider).map(({ model }) => model))
    deepEqual(
      [...models].filter((model) => !known.has(model)),
      [],
      provider
    )
  }
  const compared = rows.filter(({ isCompared }) => isCompared).length
  equal(
    compared,
    [...comparedModels().values()].map(({ size }) => size).reduce((sum, one) => sum + one, 0)
  )
  ok(rows.every(({ isCompared }) => isCompared !== undefined))
})

test('every row has whole prices, a date, a source and a model of its own', () => {
  const rows = priceCatalogue()
  const names = rows.map(({ provider, model }) => `${provider} ${model}`)
  deepEqual(
    names.filter((name, i) => names.indexOf(name) !== i),
    []
  )
  for (const { rates, long, tiers, date, source } of rows) {
    const sets = [rates, ...long.map((one) => one.rates), ...Object.values(tiers).map((one) => one.rates)]
    for (const set of sets) ok(Object.values(set).every((price) => Number.isSafeInteger(price) && price >= 0))
    ok(/^\d{4}-\d\d-\d\d$/.test(date!) && source!.startsWith('https://'))
  }
})
