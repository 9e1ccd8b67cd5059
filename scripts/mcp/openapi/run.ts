/**
 * `npm run conformance -- openapi`: documents of real APIs as targets of a gateway. Every tool is called with arguments
 * made from its schema, and the request that a stub of the API gets is held against the document: its method and path,
 * a content type that the operation takes, and a body that is what the type says.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { performance } from 'node:perf_hooks'
import type { JsonObject } from '#backends/mcp/protocol/json-rpc.ts'
import { INITIALIZE, post } from '#backends/mcp/testing/gateway.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { Api, type Seen } from './api.ts'
import { DOCUMENTS } from './documents.ts'
import { argumentsOf } from './example.ts'

/** Calls under way. */
const SIDE_BY_SIDE = 8
const SHOWN_MAX = 10

interface Tool {
  readonly name: string
  readonly inputSchema: JsonObject
}

interface Page {
  readonly tools: Tool[]
  readonly nextCursor?: string
}

export async function runOpenApi(print: (line: string) => void): Promise<boolean> {
  let isWhole = true
  for (const { name, file } of DOCUMENTS) {
    const path = file()
    const api = new Api(JSON.parse(readFileSync(path, 'utf8')) as JsonObject)
    const outcome = await runDocument(path, api)
    const { tools, bytes, largest, startMs, misses, logged } = outcome
    print(
      `openapi ${name}: ${api.operations} operations, ${tools} tools, ${tools - misses.length} passed, ${misses.length} failed ` +
        `(${(bytes / 1e6).toFixed(1)} MB, the largest ${Math.round(largest / 1000)} KB, loaded in ${startMs} ms)`
    )
    for (const line of [...logged, ...misses].slice(0, SHOWN_MAX)) print(`  ${line}`)
    if (misses.length > 0 || tools < api.operations) isWhole = false
  }
  return isWhole
}

async function runDocument(file: string, api: Api) {
  const seen = new Map<string, Seen>()
  const stub = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const type = headers['content-type'] ?? null
      seen.set(String(headers['x-tool']), { method, url, type, body: Buffer.concat(pieces) })
      response.setHeader('content-type', 'application/json').end('{}')
    })
  })
  await once(stub.listen(0, '127.0.0.1'), 'listening')
  const host = `http://127.0.0.1:${(stub.address() as AddressInfo).port}`
  const openapi = { schema: { file }, host }
  const begun = performance.now()
  const target = { name: 'api', openapi }
  const gateway = await startGateway(
    JSON.stringify({ mcp: { port: 0, forwardHeaders: ['x-tool'], targets: [target] } })
  )
  const startMs = Math.round(performance.now() - begun)
  try {
    const url = `http://127.0.0.1:${gateway.port}/mcp`
    const first = await post(url, INITIALIZE)
    await first.text()
    const session = { 'mcp-session-id': first.headers.get('mcp-session-id')! }
    const ask = async (method: string, params: object, more: object = {}): Promise<JsonObject> => {
      const answer = await post(url, { jsonrpc: '2.0', id: 1, method, params }, { ...session, ...more })
      return (JSON.parse((await answer.text()).replace(/^[^{]*data: /, '')) as { result: JsonObject }).result
    }
    const tools: Tool[] = []
    for (let cursor: string | undefined, i = 0; i === 0 || cursor !== undefined; i++) {
      const page = (await ask('tools/list', cursor === undefined ? {} : { cursor })) as unknown as Page
      tools.push(...page.tools)
      cursor = page.nextCursor
    }
    const misses: string[] = []
    const waiting = [...tools]
    const work = async (): Promise<void> => {
      for (let tool = waiting.shift(); tool !== undefined; tool = waiting.shift()) {
        const args = argumentsOf(tool.inputSchema)
        const result = await ask('tools/call', { name: tool.name, arguments: args }, { 'x-tool': tool.name })
        const got = seen.get(tool.name)
        const problem = got === undefined ? JSON.stringify(result).slice(0, 300) : api.problem(got)
        if (problem !== null) misses.push(`${tool.name}: ${problem}`)
      }
    }
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work))
    const sizes = tools.map((tool) => JSON.stringify(tool).length)
    const bytes = sizes.reduce((sum, size) => sum + size, 0)
    return { tools: tools.length, bytes, largest: Math.max(...sizes), startMs, misses, logged: gateway.logged }
  } finally {
    await gateway.close()
    stub.closeAllConnections()
    stub.close()
  }
}
