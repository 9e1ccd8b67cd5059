/**
 * What is kept for a session is kept once: the whole program with three workers, a connection for each request, clients
 * of both eras, and servers on standard streams, over HTTP and over the SSE of 2024-11-05.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js'
import { clientOf } from '#backends/mcp/testing/gateway.ts'
import { serveNotes } from '#backends/mcp/testing/notes.ts'
import { freePort, type RunningProgram, runProgram } from '#engine/testing/program.ts'

const CHILD = fileURLToPath(new URL('../testing/notes-child.fixture.ts', import.meta.url))
/** Enough for each of three workers to get some. */
const TIMES = 16
const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} }
const ELICITED = { action: 'accept' as const, content: { name: 'Ada' } }
const SAMPLED = { model: 'm', role: 'assistant' as const, content: { type: 'text' as const, text: 'sampled' } }
const ROOTS = { roots: [{ uri: 'file:///work' }] }
const CLIENT_INFO = { name: 'owner-test', version: '1' }
const KINDS = ['stdio', 'http', 'sse'] as const
type Kind = (typeof KINDS)[number]

/** What both SDKs can, as far as it is looked at here. */
interface InputRequests {
  callTool(call: { name: string; arguments?: Record<string, unknown> }): Promise<object>
  readResource(of: { uri: string }): Promise<{ contents: unknown[] }>
}

const textOf = (result: object): string => (result as { content: { text: string }[] }).content[0]!.text

describe('three workers, and a connection for each request', () => {
  const closing: (() => void)[] = []
  let program: RunningProgram
  let url: string
  let forget: () => void

  before(async () => {
    const [http, sse] = [await serveNotes('http'), await serveNotes('sse')]
    forget = http.forget
    for (const { http: server } of [http, sse])
      closing.push(() => {
        server.closeAllConnections()
        server.close()
      })
    const port = await freePort()
    const cmd = process.execPath
    const targets = [
      { name: 'stdio', stdio: { cmd, args: ['--disable-warning=ExperimentalWarning', CHILD] } },
      { name: 'http', mcp: { host: `http://127.0.0.1:${http.port}/mcp` } },
      { name: 'sse', sse: { host: `http://127.0.0.1:${sse.port}/sse` } }
    ]
    const config = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', workerThreads: 3 }
    const mcp = { port, targets, forwardHeaders: ['authorization'] }
    program = runProgram(['-c', JSON.stringify({ config, mcp })])
    await program.logged('target=start')
    url = `http://127.0.0.1:${port}/mcp`
  })
  after(async () => {
    await program.stop()
    for (const close of closing) close()
  })

  async function stateful(t: TestContext): Promise<Client> {
    const made = new Client(CLIENT_INFO, { capabilities: CAPABILITIES })
    made.setRequestHandler(ElicitRequestSchema, () => ELICITED)
    made.setRequestHandler(CreateMessageRequestSchema, () => SAMPLED)
    made.setRequestHandler(ListRootsRequestSchema, () => ROOTS)
    return (await clientOf(t, url, { connection: 'close' }, made)).client
  }

  async function stateless(t: TestContext, key: string | null): Promise<ModernClient> {
    const made = new ModernClient(CLIENT_INFO, { capabilities: CAPABILITIES, versionNegotiation: { mode: 'auto' } })
    made.setRequestHandler('elicitation/create', () => ELICITED)
    made.setRequestHandler('sampling/createMessage', () => SAMPLED)
    made.setRequestHandler('roots/list', () => ROOTS)
    const headers = { connection: 'close', ...(key === null ? {} : { authorization: `Bearer ${key}` }) }
    await made.connect(new ModernTransport(new URL(url), { requestInit: { headers } }))
    t.after(() => made.close())
    return made
  }

  async function remembers(client: InputRequests, kind: Kind): Promise<void> {
    const add = (text: string) => client.callTool({ name: `${kind}_add`, arguments: { text } })
    const texts: string[] = []
    for (let i = 0; i < TIMES; i++) texts.push(textOf(await add(`a${i}`)))
    deepEqual(
      texts,
      texts.map((_, i) => `note ${i + 1}`)
    )
    const more = await Promise.all(Array.from({ length: TIMES }, (_, i) => add(`b${i}`)))
    equal(new Set(more.map(textOf)).size, TIMES)
    equal(textOf(await client.callTool({ name: `${kind}_list` })).split('\n').length, 2 * TIMES)
    const { contents } = await client.readResource({ uri: `${kind}+note://all` })
    equal((contents[0] as { text: string }).text.split('\n').length, 2 * TIMES)
  }

  async function checkInputRequest(client: InputRequests, kind: Kind): Promise<void> {
    for (let i = 0; i < TIMES / 2; i++) {
      equal(textOf(await client.callTool({ name: `${kind}_elicit` })), 'accept Ada')
      match(textOf(await client.callTool({ name: `${kind}_sample` })), /sampled/)
      equal(textOf(await client.callTool({ name: `${kind}_roots` })), 'file:///work')
    }
  }

  for (const kind of KINDS) {
    it(`a session of a client of 2025-11-25 is one: ${kind}`, async (t) => {
      const client = await stateful(t)
      await remembers(client, kind)
      await checkInputRequest(client, kind)
      const changed = Promise.withResolvers<void>()
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => changed.resolve())
      await client.callTool({ name: `${kind}_change` })
      await changed.promise
      const updated = Promise.withResolvers<string>()
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => updated.resolve(params.uri))
      await client.subscribeResource({ uri: `${kind}+note://all` })
      await client.callTool({ name: `${kind}_add`, arguments: { text: 'new' } })
      equal(await updated.promise, `${kind}+note://all`)
      const other = await stateful(t)
      equal(textOf(await other.callTool({ name: `${kind}_list` })), '')
    })

    it(`what is kept for a caller of 2026-07-28 is one: ${kind}`, async (t) => {
      const client = await stateless(t, `${kind} one`)
      equal(client.getNegotiatedProtocolVersion(), '2026-07-28')
      await remembers(client, kind)
      await checkInputRequest(client, kind)
      const changed = Promise.withResolvers<void>()
      const updated = Promise.withResolvers<string>()
      client.setNotificationHandler('notifications/tools/list_changed', () => changed.resolve())
      client.setNotificationHandler('notifications/resources/updated', ({ params }) => updated.resolve(params.uri))
      const uri = `${kind}+note://all`
      const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] })
      await client.callTool({ name: `${kind}_change` })
      await client.callTool({ name: `${kind}_add`, arguments: { text: 'new' } })
      await changed.promise
      equal(await updated.promise, uri)
      await subscription.close()
      // Another caller, of the same client and the same address.
      const other = await stateless(t, `${kind} two`)
      equal(textOf(await other.callTool({ name: `${kind}_list` })), '')
    })

    it(`an anonymous client of 2026-07-28 gets a session by a handshake: ${kind}`, async (t) => {
      const client = await stateless(t, null)
      ok((client.getNegotiatedProtocolVersion() ?? '') < '2026')
      await remembers(client, kind)
      await checkInputRequest(client, kind)
      const other = await stateless(t, null)
      equal(textOf(await other.callTool({ name: `${kind}_list` })), '')
    })
  }

  it('a session that its server has forgotten is begun anew once, for all workers', async (t) => {
    const client = await stateful(t)
    const add = async (): Promise<string> =>
      textOf(await client.callTool({ name: 'http_add', arguments: { text: 'x' } }))
    for (let round = 0; round < 2; round++) {
      const texts: string[] = []
      for (let i = 0; i < TIMES; i++) texts.push(await add())
      deepEqual(
        texts,
        texts.map((_, i) => `note ${i + 1}`)
      )
      forget()
      const all = await Promise.all(Array.from({ length: TIMES }, add))
      deepEqual(new Set(all), new Set(all.map((_, i) => `note ${i + 1}`)))
      forget()
    }
  })
})
