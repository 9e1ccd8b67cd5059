import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { NO_USAGE } from '#backends/llm/conversation.ts'
import { readUsage } from '#backends/llm/formats/completions/usage.ts'
import { priceCatalogue } from '#backends/llm/prices/catalogue.ts'
import { usageOf } from '#backends/llm/routes/realtime-usage.ts'
import { xorshift32 } from '#engine/kit/random.ts'
import { Prices } from '#engine/prices/book.ts'
import { costOf } from '#engine/prices/cost.ts'
import { inputKinds, type ReportedInput } from './input-kinds.ts'

const reported = (more: Partial<ReportedInput>): ReportedInput => ({
  ...{ input: 1000, cacheRead: 0, written: 0, audio: 0, image: 0, cachedAudio: null, cachedImage: null },
  ...more
})

test('what a provider splits is taken as it is', () => {
  deepEqual(inputKinds(reported({ cacheRead: 400, audio: 500, image: 100, cachedAudio: 300, cachedImage: 50 })), {
    ...{ inputAudio: 200, inputImage: 50, cacheReadAudio: 300, cacheReadImage: 50 }
  })
})

test('where it is not split, only what must be in both parts is taken for cached', () => {
  deepEqual(inputKinds(reported({ cacheRead: 400, audio: 500 })), { inputAudio: 500, inputImage: 0 })
  deepEqual(inputKinds(reported({ cacheRead: 700, audio: 500 })), {
    ...{ inputAudio: 300, inputImage: 0, cacheReadAudio: 200 }
  })
  deepEqual(inputKinds(reported({ input: 100, cacheRead: 100, audio: 60, image: 40 })), {
    ...{ inputAudio: 0, inputImage: 0, cacheReadAudio: 60, cacheReadImage: 40 }
  })
})

test('whatever a provider counts, no part is below nothing, and no cached part is more than the cache', () => {
  const random = xorshift32(7)
  const count = () => random() % 1000
  for (let i = 0; i < 20_000; i++) {
    const [cachedAudio, cachedImage] = i % 2 === 0 ? [null, null] : [count(), count()]
    const one = reported({ input: count(), cacheRead: count(), written: count(), audio: count(), image: count() })
    const {
      inputAudio,
      inputImage,
      cacheReadAudio = 0,
      cacheReadImage = 0
    } = inputKinds({
      ...one,
      cachedAudio,
      cachedImage
    })
    const parts = [inputAudio, inputImage, cacheReadAudio, cacheReadImage]
    ok(
      parts.every((part) => part >= 0),
      JSON.stringify(one)
    )
    ok(cacheReadAudio + cacheReadImage <= one.cacheRead, JSON.stringify(one))
    deepEqual([inputAudio + cacheReadAudio, inputImage + cacheReadImage], [one.audio, one.image])
    // Counts that can be true are paid once each.
    if (cachedAudio === null && one.cacheRead <= one.input && one.written === 0 && one.audio + one.image <= one.input)
      ok(one.cacheRead + inputAudio + inputImage <= one.input, JSON.stringify(one))
  }
})

const BOOK = new Prices(priceCatalogue)
BOOK.use({ currency: 'USD', catalogue: true, responseHeader: false, rows: [] }).begin()
const picos = (model: string, usage: Parameters<typeof costOf>[1]) =>
  costOf(BOOK.find('openai', [model], [])!.row, usage, null)

test('cached audio, cached images and cached text have prices of their own', () => {
  const event = {
    type: 'response.done',
    response: {
      usage: {
        ...{ input_tokens: 1000, output_tokens: 0 },
        input_token_details: {
          ...{ cached_tokens: 600, audio_tokens: 500, text_tokens: 500 },
          cached_tokens_details: { audio_tokens: 400, text_tokens: 200 }
        }
      }
    }
  }
  // 300 of text at 0.60, 200 of it cached at 0.06; 100 of audio at 10, 400 cached at 0.30.
  equal(picos('gpt-realtime-mini', usageOf(event)!), (300 * 0.6 + 200 * 0.06 + 100 * 10 + 400 * 0.3) * 1e6)
  const picture = { ...NO_USAGE, input: 1000, cacheRead: 500, cacheReadImage: 400, inputImage: 100 }
  equal(picos('gpt-image-1-mini', picture), (400 * 2 + 100 * 0.2 + 400 * 0.25 + 100 * 2.5) * 1e6)
  // No price of its own: that of the cache.
  equal(picos('gpt-realtime', { ...NO_USAGE, input: 100, cacheRead: 100, cacheReadAudio: 100 }), 100 * 0.4 * 1e6)
})

test('a token that chat counts as cached and as audio is paid once', () => {
  const usage = readUsage({
    ...{ prompt_tokens: 1000, completion_tokens: 0, total_tokens: 1000 },
    prompt_tokens_details: { cached_tokens: 1000, audio_tokens: 1000 }
  })
  equal(picos('gpt-realtime-mini', usage), 1000 * 0.3 * 1e6)
})
