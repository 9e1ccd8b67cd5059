/**
 * What a client has asked is kept as long as another provider may have to be asked, and no longer: long streams after
 * long prompts do not fill what the process may keep, nor its memory.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { mkdtempSync, openSync, readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { at, provider } from '#backends/llm/testing/llm-gateway.ts'
import { accountOf } from '#engine/testing/account.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import type { Models } from '#engine/testing/models.ts'

const MIB = 1024 * 1024
const QUIET = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } }
const SMALL = 100_000
/** Read in another thread. */
const LARGE = 900_000

const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`
const BEGUN = {
  openai: `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta: { content: 'once' } }] })}\n\n`,
  anthropic: [
    event('message_start', {
      message: { id: 'm', role: 'assistant', model: 'm', content: [], usage: { input_tokens: 1, output_tokens: 1 } }
    }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'once' } })
  ].join('')
}
const ENDED = {
  openai: `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`,
  anthropic: [
    event('content_block_stop', { index: 0 }),
    event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }),
    event('message_stop', {})
  ].join('')
}
type Kind = keyof typeof BEGUN

/** Streams of `models` that have begun, and end when they are told. */
function opening(models: Models, kind: Kind, isFine: (n: number) => boolean = () => true): ServerResponse[] {
  const open: ServerResponse[] = []
  let count = 0
  models.instead = (_request, response) => {
    models.requests.length = 0
    if (!isFine(count++)) response.writeHead(503).end()
    else {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(BEGUN[kind])
      open.push(response)
    }
    return true
  }
  return open
}

/** With many messages, as agents ask. */
function askAt(port: number, bytes: number): Promise<Response> {
  const messages = Array.from({ length: bytes / 1_000 }, (_, n) => ({ role: 'user', content: `${n}`.padEnd(967, 'x') }))
  const body = JSON.stringify({ model: 'm', stream: true, messages })
  return fetch(`http://127.0.0.1:${port}/v1/chat/completions`, { method: 'POST', body })
}

async function gatewayTo(t: TestContext, providers: readonly object[], frontendPolicies: object = {}) {
  const file = join(mkdtempSync(join(tmpdir(), 'weir-let-go-')), 'log')
  const ai = providers.length === 1 ? { provider: providers[0] } : { groups: [{ providers }] }
  const binds = [{ port: 0, listeners: [{ routes: [{ backends: [{ ai }] }] }] }]
  const log = { format: 'json', fd: openSync(file, 'w') } as const
  const gateway = await startGateway(JSON.stringify({ config: QUIET, frontendPolicies, binds }), { log })
  const account = accountOf(t, 2 * MIB)
  t.after(() => gateway.close())
  const ask = (bytes: number) => askAt(gateway.port, bytes)
  const lines = () => readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return { account, ask, lines, port: gateway.port }
}

/** What threads share is in no figure of the heap. */
const shared: WeakRef<SharedArrayBuffer>[] = []
const { SharedArrayBuffer: Room } = globalThis
globalThis.SharedArrayBuffer = class extends Room {
  constructor(...callArgs: ConstructorParameters<typeof Room>) {
    super(...callArgs)
    shared.push(new WeakRef(this))
  }
} as typeof Room
after(() => {
  globalThis.SharedArrayBuffer = Room
})

async function collected(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  for (let n = 0; n < 3; n++) {
    await turn()
    collect()
  }
  const { heapUsed, arrayBuffers, external } = process.memoryUsage()
  const sharedBytes = shared.reduce((sum, room) => sum + (room.deref()?.byteLength ?? 0), 0)
  return heapUsed + Math.max(arrayBuffers, external) + sharedBytes
}

/** Begins so many streams at `port`; with the memory that they take, those of client and provider too. */
async function begin(port: number, streams: number, bytes: number, each: () => void = () => {}) {
  const readers: ReadableStreamDefaultReader<Uint8Array>[] = []
  const one = async () => {
    const response = await askAt(port, bytes)
    equal(response.status, 200)
    const reader = response.body!.getReader()
    await reader.read()
    readers.push(reader)
  }
  await one()
  const before = await collected()
  while (readers.length <= streams) {
    await one()
    each()
  }
  return { taken: (await collected()) - before, readers }
}

for (const kind of ['openai', 'anthropic'] as const) {
  for (const [size, bytes, streams] of [
    ['small', SMALL, 60],
    ['large', LARGE, 12]
  ] as const) {
    for (const all of [1, 2]) {
      test(`streams of ${kind} after ${size} prompts keep nothing of them, where ${all} could be asked`, async (t) => {
        const models = await provider(t)
        const open = opening(models, kind)
        const providers = Array.from({ length: all }, (_, n) => ({
          ...(all > 1 ? { name: `p${n}` } : {}),
          ...at(kind, models)
        }))
        const { account, port } = await gatewayTo(t, providers)
        const without = await begin(models.port, streams, bytes)
        const through = await begin(port, streams, bytes, () => equal(account.bytes, 0))
        const kept = through.taken - without.taken
        ok(kept < (streams * bytes) / 4, `${kept} bytes are kept of ${streams * bytes}`)
        for (const response of open) response.end(ENDED[kind])
        for (const reader of [...without.readers, ...through.readers]) while (!(await reader.read()).done);
      })
    }
  }
}

test('the next provider is sent the same, and then it is let go', async (t) => {
  const models = await provider(t)
  const open = opening(models, 'openai', (n) => n % 2 === 1)
  const providers = [0, 1].map((n) => ({ name: `p${n}`, ...at('openai', models) }))
  const { account, ask } = await gatewayTo(t, providers)
  const response = await ask(LARGE)
  equal(response.status, 200)
  const reader = response.body!.getReader()
  await reader.read()
  equal(account.bytes, 0)
  for (const one of open) one.end(ENDED.openai)
  while (!(await reader.read()).done);
})

for (const [field, bytes, expected] of [
  ['string(llm.prompt.size())', SMALL, '100'],
  ['string(llm.prompt.size())', LARGE, '900'],
  ['llmRequest.model', LARGE, 'm'],
  ['string(size(llm.params))', SMALL, '0']
] as const) {
  test(`${field} of ${bytes} bytes is in the log when the stream is over`, async (t) => {
    const models = await provider(t)
    const open = opening(models, 'anthropic')
    const policies = { accessLog: { add: { logged: field } } }
    const { account, ask, lines } = await gatewayTo(t, [at('anthropic', models)], policies)
    const response = await ask(bytes)
    const reader = response.body!.getReader()
    await reader.read()
    ok(account.bytes >= bytes * 0.9)
    for (const one of open) one.end(ENDED.anthropic)
    while (!(await reader.read()).done);
    while (lines().length === 0) await turn()
    deepEqual(String(JSON.parse(lines()[0]!).logged), expected)
    equal(account.bytes, 0)
  })
}

test('the answer is in the log, and the prompt is not kept for that', async (t) => {
  const models = await provider(t)
  const open = opening(models, 'openai')
  const policies = { accessLog: { add: { logged: "llm.completion.join('')" } } }
  const { account, ask, lines } = await gatewayTo(t, [at('openai', models)], policies)
  const response = await ask(LARGE)
  const reader = response.body!.getReader()
  await reader.read()
  equal(account.bytes, 0)
  for (const one of open) one.end(ENDED.openai)
  while (!(await reader.read()).done);
  while (lines().length === 0) await turn()
  equal(JSON.parse(lines()[0]!).logged, 'once')
})
