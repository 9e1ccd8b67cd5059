/** The demonstration's MCP servers, with the official client. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ElicitRequestSchema, ResourceListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { serveMcp } from './index.ts'

const MAIN = fileURLToPath(new URL('../../../engine/process/start.ts', import.meta.url))

async function connected(t: TestContext, name: string, canElicit = true): Promise<Client> {
  const args = ['--disable-warning=ExperimentalWarning', MAIN, 'mcp-server', name]
  const capabilities = canElicit ? { elicitation: {} } : {}
  const client = new Client({ name: 'test', version: '1' }, { capabilities })
  await client.connect(new StdioClientTransport({ command: process.execPath, args }))
  t.after(() => client.close())
  return client
}

async function text(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const { content, isError } = await client.callTool({ name, arguments: args })
  return `${isError === true ? 'error: ' : ''}${(content as { text: string }[])[0]?.text}`
}

test('the clock tells the time, calculates, counts down with progress and can be stopped', async (t) => {
  const client = await connected(t, 'clock')
  equal(client.getServerVersion()?.name, 'weir-demo-clock')
  const { tools } = await client.listTools()
  deepEqual(
    tools.map(({ name }) => name),
    ['now', 'calculate', 'countdown']
  )
  match(await text(client, 'now'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/)
  match(await text(client, 'now', { timeZone: 'Asia/Kolkata' }), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+05:30$/)
  equal(await text(client, 'now', { timeZone: 'Nowhere' }), 'error: there is no time zone "Nowhere"')
  equal(await text(client, 'calculate', { operation: 'multiply', a: 6, b: 7 }), '42')
  equal(await text(client, 'calculate', { operation: 'divide', a: 1, b: 0 }), 'error: that is no number')
  match(await text(client, 'calculate', { operation: 'toString', a: 1, b: 0 }), /^error: operation is one of/)
  const steps: number[] = []
  const onprogress = ({ progress }: { progress: number }) => void steps.push(progress)
  const { content } = await client.callTool({ name: 'countdown', arguments: { from: 2 } }, undefined, { onprogress })
  deepEqual([steps, content], [[1, 2], [{ type: 'text', text: 'Lift-off' }]])
  const stop = new AbortController()
  const long = client.callTool({ name: 'countdown', arguments: { from: 20 } }, undefined, {
    signal: stop.signal,
    onprogress: () => stop.abort()
  })
  await rejects(long)
  await client.ping()
  await rejects(client.listPrompts())
  await rejects(client.callTool({ name: 'nothing' }), /Unknown tool: nothing/)
})

test('the notebook keeps notes, has them as resources and in a prompt, and asks before it clears', async (t) => {
  const client = await connected(t, 'notebook')
  const requests: string[] = []
  const confirm = [false, true]
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    requests.push(params.message)
    return { action: 'accept' as const, content: { confirm: confirm.shift()! } }
  })
  let changes = 0
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void changes++)
  equal(await text(client, 'add_note', { text: 'buy milk' }), 'Note 1')
  equal(await text(client, 'add_note', {}), 'error: text is what to write')
  equal(await text(client, 'list_notes'), '1: buy milk')
  deepEqual(
    (await client.listResources()).resources.map(({ uri }) => uri),
    ['note://all', 'note://1']
  )
  deepEqual((await client.readResource({ uri: 'note://1' })).contents, [
    { uri: 'note://1', mimeType: 'text/plain', text: 'buy milk' }
  ])
  await rejects(client.readResource({ uri: 'note://2' }), /Resource not found/)
  const { messages } = await client.getPrompt({ name: 'summarise', arguments: { tone: 'briefly' } })
  deepEqual(messages[0]?.content, { type: 'text', text: 'Summarise these notes, briefly:\n\n1: buy milk' })
  match(await text(client, 'clear_notes'), /^Nothing was thrown away/)
  equal(await text(client, 'clear_notes'), 'All notes are gone')
  deepEqual(requests, ['Throw away the only note?', 'Throw away the only note?'])
  equal(changes, 2)
})

test('a client that cannot ask its user keeps its notes', async (t) => {
  const client = await connected(t, 'notebook', false)
  await text(client, 'add_note', { text: 'a' })
  match(await text(client, 'clear_notes'), /^Nothing was thrown away/)
})

test('invalid messages get the JSON-RPC error', async () => {
  const input = new PassThrough()
  const output = new PassThrough()
  const over = serveMcp('clock', '1', input, output)
  input.end('nonsense\n\n[]\n{"jsonrpc":"2.0","id":1,"method":"toString"}\n{"jsonrpc":"2.0","id":9,"result":{}}\n')
  equal(await over, true)
  const lines = String(output.read()).trim().split('\n')
  const codes = lines.map((line) => (JSON.parse(line) as { error: { code: number } }).error.code)
  deepEqual(codes, [-32700, -32600, -32601])
  equal(await serveMcp('toString', '1', input, output), false)
})
