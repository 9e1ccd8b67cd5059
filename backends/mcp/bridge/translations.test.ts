/** What one era says in the words of the other, and back. */
import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { ServerFacts } from '#backends/mcp/protocol/initialize-result.ts'
import type { JsonObject } from '#backends/mcp/protocol/json-rpc.ts'
import { STATEFUL_METHODS } from '#backends/mcp/protocol/stateful.ts'
import { metaOf, STATELESS_METHODS } from '#backends/mcp/protocol/stateless.ts'
import { inputRequest, requestOf, takesInput } from './input-requests.ts'
import { digestOf } from './pending-calls.ts'
import {
  clientIdentityOf,
  initializeResult,
  readDiscoverResult,
  statefulResult,
  statelessRequest
} from './stateful-client.ts'
import {
  clientMetaOf,
  discovery,
  honouredFilter,
  initializeFor,
  passesFilter,
  statefulRequest,
  statelessResult
} from './stateless-client.ts'

const FACTS: ServerFacts = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: { listChanged: true }, prompts: {}, resources: { subscribe: true } },
  serverInfo: { name: 's', version: '1' },
  instructions: 'Be kind.'
}
/** Keys that no message has by chance: what each era adds, and what only one has. */
const OWN = new Set(['_meta', 'resultType', 'ttlMs', 'cacheScope', 'task', 'inputResponses', 'requestState'])
const members = fc.dictionary(
  fc.string().filter((key) => !OWN.has(key) && key !== '__proto__'),
  fc.jsonValue({ maxDepth: 3 }),
  { noNullPrototype: true }
) as fc.Arbitrary<JsonObject>
const ask = (method: string, params: JsonObject) => ({ jsonrpc: '2.0' as const, id: 1, method, params })

describe('translations', () => {
  it('of results lose nothing there and back', () => {
    fc.assert(
      fc.property(members, members, (result, meta) => {
        const input = Object.keys(meta).length === 0 ? result : { ...result, _meta: meta }
        for (const method of ['prompts/get', 'resources/read', 'completion/complete']) {
          const translated = statelessResult(method, input, FACTS)
          equal(translated.resultType, 'complete')
          equal('ttlMs' in translated, STATELESS_METHODS.get(method)?.cacheable)
          deepEqual(statefulResult(method, translated), input)
        }
      })
    )
  })

  it('of requests lose nothing there and back', () => {
    fc.assert(
      fc.property(members, members, (params, meta) => {
        const client = clientIdentityOf(
          ask('initialize', { clientInfo: { name: 'c' }, capabilities: { sampling: {} } })
        )
        const input = Object.keys(meta).length === 0 ? params : { ...params, _meta: meta }
        const young = statelessRequest(ask('tools/call', input), client, 'info')
        deepEqual(clientMetaOf(young), { clientInfo: { name: 'c' }, capabilities: { sampling: {} }, logLevel: 'info' })
        const old = statefulRequest(young, 7)
        equal(old.id, 7)
        const token = meta.progressToken === undefined ? {} : { progressToken: 7 }
        deepEqual(metaOf(old.params), { ...meta, ...token })
        const { _meta, ...rest } = old.params ?? {}
        deepEqual(rest, params)
      })
    )
  })

  it('of a server say the same of it in both eras', () => {
    const discovered = discovery({ ...FACTS, capabilities: { ...FACTS.capabilities, tasks: {} } })
    const facts = readDiscoverResult(discovered, 'x')
    deepEqual(facts, { ...FACTS, protocolVersion: '2026-07-28' })
    const { capabilities, serverInfo, instructions } = FACTS
    deepEqual(initializeResult(ask('initialize', { protocolVersion: '1999-01-01' }), facts!), {
      ...{ protocolVersion: '2025-11-25', capabilities, serverInfo, instructions }
    })
  })

  it('of a client offer servers what it can do, and no tasks', () => {
    const extensions = { 'io.modelcontextprotocol/tasks': {}, 'com.example/x': { a: 1 } }
    const capabilities = { elicitation: { url: {} }, roots: { listChanged: true }, tasks: {}, extensions }
    const client = clientIdentityOf(ask('initialize', { capabilities }))
    const kept = { elicitation: { url: {} }, roots: {}, extensions: { 'com.example/x': { a: 1 } } }
    deepEqual(client.capabilities, kept)
    deepEqual(initializeFor({ clientInfo: null, capabilities, logLevel: null }, 1).params?.capabilities, kept)
  })

  it('of what servers ask keep the question, and leave out what one era alone has', () => {
    const url = { mode: 'url', url: 'https://a.example/', message: 'Go' }
    const old = requestOf({ method: 'elicitation/create', params: url }, 'id')
    deepEqual(old?.params, { ...url, elicitationId: 'id' })
    deepEqual(inputRequest(old!), { method: 'elicitation/create', params: url })
    deepEqual(inputRequest({ jsonrpc: '2.0', id: 1, method: 'roots/list' }), { method: 'roots/list' })
    for (const broken of [null, 7, [], {}, { method: 7 }, { method: 'tools/call' }])
      equal(requestOf(broken, 'id'), null)
  })

  it('ask clients for what they take only', () => {
    const form = { method: 'elicitation/create' }
    const url = { ...form, params: { mode: 'url' } }
    const cases: [JsonObject, typeof form, boolean][] = [
      [{ elicitation: {} }, form, true],
      [{ elicitation: {} }, url, false],
      [{ elicitation: { url: {} } }, url, true],
      [{ elicitation: { url: {} } }, form, false],
      [{ elicitation: { url: {}, form: {} } }, form, true],
      [{ elicitation: true }, form, false],
      [{ sampling: {} }, { method: 'sampling/createMessage' }, true],
      [{ sampling: {} }, { method: 'roots/list' }, false],
      [{ tools: {} }, { method: 'tools/call' }, false]
    ]
    for (const [capabilities, request, takes] of cases) equal(takesInput(capabilities, request), takes)
  })

  it('of filters honour what the server has', () => {
    const all = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['a:1', 7] }
    const filter = honouredFilter(all, FACTS.capabilities)
    deepEqual(filter, { toolsListChanged: true, resourceSubscriptions: ['a:1'] })
    const passes = (method: string, params: JsonObject = {}) => passesFilter({ jsonrpc: '2.0', method, params }, filter)
    equal(passes('notifications/tools/list_changed'), true)
    equal(passes('notifications/prompts/list_changed'), false)
    equal(passes('notifications/resources/updated', { uri: 'a:1' }), true)
    equal(passes('notifications/resources/updated', { uri: 'a:2' }), false)
    equal(passes('notifications/message'), false)
  })

  it('know a request by all that it asks for', () => {
    fc.assert(
      fc.property(members, members, (a, b) => {
        const isSame = JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
        equal(digestOf('m', a) === digestOf('m', b), isSame)
        equal(digestOf('m', { ...a, requestState: 'x', _meta: { y: 1 } }), digestOf('m', a))
      })
    )
  })

  it('know every method of each era', () => {
    const shared = [...STATELESS_METHODS.keys()].filter((name) => STATEFUL_METHODS.has(name))
    for (const name of shared) {
      const [old, young] = [STATEFUL_METHODS.get(name)!, STATELESS_METHODS.get(name)!]
      deepEqual([old.owner, old.asksBack], [young.owner, young.asksBack])
      // That a task's id is a header too is of the younger era.
      if (young.named !== 'taskId') deepEqual(old.named, young.named)
    }
    deepEqual(
      [...STATELESS_METHODS.keys()].filter((name) => !STATEFUL_METHODS.has(name)),
      ['server/discover', 'subscriptions/listen', 'tasks/update']
    )
  })
})

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => [key, sorted(inner), 'o'])
}
