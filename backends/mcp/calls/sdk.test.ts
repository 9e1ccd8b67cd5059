/**
 * The official clients through a gateway in front of servers that nobody wrote for a test of one, as people run them:
 * server-everything, server-memory and server-filesystem as child processes, and an HTTP API, behind one endpoint. What
 * the servers say to a client that asks them directly is what they say through it, under the names that it gives.
 */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResourceUpdatedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'

const CLIENT_INFO = { name: 'weir-test', version: '1' }
const PETSTORE = fileURLToPath(new URL('../targets/openapi/testdata/petstore.json', import.meta.url))
const bin = (server: string): string =>
  createRequire(import.meta.url).resolve(`@modelcontextprotocol/server-${server}/dist/index.js`)

interface Program {
  readonly cmd: string
  readonly args: string[]
  readonly env: Record<string, string>
}

describe('servers that people run, behind one endpoint', () => {
  let folder: string
  let api: Server
  let gateway: TestGateway
  let programs: Record<string, Program>
  const open: { close(): Promise<void> }[] = []

  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'weir-mcp-sdk-')))
    const cmd = process.execPath
    programs = {
      everything: { cmd, args: [bin('everything')], env: {} },
      memory: { cmd, args: [bin('memory')], env: { MEMORY_FILE_PATH: join(folder, 'memory.json') } },
      files: { cmd, args: [bin('filesystem'), folder], env: {} }
    }
    api = createServer((request, response) => {
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ url: request.url }))
    })
    await once(api.listen(0, '127.0.0.1'), 'listening')
    const host = `http://127.0.0.1:${(api.address() as AddressInfo).port}/api`
    const targets = [
      ...Object.entries(programs).map(([name, stdio]) => ({ name, stdio })),
      { name: 'pets', openapi: { schema: { file: PETSTORE }, host } }
    ]
    // JSON is YAML.
    gateway = await startGateway(JSON.stringify({ mcp: { port: 0, targets, forwardHeaders: ['x-api-key'] } }))
  })
  after(async () => {
    for (const one of open) await one.close()
    await gateway.close()
    api.close()
    rmSync(folder, { recursive: true })
  })

  const capabilities = { sampling: {}, elicitation: {}, roots: { listChanged: true } }
  // The SDK's own types do not agree under exactOptionalPropertyTypes.
  type Wire = Parameters<Client['connect']>[0]

  async function connected(transport: unknown): Promise<Client> {
    const client = new Client(CLIENT_INFO, { capabilities })
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: `file://${folder}`, name: 'work' }] }))
    client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({
      model: 'test',
      role: 'assistant',
      content: { type: 'text', text: `sampled ${params.maxTokens}` }
    }))
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }))
    await client.connect(transport as Wire)
    open.push(client)
    return client
  }

  const url = (): URL => new URL(`http://127.0.0.1:${gateway.port}/mcp`)
  const through = (): Promise<Client> => connected(new StreamableHTTPClientTransport(url()))
  const direct = (name: string): Promise<Client> => {
    const { cmd: command, args, env } = programs[name]!
    return connected(new StdioClientTransport({ command, args, env, stderr: 'ignore' }))
  }

  async function modern(mode: 'auto' | { pin: string }): Promise<ModernClient> {
    const client = new ModernClient(CLIENT_INFO, { versionNegotiation: { mode } })
    // Known: else these servers, which keep sessions, would be offered with a handshake only.
    const requestInit = { headers: { 'x-api-key': 'tester' } }
    await client.connect(new ModernTransport(url(), { requestInit }))
    open.push(client)
    return client
  }

  interface Result {
    readonly content?: unknown
    readonly structuredContent?: unknown
  }

  const textOf = (result: unknown): string => ((result as Result).content as { text: string }[])[0]!.text
  const first = ({ contents }: { contents: readonly unknown[] }): { uri: string } => contents[0] as { uri: string }

  it('every tool is there, under the name of its server, and is otherwise what the server says', async () => {
    const { tools } = await (await through()).listTools()
    equal(new Set(tools.map(({ name }) => name)).size, tools.length)
    for (const name of Object.keys(programs)) {
      const own = (await (await direct(name)).listTools()).tools
      const here = tools.filter((tool) => tool.name.startsWith(`${name}_`))
      const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1)
      deepEqual(here.toSorted(byName), own.map((tool) => ({ ...tool, name: `${name}_${tool.name}` })).toSorted(byName))
    }
    equal(tools.filter(({ name }) => name.startsWith('pets_')).length, 19)
  })

  it('tools of each server are called', async () => {
    const client = await through()
    const call = async (name: string, args: object): Promise<Result> =>
      (await client.callTool({ name, arguments: args as Record<string, unknown> })) as Result
    equal(textOf(await call('everything_echo', { message: 'hello' })), 'Echo: hello')
    match(textOf(await call('everything_get-sum', { a: 2, b: 40 })), /\b42\b/)
    const weather = await call('everything_get-structured-content', { location: 'Chicago' })
    deepEqual(JSON.parse(textOf(weather)), weather.structuredContent)

    const entity = { name: 'Weir', entityType: 'gateway', observations: ['is fast'] }
    await call('memory_create_entities', { entities: [entity] })
    deepEqual((await call('memory_read_graph', {})).structuredContent, { entities: [entity], relations: [] })

    const path = join(folder, 'note.txt')
    await call('files_write_file', { path, content: 'written\nthrough' })
    equal(readFileSync(path, 'utf8'), 'written\nthrough')
    equal(textOf(await call('files_read_text_file', { path, head: 1 })), 'written')
    const outside = await client.callTool({ name: 'files_read_text_file', arguments: { path: '/etc/passwd' } })
    equal(outside.isError, true)

    deepEqual((await call('pets_getPetById', { path: { petId: 7 } })).structuredContent, { url: '/api/pet/7' })
    // What a server says to names that it has not is its own affair.
    const own = await direct('everything')
    deepEqual(await call('everything_none', {}), await own.callTool({ name: 'none', arguments: {} }))
    await rejects(call('echo', { message: 'whose?' }), /Unknown tool/)
  })

  it('resources, templates, prompts and completions are those of the servers', async () => {
    const [client, own] = [await through(), await direct('everything')]
    const here = (await client.listResources()).resources.filter(({ uri }) => uri.startsWith('everything+'))
    const there = (await own.listResources()).resources
    deepEqual(
      here.map(({ uri, ...rest }) => ({ ...rest, uri: uri.slice('everything+'.length) })),
      there
    )
    const read = await client.readResource({ uri: here[0]!.uri })
    const { uri: ownUri, ...expected } = first(await own.readResource({ uri: there[0]!.uri }))
    const { uri, ...content } = first(read)
    deepEqual([content, uri], [expected, `everything+${ownUri}`])
    const templates = (await client.listResourceTemplates()).resourceTemplates
    ok(templates.some(({ uriTemplate }) => uriTemplate === 'everything+demo://resource/dynamic/text/{resourceId}'))
    const made = await client.readResource({ uri: 'everything+demo://resource/dynamic/text/3' })
    match((made.contents[0] as { text: string }).text, /Resource 3/)

    const prompts = (await client.listPrompts()).prompts.map(({ name }) => name)
    ok(prompts.includes('everything_simple-prompt'))
    const args = { city: 'Lisbon', state: 'Portugal' }
    deepEqual(
      await client.getPrompt({ name: 'everything_args-prompt', arguments: args }),
      await own.getPrompt({ name: 'args-prompt', arguments: args })
    )
    const argument = { name: 'department', value: 'S' }
    const completed = await client.complete({
      ref: { type: 'ref/prompt', name: 'everything_completable-prompt' },
      argument
    })
    deepEqual(completed, await own.complete({ ref: { type: 'ref/prompt', name: 'completable-prompt' }, argument }))
    ok(completed.completion.values.length > 0)
  })

  it('progress comes while a tool runs', async () => {
    const seen: number[] = []
    await (await through()).callTool(
      { name: 'everything_trigger-long-running-operation', arguments: { duration: 0.4, steps: 4 } },
      undefined,
      { onprogress: ({ progress }) => void seen.push(progress) }
    )
    deepEqual(seen, [1, 2, 3, 4])
  })

  it('servers ask the client: for its model, its user, its roots', async () => {
    const client = await through()
    const sampled = await client.callTool({
      name: 'everything_trigger-sampling-request',
      arguments: { prompt: 'hello', maxTokens: 12 }
    })
    match(JSON.stringify(sampled.content), /sampled 12/)
    const elicited = await client.callTool({ name: 'everything_trigger-elicitation-request', arguments: {} })
    match(JSON.stringify(elicited.content), /declin/i)
    const roots = await client.callTool({ name: 'everything_get-roots-list', arguments: {} })
    ok(JSON.stringify(roots.content).includes(`file://${folder}`))
  })

  it('updates of a subscribed resource carry the name that the client knows', async () => {
    const client = await through()
    const uri = 'everything+demo://resource/dynamic/text/1'
    const { promise, resolve } = Promise.withResolvers<string>()
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri))
    await client.subscribeResource({ uri })
    await client.callTool({ name: 'everything_toggle-subscriber-updates', arguments: {} })
    equal(await promise, uri)
    await client.callTool({ name: 'everything_toggle-subscriber-updates', arguments: {} })
  })

  it('clients of the newest revision are served by servers of older ones', async () => {
    const client = await modern({ pin: '2026-07-28' })
    equal(client.getNegotiatedProtocolVersion(), '2026-07-28')
    const { tools } = await client.listTools()
    ok(tools.some(({ name }) => name === 'everything_echo'))
    ok(tools.some(({ name }) => name === 'pets_getPetById'))
    equal(textOf(await client.callTool({ name: 'everything_echo', arguments: { message: 'new' } })), 'Echo: new')
    const pet = await client.callTool({ name: 'pets_getPetById', arguments: { path: { petId: 8 } } })
    deepEqual(pet.structuredContent, { url: '/api/pet/8' })
  })

  it('the newer SDK finds a revision by itself', async () => {
    const client = await modern('auto')
    equal(textOf(await client.callTool({ name: 'everything_echo', arguments: { message: 'auto' } })), 'Echo: auto')
  })

  it('sessions are apart, and end', async () => {
    const [one, other] = [await through(), await through()]
    const session = (client: Client): string => (client.transport as StreamableHTTPClientTransport).sessionId!
    ok(session(one) !== session(other))
    await (one.transport as StreamableHTTPClientTransport).terminateSession()
    equal(textOf(await other.callTool({ name: 'everything_echo', arguments: { message: 'on' } })), 'Echo: on')
  })
})
