/** From a configuration file to an official client: the examples, and callers who get their tokens by themselves. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { startGateway, type TestOptions } from '#engine/testing/gateway.ts'
import { keySet, signingKey, token } from '#engine/testing/tokens.ts'
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

test('mcp-authorization.yaml does what it says, and what was called is counted and logged', async (t) => {
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

// --- callers who get their tokens by themselves ---

const key = signingKey('ES256')

/** An issuer as Keycloak is one: registration, codes with PKCE, tokens for the resource that is asked for. */
async function issuer(t: TestContext) {
  const codes = new Map<string, URLSearchParams>()
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, url)
    const json = (body: unknown, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (pathname.endsWith('/openid-configuration')) json(metadata())
    else if (pathname.endsWith('/certs')) response.end(keySet([key]))
    else if (pathname.endsWith('/clients-registrations/openid-connect')) {
      json({ client_id: 'made', ...(JSON.parse(await textOf(request)) as object) }, 201)
    } else if (pathname === '/auth') {
      codes.set('the-code', searchParams)
      response.writeHead(302, { location: `${searchParams.get('redirect_uri')}?code=the-code` }).end()
    } else if (pathname === '/token') {
      const form = new URLSearchParams(await textOf(request))
      const asked = codes.get(form.get('code')!)!
      const challenge = createHash('sha256').update(form.get('code_verifier')!).digest('base64url')
      equal(challenge, asked.get('code_challenge'))
      const claims = { iss: url, sub: 'ann', aud: asked.get('resource')!, exp: Math.floor(Date.now() / 1000) + 60 }
      json({ access_token: await token(key, claims), token_type: 'Bearer' })
    } else json({}, 404)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const url = `${origin}/realms/house`
  const metadata = () => ({
    issuer: url,
    authorization_endpoint: `${origin}/auth`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/nobody-may`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256']
  })
  return { url }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of request) text += piece
  return text
}

/** Keeps what the SDK tells it, and notes where a person would be sent. */
class Person implements OAuthClientProvider {
  redirectUrl = 'http://localhost:1/callback'
  clientMetadata = { redirect_uris: [this.redirectUrl], client_name: 'tester', token_endpoint_auth_method: 'none' }
  sentTo: URL | null = null
  #client: Awaited<ReturnType<OAuthClientProvider['clientInformation']>>
  #tokens: Awaited<ReturnType<OAuthClientProvider['tokens']>>
  #verifier = ''

  clientInformation() {
    return this.#client
  }
  saveClientInformation(client: NonNullable<Awaited<ReturnType<OAuthClientProvider['clientInformation']>>>) {
    this.#client = client
  }
  tokens() {
    return this.#tokens
  }
  saveTokens(tokens: NonNullable<Awaited<ReturnType<OAuthClientProvider['tokens']>>>) {
    this.#tokens = tokens
  }
  redirectToAuthorization(url: URL) {
    this.sentTo = url
  }
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier
  }
  codeVerifier() {
    return this.#verifier
  }
}

test('an official client finds the issuer, registers, gets a token and calls a tool', async (t) => {
  const [idp, calc] = [await issuer(t), await tools(t, 'add')]
  const file = {
    mcp: {
      port: 8080,
      targets: [{ name: 'calc', mcp: { host: `http://127.0.0.1:${calc.port}/mcp` } }],
      policies: {
        mcpAuthentication: { issuer: idp.url, provider: 'Keycloak', audiences: ['AUDIENCE'] },
        mcpAuthorization: { rules: ['jwt.sub == "ann" && mcp.tool.name == "add"'] }
      }
    }
  }
  const text = JSON.stringify(file)
  const gw = await gateway(t, text)
  await gw.reload(text.replace('AUDIENCE', gw.url))
  const person = new Person()
  const transport = () => new StreamableHTTPClientTransport(new URL(gw.url), { authProvider: person })
  const first = transport()
  const connect = (with_: StreamableHTTPClientTransport) => {
    const client = new Client({ name: 'tester', version: '1' })
    return client.connect(with_ as Parameters<Client['connect']>[0]).then(() => client)
  }
  await rejects(connect(first), UnauthorizedError)
  equal(person.sentTo!.searchParams.get('resource'), gw.url)
  equal(person.sentTo!.searchParams.get('client_id'), 'made')
  const answer = await fetch(person.sentTo!, { redirect: 'manual' })
  await first.finishAuth(new URL(answer.headers.get('location')!).searchParams.get('code')!)
  const client = await connect(transport())
  t.after(() => client.close())
  deepEqual(await namesOf(client), ['add'])
  deepEqual((await client.callTool({ name: 'add' })).content, [{ type: 'text', text: 'add' }])
  for (const { headers } of calc.seen) equal(headers.authorization, undefined)
})
