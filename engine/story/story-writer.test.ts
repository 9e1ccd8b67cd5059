import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { CONTINUE, STOP } from '#engine/contract/filter.ts'
import { newMcpUse } from '#engine/contract/mcp-use.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { StoryWriter } from './story-writer.ts'

const ENDPOINT = { name: 'b:1', usable: true, hostHeader: 'b', isHostname: true }

test('a story has at most 64 KiB: what has no room is counted', () => {
  const ex = fakeExchange({ target: `/${'a/'.repeat(4_000)}` })
  const writer = new StoryWriter(ex, '1')
  ex.endpoint = '192.0.2.1:80'
  for (let i = 0; i < 1_000; i++) {
    writer.sending(ex, { ...ENDPOINT, name: '€'.repeat(600) })
    writer.retrying(ex, 'UPSTREAM_TIMEOUT')
  }
  const story = writer.end()
  ok(Buffer.byteLength(JSON.stringify(story)) <= 64 * 1024)
  ok(story.steps.length > 20)
  deepEqual(story.notes, [`${2_000 - story.steps.length} more steps have no room in a story`])
})

test('verdicts of hooks: those that wait, and those that break', async () => {
  const ex = fakeExchange()
  const writer = new StoryWriter(ex, '1')
  equal(await writer.hook({ name: 'a' }, 'request', () => Promise.resolve(CONTINUE)), CONTINUE)
  equal(
    writer.hook({ name: 'b' }, 'request', () => {
      ex.error = 'FORBIDDEN'
      ex.errorDetail = 'Authorization: Bearer canary-0123456789'
      return STOP
    }),
    STOP
  )
  await rejects(async () => writer.hook({ name: 'c' }, 'response', () => Promise.reject(new Error('broken'))), /broken/)
  const { steps, code, detail } = writer.end()
  deepEqual(
    steps.map((one) => one.step === 'policy' && [one.policy, one.side, one.verdict, one.detail]),
    [
      ['a', 'request', 'passes', null],
      ['b', 'request', 'answers', 'Authorization: Bearer <redacted>'],
      ['c', 'response', 'fails', null]
    ]
  )
  deepEqual([code, detail], ['FORBIDDEN', 'Authorization: Bearer <redacted>'])
})

test('a call of MCP: method, target and item, and nothing of its arguments', () => {
  const ex = fakeExchange()
  const item = { kind: 'tool', name: 'add', target: 'notes', arguments: { text: 'canary' } } as const
  ex.mcp = { ...newMcpUse(), method: 'tools/call', item, errorCode: -32_602 }
  const story = new StoryWriter(ex, '1').end()
  deepEqual(story.mcp, { method: 'tools/call', target: 'notes', item: 'tool add', errorCode: -32_602 })
  equal(JSON.stringify(story).includes('canary'), false)
  match(story.requestId, /./)
})

test('a call of a model: what all its attempts have cost, or why that is not known', () => {
  const ex = fakeExchange()
  const cost = { costBasis: 'usage', cache: 'miss' } as const
  ex.llm = { requestModel: 'b', cost: 250, ...cost, previous: { requestModel: 'a', cost: 1_000, ...cost } }
  const known = new StoryWriter(ex, '1').end().llm!
  deepEqual([known.cost, known.costBasis, known.costUnknown, known.cache], ['0.00000000125', 'usage', null, 'miss'])
  ex.llm = { requestModel: 'b', costUnknown: 'no price' }
  const unknown = new StoryWriter(ex, '1').end().llm!
  deepEqual([unknown.cost, unknown.costBasis, unknown.costUnknown, unknown.cache], [null, null, 'no price', null])
})
