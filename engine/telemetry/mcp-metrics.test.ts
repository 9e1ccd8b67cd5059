import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type McpUse, newMcpUse } from '#engine/contract/mcp-use.ts'
import { finishedExchange } from './exchange.fixture.ts'
import { parseExposition } from './exposition.fixture.ts'
import { McpMetrics } from './mcp-metrics.ts'
import { Metrics, REGION_BYTES } from './metrics.ts'
import { MetricsTable } from './metrics-table.ts'

function start() {
  const table = new MetricsTable()
  const region = new SharedArrayBuffer(REGION_BYTES)
  const mcp = new McpMetrics(new Metrics(region, table.attach('0', region)))
  const record = (use: Partial<McpUse>, status = 200) => {
    const ex = finishedExchange()
    ex.mcp = { ...newMcpUse(), ...use }
    mcp.record(ex, 'r', status, 40)
  }
  const count = (labels: object) =>
    parseExposition(table.expose()).value('mcp_server_operation_duration_seconds_count', {
      ...{ route: 'r', mcp_method_name: 'tools/call', target: 'a' },
      ...{ gen_ai_tool_name: '', gen_ai_prompt_name: '', error_type: '' },
      ...labels
    })
  return { record, count, raw: () => table.expose() }
}

const call = (name: string, more: Partial<McpUse> = {}): Partial<McpUse> => ({
  method: 'tools/call',
  item: { kind: 'tool', name, target: 'a' },
  ...more
})

test('calls are counted by method, target, tool and how they ended', () => {
  const { record, count } = start()
  record(call('add'))
  record(call('add', { hasToolError: true }))
  record(call('add', { errorCode: -32602 }))
  record(call('add'), 504)
  record({ method: 'tools/list' })
  record({ method: 'prompts/get', item: { kind: 'prompt', name: 'p', target: 'b' } })
  const errors = ['', 'tool_error', '-32602', '504']
  assert.deepEqual(
    errors.map((error_type) => count({ gen_ai_tool_name: 'add', error_type })),
    [1, 1, 1, 1]
  )
  assert.equal(count({ mcp_method_name: 'tools/list', target: '' }), 1)
  assert.equal(count({ mcp_method_name: 'prompts/get', target: 'b', gen_ai_prompt_name: 'p' }), 1)
})

test('names that clients invent are no labels', () => {
  const { record, count, raw } = start()
  record(call('invented', { errorCode: -32602 }))
  record({ method: 'made/up' })
  record({})
  assert.equal(count({ gen_ai_tool_name: 'other', error_type: '-32602' }), 1)
  assert.equal(count({ mcp_method_name: 'other', target: '' }), 1)
  for (let i = 0; i < 1000; i++) record(call(`t${i}`))
  for (let i = 0; i < 100; i++) record(call('t1', { errorCode: i }))
  const distinct = (label: string) =>
    new Set([...raw().matchAll(new RegExp(`${label}="([^"]*)"`, 'g'))].map(([, name]) => name)).size
  assert.ok(distinct('gen_ai_tool_name') <= 258)
  assert.ok(distinct('error_type') <= 34)
  assert.equal(raw().includes('invented'), false)
})
