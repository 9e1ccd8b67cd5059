/** Pictures and sound at the port of `llm`, driven by OpenAI's own client: what is sent, what comes, what it costs. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import OpenAI, { toFile } from 'openai'
import { provider } from '#backends/llm/testing/llm-gateway.ts'
import { eventsOf, formOf, mediaGateway, sends, sendsJson } from '#backends/llm/testing/media-gateway.ts'
import { startGateway } from '#engine/testing/gateway.ts'

const WAV = Buffer.from('RIFF\0\0\0\0WAVEfmt \r\n--not a boundary\r\n')
const wav = () => toFile(WAV, 'ünï.wav', { type: 'audio/wav' })
const LISTENERS = [
  { name: 'hear', params: { model: 'gpt-4o-transcribe' }, prices: [{ input: 1, inputAudio: 2, output: 3 }] },
  { name: 'whisper-*', prices: [{ perSecond: 0.5 }] }
]

test('a transcription: the form goes on with the name that the provider has, and costs its tokens', async (t) => {
  const { openai, upstream, spent } = await mediaGateway(t, LISTENERS)
  const input_token_details = { text_tokens: 10, audio_tokens: 90 }
  const usage = { type: 'tokens', input_tokens: 100, input_token_details, output_tokens: 20, total_tokens: 120 }
  sendsJson(upstream, { text: 'Ahoy.', usage })
  const heard = await openai.audio.transcriptions.create({
    file: await wav(),
    model: 'hear',
    include: ['logprobs'],
    language: 'en'
  })
  equal(heard.text, 'Ahoy.')
  const [seen] = upstream.requests
  const form = formOf(seen!)
  deepEqual([seen!.path, seen!.headers.authorization], ['/v1/audio/transcriptions', 'Bearer of-provider'])
  deepEqual([form.text('model'), form.text('language'), form.file], ['gpt-4o-transcribe', 'en', WAV])
  // Ten tokens of text, ninety of sound, twenty that are written: at dollars for a million.
  equal(spent(), '0.00025')
})

test('transcriptions by time, as text, and as a stream', async (t) => {
  const { openai, upstream, spent } = await mediaGateway(t, LISTENERS)
  const ask = async (more: object) =>
    openai.audio.transcriptions.create({ file: await wav(), model: 'whisper-1', ...more } as never) as Promise<unknown>
  const segments = [{ id: 0, text: ' "Ahoy" [there', tokens: [1, 2], seek: 0 }]
  sendsJson(upstream, { task: 'transcribe', duration: 2.4, text: 'Ahoy.', segments, words: [{ word: 'Ahoy', end: 1 }] })
  equal(((await ask({ response_format: 'verbose_json' })) as { duration: number }).duration, 2.4)
  equal(spent(), '1.5')
  sendsJson(upstream, { text: 'Ahoy.', usage: { type: 'duration', seconds: 3 } })
  await ask({})
  equal(spent(), '3')
  sends(upstream, 'text/plain', '1\n00:00:00,000 --> 00:00:02,400\nAhoy.\n')
  match((await ask({ response_format: 'srt' })) as string, /--> 00:00:02,400/)
  const usage = { type: 'tokens', input_tokens: 2, output_tokens: 1, total_tokens: 3 }
  const events = [
    { type: 'transcript.text.delta', delta: 'A' },
    { type: 'transcript.text.done', text: 'A', usage }
  ]
  sends(upstream, 'text/event-stream', eventsOf(...events))
  const stream = await openai.audio.transcriptions.create({ file: await wav(), model: 'hear', stream: true })
  const got: unknown[] = []
  for await (const event of stream) got.push(event)
  deepEqual(got, events)
  equal(spent().slice(0, 1), '3')
  ok(Number(spent()) > 3)
})

test('a large file is read in another thread, and a translation goes beside it', async (t) => {
  const file = Buffer.alloc(1_500_000, '\r\n--almost')
  const { openai, upstream } = await mediaGateway(t, LISTENERS)
  sendsJson(upstream, { text: 'Ahoy.' })
  await openai.audio.translations.create({ file: await toFile(file, 'a.mp3'), model: 'hear' })
  const form = formOf(upstream.requests[0]!)
  equal(upstream.requests[0]!.path, '/v1/audio/translations')
  equal(form.text('model'), 'gpt-4o-transcribe')
  ok(form.file!.equals(file))
})

test('speech: bytes as they come, and the characters are what it costs', async (t) => {
  const prices = [{ perMillionCharacters: 100 }]
  const { openai, upstream, spent } = await mediaGateway(t, [{ name: 'say', params: { model: 'tts-1' }, prices }])
  const sound = Buffer.from([255, 251, 0, 91, 34, 34, 92])
  sends(upstream, 'audio/mpeg', sound)
  const spoken = await openai.audio.speech.create({ model: 'say', voice: 'alloy', input: 'Ahöy 🙂' })
  deepEqual(Buffer.from(await spoken.arrayBuffer()), sound)
  equal(spoken.headers.get('content-type'), 'audio/mpeg')
  deepEqual(upstream.requests[0]!.body, { model: 'tts-1', voice: 'alloy', input: 'Ahöy 🙂' })
  equal(spent(), '0.0006')
})

test('speech as events tells its tokens', async (t) => {
  const prices = [{ input: 1, output: 0, outputAudio: 4 }]
  const { openai, upstream, spent } = await mediaGateway(t, [{ name: 'say', prices }])
  const usage = { input_tokens: 10, output_tokens: 100, total_tokens: 110 }
  const audio = 'A'.repeat(100_000)
  const text = eventsOf({ type: 'speech.audio.delta', audio }, { type: 'speech.audio.done', usage })
  sends(upstream, 'text/event-stream', text)
  const stream = await openai.audio.speech.create({ model: 'say', voice: 'alloy', input: 'a', stream_format: 'sse' })
  equal(await stream.text(), text)
  equal(spent(), '0.00041')
})

test('pictures: by tokens, by the picture, and as events', async (t) => {
  const images = [{ price: 2 }, { size: '1024x1024', quality: 'standard', price: 1 }]
  const { openai, upstream, spent } = await mediaGateway(t, [
    { name: 'paint', params: { model: 'gpt-image-1' }, prices: [{ input: 1, inputImage: 2, output: 4 }] },
    { name: 'dall-e-3', prices: [{ perImage: 3, images }] }
  ])
  const data = [{ b64_json: `${'A\\"['.repeat(50_000)}` }, { b64_json: 'QQ' }]
  const input_tokens_details = { text_tokens: 10, image_tokens: 90 }
  const usage = { input_tokens: 100, input_tokens_details, output_tokens: 1000, total_tokens: 1100 }
  sendsJson(upstream, { created: 1, data, usage })
  const painted = await openai.images.generate({ model: 'paint', prompt: 'a ship', n: 2 })
  deepEqual(painted.data, data)
  deepEqual(upstream.requests[0]!.body, { model: 'gpt-image-1', prompt: 'a ship', n: 2 })
  equal(spent(), '0.00419')
  sendsJson(upstream, { created: 1, data: [{ url: 'https://a/' }] })
  await openai.images.generate({ model: 'dall-e-3', prompt: 'a ship' })
  equal(spent(), '2.00419')
  sends(upstream, 'text/event-stream', eventsOf({ type: 'image_generation.completed', b64_json: 'QQ', usage }))
  const stream = await openai.images.generate({ model: 'paint', prompt: 'a ship', stream: true })
  for await (const event of stream) equal(event.type, 'image_generation.completed')
  equal(spent(), '2.00838')
  sendsJson(upstream, { created: 1, data, usage })
  const image = [await toFile(WAV, 'a.png', { type: 'image/png' }), await toFile(WAV, 'b.png', { type: 'image/png' })]
  await openai.images.edit({ model: 'paint', image, prompt: 'a sail' })
  const edit = formOf(upstream.requests.at(-1)!)
  deepEqual(
    [edit.names, edit.text('model'), upstream.requests.at(-1)!.path],
    [['model', 'image[]', 'image[]', 'prompt'], 'gpt-image-1', '/v1/images/edits']
  )
  await openai.images.createVariation({ model: 'paint', image: await wav() })
  equal(upstream.requests.at(-1)!.path, '/v1/images/variations')
})

test('numbers that are none cost nothing, and stop no worker: of a client, and of an answer', async (t) => {
  const { post, upstream, spent } = await mediaGateway(t, [
    { name: 'draw', prices: [{ input: 0, output: 0, perImage: 1 }] },
    { name: 'free', prices: [{ input: 0, output: 0, perSecond: 0 }] }
  ])
  sendsJson(upstream, { created: 1, data: [] })
  const pictures: readonly (readonly [n: string, spentAfter: string])[] = [
    ['1e999', '1'],
    ['-1', '2'],
    ['"3"', '5'],
    ['[3]', '6']
  ]
  for (const [n, spentAfter] of pictures) {
    const { status } = await post('/v1/images/generations', `{"model":"draw","prompt":"x","n":${n}}`)
    deepEqual([status, spent()], [200, spentAfter], n)
  }
  for (const answer of ['{"text":"","duration":1e999}', '{"text":"","usage":{"seconds":1e999}}']) {
    sends(upstream, 'application/json', answer)
    const form = new FormData()
    form.set('model', 'free')
    form.set('file', new Blob(['x']), 'a.wav')
    const encoded = new Response(form)
    const headers = { 'content-type': encoded.headers.get('content-type')! }
    const heard = await post('/v1/audio/transcriptions', await encoded.text(), headers)
    deepEqual([heard.status, await heard.text(), spent()], [200, answer, '6'])
  }
})

test('moderation', async (t) => {
  const { openai, upstream, spent } = await mediaGateway(t, [
    { name: 'judge', params: { model: 'omni-moderation-latest' } }
  ])
  sendsJson(upstream, { id: 'm', model: 'omni-moderation-latest', results: [{ flagged: false }] })
  equal((await openai.moderations.create({ model: 'judge', input: 'Ahoy' })).results[0]?.flagged, false)
  deepEqual(upstream.requests[0]!.body, { model: 'omni-moderation-latest', input: 'Ahoy' })
  equal(spent(), '0')
})

test('what the provider cannot do is refused in the words of its client, and nothing is sent', async (t) => {
  const { openai, upstream, post } = await mediaGateway(t, [
    { name: 'claude', provider: 'anthropic', prices: [{ input: 1 }] },
    { name: 'fast', provider: 'groq', prices: [{ input: 1 }] }
  ])
  const failing = [
    [openai.audio.speech.create({ model: 'claude', voice: 'alloy', input: 'a' }), /anthropic has no API that speaks/],
    [openai.images.generate({ model: 'fast', prompt: 'a' }), /groq has no API that makes pictures/],
    [openai.images.generate({ model: 'none', prompt: 'a' }), /there is no such model here/]
  ] as const
  for (const [asking, why] of failing) {
    await rejects(asking, (error) => error instanceof OpenAI.APIError && why.test(error.message) && error.status! < 500)
  }
  const form = await post('/v1/audio/transcriptions', '--b\r\nx', { 'content-type': 'multipart/form-data; boundary=b' })
  const { error } = (await form.json()) as { error: { message: string; type: string } }
  deepEqual([form.status, error.type], [400, 'invalid_request_error'])
  match(error.message, /^part 1: has no header/)
  equal(upstream.requests.length, 0)
})

test('guards read what is text; sound does not pass them', async (t) => {
  const guard = { request: [{ regex: { action: 'Mask', matches: ['ship'] } }] }
  const prices = [{ input: 1 }]
  const { openai, upstream } = await mediaGateway(t, [{ name: 'm', prices }], { promptGuard: guard })
  sendsJson(upstream, { created: 1, data: [] })
  await openai.images.generate({ model: 'm', prompt: 'a ship' })
  await openai.moderations.create({ model: 'm', input: [{ type: 'text', text: 'the ship' }] })
  await openai.audio.speech.create({ model: 'm', voice: 'alloy', input: 'ship', instructions: 'as on a ship' })
  for (const { bytes } of upstream.requests) ok(!bytes.toString().includes('ship'))
  equal(upstream.requests.length, 3)
  const heard = openai.audio.transcriptions.create({ file: await wav(), model: 'm' })
  await rejects(heard, /the prompt guards of this model cannot see what passes here/)
  equal(upstream.requests.length, 3)
})

test('a transcription that fails at the first provider is asked of the second, with the model that it has', async (t) => {
  const prices = [{ perSecond: 0.5 }]
  const { openai, upstream, spent } = await mediaGateway(
    t,
    [
      { name: 'fast-listen', params: { model: 'whisper-large-v3-turbo' }, prices },
      { name: 'listen', params: { model: 'whisper-1' }, prices }
    ],
    {
      virtualModels: [
        {
          name: 'steady-listen',
          routing: { failover: { targets: [{ model: 'fast-listen' }, { model: 'listen', priority: 1 }] } }
        }
      ]
    }
  )
  upstream.instead = (request, response) => {
    const isFirst = formOf(request).text('model') === 'whisper-large-v3-turbo'
    response.writeHead(isFirst ? 503 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isFirst ? { error: { message: 'busy' } } : { text: 'Ahoy.', duration: 2 }))
    return true
  }
  const heard = await openai.audio.transcriptions.create({ file: await wav(), model: 'steady-listen' })
  equal(heard.text, 'Ahoy.')
  deepEqual(
    upstream.requests.map((request) => [formOf(request).text('model'), formOf(request).file?.equals(WAV)]),
    [
      ['whisper-large-v3-turbo', true],
      ['whisper-1', true]
    ]
  )
  equal(spent(), '1')
})

test('the example of the documentation: each of its models is asked, with its own name at its provider', async (t) => {
  const upstream = await provider(t)
  const text = readFileSync(new URL('../../../docs/examples/llm-media.yaml', import.meta.url), 'utf8')
    .replace('port: 8080', 'port: 0')
    .replaceAll('params: { apiKey', `params: { baseUrl: "http://127.0.0.1:${upstream.port}/v1", apiKey`)
  const gateway = await startGateway(text)
  t.after(() => gateway.close())
  const base = `http://127.0.0.1:${gateway.port}/v1`
  const openai = new OpenAI({ baseURL: base, apiKey: 'none', maxRetries: 0 })
  sendsJson(upstream, { text: 'Ahoy.' })
  for (const model of ['listen', 'fast-listen', 'steady-listen'])
    equal((await openai.audio.transcriptions.create({ file: await wav(), model })).text, 'Ahoy.', model)
  sends(upstream, 'audio/mpeg', WAV)
  ok(
    Buffer.from(
      await (await openai.audio.speech.create({ model: 'speak', voice: 'alloy', input: 'Hi' })).arrayBuffer()
    ).equals(WAV)
  )
  sendsJson(upstream, { results: [{ index: 0, relevance_score: 0.5 }] })
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'rank', query: 'q', documents: ['a'] })
  equal((await fetch(`${base}/rerank`, { method: 'POST', headers, body })).status, 200)
  sendsJson(upstream, { data: [{ index: 0, embedding: 'AACAPw==' }], model: 'm', usage: { total_tokens: 1 } })
  deepEqual((await openai.embeddings.create({ model: 'embed', input: 'a' })).data[0]!.embedding, [1])
  const bodies = upstream.requests.map(({ bytes, headers: fields }) =>
    fields['content-type']!.startsWith('multipart/')
      ? formOf({ bytes, headers: fields } as never).text('model')
      : JSON.parse(bytes.toString()).model
  )
  const [hear, fast] = ['gpt-4o-transcribe', 'whisper-large-v3-turbo']
  deepEqual(bodies, [hear, fast, fast, 'tts-1', 'rerank-v3.5', 'voyage-4'])
})
