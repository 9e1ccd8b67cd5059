/** Long forms with files, through a whole gateway: they go on while they come, and what decides is never missed. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { readForm, singleText } from '#backends/llm/request/multipart.ts'
import { gatewayOf } from '#backends/llm/testing/llm-gateway.ts'
import { accountOf } from '#engine/testing/account.ts'
import { END, field, file, startSender, startTaker, type Taken, type Taker } from './upload.fixture.ts'

const KEY = 'sk-alice-0001'
const MIB = 1024 * 1024
const TRANSCRIBE = '/v1/audio/transcriptions'
const BLOCK = Buffer.alloc(MIB, 'RIFF\r\n--b\r\n')
const lengthOf = (...pieces: readonly (string | Buffer)[]) =>
  pieces.reduce((sum, one) => sum + Buffer.byteLength(one), 0)
const blocks = (count: number): Buffer[] => Array.from({ length: count }, () => BLOCK)

async function port(t: TestContext, takers: readonly Taker[], more: object = {}) {
  const models = takers.map(({ port }, i) => ({
    name: i === 0 ? 'hear' : `hear-${i}`,
    provider: 'openai',
    prices: [{ input: 1, inputAudio: 2, output: 3, perSecond: 0.00001, perImage: 0.01 }],
    params: { model: `whisper-at-${i}`, baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: 'sk-of-provider-000' }
  }))
  const keys = [{ name: 'alice', key: KEY, budgets: [{ amount: 100, period: 'month' }] }]
  return gatewayOf(t, { llm: { port: 0, models }, keys, ...more })
}

function formOf({ pieces, headers }: Taken) {
  const bytes = Buffer.concat(pieces)
  const form = readForm(bytes, headers['content-type']!)
  const found = form.parts.find(({ filename }) => filename !== null)!
  return { form, length: bytes.length, file: bytes.subarray(found.start, found.end) }
}

test('with the model ahead the file goes on while it comes, under the name of the provider', async (t) => {
  const taker = await startTaker(t)
  const { port: at } = await port(t, [taker])
  const head = [field('model', 'hear'), file()]
  const tail = `\r\n${field('language', 'en')}${END}`
  const length = lengthOf(...head, tail) + 25 * MIB
  const account = accountOf(t, 64 * MIB)
  const client = await startSender(t, at, TRANSCRIBE, { length, key: KEY })
  const begun = taker.next()
  client.send(...head, ...blocks(5))
  const taken = await begun
  // The rest has not been sent yet.
  while (taken.bytes < 5 * MIB) await once(taken.request, 'data')
  ok(account.bytes < MIB, `${account.bytes} bytes are kept`)
  client.send(...blocks(20), tail)
  equal((await client.answered()).status, 200)
  const { form, length: got, file: sent } = formOf(taken)
  equal(Number(taken.headers['content-length']), got)
  equal(got, length + 'whisper-at-0'.length - 'hear'.length)
  deepEqual([singleText(form, 'model'), singleText(form, 'language')], ['whisper-at-0', 'en'])
  ok(sent.equals(Buffer.concat(blocks(25))))
  equal(taken.headers.authorization, 'Bearer sk-of-provider-000')
})

test('with the model behind 25 MB of file, and in chunks', async (t) => {
  const taker = await startTaker(t)
  const { port: at } = await port(t, [taker])
  for (const isChunked of [false, true]) {
    for (const isFirst of [false, true]) {
      const model = field('model', 'hear')
      const form = [isFirst ? model : '', file(), ...blocks(25), '\r\n', isFirst ? '' : model, END].filter(
        (one) => one !== ''
      )
      const client = await startSender(t, at, TRANSCRIBE, { length: isChunked ? null : lengthOf(...form), key: KEY })
      client.send(...form)
      if (isChunked) client.socket.write('0\r\n\r\n')
      equal((await client.answered()).status, 200, `${isChunked} ${isFirst}`)
      const seen = formOf(taker.taken.at(-1)!)
      equal(singleText(seen.form, 'model'), 'whisper-at-0')
      equal(seen.file.length, 25 * MIB)
      equal(taker.taken.at(-1)!.headers['transfer-encoding'], isChunked && isFirst ? 'chunked' : undefined)
    }
  }
})

test('the copy of a form that is kept whole is on the account, and one without room for it is refused', async (t) => {
  const taker = await startTaker(t, { begin: () => true })
  const { port: at } = await port(t, [taker])
  const form = [file(), ...blocks(8), '\r\n', field('model', 'hear'), END]
  const account = accountOf(t, 24 * MIB)
  const first = await startSender(t, at, TRANSCRIBE, { length: lengthOf(...form), key: KEY })
  const begun = taker.next()
  first.send(...form)
  await begun
  ok(account.bytes >= 16 * MIB, `${account.bytes} bytes are kept`)
  first.socket.destroy()
  while (account.bytes > 0) await new Promise((resolve) => setImmediate(resolve))
  accountOf(t, 12 * MIB)
  const second = await startSender(t, at, TRANSCRIBE, { length: lengthOf(...form), key: KEY })
  second.send(...form)
  equal((await second.answered()).status, 503)
  equal(taker.taken.length, 1)
})

test('a second model behind the file never makes a whole request', async (t) => {
  const taker = await startTaker(t)
  const { port: at } = await port(t, [taker])
  const form = [field('model', 'hear'), file(), ...blocks(4), '\r\n', field('model', 'dear'), END]
  const client = await startSender(t, at, TRANSCRIBE, { length: lengthOf(...form), key: KEY })
  const begun = taker.next()
  client.send(...form)
  const { status, body } = await client.answered()
  equal(status, 400)
  const { error } = JSON.parse(body) as { error: { param: string; message: string; type: string } }
  deepEqual([error.param, error.type], ['model', 'invalid_request_error'])
  match(error.message, /once, and ahead of the files/)
  const taken = await begun
  await taken.over
  equal(taken.isWhole, false)
})

test('what a picture may cost is not said behind it', async (t) => {
  const taker = await startTaker(t)
  const { port: at } = await port(t, [taker])
  const form = [field('model', 'hear'), file('image'), ...blocks(4), '\r\n', field('n', '10'), END]
  const client = await startSender(t, at, '/v1/images/edits', { length: lengthOf(...form), key: KEY })
  client.send(...form)
  const { status, body } = await client.answered()
  deepEqual([status, (JSON.parse(body) as { error: { param: string } }).error.param], [400, 'n'])
})

test('a form whose model does not come within the bound is a 413 that says what to do', async (t) => {
  const taker = await startTaker(t)
  const { port: at } = await port(t, [taker])
  const client = await startSender(t, at, TRANSCRIBE, { length: 200 * MIB, key: KEY })
  client.send(file(), ...blocks(66))
  const { status, body } = await client.answered()
  equal(status, 413)
  const { error } = JSON.parse(body) as { error: { message: string } }
  match(error.message, /^model: must be ahead of the files.*67108864.*frontendPolicies\.http\.maxBufferSize/)
  equal(taker.taken.length, 0)
})

test('what is no form breaks off, and ends in the words of the client', async (t) => {
  const taker = await startTaker(t)
  const { port: at } = await port(t, [taker])
  const ahead = [field('model', 'hear'), file(), ...blocks(4)]
  for (const end of ['\r\n--b0x\r\n', '\r\n--b0--\r\nmore', '']) {
    const begun = taker.next()
    const client = await startSender(t, at, TRANSCRIBE, { length: lengthOf(...ahead, end), key: KEY })
    client.send(...ahead, end)
    const { status, body } = await client.answered()
    equal(status, 400, end)
    match((JSON.parse(body) as { error: { message: string } }).error.message, /^part 2: /)
    const taken = await begun
    await taken.over
    equal(taken.isWhole, false, end)
  }
  const bomb = [field('model', 'hear'), ...blocks(0), field('a', '1').repeat(100_000), END]
  const client = await startSender(t, at, TRANSCRIBE, { length: lengthOf(...bomb), key: KEY })
  client.send(...bomb)
  match((await client.answered()).body, /more than 128 parts/)
})

test('the word of a provider that does not wait for the end gets to the client', async (t) => {
  const taker = await startTaker(t, {
    begin({ response }) {
      response.writeHead(413, { 'content-type': 'application/json', connection: 'close' })
      response.end('{"error":{"message":"25 MB at most","type":"invalid_request_error","param":null,"code":null}}')
      return true
    }
  })
  const { port: at } = await port(t, [taker])
  const client = await startSender(t, at, TRANSCRIBE, { length: 100 * MIB, key: KEY })
  client.send(field('model', 'hear'), file(), ...blocks(3))
  const { status, body } = await client.answered()
  equal(status, 413)
  match(body, /25 MB at most/)
})

test('a provider that stops reading stops the client; one that leaves is let go', async (t) => {
  const taker = await startTaker(t, { begin: () => true })
  const { port: at } = await port(t, [taker])
  const account = accountOf(t, 64 * MIB)
  const begun = taker.next()
  const client = await startSender(t, at, TRANSCRIBE, { length: 400 * MIB, key: KEY })
  client.send(field('model', 'hear'), file())
  for (let i = 0; i < 200; i++) client.send(BLOCK)
  const taken = await begun
  // What the kernels of both sides take, and no more.
  let before = -1
  while (client.socket.writableLength !== before) {
    before = client.socket.writableLength
    for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve))
  }
  ok(client.socket.writableLength > 100 * MIB, `${client.socket.writableLength} bytes wait at the client`)
  ok(account.bytes < MIB, `${account.bytes} bytes are kept`)
  client.socket.destroy()
  // Only who reads learns that the other side has left.
  taken.request.resume()
  await taken.over
  equal(taken.isWhole, false)
  while (account.bytes > 0) await new Promise((resolve) => setImmediate(resolve))
})

test('a provider that cannot be reached is passed over, as long as nothing of the form has gone', async (t) => {
  const taker = await startTaker(t)
  const place = (name: string, port: number) => ({ name, openai: { model: name }, host: '127.0.0.1', port })
  const ai = {
    groups: [{ providers: [place('first', 1)] }, { providers: [place('second', taker.port)] }]
  }
  const policies = { ai: { routes: { [TRANSCRIBE]: 'Transcriptions' } } }
  const { port: at } = await gatewayOf(t, {
    binds: [
      { port: 0, listeners: [{ routes: [{ backends: [{ ai, policies }], policies: { retry: { attempts: 2 } } }] }] }
    ]
  })
  const form = [field('model', 'any'), file(), ...blocks(4), '\r\n', END]
  const client = await startSender(t, at, TRANSCRIBE, { length: lengthOf(...form), key: 'none' })
  client.send(...form)
  equal((await client.answered()).status, 200)
  const seen = formOf(taker.taken[0]!)
  equal(singleText(seen.form, 'model'), 'second')
  equal(seen.file.length, 4 * MIB)
})

test('files that are kept pass in either order, and what is the input of a batch never passes unread', async (t) => {
  const taker = await startTaker(t, { keeps: false })
  const { port: at } = await port(t, [taker])
  const send = async (...form: (string | Buffer)[]) => {
    const client = await startSender(t, at, '/v1/files', { length: lengthOf(...form), key: KEY })
    client.send(...form)
    return client.answered()
  }
  const [assistants, batch] = [field('purpose', 'user_data'), field('purpose', 'batch')]
  equal((await send(assistants, file(), ...blocks(100), '\r\n', END)).status, 200)
  equal(taker.taken.at(-1)!.isWhole, true)
  equal((await send(file(), ...blocks(100), '\r\n', assistants, END)).status, 200)
  equal(taker.taken.at(-1)!.isWhole, true)
  ok(taker.taken.at(-1)!.bytes > 100 * MIB)
  const late = await send(file(), ...blocks(100), '\r\n', batch, END)
  equal(late.status, 400)
  match(late.body, /purpose: must be ahead of a long file that is the input of a batch/)
  await taker.taken.at(-1)!.over
  equal(taker.taken.at(-1)!.isWhole, false)
  const count = taker.taken.length
  const long = await send(batch, file(), ...blocks(66), END)
  equal(long.status, 413)
  match(long.body, /the lines of a batch must be read.*67108864/)
  const twice = await send(assistants, batch, file(), ...blocks(4), '\r\n', END)
  equal(twice.status, 400)
  equal(taker.taken.length, count)
})

test('a batch of more than is kept of other bodies is read, and its lines are those of the provider', async (t) => {
  const taker = await startTaker(t)
  const { port: at } = await port(t, [taker], { keys: [{ name: 'alice', key: KEY }] })
  const line = (model: string) =>
    `${JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/responses', body: { model, input: 'x'.repeat(1000) } })}\n`
  for (const model of ['hear', 'dear']) {
    const form = [file(), line('hear').repeat(5000), line(model), '\r\n', field('purpose', 'batch'), END]
    const client = await startSender(t, at, '/v1/files', { length: lengthOf(...form), key: KEY })
    client.send(...form)
    const { status, body } = await client.answered()
    equal(status, model === 'hear' ? 200 : 400, body)
    if (model === 'dear') match(body, /file: line 5001: body\.model/)
  }
  equal(taker.taken.length, 1)
  equal(formOf(taker.taken[0]!).file.toString().split('"model":"whisper-at-0"').length, 5002)
})

test('pieces of files go to Google as they come', async (t) => {
  const taker = await startTaker(t)
  const gem = {
    name: 'gem',
    provider: 'gemini',
    params: { model: 'gemini-x', baseUrl: `http://127.0.0.1:${taker.port}/v1beta`, apiKey: 'AIza-account-0000' }
  }
  const { port: at } = await gatewayOf(t, { llm: { port: 0, models: [gem] } })
  const headers = 'X-Goog-Upload-Command: upload, finalize\r\nX-Goog-Upload-Offset: 0\r\n'
  const path = '/upload/v1beta/files?upload_id=abc&upload_protocol=resumable'
  const client = await startSender(t, at, path, { length: 20 * MIB, key: KEY, headers })
  const begun = taker.next()
  client.send(...blocks(5))
  const taken = await begun
  while (taken.bytes < 5 * MIB) await once(taken.request, 'data')
  client.send(...blocks(15))
  equal((await client.answered()).status, 200)
  equal(taken.bytes, 20 * MIB)
  equal(taken.path, path)
})
