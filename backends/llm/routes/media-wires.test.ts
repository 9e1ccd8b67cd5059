/** Speech and pictures of vendors that do not speak as OpenAI does, for its clients. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import OpenAI from 'openai'
import { gateway, provider } from '#backends/llm/testing/llm-gateway.ts'
import { mediaGateway, sends, sendsJson } from '#backends/llm/testing/media-gateway.ts'

const ROUTES = { '/audio/speech': 'Speech', '/images/generations': 'ImageGenerations' }

async function google(t: TestContext, kind: object = { gemini: {} }) {
  const upstream = await provider(t)
  const policies = { auth: { key: 'ya29.token' } }
  const to = { host: '127.0.0.1', port: upstream.port, policies, ...kind }
  const { base } = await gateway(t, { provider: to, routes: ROUTES })
  const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'none', maxRetries: 0 })
  return { upstream, openai, last: () => upstream.requests.at(-1)! }
}

const bytesOf = async (answer: Response): Promise<Buffer> => Buffer.from(await answer.arrayBuffer())
const candidate = (mimeType: string, data: Buffer): object => ({
  candidates: [{ content: { parts: [{ inlineData: { mimeType, data: data.toString('base64') } }] } }],
  usageMetadata: {
    promptTokenCount: 5,
    candidatesTokenCount: 100,
    candidatesTokensDetails: [{ modality: mimeType.startsWith('audio') ? 'AUDIO' : 'IMAGE', tokenCount: 100 }]
  }
})

const SAMPLES = Buffer.from([1, 2, 3, 4, 5, 6])
const SPEECH = { model: 'gemini-2.5-flash-preview-tts', voice: 'Kore', input: 'Ahoy.' } as const

test('speech of Gemini: samples get the head of a file, or stay samples', async (t) => {
  const { upstream, openai, last } = await google(t)
  sendsJson(upstream, candidate('audio/L16;codec=pcm;rate=24000', SAMPLES))
  const file = await openai.audio.speech.create({ ...SPEECH, response_format: 'wav', instructions: 'Sing' })
  equal(file.headers.get('content-type'), 'audio/wav')
  const bytes = await bytesOf(file)
  deepEqual([bytes.toString('latin1', 0, 4), bytes.toString('latin1', 8, 16)], ['RIFF', 'WAVEfmt '])
  deepEqual([bytes.readUInt32LE(4), bytes.readUInt32LE(24), bytes.readUInt32LE(28)], [42, 24_000, 48_000])
  deepEqual([bytes.readUInt32LE(40), bytes.subarray(44)], [6, SAMPLES])
  equal(last().path, '/v1beta/models/gemini-2.5-flash-preview-tts:generateContent')
  const speechConfig = { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } }
  deepEqual(last().body, {
    contents: [{ role: 'user', parts: [{ text: 'Sing:\nAhoy.' }] }],
    generationConfig: { responseModalities: ['AUDIO'], speechConfig }
  })
  const samples = await openai.audio.speech.create({ ...SPEECH, response_format: 'pcm', speed: 1 })
  equal(samples.headers.get('content-type'), 'audio/pcm')
  deepEqual(await bytesOf(samples), SAMPLES)
  sendsJson(upstream, candidate('audio/L16;rate=16000', SAMPLES))
  const slower = openai.audio.speech.create({ ...SPEECH, response_format: 'pcm' })
  await slower.then(
    () => equal('taken', 'refused'),
    (error: Error) => match(error.message, /16000 samples a second/)
  )
})

test('what Gemini cannot say of speech is refused by its field, ahead of the call', async (t) => {
  const { upstream, openai } = await google(t)
  const refusals: readonly (readonly [object, RegExp])[] = [
    [{ response_format: 'mp3' }, /response_format: must be wav or pcm/],
    [{ speed: 2 }, /speed: must be 1/],
    [{ stream_format: 'sse' }, /stream_format: must be audio/],
    [{ voice: { id: 'voice_1' } }, /voice/],
    [{ pitch: 3 }, /pitch: cannot be carried/]
  ]
  for (const [more, why] of refusals) {
    await openai.audio.speech.create({ ...SPEECH, ...more } as typeof SPEECH).then(
      () => equal(JSON.stringify(more), 'refused'),
      (error: InstanceType<typeof OpenAI.APIError>) => {
        equal(error.status, 400)
        match(error.message, why)
      }
    )
  }
  equal(upstream.requests.length, 0)
})

test('a long speech is translated in the pool', async (t) => {
  const { upstream, openai } = await google(t)
  const long = Buffer.alloc(1024 * 1024, 7)
  sendsJson(upstream, candidate('audio/L16;rate=24000', long))
  const made = await openai.audio.speech.create({ ...SPEECH, response_format: 'wav' })
  equal(made.headers.get('content-type'), 'audio/wav')
  deepEqual((await bytesOf(made)).subarray(44), long)
})

test('speech of Mistral: a voice by its id, and sound within JSON', async (t) => {
  const models = [
    { name: 'v', provider: 'mistral', params: { model: 'voxtral-mini-tts' }, prices: [{ perMillionCharacters: 16 }] }
  ]
  const { upstream, openai, spent } = await mediaGateway(t, models)
  sendsJson(upstream, { audio_data: SAMPLES.toString('base64') })
  const made = await openai.audio.speech.create({ model: 'v', voice: 'en_paul', input: 'Ahoy.' })
  equal(made.headers.get('content-type'), 'audio/mpeg')
  deepEqual(await bytesOf(made), SAMPLES)
  const { path, body } = upstream.requests.at(-1)!
  const sent = { model: 'voxtral-mini-tts', input: 'Ahoy.', voice_id: 'en_paul', response_format: 'mp3', stream: false }
  deepEqual([path, body], ['/v1/audio/speech', sent])
  equal(spent(), '0.00008')
  await openai.audio.speech.create({ model: 'v', voice: 'en_paul', input: 'Ahoy.', instructions: 'Sing' }).then(
    () => equal('taken', 'refused'),
    (error: Error) => match(error.message, /instructions: cannot be carried/)
  )
  sends(upstream, 'application/json', '{"object":"error","message":"No such voice","type":"invalid_request"}', 422)
  await openai.audio.speech.create({ model: 'v', voice: 'nobody', input: 'Ahoy.' }).then(
    () => equal('taken', 'refused'),
    (error: Error) => match(error.message, /No such voice/)
  )
})

test('pictures of Gemini: a ratio for a size, and what it has cost', async (t) => {
  const { upstream, openai, last } = await google(t, { vertexai: { projectId: 'p', region: 'global' } })
  sendsJson(upstream, candidate('image/png', SAMPLES))
  const ask = { model: 'gemini-3-pro-image', prompt: 'a cat', size: '1536x1024', n: 1 } as const
  const { data: made, response } = await openai.images.generate({ ...ask, quality: 'high' }).withResponse()
  equal(made.data?.[0]?.b64_json, SAMPLES.toString('base64'))
  const counted = { input_tokens: 5, output_tokens: 100, total_tokens: 105 }
  deepEqual(made.usage, { ...counted, input_tokens_details: { text_tokens: 5, image_tokens: 0 } })
  equal(response.headers.get('x-weir-dropped'), 'size, quality')
  equal(last().path, '/v1/projects/p/locations/global/publishers/google/models/gemini-3-pro-image:generateContent')
  deepEqual(last().body, {
    contents: [{ role: 'user', parts: [{ text: 'a cat' }] }],
    generationConfig: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '3:2' } }
  })
  const count = upstream.requests.length
  const refusals: readonly (readonly [object, RegExp])[] = [
    [{ n: 2 }, /n: must be 1/],
    [{ response_format: 'url' }, /response_format: must be b64_json/],
    [{ size: '100x1000' }, /size: must have one of the ratios/],
    [{ background: 'transparent' }, /background: must be auto or opaque/]
  ]
  for (const [more, why] of refusals) {
    await openai.images.generate({ ...ask, ...more } as typeof ask).then(
      () => equal(JSON.stringify(more), 'refused'),
      (error: Error) => match(error.message, why)
    )
  }
  equal(upstream.requests.length, count)
  // What a filter refuses is an error of the request; other ends without a picture are those of the provider.
  const empty: readonly (readonly [object, number, RegExp])[] = [
    [{ candidates: [{ finishReason: 'IMAGE_SAFETY' }] }, 400, /filter has refused the picture \(IMAGE_SAFETY\)/],
    [{ promptFeedback: { blockReason: 'OTHER' } }, 400, /filter has refused the picture \(OTHER\)/],
    [{ candidates: [{ finishReason: 'NO_IMAGE' }] }, 502, /there is no picture in it \(NO_IMAGE\)/]
  ]
  for (const [answer, status, why] of empty) {
    sendsJson(upstream, answer)
    await openai.images.generate(ask).then(
      () => equal('taken', 'refused'),
      (error: Error & { status: number }) => {
        match(error.message, why)
        equal(error.status, status)
      }
    )
  }
})
