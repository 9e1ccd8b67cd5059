/** The servers that users run, as child processes. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { RpcMessage, RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import { ask, callTool, initialize, optionsOf } from '#backends/mcp/testing/links.ts'
import type { ChildSpec } from '#engine/contract/children.ts'
import { ChildrenOfWorker } from '#engine/workers/children/client.ts'
import { ChildHub } from '#engine/workers/children/hub.ts'
import { LineTarget } from './line-target.ts'
import { stdioKind } from './stdio.ts'

const PACKAGES = join(import.meta.dirname, '../../../node_modules/@modelcontextprotocol')

function target(t: TestContext, name: string, args: readonly string[], more: Partial<ChildSpec> = {}) {
  const hub: ChildHub = new ChildHub({
    log: () => undefined,
    post: (_worker, report) => setImmediate(() => children.receive(report))
  })
  const children: ChildrenOfWorker = new ChildrenOfWorker((order) => hub.receive(0, order))
  t.after(() => hub.close())
  const spec = { backend: 'b', target: name, cmd: process.execPath, args, env: {}, cwd: null }
  return new LineTarget({ ...spec, lineBytesMax: 1024 * 1024, idleMs: 0, ...more }, children, stdioKind.traits)
}

test('server-everything: tools, progress of a call, its own requests, cancellation, time', async (t) => {
  const everything = target(t, 'everything', [join(PACKAGES, 'server-everything/dist/index.js'), 'stdio'])
  equal(everything.traits.isProcess, true)
  const link = everything.open(optionsOf('s'))
  equal(link.upstreamSession, null)
  const requests: RpcMessage[] = []
  const { response } = await initialize(link, { roots: { listChanged: true } })
  ok(response?.result?.capabilities)
  ok(link.upstreamSession)
  // It asks for the roots on its own, when it is initialised: there is no stream until somebody listens.
  const roots = new Promise<RpcRequest>((resolve) => {
    link.listen(null, {
      message(message) {
        requests.push(message)
        if ('method' in message && message.method === 'roots/list') resolve(message as RpcRequest)
      },
      ended: () => undefined
    })
  })
  await link.send({ jsonrpc: '2.0', id: (await roots).id, result: { roots: [{ uri: 'file:///tmp', name: 'tmp' }] } })
  const { response: listed } = await ask(link, 'tools/list')
  const tools = listed?.result?.tools as readonly { name: string }[]
  ok(tools.some(({ name }) => name === 'echo'))
  match(await callTool(link, 'echo', { message: 'hello' }), /hello/)
  const params = { name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 4 } }
  const long = await ask(link, 'tools/call', { ...params, _meta: { progressToken: 'p1' } })
  deepEqual(
    long.messages.map(({ method }) => method),
    Array.from({ length: 4 }, () => 'notifications/progress')
  )
  const late = await ask(link, 'tools/call', { ...params, arguments: { duration: 60, steps: 1 } }, 50)
  deepEqual(late.failure, {
    kind: 'timeout',
    status: null,
    message: 'did not answer within 50 ms'
  })
  match(await callTool(link, 'echo', { message: 'still here' }), /still here/)
})

test('server-memory keeps the data of a session apart from other sessions', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-mcp-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const env = { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') }
  const memory = target(t, 'memory', [join(PACKAGES, 'server-memory/dist/index.js')], { env })
  const link = memory.open(optionsOf('s'))
  await initialize(link)
  const entity = { name: 'weir', entityType: 'dam', observations: ['lets through what may pass'] }
  await callTool(link, 'create_entities', { entities: [entity] })
  // A link of another worker, with what the first one learnt.
  const again = memory.open(optionsOf('s', link.upstreamSession))
  match(await callTool(again, 'read_graph', {}), /lets through what may pass/)
  const stranger = memory.open(optionsOf('t', link.upstreamSession))
  equal((await ask(stranger, 'tools/list')).failure?.kind, 'expired')
})

test('server-filesystem reads below its folder, and nothing else', async (t) => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'weir-mcp-')))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'note.txt'), 'written here')
  const files = target(t, 'files', [join(PACKAGES, 'server-filesystem/dist/index.js'), '.'], { cwd: folder })
  const link = files.open(optionsOf('s'))
  await initialize(link)
  equal(await callTool(link, 'read_text_file', { path: join(folder, 'note.txt') }), 'written here')
  match(await callTool(link, 'read_text_file', { path: '/etc/hostname' }), /denied/i)
  link.release()
  equal((await initialize(files.open(optionsOf('s')))).failure, undefined)
})

test('a message that is too long for the server is refused before it is sent', async (t) => {
  const small = target(t, 'small', ['-e', 'process.stdin.resume()'], { lineBytesMax: 100 })
  const { failure } = await ask(small.open(optionsOf('s')), 'tools/call', { text: 'x'.repeat(200) })
  equal(failure?.kind, 'refused')
})
