/** Stateless clients before a scripted server of the old era: what goes wrong, and who may not get what. */
import { deepEqual, doesNotThrow, equal, match, notEqual, ok } from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import type { JsonObject, RpcNotification, RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import { Seal } from '#backends/mcp/session/seal.ts'
import { ask, Heard, optionsFor, type ScriptedRequest, ScriptedTarget, turns } from '#backends/mcp/testing/scripted.ts'
import { Bus } from '#backends/mcp/workers/bus.ts'
import { newWorkerState } from '#backends/mcp/workers/state.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { EraTarget } from './era-target.ts'
import { TargetState } from './target-state.ts'

const VERSION = '2026-07-28'
const SEAL = new Seal('key', randomBytes(32), 'test')
const ELICITS = { elicitation: {} }

function claimed(id: number, method: string, params: JsonObject = {}, capabilities: JsonObject = {}): RpcRequest {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    ...(params._meta as JsonObject | undefined)
  }
  return ask(id, method, { ...params, _meta })
}

/** Handshakes are answered; calls are left to the test. */
function old(
  answer: (request: ScriptedRequest) => void = () => undefined,
  kind: 'http' | 'stdio' = 'http'
): ScriptedTarget {
  const raw = new ScriptedTarget(kind)
  raw.answer = (request) => {
    const { method } = request.message
    if (method === 'server/discover') request.error(-32601, 'Method not found')
    else if (method === 'initialize') {
      const capabilities = { tools: {}, logging: {}, resources: { subscribe: true }, tasks: {} }
      request.result({ protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 's', version: '1' } })
    } else answer(request)
  }
  return raw
}

/** A worker: its own bus, on a channel of the test's own. */
function worker(
  t: TestContext,
  raw: ScriptedTarget,
  channel = t.name,
  place: BackendContext['worker'] | null = null
): EraTarget {
  const bus = new Bus(channel, place)
  // What the bridge waits with keeps no process alive; a test that waits for it does.
  const alive = setInterval(() => undefined, 10_000)
  t.after(() => {
    clearInterval(alive)
    bus.close()
  })
  const state = newWorkerState(bus)
  const target = new EraTarget({ raw, backend: '', seal: SEAL, worker: state, state: new TargetState(raw.traits) })
  state.ownerRequests.serve('', new Map([[raw.name, target.execute]]))
  return target
}

/** Two workers of one process, before one server. */
const pair = (t: TestContext, raw: ScriptedTarget): EraTarget[] =>
  [0, 1].map((index) => worker(t, raw, t.name, { index: index, count: 2 }))

function send(target: EraTarget, message: RpcRequest, caller = 'caller'): Heard & { leave: () => void } {
  const heard = new Heard()
  const leave = target.open(optionsFor(caller, VERSION)).request(message, heard, 5_000)
  return Object.assign(heard, { leave })
}

const ELICIT = { mode: 'form', message: 'Your name?', requestedSchema: { type: 'object', properties: {} } }
const CALL = { name: 'greet', arguments: { b: 1, a: [{ y: 1, x: 2 }] } }

/** The server asks, and answers with what it was told. */
function asking(raw: ScriptedTarget, request: ScriptedRequest, id = 'q1'): void {
  raw.heard = (message) => {
    if ('result' in message && message.id === id) request.result({ content: [], elicited: message.result })
    else if ('error' in message && message.id === id) request.result({ content: [], refused: message.error.message })
  }
  request.events.message({ jsonrpc: '2.0', id, method: 'elicitation/create', params: ELICIT })
}

async function held(target: EraTarget, caller = 'caller'): Promise<JsonObject> {
  return send(target, claimed(1, 'tools/call', CALL, ELICITS), caller).result()
}

function retryOf(interim: JsonObject, params: JsonObject = CALL): RpcRequest {
  const inputResponses = { input1: { action: 'accept', content: { name: 'Ada' } } }
  return claimed(2, 'tools/call', { ...params, inputResponses, requestState: interim.requestState! }, ELICITS)
}

describe('a call that a stateful server asks something in', () => {
  it('ends with an interim result, and goes on with the retry', async (t) => {
    const raw = old((request) => asking(raw, request))
    const target = worker(t, raw)
    const interim = await held(target)
    equal(interim.resultType, 'input_required')
    deepEqual(interim.inputRequests, { input1: { method: 'elicitation/create', params: ELICIT } })
    // Keys may come in another order: it is the same request.
    const retry = send(target, retryOf(interim, { arguments: { a: [{ x: 2, y: 1 }], b: 1 }, name: 'greet' }))
    const result = await retry.result()
    deepEqual(result.elicited, { action: 'accept', content: { name: 'Ada' } })
    equal(result.resultType, 'complete')
    equal(raw.methods.filter((method) => method === 'tools/call').length, 1)
  })

  it('goes on from any worker of the process', async (t) => {
    const raw = old((request) => asking(raw, request))
    const interim = await held(worker(t, raw))
    const elsewhere = new ScriptedTarget()
    elsewhere.answer = (request) => request.error(-32601, 'Method not found')
    const result = await send(worker(t, elsewhere), retryOf(interim)).result()
    deepEqual(result.elicited, { action: 'accept', content: { name: 'Ada' } })
    deepEqual(elsewhere.methods, ['server/discover'])
  })

  it('cannot go on where its process has ended', async (t) => {
    const raw = old((request) => asking(raw, request))
    const interim = await held(worker(t, raw, t.name, { index: 1, count: 1 }))
    const retry = send(worker(t, old(), 'another process', { index: 0, count: 1 }), retryOf(interim))
    equal(await retry.code(), -32602)
  })

  const thieves: [string, (interim: JsonObject) => [RpcRequest, string]][] = [
    ['another caller', (interim) => [retryOf(interim), 'another']],
    ['another call', (interim) => [retryOf(interim, { ...CALL, name: 'other' }), 'caller']],
    ['other arguments', (interim) => [retryOf(interim, { ...CALL, arguments: {} }), 'caller']],
    [
      'a forged state',
      () => [retryOf({ requestState: SEAL.close(['x', 'y', 1, Date.now() + 1e6]).slice(2) }), 'caller']
    ],
    ['a state of another kind', () => [retryOf({ requestState: SEAL.close({ a: 1 }) }), 'caller']],
    ['no text', () => [retryOf({ requestState: 7 }), 'caller']]
  ]
  for (const [what, stolen] of thieves) {
    it(`is not given to ${what}`, async (t) => {
      const raw = old((request) => asking(raw, request))
      const target = worker(t, raw)
      const interim = await held(target)
      const [message, caller] = stolen(interim)
      equal(await send(target, message, caller).code(), -32602)
      deepEqual((await send(target, retryOf(interim)).result()).elicited, {
        action: 'accept',
        content: { name: 'Ada' }
      })
    })
  }

  it('takes each state once', async (t) => {
    const raw = old((request) => asking(raw, request))
    const target = worker(t, raw)
    const interim = await held(target)
    await send(target, retryOf(interim)).result()
    equal(await send(target, retryOf(interim)).code(), -32602)
  })

  it('asks again for what the retry lacks, under another state', async (t) => {
    const raw = old((request) => asking(raw, request))
    const target = worker(t, raw)
    const first = await held(target)
    const params = { ...CALL, inputResponses: { other: {} }, requestState: first.requestState! }
    const again = await send(target, claimed(2, 'tools/call', params, ELICITS)).result()
    deepEqual(again.inputRequests, first.inputRequests)
    notEqual(again.requestState, first.requestState)
    equal(await send(target, retryOf(first)).code(), -32602)
    ok((await send(target, retryOf(again)).result()).elicited)
  })

  it('refuses what the client did not say it takes', async (t) => {
    const raw = old((request) => asking(raw, request))
    const target = worker(t, raw)
    const result = await send(target, claimed(1, 'tools/call', CALL, { sampling: {} })).result()
    equal(result.refused, 'The client cannot be asked: it does not take elicitation/create')
  })

  it('is in the one session of its caller, as all its calls are', async (t) => {
    const raw = old((request) => asking(raw, request, `q${raw.requests.length}`))
    const target = worker(t, raw)
    const [first, second] = await Promise.all([held(target), held(target)])
    equal(raw.methods.filter((method) => method === 'initialize').length, 1)
    for (const interim of [first, second]) send(target, retryOf(interim)).leave()
    // Who gives up a call has not given up the session.
    equal(raw.closed, 0)
  })

  it('is answered at the retry when it ended meanwhile', async (t) => {
    const raw = old((request) => asking(raw, request))
    const target = worker(t, raw)
    const interim = await held(target)
    raw.last('tools/call').events.message({ jsonrpc: '2.0', method: 'notifications/progress', params: {} })
    raw.last('tools/call').result({ content: [], gaveUp: true })
    equal((await send(target, retryOf(interim)).result()).gaveUp, true)
  })

  it('is abandoned when the client does not come back', async (t) => {
    const raw = old((request) => asking(raw, request))
    const target = worker(t, raw)
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const interim = await held(target)
    t.mock.timers.tick(300_000)
    const call = raw.last('tools/call')
    deepEqual(
      raw.sent.filter((message) => 'method' in message && message.method === 'notifications/cancelled').length,
      1
    )
    equal(call.isCancelled, true)
    equal(raw.closed, 0)
    equal(await send(target, retryOf(interim)).code(), -32602)
  })

  it('does not wait when too many do', async (t) => {
    const raw = old((request) => {
      raw.heard = (message) => {
        if ('error' in message) request.result({ content: [], refused: message.error.message })
      }
      request.events.message({ jsonrpc: '2.0', id: 1, method: 'elicitation/create', params: ELICIT })
    })
    const target = worker(t, raw)
    for (let i = 0; i < 64; i++) await held(target)
    const result = await send(target, claimed(1, 'tools/call', CALL, ELICITS)).result()
    equal(result.refused, 'The client cannot be asked: too many calls wait for answers')
  })

  it('is asked of another worker where that has the session', async (t) => {
    const raw = old((request) => asking(raw, request))
    const [here, there] = pair(t, raw)
    for (const caller of ['ann', 'bob', 'cy', 'di']) {
      const interim = await send(here!, claimed(1, 'tools/call', CALL, ELICITS), caller).result()
      deepEqual((await send(there!, retryOf(interim), caller).result()).elicited, {
        action: 'accept',
        content: { name: 'Ada' }
      })
    }
    equal(raw.methods.filter((method) => method === 'initialize').length, 4)
  })
})

describe('a stateful server', () => {
  it('is given its own ids and tokens, and nothing of the other era', async (t) => {
    const raw = old((request) => {
      const { id } = request.message
      request.events.message(progress(id))
      request.events.message(progress(99))
      request.result({ content: [] })
    })
    const target = worker(t, raw)
    const heard = send(target, claimed(7, 'tools/call', { ...CALL, _meta: { progressToken: 'tok', trace: 1 } }))
    await heard.result()
    const { message } = raw.last('tools/call')
    deepEqual(message.params, { ...CALL, _meta: { trace: 1, progressToken: message.id } })
    deepEqual(
      heard.messages.map(({ params }) => params?.progressToken),
      ['tok']
    )
  })

  it('has its errors and results put in words of the new era', async (t) => {
    const raw = old((request) => {
      if (request.message.method === 'resources/read') request.error(-32002, 'Resource not found')
      else request.result({ tools: [], nextCursor: 'c' })
    })
    const target = worker(t, raw)
    equal(await send(target, claimed(1, 'resources/read', { uri: 'a:b' })).code(), -32602)
    deepEqual(await send(target, claimed(2, 'tools/list')).result(), {
      tools: [],
      nextCursor: 'c',
      resultType: 'complete',
      ttlMs: 0,
      cacheScope: 'private',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 's', version: '1' } }
    })
    const discovered = await send(target, claimed(3, 'server/discover')).result()
    deepEqual(discovered.capabilities, { tools: {}, logging: {}, resources: { subscribe: true } })
    equal(await send(target, claimed(4, 'tasks/get', { taskId: 't' })).code(), -32601)
  })

  it('that sends the user to a URL has the call made again when the user is back', async (t) => {
    let calls = 0
    const raw = old((request) => {
      const elicitation = { mode: 'url', url: 'https://a.example/', message: 'Pay', elicitationId: 'e' }
      if (++calls === 1) request.error(-32042, 'pay first', { elicitations: [elicitation] })
      else request.result({ content: [], paid: true })
    })
    const target = worker(t, raw)
    const call = claimed(1, 'tools/call', CALL, { elicitation: { url: {} } })
    const interim = await send(target, call).result()
    const params = { mode: 'url', url: 'https://a.example/', message: 'Pay' }
    deepEqual(interim.inputRequests, { url0: { method: 'elicitation/create', params } })
    const { requestState } = interim
    const retry = { ...CALL, inputResponses: { url0: { action: 'accept' } }, requestState: requestState! }
    equal((await send(target, claimed(2, 'tools/call', retry, { elicitation: { url: {} } })).result()).paid, true)
    calls = 0
    equal(await send(target, claimed(3, 'tools/call', CALL)).code(), -32021)
  })

  it('that has lost the session is begun anew, once', async (t) => {
    const expired = { kind: 'expired', status: 404, message: 'gone' } as const
    let calls = 0
    const raw = old((request) => (++calls === 2 ? request.fail(expired) : request.result({ content: [], calls })))
    const target = worker(t, raw)
    await send(target, claimed(1, 'tools/call', CALL)).result()
    equal((await send(target, claimed(2, 'tools/call', CALL)).result()).calls, 3)
    raw.answer = old((request) => request.fail(expired)).answer
    const outcome = await send(target, claimed(3, 'tools/call', CALL)).end
    equal('kind' in outcome && outcome.kind, 'broken')
  })

  it('is told that the client has left', async (t) => {
    const raw = old()
    const target = worker(t, raw)
    const heard = send(target, claimed(1, 'tools/call', CALL))
    await turns()
    heard.leave()
    const { message, isCancelled } = raw.last('tools/call')
    const cancelled = raw.sent.at(-1)
    ok(isCancelled && cancelled !== undefined && 'method' in cancelled)
    equal(cancelled.params?.requestId, message.id)
  })

  it('keeps sessions of different callers and clients apart', async (t) => {
    const raw = old((request) => request.result({ content: [] }))
    const target = worker(t, raw)
    await send(target, claimed(1, 'tools/call', CALL), 'ann').result()
    await send(target, claimed(1, 'tools/call', CALL), 'bob').result()
    await send(target, claimed(1, 'tools/call', CALL), 'ann').result()
    await send(target, claimed(1, 'tools/call', CALL, { experimental: {} }), 'ann').result()
    const keys = raw.requests
      .filter(({ message }) => message.method === 'tools/call')
      .map(({ options }) => options.upstreamSession)
    equal(new Set(keys).size, 3)
    equal(keys[0], keys[2])
  })

  it('that is a child is asked in a process of its own what it is', async (t) => {
    const raw = old((request) => request.result({ content: [] }), 'stdio')
    await send(worker(t, raw), claimed(1, 'tools/call', CALL)).result()
    equal(raw.requests[0]?.message.method, 'server/discover')
    notEqual(raw.requests[0]?.options.sessionKey, raw.requests[1]?.options.sessionKey)
    equal(raw.closed, 1)
  })

  for (const kind of ['http', 'stdio'] as const) {
    it(`has one session of one caller, whichever worker is asked, and however many at once: ${kind}`, async (t) => {
      const raw = old((request) => request.result({ content: [] }), kind)
      const workers = pair(t, raw)
      const callers = ['ann', 'bob', 'cy', 'di', 'ed']
      const calls = callers.flatMap((caller) => [...workers, ...workers].map((target) => [caller, target] as const))
      await Promise.all(calls.map(([who, target]) => send(target, claimed(1, 'tools/call', CALL), who).result()))
      equal(raw.methods.filter((method) => method === 'initialize').length, callers.length)
      equal(raw.methods.filter((method) => method === 'tools/call').length, calls.length)
    })
  }

  it('keeps only lists for anonymous callers', async (t) => {
    const raw = old((request) => request.result({ content: [], tools: [] }))
    const workers = pair(t, raw)
    const ask = async (method: string): Promise<void> => {
      for (const target of workers) {
        const heard = new Heard()
        const options = optionsFor('somebody', VERSION, { isAnonymous: true })
        target.open(options).request(claimed(1, method, CALL), heard, 1000)
        await heard.result()
      }
    }
    await ask('tools/call')
    await ask('tools/call')
    const begun = (): number => raw.methods.filter((method) => method === 'initialize').length
    deepEqual([begun(), raw.closed], [4, 4])
    for (let i = 0; i < 3; i++) await ask('tools/list')
    deepEqual([begun(), raw.closed], [6, 4])
  })

  it('agrees to no subscription that the server has refused to another', async (t) => {
    const uri = 'note://none'
    const raw = old((request) => {
      if (request.message.method === 'resources/subscribe') request.error(-32002, 'no such resource')
    })
    const target = worker(t, raw)
    const filter = { notifications: { resourceSubscriptions: [uri] } }
    const listens = [1, 2, 3].map((id) => send(target, claimed(id, 'subscriptions/listen', filter)))
    await turns(8)
    listens.push(send(target, claimed(4, 'subscriptions/listen', filter)))
    await turns(8)
    const agreed = listens.map(({ messages }) => (messages[0] as RpcNotification).params?.notifications)
    deepEqual(agreed, [{}, {}, {}, {}])
    equal(raw.methods.filter((method) => method === 'resources/subscribe').length, 2)
    for (const { leave } of listens) leave()
    await turns(8)
    equal(raw.methods.includes('resources/unsubscribe'), false)
  })

  it('bounds the sessions of one caller, so that others get theirs', async (t) => {
    const raw = old((request) => {
      if (request.message.params?.name === 'quick') request.result({ content: [] })
    })
    const target = worker(t, raw)
    const ask = (party: string, name: string): Heard => {
      const heard = new Heard()
      const options = optionsFor(`${party} ${raw.requests.length}`, VERSION, { isAnonymous: true, party })
      target.open(options).request(claimed(1, 'tools/call', { ...CALL, name }), heard, 60_000)
      return heard
    }
    await ask('first', 'quick').result()
    // Three quarters of 2000.
    for (let i = 0; i < 1500; i++) ask('greedy', 'slow')
    const end = await ask('greedy', 'slow').end
    equal('kind' in end && end.message, 'as many sessions with this server as one client may have are in use')
    await ask('modest', 'quick').result()
  })

  it('tells all that listen of a change that comes with a call', async (t) => {
    const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' } as const
    const raw = old((request) => {
      request.events.message(changed)
      request.result({ content: [] })
    }, 'stdio')
    const initialize = raw.answer
    raw.answer = (request) => {
      if (request.message.method !== 'initialize') initialize(request)
      else {
        const capabilities = { tools: { listChanged: true } }
        request.result({ protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 's', version: '1' } })
      }
    }
    const [here, there] = pair(t, raw)
    const listening = send(here!, claimed(1, 'subscriptions/listen', { notifications: { toolsListChanged: true } }))
    const heard = new Promise<string>((resolve) => {
      listening.onMessage = ({ method }) => {
        if (method === changed.method) resolve(method)
        else send(there!, claimed(2, 'tools/call', CALL))
      }
    })
    equal(await heard, changed.method)
    listening.leave()
  })

  it('whose worker has ended fails what it had taken, at once', async (t) => {
    const raw = old()
    const [here] = pair(t, raw)
    const sent = ['ann', 'bob', 'cy', 'di', 'ed', 'flo'].map((who) => send(here!, claimed(1, 'tools/call', CALL), who))
    while (raw.methods.filter((method) => method === 'tools/call').length < sent.length) await turns(1)
    // Its successor begins, under the same name.
    worker(t, raw, t.name, { index: 1, count: 2 })
    const failed = await Promise.race(sent.map(({ end }) => end))
    match('kind' in failed ? failed.message : '', /has ended: the request may have been carried out/)
  })

  it('that has ended publishes nothing, and does not throw', async (t) => {
    const bus = new Bus(t.name)
    const ears = new Bus(t.name)
    const alive = setInterval(() => undefined, 10_000)
    t.after(() => {
      clearInterval(alive)
      ears.close()
    })
    const heard = new Promise<string>((resolve) => ears.subscribe((message) => resolve(message.kind)))
    bus.publish({ kind: 'started', self: bus.self, incarnation: bus.incarnation })
    equal(await heard, 'started')
    bus.close()
    // Calls that end behind it would still tell who had sent them.
    doesNotThrow(() => bus.publish({ kind: 'cancel', to: ears.self, request: '1' }))
  })
})

function progress(progressToken: string | number): Parameters<Heard['message']>[0] {
  return { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } }
}
