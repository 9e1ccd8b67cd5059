/** An API as a target, over real sockets: what clients see of it, and what becomes of calls. */

import { deepEqual, equal, match, ok, throws } from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { McpBackend } from '#backends/mcp/config/snapshot.ts'
import type { JsonObject, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import type { McpOpenApiTarget } from '#backends/mcp/targets/openapi/config.ts'
import type { Link, LinkFailure } from '#backends/mcp/targets/target.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { keyAuth } from '#engine/contract/backend-auth/schema.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { inProcess } from '#engine/lifecycle/in-process.ts'
import { accountOf } from '#engine/testing/account.ts'
import { type Stack, startStack } from '#engine/testing/stack.ts'
import { openApiKind } from './target.ts'

const PETSTORE = JSON.parse(readFileSync(new URL('./testdata/petstore.json', import.meta.url), 'utf8'))
const BYTES_MAX = 100_000

const BASE: Omit<McpOpenApiTarget, 'port'> = {
  kind: 'openapi',
  name: 'store',
  authorization: null,
  document: PETSTORE,
  host: '127.0.0.1',
  hasTls: false,
  pathPrefix: '/api/v3',
  auth: keyAuth('secret', { header: { name: 'x-key' } })
}

interface Seen {
  readonly line: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

describe('an OpenAPI target', () => {
  let stack: Stack
  let api: Server
  let context: BackendContext
  let seen: Seen
  let answer: (response: ServerResponse, request: IncomingMessage) => void = (response) => response.end()

  before(async () => {
    api = createServer((request, response) => {
      let body = ''
      request.setEncoding('latin1').on('data', (piece) => {
        body += piece
      })
      request.on('end', () => {
        seen = { line: `${request.method} ${request.url}`, headers: request.headers, body }
        answer(response, request)
      })
    })
    await once(api.listen(0, '127.0.0.1'), 'listening')
    stack = await startStack({ upstream: (api.address() as AddressInfo).port })
    context = {
      name: 'pets',
      connectTimeoutMs: 1000,
      upstream: stack.upstream,
      inProcess: inProcess({ events: stack.lifecycle, upstream: stack.upstream, timers: stack.lifecycle.timers }),
      log() {}
    } as unknown as BackendContext
  })
  after(() => {
    stack.close()
    api.close()
  })

  function open(more: Partial<McpOpenApiTarget> = {}, headers = new HeaderBlock()): Link {
    const { port } = api.address() as AddressInfo
    const target: McpOpenApiTarget = { ...BASE, port, ...more }
    return openApiKind.compile(target, { messageBytesMax: BYTES_MAX } as McpBackend, context).open({
      sessionKey: 's',
      upstreamSession: null,
      version: null,
      headers
    })
  }

  function ask(link: Link, method: string, params?: JsonObject, timeoutMs = 5000): Promise<RpcResponse | LinkFailure> {
    return new Promise((resolve, reject) => {
      let isInside = true
      const end = (answered: RpcResponse | LinkFailure): void => {
        if (isInside) reject(new Error('answered before the caller could give it up'))
        else resolve(answered)
      }
      const message = { jsonrpc: '2.0', id: 7, method, ...(params === undefined ? {} : { params }) } as const
      link.request(message, { message: () => reject(new Error('a message')), answered: end, failed: end }, timeoutMs)
      isInside = false
    })
  }

  async function result(link: Link, method: string, params?: JsonObject): Promise<JsonObject> {
    const answered = (await ask(link, method, params)) as { id: number; result: JsonObject }
    equal(answered.id, 7, JSON.stringify(answered))
    return answered.result
  }

  const call = (name: string, args: JsonObject, link = open()): Promise<JsonObject> =>
    result(link, 'tools/call', { name, arguments: args })

  const reply = (status: number, type: string, body: string | Buffer): void => {
    answer = (response) => response.writeHead(status, type === '' ? {} : { 'Content-Type': type }).end(body)
  }

  it('initializes, answers pings, and has only tools', async () => {
    const link = open()
    const facts = await result(link, 'initialize', { protocolVersion: '2025-06-18' })
    deepEqual(
      [facts.protocolVersion, facts.capabilities, facts.serverInfo],
      ['2025-06-18', { tools: {} }, { name: 'Swagger Petstore - OpenAPI 3.0', version: '1.0.27-SNAPSHOT' }]
    )
    match(String(facts.instructions), /sample Pet Store/)
    equal((await result(link, 'initialize', { protocolVersion: '1999-01-01' })).protocolVersion, '2025-11-25')
    deepEqual(await result(link, 'ping'), {})
    const { error } = (await ask(link, 'resources/list')) as { error: JsonObject }
    deepEqual(error, { code: -32601, message: 'Method not found' })
    equal(await link.send({ jsonrpc: '2.0', method: 'notifications/initialized' }), null)
    equal(await new Promise((resolve) => link.listen(null, { message() {}, ended: resolve })), null)
  })

  it('lists its tools in pages', async () => {
    const { tools } = await result(open(), 'tools/list')
    equal((tools as unknown[]).length, 19)
    const paths = Object.fromEntries(Array.from({ length: 450 }, (_, i) => [`/${i}`, { get: {} }]))
    const link = open({ document: { openapi: '3.1.0', paths } })
    const sizes: number[] = []
    let cursor: string | undefined
    do {
      const page = await result(link, 'tools/list', cursor === undefined ? undefined : { cursor })
      sizes.push((page.tools as unknown[]).length)
      cursor = page.nextCursor as string | undefined
    } while (cursor !== undefined)
    deepEqual(sizes, [200, 200, 50])
    for (const wrong of ['450', 'x', '-1', 5, '1e9', '9999999']) {
      const { error } = (await ask(link, 'tools/list', { cursor: wrong })) as { error: JsonObject }
      deepEqual(error, { code: -32602, message: 'Unknown cursor' })
    }
  })

  it('sends a call with its own key, and returns the response', async () => {
    reply(200, 'application/json; charset=utf-8', '{"id": 1}')
    const headers = new HeaderBlock()
    for (const [name, value] of [
      ['traceparent', '00-1-2-03'],
      ['Content-Type', 'application/json'],
      ['mcp-session-id', 's'],
      ['x-key', 'theirs'],
      ['cookie', 'a=b']
    ] as const) {
      headers.append(name, value)
    }
    const args = { body: { name: 'Rex', photoUrls: [] } }
    deepEqual(await call('addPet', args, open({}, headers)), {
      content: [{ type: 'text', text: '{"id": 1}' }],
      structuredContent: { id: 1 }
    })
    equal(seen.line, 'POST /api/v3/pet')
    equal(seen.body, '{"name":"Rex","photoUrls":[]}')
    const { 'x-key': key, traceparent, 'content-type': type, cookie, 'mcp-session-id': session } = seen.headers
    deepEqual(
      [key, traceparent, type, cookie, session],
      ['secret', '00-1-2-03', 'application/json', undefined, undefined]
    )
    await call('findPetsByStatus', { query: { status: 'sold' } })
    deepEqual([seen.line, seen.body], ['GET /api/v3/pet/findByStatus?status=sold', ''])
    await call('deletePet', { path: { petId: 5 }, header: { api_key: 'k' } })
    deepEqual([seen.line, seen.headers.api_key], ['DELETE /api/v3/pet/5', 'k'])
  })

  it('returns other content than JSON objects by its type', async () => {
    const shown = async (status: number, type: string, body: string | Buffer): Promise<unknown> => {
      reply(status, type, body)
      return (await call('getInventory', {})).content
    }
    deepEqual(await shown(200, 'application/json', '[1]'), [{ type: 'text', text: '[1]' }])
    deepEqual(await shown(200, 'application/json', 'no'), [{ type: 'text', text: 'no' }])
    deepEqual(await shown(200, '', 'plain'), [{ type: 'text', text: 'plain' }])
    deepEqual(await shown(200, 'text/plain', Buffer.from([0xff])), [{ type: 'text', text: '\ufffd' }])
    deepEqual(await shown(204, '', ''), [{ type: 'text', text: 'HTTP 204' }])
    deepEqual(await shown(200, 'image/png', 'ab'), [{ type: 'image', data: 'YWI=', mimeType: 'image/png' }])
    deepEqual(await shown(200, 'audio/wav', 'ab'), [{ type: 'audio', data: 'YWI=', mimeType: 'audio/wav' }])
    const { port } = api.address() as AddressInfo
    deepEqual(await shown(200, 'application/zip', 'ab'), [
      {
        type: 'resource',
        resource: { uri: `http://127.0.0.1:${port}/api/v3/store/inventory`, mimeType: 'application/zip', blob: 'YWI=' }
      }
    ])
    reply(200, 'application/json', `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`)
    equal((await call('getInventory', {})).structuredContent, undefined)
  })

  it('turns every other status into a tool error', async () => {
    reply(404, 'application/json', '{"message":"no such pet"}')
    deepEqual(await call('getPetById', { path: { petId: 1 } }), {
      content: [{ type: 'text', text: 'HTTP 404\n{"message":"no such pet"}' }],
      isError: true
    })
    reply(500, 'text/plain', 'x'.repeat(50_000))
    const { content } = (await call('logoutUser', {})) as { content: [{ text: string }] }
    equal(content[0].text.length, 'HTTP 500\n'.length + 8192)
    reply(302, '', '')
    deepEqual(await call('logoutUser', {}), { content: [{ type: 'text', text: 'HTTP 302' }], isError: true })
    reply(502, 'image/png', 'x')
    deepEqual(await call('logoutUser', {}), { content: [{ type: 'text', text: 'HTTP 502' }], isError: true })
  })

  it('reports invalid arguments to the model, without a request', async () => {
    answer = () => {
      throw new Error('it was asked')
    }
    deepEqual(await call('getPetById', { path: { petId: '../x' } }), {
      content: [{ type: 'text', text: 'path.petId: "." and ".." cannot be sent as parts of a path' }],
      isError: true
    })
    for (const [params, message] of [
      [{ name: 'constructor' }, 'Unknown tool'],
      [{}, 'Unknown tool'],
      [{ name: 'getPetById', arguments: [] }, 'arguments: an object']
    ] as const) {
      const { error } = (await ask(open(), 'tools/call', params)) as { error: JsonObject }
      deepEqual(error, { code: -32602, message })
    }
  })

  it('fails if there is no room for the response', async (t) => {
    const account = accountOf(t, 10_000)
    reply(200, 'text/plain', 'x'.repeat(BYTES_MAX - 1))
    const { kind, message } = (await ask(open(), 'tools/call', { name: 'logoutUser' })) as LinkFailure
    equal(kind, 'tooLarge')
    match(message, /as many messages are kept in memory/)
    equal(account.bytes, 0)
  })

  it('fails if there is no response', async () => {
    const failure = async (link: Link, timeoutMs?: number): Promise<unknown> => {
      const { kind, status } = (await ask(link, 'tools/call', { name: 'logoutUser' }, timeoutMs)) as LinkFailure
      return [kind, status]
    }
    reply(200, 'text/plain', 'x'.repeat(BYTES_MAX + 1))
    deepEqual(await failure(open()), ['tooLarge', 200])
    answer = (response) => response.writeHead(200, { 'Content-Encoding': 'gzip' }).end('x')
    deepEqual(await failure(open()), ['broken', 200])
    answer = (response) => response.destroy()
    deepEqual(await failure(open()), ['unreachable', null])
    answer = (response) => response.writeHead(200, { 'Content-Length': '10' }).write('x', () => response.destroy())
    deepEqual(await failure(open()), ['unreachable', 200])
    answer = () => {}
    deepEqual(await failure(open(), 50), ['timeout', null])
    deepEqual(await failure(open({ port: 1 })), ['unreachable', null])
  })

  it('cancels one call, and all of them when it is closed', async () => {
    const gone = (how: (link: Link, stop: () => void) => void): Promise<void> =>
      new Promise((resolve, reject) => {
        const link = open()
        const fail = (): void => reject(new Error('an event came'))
        answer = (_response, request) => {
          request.socket.on('close', () => resolve())
          how(link, stop)
        }
        const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'logoutUser' } } as const
        const stop = link.request(message, { message: fail, answered: fail, failed: fail }, 0)
      })
    await gone((_link, stop) => stop())
    await gone((link) => link.close())
  })

  it('warns of operations that are left out, and refuses invalid documents', () => {
    const requestBody = { required: true, content: { 'multipart/mixed': {} } }
    const warnings: string[] = []
    const { port } = api.address() as AddressInfo
    const target: McpOpenApiTarget = {
      ...BASE,
      port,
      document: { openapi: '3.0.0', paths: { '/a': { get: {}, post: { requestBody } } } }
    }
    const { document, api: made } = openApiKind.prepare!(target, {
      name: 'pets',
      warn: ({ path, message }) => warnings.push(`${path}: ${message}`)
    })
    deepEqual([document, made!.tools.map(({ name }) => name)], [null, ['GET_a']])
    const place = 'backends.pets.targets["store"].document'
    deepEqual(warnings, [`${place}: paths["/a"].post: its body is of no kind that can be written: left out`])
    throws(() => open({ document: { swagger: '1.2' } }), { name: 'ConfigError', message: /^backends\.pets\.targets/ })
  })

  it('pages by size too, so that no list blocks a worker', async () => {
    const description = 'x'.repeat(4000)
    const paths = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`/${i}`, { get: { description } }]))
    const page = await result(open({ document: { openapi: '3.1.0', paths } }), 'tools/list')
    const { length } = page.tools as unknown[]
    ok(length > 100 && length < 150, String(length))
  })
})
