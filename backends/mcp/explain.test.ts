/** Calls that are explained: tool, target and rule are those of a live call, and no target is asked. */
import assert from 'node:assert/strict'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { exitCodeOf } from '#engine/explain/explanation.ts'
import { show } from '#engine/explain/show.ts'
import { explainer } from '#engine/testing/explain.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { INITIALIZE, post } from './testing/gateway.ts'
import { startMcp } from './testing/servers.ts'

const fileOf = (ports: readonly number[], more = '') => `
config: { logging: { level: info } }
backends:
  - name: tools
    mcp:
      ${more}
      targets:
        - name: notes
          mcp: { host: "http://127.0.0.1:${ports[0]}/mcp" }
        - name: guarded
          mcp: { host: "http://127.0.0.1:${ports[1]}/mcp" }
          policies:
            mcpAuthorization: { rules: [{ deny: 'mcp.tool.name == "list" && !("x-role" in request.headers)' }] }
binds:
  - port: 8080
    listeners:
      - routes:
          - name: mcp
            backends: [{ backend: tools }]
`

const setUp = (server: McpServer) => {
  for (const name of ['list', 'count']) {
    server.registerTool(name, {}, () => ({ content: [{ type: 'text', text: name }] }))
  }
}

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const call = (name: string, args: object = {}) => ({
  ...{ jsonrpc: '2.0', id: 7, method: 'tools/call' },
  params: { name, arguments: args }
})

/** Name, fields of the request, and what becomes of it: the target that it reaches, or the error. */
const CALLS: readonly (readonly [name: string, headers: Readonly<Record<string, string>>, target: string | null])[] = [
  ['notes_list', {}, 'notes'],
  ['guarded_list', {}, null],
  ['guarded_list', { 'x-role': 'admin' }, 'guarded'],
  ['guarded_count', {}, 'guarded'],
  ['other_list', {}, null],
  ['list', {}, null]
]

test('tools/call: the target that it reaches, the rule that refuses it, a tool that nobody has', async (t) => {
  const servers = await Promise.all([startMcp(t, { setUp }), startMcp(t, { setUp })])
  const text = fileOf(servers.map(({ port }) => port))
  const folder = mkdtempSync(join(tmpdir(), 'weir-explain-mcp-'))
  const log = join(folder, 'log')
  const fd = openSync(log, 'a')
  const gateway = await startGateway(text.replace('8080', '0'), { log: { format: 'text', fd } })
  t.after(() => {
    closeSync(fd)
    rmSync(folder, { recursive: true })
  })
  const explain = explainer(text)
  const url = `http://127.0.0.1:${gateway.port}/mcp`
  const begun = await post(url, INITIALIZE)
  const session = begun.headers.get('mcp-session-id')!
  await begun.text()
  const details: string[] = []
  for (const [name, more, target] of CALLS) {
    const headers = { ...more, 'mcp-session-id': session }
    const found = await explain({
      ...{ method: 'POST', url: 'http://a:8080/mcp', body: JSON.stringify(call(name)) },
      headers: { ...HEADERS, ...headers }
    })
    const answer = await post(url, call(name), headers)
    const body = await answer.text()
    const { outcome, upstream } = found
    if (target === null) {
      assert.ok(outcome.kind === 'answer', name)
      assert.deepEqual([outcome.status, outcome.mcpErrorCode, exitCodeOf(found)], [200, -32_602, 1], name)
      assert.deepEqual(JSON.parse(outcome.body), JSON.parse(body.replace(/^[^{]*data: /s, '')), name)
      if (outcome.detail !== null) details.push(outcome.detail)
    } else {
      assert.deepEqual([outcome.kind, exitCodeOf(found)], ['upstream', 0], name)
      assert.deepEqual(upstream?.mcp, {
        ...{ method: 'tools/call', target, item: `tool ${name.slice(target.length + 1)}` }
      })
      const { port } = servers[target === 'notes' ? 0 : 1]!
      assert.ok(
        upstream.asks.some((one) => one.includes(`127.0.0.1:${port}`)),
        `${name}: ${upstream.asks.join()}`
      )
      assert.match(body, /"result"/, name)
      assert.match(show(found), new RegExp(`mcp {5}tools/call, tool ${name.slice(target.length + 1)}, ${target}`))
    }
  }
  const why = 'mcpAuthorization: tool of target guarded: deny rule 0 denies it: mcp.tool.name == "list" && '
  assert.ok(details[0]!.startsWith(why), details[0])
  assert.deepEqual(details.slice(1), ['no target has this tool', 'no target has this tool'])
  await gateway.close()
  // The line of the log says the same of the live call.
  assert.match(readFileSync(log, 'utf8'), /guarded: deny rule 0 denies it/)
})

test('a call without a session is refused as it is live, but where there are none', async () => {
  const explain = explainer(fileOf([1, 2]))
  const none = await explain({
    ...{ method: 'POST', url: 'http://a:8080/mcp', headers: HEADERS, body: JSON.stringify(call('notes_list')) }
  })
  assert.ok(none.outcome.kind === 'answer' && none.outcome.status === 400)
  assert.match(none.outcome.body, /Mcp-Session-Id header is required/)
  const stateless = explainer(fileOf([1, 2], 'sessionRouting: Stateless'))
  const found = await stateless({
    ...{ method: 'POST', url: 'http://a:8080/mcp', headers: HEADERS, body: JSON.stringify(call('notes_list')) }
  })
  assert.deepEqual([found.outcome.kind, found.upstream?.mcp?.target], ['upstream', 'notes'])
})
