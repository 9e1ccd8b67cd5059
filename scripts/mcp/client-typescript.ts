/**
 * What a client of the TypeScript SDK sees of notes.ts through a gateway: `client-typescript.ts 1|2 URL KEY|- VERSION`.
 * The same steps, and the same lines, as client-python.py.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { Client as Second, StreamableHTTPClientTransport as SecondTransport } from '@modelcontextprotocol/client'
import { Client as First } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js'

const [sdk, url = '', key = '-', version = ''] = process.argv.slice(2)
const requestInit = { headers: { connection: 'close', ...(key === '-' ? {} : { authorization: `Bearer ${key}` }) } }
const TIMES = 8
const WHO = { name: 'weir-clients', version: '1' }
const capabilities = { elicitation: {}, sampling: {}, roots: {} }
const elicited = { action: 'accept' as const, content: { name: 'Ada' } }
const sampled = { model: 'm', role: 'assistant' as const, content: { type: 'text' as const, text: 'sampled' } }
const roots = { roots: [{ uri: 'file:///work' }] }

interface Options {
  readonly onprogress?: (progress: { readonly progress: number }) => void
  readonly signal?: AbortSignal
}

/** What both SDKs have. */
interface Sdk {
  readonly revision: string
  call(name: string, args?: Record<string, unknown>, options?: Options): Promise<string>
  read(uri: string): Promise<string>
  /** Resolves when a list of tools has changed, and the resource has been updated, after `change`. */
  hears(uri: string, change: () => Promise<void>): Promise<void>
}

const textOf = (result: object): string => (result as { content: { text: string }[] }).content[0]!.text
const contentOf = ({ contents }: { contents: readonly unknown[] }): string => (contents[0] as { text: string }).text

async function first(): Promise<Sdk> {
  const client = new First(WHO, { capabilities })
  client.setRequestHandler(ElicitRequestSchema, () => elicited)
  client.setRequestHandler(CreateMessageRequestSchema, () => sampled)
  client.setRequestHandler(ListRootsRequestSchema, () => roots)
  const transport = new FirstTransport(new URL(url), { requestInit })
  // The SDK's own types do not agree under exactOptionalPropertyTypes.
  await client.connect(transport as Parameters<First['connect']>[0])
  return {
    revision: transport.protocolVersion ?? '',
    call: async (name, args = {}, options = {}) =>
      textOf(await client.callTool({ name, arguments: args }, undefined, options)),
    read: async (uri) => contentOf(await client.readResource({ uri })),
    async hears(uri, change) {
      const [changed, updated] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => changed.resolve())
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
        if (params.uri === uri) updated.resolve()
      })
      await client.subscribeResource({ uri })
      await change()
      await Promise.all([changed.promise, updated.promise])
    }
  }
}

async function second(): Promise<Sdk> {
  const client = new Second(WHO, { capabilities, versionNegotiation: { mode: 'auto' } })
  client.setRequestHandler('elicitation/create', () => elicited)
  client.setRequestHandler('sampling/createMessage', () => sampled)
  client.setRequestHandler('roots/list', () => roots)
  await client.connect(new SecondTransport(new URL(url), { requestInit }))
  const revision = client.getNegotiatedProtocolVersion() ?? ''
  return {
    revision,
    call: async (name, args = {}, options = {}) => textOf(await client.callTool({ name, arguments: args }, options)),
    read: async (uri) => contentOf(await client.readResource({ uri })),
    async hears(uri, change) {
      const [changed, updated] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      client.setNotificationHandler('notifications/tools/list_changed', () => changed.resolve())
      client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
        if (params.uri === uri) updated.resolve()
      })
      const isStateless = revision >= '2026'
      const filter = { toolsListChanged: true, resourceSubscriptions: [uri] }
      const subscription = isStateless ? await client.listen(filter) : null
      if (!isStateless) await client.subscribeResource({ uri })
      await change()
      await Promise.all([changed.promise, updated.promise])
      await subscription?.close()
    }
  }
}

type Step = (client: Sdk, kind: string) => Promise<void>

const calls =
  (tool: string, expected: string): Step =>
  async (client, kind) => {
    for (let i = 0; i < TIMES; i++) ok((await client.call(`${kind}_${tool}`)).includes(expected))
  }

const STEPS: Readonly<Record<string, Step>> = {
  async notes(client, kind) {
    const add = (text: string): Promise<string> => client.call(`${kind}_add`, { text })
    for (let i = 0; i < TIMES; i++) equal(await add(`a${i}`), `note ${i + 1}`)
    equal(new Set(await Promise.all(Array.from({ length: TIMES }, (_, i) => add(`b${i}`)))).size, TIMES)
    equal((await client.call(`${kind}_list`)).split('\n').length, 2 * TIMES)
    equal((await client.read(`${kind}+note://all`)).split('\n').length, 2 * TIMES)
  },
  elicitation: calls('elicit', 'accept Ada'),
  sampling: calls('sample', 'sampled'),
  roots: calls('roots', 'file:///work'),
  async progress(client, kind) {
    const seen: number[] = []
    await client.call(`${kind}_count`, {}, { onprogress: ({ progress }) => void seen.push(progress) })
    deepEqual(seen, [1, 2, 3])
  },
  async cancellation(client, kind) {
    const leaving = new AbortController()
    const waiting = client.call(`${kind}_wait`, {}, { signal: leaving.signal }).catch(() => 'left')
    await pause(1_000)
    leaving.abort()
    equal(await waiting, 'left')
    while ((await client.call(`${kind}_cancelled`)) !== '1') await pause(100)
  },
  async 'list_changed and subscriptions'(client, kind) {
    await client.hears(`${kind}+note://all`, async () => {
      await client.call(`${kind}_change`)
      await client.call(`${kind}_add`, { text: 'new' })
    })
  }
}

const STEP_MS_MAX = 240_000

async function tried(client: Sdk, kind: string, step: string): Promise<void> {
  const late = pause(STEP_MS_MAX, 'nothing came of it in time', { ref: false })
  const done = STEPS[step]!(client, kind).then(
    () => null,
    (error: unknown) => String(error).slice(0, 300)
  )
  console.log(JSON.stringify({ kind, step, why: await Promise.race([done, late]) }))
}

const client = sdk === '1' ? await first() : await second()
const why = client.revision.startsWith(version) ? null : `speaks ${client.revision}`
console.log(JSON.stringify({ kind: 'all', step: 'revision', why }))
for (const kind of ['stdio', 'http', 'sse']) for (const step of Object.keys(STEPS)) await tried(client, kind, step)
process.exit(0)
