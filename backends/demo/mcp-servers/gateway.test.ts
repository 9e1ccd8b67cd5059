/** Child processes behind the whole program: workers that share them, reloads, and a gateway that is killed. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { freePort, type RunningProgram, runProgram } from '#engine/testing/program.ts'

const MAIN = fileURLToPath(new URL('../../../engine/process/start.ts', import.meta.url))
const FIXTURE = fileURLToPath(new URL('../../../engine/workers/children/server.fixture.ts', import.meta.url))
const QUIET = '--disable-warning=ExperimentalWarning'

async function connected(t: TestContext, port: number): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } })
  // A connection for each request: both workers get some.
  const requestInit = { headers: { connection: 'close' } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`), { requestInit }))
  t.after(() => client.close())
  return client
}

async function text(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const { content } = await client.callTool({ name, arguments: args })
  return String((content as { text: string }[])[0]?.text)
}

function config(port: number, servers: Readonly<Record<string, readonly string[]>>): string {
  const targets = Object.entries(servers).map(([name, args]) => ({
    name,
    stdio: { cmd: process.execPath, args: [QUIET, ...args] }
  }))
  return JSON.stringify({
    config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', workerThreads: 2 },
    binds: [{ port, listeners: [{ routes: [{ backends: [{ mcp: { targets } }] }] }] }]
  })
}

async function started(t: TestContext, program: RunningProgram): Promise<RunningProgram> {
  t.after(() => program.stop())
  await program.logged('target=start')
  return program
}

/** Connections of the fixture, with the numbers of its processes: closed when they are dead. */
async function lifeline(t: TestContext) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const next = async () => {
    const [socket] = (await once(server, 'connection')) as [Socket]
    socket.on('error', () => undefined)
    const gone = new Promise<void>((resolve) => socket.on('close', () => resolve()))
    await once(socket, 'data')
    return { gone }
  }
  return { port: String((server.address() as AddressInfo).port), next }
}

test('the demonstration has tools of two servers; a session is one process of each, whichever worker asks', async (t) => {
  const port = await freePort()
  await started(t, runProgram([], '', { PORT: String(port) }))
  const client = await connected(t, port)
  const { tools } = await client.listTools()
  deepEqual(tools.map(({ name }) => name).sort(), [
    'clock_calculate',
    'clock_countdown',
    'clock_now',
    'notebook_add_note',
    'notebook_clear_notes',
    'notebook_list_notes'
  ])
  equal(await text(client, 'clock_calculate', { operation: 'add', a: 1, b: 2 }), '3')
  for (let i = 1; i <= 12; i++) equal(await text(client, 'notebook_add_note', { text: 'x' }), `Note ${i}`)
  equal((await text(client, 'notebook_list_notes')).split('\n').length, 12)
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept' as const, content: { confirm: true } }))
  equal(await text(client, 'notebook_clear_notes'), 'All notes are gone')
  const steps: number[] = []
  const onprogress = ({ progress }: { progress: number }) => void steps.push(progress)
  await client.callTool({ name: 'clock_countdown', arguments: { from: 2 } }, undefined, { onprogress })
  deepEqual(steps, [1, 2])
  equal((await client.getPrompt({ name: 'notebook_summarise' })).messages.length, 1)
  const other = await connected(t, port)
  equal(await text(other, 'notebook_list_notes'), 'There are no notes')
})

test('a server that dies fails the call, and the next one finds a new process', async (t) => {
  const port = await freePort()
  await started(t, runProgram(['-c', config(port, { one: [FIXTURE, 'polite'] })]))
  const client = await connected(t, port)
  await rejects(client.callTool({ name: 'die' }), /target one: it ended with code 3 before it answered/)
  ok('echo' in (await client.callTool({ name: 'echo', arguments: {} })))
  await rejects(
    connected(t, port).then((other) => other.callTool({ name: 'die' })),
    /code 3/
  )
  ok('echo' in (await client.callTool({ name: 'echo', arguments: {} })))
})

test('a killed gateway leaves no process behind', async (t) => {
  const { port: line, next } = await lifeline(t)
  const port = await freePort()
  const program = await started(t, runProgram(['-c', config(port, { rude: [FIXTURE, 'stubborn', line] })]))
  const born = next()
  const client = await connected(t, port)
  const { gone } = await born
  // It leaves, but does not end its session.
  await client.close()
  program.signal('SIGKILL')
  await gone
})

test('a gateway that ends, or whose configuration loses a server, ends its processes; others stay', async (t) => {
  const { port: line, next } = await lifeline(t)
  const folder = await mkdtemp(join(tmpdir(), 'weir-mcp-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'weir.json')
  const port = await freePort()
  const both = { kept: [MAIN, 'mcp-server', 'notebook'], lost: [FIXTURE, 'polite', line] }
  await writeFile(file, config(port, both))
  const program = await started(t, runProgram(['-f', file]))
  const born = next()
  const client = await connected(t, port)
  equal(await text(client, 'kept_add_note', { text: 'survives' }), 'Note 1')
  const { gone } = await born
  await writeFile(file, config(port, { kept: both.kept }))
  await gone
  match(await text(client, 'list_notes'), /survives/)
  program.signal('SIGTERM')
  equal(await program.exited(), 0)
  ok(!program.output.includes('level=error'), program.output)
})
