/** From a configuration file to an official client: the examples. */
import { deepEqual, match, ok, rejects } from 'node:assert/strict'
import { mkdtempSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { startGateway, type TestOptions } from '#engine/testing/gateway.ts'
import { clientOf } from './testing/gateway.ts'
import { type McpHttpServer, startMcp } from './testing/servers.ts'

const FOLDER = join(import.meta.dirname, '../../docs/examples')
const example = (file: string): string => readFileSync(join(FOLDER, file), 'utf8')

const tools = (t: TestContext, ...names: readonly string[]): Promise<McpHttpServer> =>
  startMcp(t, {
    setUp(made) {
      for (const name of names) made.registerTool(name, {}, () => ({ content: [{ type: 'text', text: name }] }))
    }
  })

async function gateway(t: TestContext, yaml: string, options: TestOptions = {}) {
  const started = await startGateway(yaml, options)
  t.after(() => started.close())
  return { ...started, url: `http://127.0.0.1:${started.port}/mcp` }
}

const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name).sort()

test('mcp.yaml does what it says', async (t) => {
  const [search, notes] = [await tools(t, 'find'), await tools(t, 'add', 'list')]
  const file = example('mcp.yaml').replace('localhost:9001', `localhost:${search.port}`)
  const { url } = await gateway(
    t,
    file.replace('port: 9002', `port: ${notes.port}`).replace(/\$\{SEARCH_KEY:-demo\}/, 'the-key')
  )
  const { client } = await clientOf(t, url, { 'x-tenant': 'blue', cookie: 'a=b', authorization: 'Bearer own' })
  deepEqual(await namesOf(client), ['notes_add', 'notes_list', 'search_find'])
  const { content } = await client.callTool({ name: 'search_find' })
  deepEqual(content, [{ type: 'text', text: 'find' }])
  for (const { headers } of search.seen) {
    deepEqual([headers['x-tenant'], headers.cookie, headers.authorization], ['blue', undefined, 'Bearer the-key'])
  }
  for (const { headers } of notes.seen) deepEqual([headers['x-tenant'], headers.authorization], ['blue', undefined])
})

test('mcp-authorization.yaml authorizes as described, and calls are counted and logged', async (t) => {
  const calc = await tools(t, 'add', 'divide', 'reset')
  const yaml = example('mcp-authorization.yaml').replace('localhost:9001', `localhost:${calc.port}`)
  const log = join(mkdtempSync(join(tmpdir(), 'weir-mcp-')), 'log')
  const file = yaml.replace(/\$\{\w+:-(\w+)\}/g, '$1')
  const gw = await gateway(t, file, { log: { format: 'json', fd: openSync(log, 'a') } })
  const as = async (key: string) => (await clientOf(t, gw.url, { authorization: `Bearer ${key}` })).client
  const [admin, user] = [await as('admin'), await as('user')]
  deepEqual(await namesOf(admin), ['add', 'divide'])
  deepEqual(await namesOf(user), ['add'])
  await user.callTool({ name: 'add' })
  await rejects(user.callTool({ name: 'divide' }), /-32602/)
  await rejects(admin.callTool({ name: 'reset' }), /-32602/)
  const metrics = gw.metrics()
  const called = 'mcp_server_operation_duration_seconds_count{route="mcp",mcp_method_name="tools/call"'
  const add = `${called},target="calc",gen_ai_tool_name="add",gen_ai_prompt_name="",error_type=""} 1`
  ok(
    metrics.includes(add),
    metrics
      .split('\n')
      .filter((line) => line.startsWith(called))
      .join('\n')
  )
  ok(!metrics.includes('"divide"'))
  await gw.close()
  const lines = readFileSync(log, 'utf8')
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Record<string, unknown>]))
  const call = lines.find((line) => line['gen_ai.tool.name'] === 'add')!
  deepEqual([call['mcp.method.name'], call['mcp.target'], call.backend], ['tools/call', 'calc', 'mcp/targets'])
  match(String(call['mcp.session.id']), /^.{1,64}$/)
  // Also what begins a session, and what only listens.
  const mine = lines.filter((line) => line['mcp.session.id'] === call['mcp.session.id'])
  const methods = new Set(mine.map((line) => `${line['http.method']} ${line['mcp.method.name'] ?? ''}`))
  ok(methods.has('POST initialize') && methods.has('GET '), [...methods].join())
})
