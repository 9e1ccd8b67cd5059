/** Several providers, one request: what each of them gets to see, and who is asked while one is failing. */
import { deepEqual, doesNotMatch, equal, match } from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { type Models, startModels } from '#engine/testing/models.ts'
import { Attempt, chooseSlot, ProviderSlot, retryAfterMs } from './balancer.ts'

const ASK = { model: 'm1', messages: [{ role: 'user', content: 'Hi' }] }

async function models(t: TestContext): Promise<Models> {
  const started = await startModels()
  t.after(() => started.close())
  return started
}

async function gateway(t: TestContext, backends: readonly object[], policies: object = {}) {
  const started = await startGateway(
    JSON.stringify({
      config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } },
      binds: [{ port: 0, listeners: [{ routes: [{ policies, backends }] }] }]
    })
  )
  t.after(() => started.close())
  const ask = (path: string, body: unknown = ASK, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${started.port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body)
    })
  return { port: started.port, ask }
}

const at = (kind: string, { port }: Models, name: string, key?: string) => ({
  name,
  [kind]: {},
  host: '127.0.0.1',
  port,
  ...(key === undefined ? {} : { policies: { auth: { key } } })
})

const refusing = (provider: Models, status = 503, headers: Record<string, string> = {}) => {
  provider.instead = (_, response) => {
    response.writeHead(status, headers).end('{}')
    return true
  }
}

test('the second provider sees nothing that was written for the first: no key, no field, no format', async (t) => {
  const [first, second] = [await models(t), await models(t)]
  refusing(first)
  const groups = [
    { providers: [at('anthropic', first, 'a', 'sk-of-the-first')] },
    { providers: [at('openai', second, 'b')] }
  ]
  const { ask } = await gateway(t, [{ ai: { groups } }])
  const own = { ...ASK, user: 'someone', temperature: 0.5 }
  equal((await ask('/v1/chat/completions', own)).status, 200)
  equal(first.requests[0]?.headers['x-api-key'], 'sk-of-the-first')
  const { headers, path, body } = second.requests[0]!
  doesNotMatch(JSON.stringify(headers), /sk-of-the-first|anthropic/)
  deepEqual([headers.authorization, path], [undefined, '/v1/chat/completions'])
  // The client's own body, not that which was translated for the first.
  deepEqual(body, own)
  await ask('/v1/chat/completions', own, { authorization: 'Bearer sk-of-the-client' })
  equal(second.requests[1]?.headers.authorization, 'Bearer sk-of-the-client')
  doesNotMatch(JSON.stringify(first.requests), /sk-of-the-client/)
})

test('a backend that is no model gets the request of the client, and no key of a provider', async (t) => {
  const [provider, other] = [await models(t), await models(t)]
  refusing(provider)
  other.instead = (_, response) => {
    response.end('other')
    return true
  }
  const ai = { provider: at('anthropic', provider, 'x', 'sk-of-the-provider') }
  const { name: _, ...only } = ai.provider
  const backends = [
    { weight: 1, ai: { provider: only } },
    { weight: 1, host: `127.0.0.1:${other.port}` }
  ]
  const { ask } = await gateway(t, backends, { retry: { attempts: 2, codes: [503] } })
  for (let i = 0; i < 2; i++) equal(await (await ask('/v1/chat/completions?x=1')).text(), 'other')
  equal(provider.requests.length >= 1, true)
  for (const { headers, path, body } of other.requests) {
    doesNotMatch(JSON.stringify(headers), /sk-of-the-provider|anthropic/)
    deepEqual([path, body], ['/v1/chat/completions?x=1', ASK])
  }
})

test("a client's key in the query, and what is no key of a provider, stay away from a provider with its own", async (t) => {
  const provider = await models(t)
  const routes = { '*': 'GenerateContent' }
  const configured = await gateway(t, [
    {
      ai: { routes, provider: { gemini: {}, host: '127.0.0.1', port: provider.port, policies: { auth: { key: 'k' } } } }
    }
  ])
  const contents = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }
  const path = '/v1beta/models/m:generateContent'
  await configured.ask(`${path}?key=sk-client&prettyPrint=false`, contents)
  deepEqual(
    [provider.requests[0]?.path, provider.requests[0]?.headers['x-goog-api-key']],
    [`${path}?prettyPrint=false`, 'k']
  )
  const open = await gateway(t, [{ ai: { routes, provider: { gemini: {}, host: '127.0.0.1', port: provider.port } } }])
  await open.ask('/v1beta/models/m:streamGenerateContent?alt=sse&key=sk-client', contents)
  equal(provider.requests[1]?.headers['x-goog-api-key'], 'sk-client')
  doesNotMatch(provider.requests[1]?.path ?? '', /sk-client/)
  await open.ask(path, contents, { authorization: 'Basic dXNlcjpwYXNz' })
  doesNotMatch(JSON.stringify(provider.requests[2]?.headers), /dXNlcjpwYXNz/)
})

test('Retry-After is respected with every status', async (t) => {
  const [first, second] = [await models(t), await models(t)]
  for (const status of [429, 500, 503]) {
    refusing(first, status, { 'retry-after': '60' })
    const groups = [{ providers: [at('openai', first, 'a')] }, { providers: [at('openai', second, 'b')] }]
    const { ask } = await gateway(t, [{ ai: { groups } }])
    first.requests.length = 0
    equal((await ask('/v1/chat/completions')).status, 200)
    // Ten seconds later it would be asked again, had it not said a minute.
    const real = performance.now.bind(performance)
    const later = t.mock.method(performance, 'now', () => real() + 10_000)
    equal((await ask('/v1/chat/completions')).status, 200)
    later.mock.restore()
    equal(first.requests.length, 1, String(status))
  }
})

test('a client that leaves while the second provider thinks ends that work, and the first is not asked again', async (t) => {
  const [first, second] = [await models(t), await models(t)]
  refusing(first)
  const [arrived, gone] = [Promise.withResolvers<ServerResponse>(), Promise.withResolvers<void>()]
  second.instead = (_, response) => {
    response.on('close', () => gone.resolve())
    arrived.resolve(response)
    return true
  }
  const groups = [{ providers: [at('openai', first, 'a')] }, { providers: [at('openai', second, 'b')] }]
  const { port, ask } = await gateway(t, [{ ai: { groups } }])
  const client = request({ port, host: '127.0.0.1', method: 'POST', path: '/v1/chat/completions' })
  client.on('error', () => undefined)
  client.end(JSON.stringify(ASK))
  await arrived.promise
  client.destroy()
  await gone.promise
  deepEqual([first.requests.length, second.requests.length], [1, 1])
  second.instead = null
  equal((await ask('/v1/chat/completions')).status, 200)
})

test('a client that leaves during the probe of a provider does not block later probes', async (t) => {
  const [first, second] = [await models(t), await models(t)]
  refusing(first)
  const groups = [{ providers: [at('openai', first, 'a')] }, { providers: [at('openai', second, 'b')] }]
  const { port, ask } = await gateway(t, [{ ai: { groups } }])
  equal((await ask('/v1/chat/completions')).status, 200)
  const real = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => real() + 2_000)
  const [arrived, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  first.instead = (_, response) => {
    response.on('close', () => gone.resolve())
    arrived.resolve()
    return true
  }
  const client = request({ port, host: '127.0.0.1', method: 'POST', path: '/v1/chat/completions' })
  client.on('error', () => undefined)
  client.end(JSON.stringify(ASK))
  await arrived.promise
  // While it is being tried, others go elsewhere.
  equal((await ask('/v1/chat/completions')).status, 200)
  client.destroy()
  await gone.promise
  first.instead = null
  equal((await ask('/v1/chat/completions')).status, 200)
  deepEqual([first.requests.length, second.requests.length], [3, 2])
})

test('a provider that hangs is left after the time for one attempt', async (t) => {
  const [first, second] = [await models(t), await models(t)]
  first.instead = () => true
  const groups = [{ providers: [at('openai', first, 'a')] }, { providers: [at('anthropic', second, 'b')] }]
  const { ask } = await gateway(t, [{ ai: { groups } }], { timeouts: { backendRequest: '1s' } })
  equal((await ask('/v1/chat/completions')).status, 200)
  deepEqual([first.requests.length, second.requests.length], [1, 1])
})

test('a stream that breaks off counts against its provider', async (t) => {
  const [first, second] = [await models(t), await models(t)]
  first.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n')
    return true
  }
  const groups = [{ providers: [at('openai', first, 'a')] }, { providers: [at('openai', second, 'b')] }]
  const { ask } = await gateway(t, [{ ai: { groups } }])
  match(await (await ask('/v1/chat/completions', { ...ASK, stream: true })).text(), /before it was complete/)
  doesNotMatch(await (await ask('/v1/chat/completions', { ...ASK, stream: true })).text(), /"error"/)
  deepEqual([first.requests.length, second.requests.length], [1, 1])
})

const OVERLOADED = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'

/** A provider whose streams begin with `text`, cut into pieces, and end there. */
const streaming = (provider: Models, text: string, pieces = 1) => {
  provider.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const size = Math.ceil(text.length / pieces)
    for (let i = 0; i < text.length; i += size) response.write(text.slice(i, i + size))
    response.end()
    return true
  }
}

for (const client of ['/v1/messages', '/v1/chat/completions']) {
  test(`a stream whose first event is an error is asked of the next provider: ${client}`, async (t) => {
    const [first, second] = [await models(t), await models(t)]
    streaming(first, `: hello\n\nevent: ping\ndata: {"type":"ping"}\n\n${OVERLOADED}`, 9)
    const groups = [{ providers: [at('anthropic', first, 'a')] }, { providers: [at('openai', second, 'b')] }]
    const { ask } = await gateway(t, [{ ai: { groups, routes: { messages: 'Messages', '*': 'Completions' } } }])
    const streamed = { ...ASK, max_tokens: 100, stream: true }
    const answer = await ask(client, streamed)
    equal(answer.status, 200)
    const text = await answer.text()
    doesNotMatch(text, /verloaded/)
    match(text, client === '/v1/messages' ? /message_stop/ : /\[DONE\]/)
    deepEqual([first.requests.length, second.requests.length], [1, 1])
    // It rests now.
    await (await ask(client, streamed)).text()
    deepEqual([first.requests.length, second.requests.length], [1, 2])
  })
}

test('the error of the last provider, and one behind the first event, reach the client', async (t) => {
  const [first, second] = [await models(t), await models(t)]
  const start =
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"c","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
  const groups = [{ providers: [at('anthropic', first, 'a')] }, { providers: [at('anthropic', second, 'b')] }]
  const { ask } = await gateway(t, [{ ai: { groups, routes: { '*': 'Messages' } } }])
  const streamed = { ...ASK, max_tokens: 100, stream: true }
  streaming(first, start + OVERLOADED)
  match(await (await ask('/v1/messages', streamed)).text(), /message_start[\s\S]*overloaded_error/)
  equal(second.requests.length, 0)
  streaming(first, OVERLOADED)
  streaming(second, OVERLOADED)
  const answer = await ask('/v1/messages', streamed)
  equal(answer.status, 200)
  match(await answer.text(), /overloaded_error/)
  deepEqual([first.requests.length, second.requests.length], [2, 1])
})

test('a stream that ends before its first event is asked of the next provider', async (t) => {
  const [first, second] = [await models(t), await models(t)]
  first.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n')
    setImmediate(() => response.destroy())
    return true
  }
  const groups = [{ providers: [at('openai', first, 'a')] }, { providers: [at('openai', second, 'b')] }]
  const { ask } = await gateway(t, [{ ai: { groups } }])
  match(await (await ask('/v1/chat/completions', { ...ASK, stream: true })).text(), /\[DONE\]/)
  deepEqual([first.requests.length, second.requests.length], [1, 1])
})

test('bodies that come slowly, or never, are not sent anywhere', async (t) => {
  const provider = await models(t)
  const { port, ask } = await gateway(t, [{ ai: { provider: { openai: {}, host: '127.0.0.1', port: provider.port } } }])
  const slow = request({ port, host: '127.0.0.1', method: 'POST', path: '/v1/chat/completions' })
  slow.on('error', () => undefined)
  slow.write('{"model":"m1",')
  equal((await ask('/v1/chat/completions')).status, 200)
  slow.end('"messages":[{"role":"user","content":"Hi"}]}')
  const [answer] = (await once(slow, 'response')) as [IncomingMessage]
  equal(answer.statusCode, 200)
  const half = request({ port, host: '127.0.0.1', method: 'POST', path: '/v1/chat/completions' })
  half.on('error', () => undefined)
  half.write('{"model":"m1",')
  await new Promise((resolve) => half.on('socket', (socket) => socket.once('connect', resolve)))
  half.destroy()
  equal((await ask('/v1/chat/completions')).status, 200)
  equal(provider.requests.length, 3)
})

// --- the balancer itself ---

test('a provider whose pause is over gets one request at a time, until one succeeds', () => {
  const [a, b] = [new ProviderSlot('a'), new ProviderSlot('b')]
  const groups = [[a], [b]]
  const next = (now: number) => chooseSlot(groups, [], now, () => 0)?.provider
  new Attempt(a, 0).failed(0, null, 0)
  deepEqual([next(1), next(499), next(500)], ['b', 'b', 'a'])
  const probe = new Attempt(a, 600)
  deepEqual([next(600), next(90_000)], ['b', 'b'])
  // The client of the probe has left: nobody knows, and the next one finds out.
  probe.abandon()
  equal(next(700), 'a')
  const second = new Attempt(a, 700)
  second.failed(700, null, 0)
  deepEqual([next(1699), next(1700)], ['b', 'a'])
  const third = new Attempt(a, 1700)
  third.succeeded(1750)
  new Attempt(a, 1760)
  deepEqual([next(1770), a.health.breaker.probes, a.health.pending], ['a', 0, 1])
})

test('an attempt is counted once, however often its outcome is reported', () => {
  const slot = new ProviderSlot('a')
  const turn = new Attempt(slot, 0)
  turn.failed(0, null, 0)
  turn.failed(0, 300_000, 0)
  turn.succeeded(5)
  deepEqual([slot.health.pending, slot.health.breaker.openUntil, turn.abandon()], [0, 500, false])
})

test('a hundred requests that fail at once are one failure, and not a hundred in a row', () => {
  const slot = new ProviderSlot('a')
  const turns = Array.from({ length: 100 }, () => new Attempt(slot, 0))
  for (const turn of turns.slice(50)) turn.succeeded(5)
  for (const [i, turn] of turns.slice(0, 50).entries()) turn.failed(10 + i, null, 0)
  // Streams that had begun break with the server.
  for (const turn of turns.slice(50)) turn.broke(60, 0)
  equal(slot.health.breaker.openUntil, 560)
  new Attempt(slot, 600).failed(610, null, 0)
  equal(slot.health.breaker.openUntil, 1610)
})

test('an answer to a request from before a pause does not end the pause', () => {
  const slot = new ProviderSlot('a')
  const [early, limited, other] = [new Attempt(slot, 0), new Attempt(slot, 1), new Attempt(slot, 2)]
  limited.failed(10, 60_000, 0)
  early.succeeded(20)
  deepEqual(
    [slot.health.breaker.openUntil, slot.health.breaker.allows(20), slot.health.breaker.allows(60_010)],
    [60_010, false, true]
  )
  // Nor does one that says less shorten it.
  other.failed(30, null, 0)
  equal(slot.health.breaker.openUntil, 60_010)
  new Attempt(slot, 60_010).succeeded(60_020)
  equal(slot.health.breaker.allows(60_020), true)
})

test('an invalid Retry-After is ignored, and one of zero does not close the circuit breaker', () => {
  const now = Date.parse('Wed, 21 Oct 2026 07:28:00 GMT')
  const cases: [string | undefined, number | null][] = [
    [undefined, null],
    ['', null],
    ['-5', null],
    ['1e9', null],
    ['99999999999999999999', null],
    ['7, 8', null],
    ['2026', 2_026_000],
    ['0.5', 500],
    ['Wed, 21 Oct 2026 07:28:30 GMT', 30_000],
    ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
    ['Wed, 99 Oct 2026 07:28:00 GMT', null]
  ]
  for (const [value, wanted] of cases) equal(retryAfterMs(value, now), wanted, value)
  const slot = new ProviderSlot('a')
  slot.health.failed(0, 0, 0)
  equal(slot.health.breaker.openUntil, 500)
  slot.health.failed(0, 9e15, 0)
  equal(slot.health.breaker.openUntil, 300_000)
})

test('a reload with another name for a model forgets neither failures nor how long a provider wants to be left alone', async (t) => {
  const [first, second] = [await models(t), await models(t)]
  refusing(first, 429, { 'retry-after': '60' })
  const file = (model: string) => {
    const groups = [{ providers: [at('openai', first, 'a')] }, { providers: [at('openai', second, 'b')] }]
    return JSON.stringify({
      config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } },
      binds: [
        { port: 0, listeners: [{ routes: [{ backends: [{ ai: { groups, modelAliases: { other: model } } }] }] }] }
      ]
    })
  }
  const started = await startGateway(file('x'))
  t.after(() => started.close())
  const ask = () =>
    fetch(`http://127.0.0.1:${started.port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(ASK)
    })
  equal((await ask()).status, 200)
  await started.reload(file('y'))
  equal((await ask()).status, 200)
  deepEqual([first.requests.length, second.requests.length], [1, 2])
})

const page = '<html>Sign in</html>'
const errorBody = (error: object) => JSON.stringify({ id: 'x', error })

/** What providers answer with 200 that is an error, and with what type. */
const DISGUISED: readonly (readonly [name: string, body: string, type: string])[] = [
  ['an error', errorBody({ message: 'overloaded', code: 503 }), 'application/json'],
  ['an error of no code', errorBody({ message: 'out of order' }), 'application/json'],
  ['too many requests', errorBody({ message: 'slow', type: 'rate_limit_error' }), 'application/json; charset=utf-8'],
  ['a page', page, 'text/html; charset=utf-8']
]

for (const [name, body, type] of DISGUISED) {
  test(`a failure behind a status of 200 is one: ${name}`, async (t) => {
    const [first, second] = [await models(t), await models(t)]
    first.instead = (_, response) => {
      response.writeHead(200, { 'content-type': type })
      // In two pieces.
      response.write(body.slice(0, 9), () => response.end(body.slice(9)))
      return true
    }
    const groups = [{ providers: [at('custom', first, 'a')] }, { providers: [at('custom', second, 'b')] }]
    const routes = { '/messages': 'Messages', '*': 'Completions' }
    for (const [path, stream] of [
      ['/v1/chat/completions', false],
      ['/v1/chat/completions', true],
      ['/v1/messages', false]
    ] as const) {
      first.requests.length = 0
      const { ask } = await gateway(t, [{ ai: { groups, routes } }])
      const send = () => ask(path, { ...ASK, max_tokens: 9, stream })
      equal((await send()).status, 200)
      equal(first.requests.length, 1)
      // It rests.
      equal((await send()).status, 200)
      equal(first.requests.length, 1)
    }
  })
}

test('an error behind a status of 200 that the request is to blame for is not asked of the next provider', async (t) => {
  const [first, second] = [await models(t), await models(t)]
  first.instead = (_, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(errorBody({ message: 'no such model', code: 404 }))
    return true
  }
  const groups = [{ providers: [at('custom', first, 'a')] }, { providers: [at('custom', second, 'b')] }]
  const { ask } = await gateway(t, [{ ai: { groups } }])
  equal((await ask('/v1/chat/completions')).status, 404)
  equal((await ask('/v1/chat/completions')).status, 404)
  equal(second.requests.length, 0)
})

test('an error that is found behind the head that was taken counts against its provider', async (t) => {
  const [first, second] = [await models(t), await models(t)]
  first.instead = (_, response) => {
    const body = errorBody({ message: 'out of order' })
    response.writeHead(200, { 'content-type': 'application/json' }).end(`${' '.repeat(2000)}${body}`)
    return true
  }
  const groups = [{ providers: [at('custom', first, 'a')] }, { providers: [at('custom', second, 'b')] }]
  const { ask } = await gateway(t, [{ ai: { groups } }], { retry: { attempts: 1, codes: [504] } })
  equal((await ask('/v1/chat/completions')).status, 500)
  equal((await ask('/v1/chat/completions')).status, 200)
  equal(first.requests.length, 1)
})
