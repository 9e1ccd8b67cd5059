/** Sessions of stateful clients with a scripted server of the new era. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import {
  isObject,
  type JsonObject,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest
} from '#backends/mcp/protocol/json-rpc.ts'
import { BRIDGED } from '#backends/mcp/protocol/revisions.ts'
import { metaOf } from '#backends/mcp/protocol/stateless.ts'
import { Seal } from '#backends/mcp/session/seal.ts'
import type { Link, LinkFailure } from '#backends/mcp/targets/target.ts'
import { ask, Heard, optionsFor, type ScriptedRequest, ScriptedTarget, turns } from '#backends/mcp/testing/scripted.ts'
import { Bus } from '#backends/mcp/workers/bus.ts'
import { newWorkerState } from '#backends/mcp/workers/state.ts'
import { EraTarget } from './era-target.ts'
import { TargetState } from './target-state.ts'

const SEAL = new Seal('key', randomBytes(32), 'test')
const CLIENT = { info: { name: 'c', version: '1' }, capabilities: { elicitation: {}, roots: { listChanged: true } } }
const DISCOVERY = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: { listChanged: true }, extensions: { 'io.modelcontextprotocol/tasks': {} } },
  _meta: { 'io.modelcontextprotocol/serverInfo': { name: 's', version: '2' } },
  instructions: 'Be brief.',
  ttlMs: 0,
  cacheScope: 'public'
}

function young(answer: (request: ScriptedRequest) => void = () => undefined): ScriptedTarget {
  const raw = new ScriptedTarget()
  raw.answer = (request) => {
    const { method } = request.message
    if (method === 'initialize') request.error(-32022, 'no', { supported: ['2026-07-28'], requested: '2025-11-25' })
    else if (method === 'server/discover') request.result(DISCOVERY)
    else answer(request)
  }
  return raw
}

function worker(t: TestContext, raw: ScriptedTarget): EraTarget {
  const bus = new Bus(t.name)
  const alive = setInterval(() => undefined, 10_000)
  t.after(() => {
    clearInterval(alive)
    bus.close()
  })
  const worker = newWorkerState(bus)
  return new EraTarget({ raw, backend: '', seal: SEAL, worker, state: new TargetState(raw.traits) })
}

const session = (target: EraTarget, sessionKey = 'session'): Link =>
  target.open(optionsFor(sessionKey, '2025-11-25', { upstreamSession: BRIDGED, client: CLIENT }))

function send(link: Link, message: RpcRequest): Heard & { leave: () => void } {
  const heard = new Heard()
  return Object.assign(heard, { leave: link.request(message, heard, 5_000) })
}

const INITIALIZE = ask(0, 'initialize', {
  protocolVersion: '2025-06-18',
  clientInfo: CLIENT.info,
  capabilities: CLIENT.capabilities
})
const CALL = ask(5, 'tools/call', { name: 'greet', arguments: {}, _meta: { progressToken: 'p' } })
const ELICIT = { method: 'elicitation/create', params: { message: 'Who?', requestedSchema: { type: 'object' } } }

const isRequest = (message: RpcMessage): message is RpcRequest => 'method' in message && 'id' in message

describe('a session with a stateless server', () => {
  it('begins with what discovery says', async (t) => {
    const raw = young()
    const link = worker(t, raw).open(optionsFor('session', null))
    deepEqual(await send(link, INITIALIZE).result(), {
      protocolVersion: '2025-06-18',
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 's', version: '2' },
      instructions: 'Be brief.'
    })
    equal(link.upstreamSession, BRIDGED)
    const meta = metaOf(raw.last('server/discover').message.params)
    deepEqual(meta['io.modelcontextprotocol/clientCapabilities'], { elicitation: {}, roots: {} })
  })

  it('does not begin where the server is of no era, and has the error of the server', async (t) => {
    const raw = new ScriptedTarget()
    raw.answer = (request) => request.error(-32600, 'go away')
    equal(await send(worker(t, raw).open(optionsFor('s', null)), INITIALIZE).code(), -32600)
    const shut: LinkFailure = { kind: 'refused', status: 401, message: 'answered with status 401' }
    raw.answer = (request) => request.fail(shut)
    deepEqual(await send(worker(t, raw).open(optionsFor('s', null)), INITIALIZE).end, shut)
    equal(raw.methods.at(-1), 'initialize')
  })

  it('asks the client in as many rounds as the server wants', async (t) => {
    const raw = young((request) => {
      const { inputResponses, requestState } = request.message.params ?? {}
      if (requestState === undefined)
        request.result({ resultType: 'input_required', inputRequests: { who: ELICIT }, requestState: 'one' })
      else if (requestState === 'one') request.result({ resultType: 'input_required', requestState: 'two' })
      else request.result({ resultType: 'complete', content: [], responses: inputResponses ?? null })
    })
    const link = session(worker(t, raw))
    const heard = send(link, CALL)
    heard.onMessage = (message) => {
      if (isRequest(message)) void link.send({ jsonrpc: '2.0', id: message.id, result: { action: 'accept' } })
    }
    deepEqual(await heard.result(), { content: [], responses: null })
    const [first, second, third] = raw.requests.map(({ message }) => message)
    deepEqual(second?.params?.inputResponses, { who: { action: 'accept' } })
    equal(third?.params?.requestState, 'two')
    equal(new Set([first?.id, second?.id, third?.id]).size, 3)
    equal(metaOf(first?.params).progressToken, 'p')
  })

  it('takes the answer in whichever worker it arrives, from its own client only', async (t) => {
    const raw = young((request) => {
      const { inputResponses } = request.message.params ?? {}
      if (inputResponses === undefined) request.result({ resultType: 'input_required', inputRequests: { who: ELICIT } })
      else request.result({ resultType: 'complete', content: [], inputResponses })
    })
    const [one, other] = [worker(t, raw), worker(t, raw)]
    const heard = send(session(one), CALL)
    const { promise, resolve } = Promise.withResolvers<RpcRequest>()
    heard.onMessage = (message) => isRequest(message) && resolve(message)
    const { id } = await promise
    await session(one, 'another').send({ jsonrpc: '2.0', id, result: { action: 'stolen' } })
    await session(other).send({ jsonrpc: '2.0', id, result: { action: 'accept' } })
    deepEqual((await heard.result()).inputResponses, { who: { action: 'accept' } })
  })

  const hostile: [string, JsonObject, RegExp][] = [
    ['what the client does not offer', { s: { method: 'sampling/createMessage', params: {} } }, /does not offer/],
    ['what nobody can answer', { s: { method: 'tools/call', params: {} } }, /does not offer/],
    ['no request at all', { s: 7 }, /does not offer/],
    ['too much', Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`k${i}`, ELICIT])), /more than 32 things/]
  ]
  for (const [what, inputRequests, why] of hostile) {
    it(`refuses a server that asks for ${what}`, async (t) => {
      const raw = young((request) => request.result({ resultType: 'input_required', inputRequests }))
      const outcome = await send(session(worker(t, raw)), CALL).end
      ok('error' in outcome)
      match(outcome.error.message, why)
    })
  }

  it('refuses a server that never stops asking, or asks in a list', async (t) => {
    const raw = young((request) => request.result({ resultType: 'input_required', requestState: 'again' }))
    const link = session(worker(t, raw))
    equal(await send(link, CALL).code(), -32603)
    equal(raw.requests.length, 33)
    equal(await send(link, ask(6, 'tools/list')).code(), -32603)
  })

  it('gives results and errors in words of the old era', async (t) => {
    const mark = { type: 'object', properties: { a: { type: 'number', 'x-mcp-header': 'A' } } }
    const tools = [
      { name: 'plain', inputSchema: { type: 'object' }, outputSchema: { type: 'array' } },
      { name: 'broken', inputSchema: mark }
    ]
    const raw = young(({ message, result, ...request }) => {
      const answer = (json: JsonObject): void =>
        request.events.answered({ jsonrpc: '2.0', id: message.id, result: json })
      if (message.method === 'tools/list') answer({ resultType: 'complete', tools, ttlMs: 5, cacheScope: 'public' })
      else if (message.method === 'prompts/get') answer({ resultType: 'task', taskId: 't' })
      else answer({ resultType: 'complete', content: [], structuredContent: [1] })
    })
    const link = session(worker(t, raw))
    deepEqual(await send(link, ask(1, 'tools/list')).result(), {
      tools: [{ name: 'plain', inputSchema: { type: 'object' } }]
    })
    deepEqual(await send(link, CALL).result(), { content: [{ type: 'text', text: '[1]' }] })
    equal(await send(link, ask(2, 'prompts/get', { name: 'p' })).code(), -32603)
    equal(await send(link, ask(3, 'tasks/list')).code(), -32601)
    equal(await send(link, ask(4, 'subscriptions/listen')).code(), -32601)
  })

  it('says arguments as fields once the server has refused a call without them', async (t) => {
    const inputSchema = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } }
    const raw = young((request) => {
      if (request.message.method === 'tools/list') request.result({ tools: [{ name: 'greet', inputSchema }] })
      else if (request.options.headers.get('mcp-param-region') === 'eu') request.result({ content: [] })
      else request.error(-32020, 'Header mismatch')
    })
    const link = session(worker(t, raw))
    const call = ask(5, 'tools/call', { name: 'greet', arguments: { region: 'eu' } })
    await send(link, call).result()
    deepEqual(raw.methods, ['tools/call', 'tools/list', 'tools/call'])
    await send(link, call).result()
    equal(raw.methods.length, 4)
    // Once: a server that refuses whatever it is told is not asked for ever.
    equal(await send(link, ask(6, 'tools/call', { name: 'other', arguments: {} })).code(), -32603)
  })

  it('logs as loud as the client asked, in every worker', async (t) => {
    const raw = young((request) => request.result({ content: [] }))
    const [one, other] = [worker(t, raw), worker(t, raw)]
    equal(await send(session(one), ask(1, 'logging/setLevel', { level: 'loud' })).code(), -32602)
    deepEqual(await send(session(one), ask(2, 'logging/setLevel', { level: 'error' })).result(), {})
    await turns(20)
    await send(session(other), CALL).result()
    const meta = metaOf(raw.last('tools/call').message.params)
    equal(meta['io.modelcontextprotocol/logLevel'], 'error')
    deepEqual(await send(session(one), ask(3, 'ping')).result(), {})
  })

  it('is cancelled, in whichever worker it runs', async (t) => {
    const raw = young()
    const [one, other] = [worker(t, raw), worker(t, raw)]
    send(session(one), CALL)
    await turns()
    const cancelled: RpcNotification = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: CALL.id }
    }
    await session(other, 'another').send(cancelled)
    await turns(20)
    equal(raw.last('tools/call').isCancelled, false)
    await session(other).send(cancelled)
    await turns(20)
    equal(raw.last('tools/call').isCancelled, true)
  })

  it('listens anew when it subscribes to something, without a gap', async (t) => {
    const raw = young()
    const link = session(worker(t, raw))
    const messages: RpcMessage[] = []
    const { promise, resolve } = Promise.withResolvers<LinkFailure | null>()
    const stop = link.listen(null, { message: (message) => messages.push(message), ended: resolve })
    const acknowledge = (request: ScriptedRequest): void =>
      request.events.message({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: {} })
    const update = (request: ScriptedRequest, uri: string): void => {
      const params = { uri, _meta: { 'io.modelcontextprotocol/subscriptionId': request.message.id } }
      request.events.message({ jsonrpc: '2.0', method: 'notifications/resources/updated', params })
    }
    const first = raw.last('subscriptions/listen')
    acknowledge(first)
    await send(link, ask(1, 'resources/subscribe', { uri: 'a:1' })).result()
    const second = raw.last('subscriptions/listen')
    const listened = second.message.params?.notifications
    ok(isObject(listened))
    deepEqual(listened.resourceSubscriptions, ['a:1'])
    update(first, 'a:0')
    equal(first.isCancelled, false)
    acknowledge(second)
    equal(first.isCancelled, true)
    update(second, 'a:1')
    deepEqual(
      messages.map((message) => 'method' in message && message.params),
      [{ uri: 'a:0' }, { uri: 'a:1' }]
    )
    second.fail({ kind: 'broken', status: null, message: 'ended' })
    equal((await promise)?.kind, 'broken')
    stop()
  })

  it('has no stream where the server does not know of any', async (t) => {
    const raw = young((request) => request.error(-32601, 'Method not found'))
    const { promise, resolve } = Promise.withResolvers<LinkFailure | null>()
    session(worker(t, raw)).listen(null, { message: () => undefined, ended: resolve })
    equal(await promise, null)
  })
})
