/** The doubles as servers, and a gateway with a route for each: /NAME/... is what the provider NAME serves. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Body } from '#backends/demo/models/wire.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { chat } from './chat.ts'
import { converse } from './converse.ts'
import { type Double, missing, modelReply } from './double.ts'
import { gemini } from './gemini.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'

/** By how a path ends. */
const FORMATS: readonly (readonly [suffix: RegExp, double: Double])[] = [
  [/\/responses$/, responses],
  [/\/messages$|:(?:streamRawP|rawP)redict$/, messages],
  [/:(?:streamG|g)enerateContent$/, gemini],
  [/\/converse(?:-stream)?$/, converse],
  [/\/chat\/completions$/, chat]
]

const CLAUDE = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0'

/** What each is configured as. */
export const PROVIDERS: { readonly [name: string]: object } = {
  openai: { openai: { model: 'gpt-5' } },
  azure: { azureopenai: { endpoint: 'https://name.openai.azure.com/', deploymentName: 'gpt-5' } },
  chat: { custom: { model: 'deepseek-r1', formats: ['completions'] } },
  responses: { custom: { model: 'gpt-5', formats: ['responses'] } },
  anthropic: { anthropic: { model: 'claude-sonnet-4-5' } },
  'anthropic-new': { anthropic: { model: 'claude-opus-4-6' } },
  gemini: { gemini: { model: 'gemini-3-pro' } },
  'vertex-gemini': { vertexai: { projectId: 'p', region: 'global', model: 'gemini-2.5-flash' } },
  'vertex-claude': { vertexai: { projectId: 'p', region: 'us-east5', model: 'claude-sonnet-4-5-20250929' } },
  bedrock: { bedrock: { region: 'eu-west-1', model: CLAUDE } },
  nova: { bedrock: { region: 'eu-west-1', model: 'amazon.nova-pro-v1:0' } }
}

const COUNTS: readonly (readonly [suffix: RegExp, answer: object])[] = [
  [/\/count_tokens$|count-tokens:rawPredict$/, { input_tokens: 12 }],
  [/:countTokens$/, { totalTokens: 12 }],
  [/\/input_tokens$/, { object: 'response.input_tokens', input_tokens: 12 }],
  [/\/count-tokens$/, { inputTokens: 12 }]
]

function answer(target: string, text: string, response: ServerResponse): void {
  const path = decodeURIComponent(target.split('?')[0]!)
  const send = (status: number, body: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  const count = COUNTS.find(([suffix]) => suffix.test(path))
  if (count !== undefined) return void send(200, count[1])
  const double = FORMATS.find(([suffix]) => suffix.test(path))?.[1]
  if (double === undefined) return void send(404, { error: { message: `no such path: ${path}` } })
  const body: Body = JSON.parse(text)
  const fault = double.refuses(body, path)
  const facts = fault === null ? double.facts(body, path) : null
  const why = facts === null ? fault : missing(text, facts.results)
  if (why !== null || facts === null) return void send(400, double.error(400, `double: ${why}`))
  const { status, contentType, chunks } = double.answer(modelReply(facts, text), body, facts)
  response.writeHead(status, { 'content-type': contentType, 'x-amzn-requestid': 'r1', 'request-id': 'req_01' })
  if (text.includes('[breaks]')) {
    // In the middle.
    response.write(joined(chunks.slice(0, chunks.length / 2)), () => response.destroy())
    return
  }
  for (const chunk of chunks) response.write(chunk)
  response.end()
}

const joined = (chunks: readonly (string | Uint8Array)[]) => Buffer.concat(chunks.map((chunk) => Buffer.from(chunk)))

const ROUTES = {
  '/chat/completions': 'Completions',
  '/messages': 'Messages',
  '/count_tokens': 'AnthropicTokenCount',
  '/responses': 'Responses',
  '*': 'GenerateContent'
}

export interface Providers {
  /** Of the gateway; the name of a provider follows. */
  readonly base: string
  close(): Promise<void>
}

/** `settings`: of every route's backend, beside its provider. */
export async function startProviders(settings: object = {}): Promise<Providers> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => answer(request.url ?? '', Buffer.concat(chunks).toString(), response))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const route = ([name, provider]: [string, object]) => {
    const local = { ...provider, host: '127.0.0.1', port, policies: { auth: { key: 'sk-test' } } }
    const matches = [{ path: { pathPrefix: `/${name}` } }]
    return { matches, backends: [{ ai: { provider: local, routes: ROUTES, ...settings } }] }
  }
  const routes = Object.entries(PROVIDERS).map(route)
  const config = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } }
  const gateway = await startGateway(JSON.stringify({ config, binds: [{ port: 0, listeners: [{ routes }] }] }))
  return {
    base: `http://127.0.0.1:${gateway.port}`,
    close: async () => {
      await gateway.close()
      server.close()
      server.closeAllConnections()
    }
  }
}
