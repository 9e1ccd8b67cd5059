import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { problemsOf } from '#engine/testing/policy.ts'
import { exchangeRaw, rawServer } from '#engine/testing/raw.ts'
import { hour, keySet, signingKey, token } from '#engine/testing/tokens.ts'
import { mcpAuthentication } from './mcp-authentication.ts'

const key = signingKey('ES256')
const other = signingKey('ES256')

/** An issuer with its documents by path; what is registered is kept. */
class Issuer {
  readonly documents = new Map<string, object>()
  readonly paths: string[] = []
  registered: unknown = null
  registration = { status: 201, body: '{"client_id":"made"}' }
  readonly #server = createServer(async (request, response) => {
    const { url = '' } = request
    this.paths.push(url)
    if (request.method === 'POST') {
      this.registered = JSON.parse(await textOf(request))
      response.writeHead(this.registration.status).end(this.registration.body)
      return
    }
    const document = this.documents.get(url)
    if (document === undefined) response.writeHead(404).end('no')
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
  })

  async start(t: TestContext, path = ''): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`
    t.after(() => {
      this.#server.closeAllConnections()
      this.#server.close()
    })
    return this
  }

  url = ''
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of request) text += piece
  return text
}

const METADATA = { token_endpoint: 'https://idp.example/token', authorization_response_iss_parameter_supported: true }

/** What is behind the gateway says what it got. */
async function gateway(t: TestContext, mcpAuthentication: object, more: object = {}): Promise<TestGateway> {
  const server = await rawServer(async (client) => {
    const head = (await client.until('\r\n\r\n')).toLowerCase()
    client.send(`HTTP/1.1 200 OK\r\nContent-Length: ${head.length}\r\nConnection: close\r\n\r\n${head}`)
  })
  t.after(() => server.close())
  const route = {
    matches: [{ path: { pathPrefix: '/mcp' } }],
    policies: { mcpAuthentication, ...more },
    backends: [{ host: `127.0.0.1:${server.port}` }]
  }
  const started = await startGateway(JSON.stringify({ binds: [{ port: 0, listeners: [{ routes: [route] }] }] }))
  t.after(() => started.close())
  return started
}

interface Answer {
  readonly status: number
  readonly head: string
  readonly body: string
}

async function ask({ port }: TestGateway, target: string, lines: readonly string[] = [], body = ''): Promise<Answer> {
  const method = body === '' ? 'GET' : 'POST'
  const [first = '', ...rest] = lines
  const start = /^[A-Z]+$/.test(first) ? first : method
  const headers = [...(start === first ? rest : lines), ...(body === '' ? [] : [`Content-Length: ${body.length}`])]
  const head = [`${start} ${target} HTTP/1.1`, 'Host: gw.example', 'Connection: close', ...headers].join('\r\n')
  const answer = await exchangeRaw(port, `${head}\r\n\r\n${body}`)
  const end = answer.indexOf('\r\n\r\n')
  return { status: Number(answer.slice(9, 12)), head: answer.slice(0, end), body: answer.slice(end + 4) }
}

const bearer = (text: string) => [`Authorization: Bearer ${text}`]
const fieldOf = ({ head }: Answer, name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1]?.trim()
const jwks = keySet([key])
const ISSUER = 'https://issuer.example'
const PRM = '/.well-known/oauth-protected-resource'
const ASM = '/.well-known/oauth-authorization-server'

test('without a token the challenge names the metadata; a token passes and is not sent to the backend', async (t) => {
  const gw = await gateway(t, { issuer: ISSUER, audiences: ['tools'], jwks })
  const refused = await ask(gw, '/mcp')
  assert.equal(refused.status, 401)
  assert.equal(fieldOf(refused, 'www-authenticate'), `Bearer resource_metadata="http://gw.example${PRM}/mcp"`)
  const good = await ask(gw, '/mcp/', bearer(await token(key, hour({ aud: 'tools' }))))
  assert.equal(good.status, 200)
  assert.doesNotMatch(good.body, /authorization/)
})

test('tokens of other audiences, issuers and keys, and old ones, are refused with the reason', async (t) => {
  const gw = await gateway(t, { issuer: ISSUER, audiences: ['tools'], jwks })
  const cases: [text: string, error: string][] = [
    [await token(key, hour({ aud: 'others' })), 'the token is for another audience'],
    [await token(key, hour()), 'the token is for another audience'],
    [await token(key, hour({ aud: 'tools', iss: 'https://b.example' })), 'the token is not from a trusted issuer'],
    [await token(key, { iss: ISSUER, aud: 'tools', exp: 1 }), 'the token has expired'],
    [await token(other, hour({ aud: 'tools' })), 'the signature of the token is not valid'],
    ['nonsense', 'the token is malformed or not of a supported kind']
  ]
  for (const [text, error] of cases) {
    const answer = await ask(gw, '/mcp', bearer(text))
    assert.equal(answer.status, 401, error)
    const challenge = fieldOf(answer, 'www-authenticate')!
    assert.ok(challenge.endsWith(`error="invalid_token", error_description="${error}"`), challenge)
    assert.match(
      challenge,
      /^Bearer resource_metadata="http:\/\/gw\.example\/\.well-known\/oauth-protected-resource\/mcp"/
    )
  }
  const twice = await ask(gw, '/mcp', [...bearer('a'), ...bearer('b')])
  assert.equal(twice.status, 400)
  assert.match(twice.head, /error="invalid_request"/)
})

test('a resource that the configuration names is the audience, and where everything is', async (t) => {
  const resource = 'https://public.example/mcp'
  const gw = await gateway(t, { issuer: ISSUER, jwks, resourceMetadata: { resource, scopesSupported: ['a'] } })
  assert.equal((await ask(gw, '/mcp', bearer(await token(key, hour({ aud: resource }))))).status, 200)
  const refused = await ask(gw, '/mcp', bearer(await token(key, hour({ aud: 'http://gw.example/mcp' }))))
  assert.equal(refused.status, 401)
  assert.match(
    refused.head,
    /resource_metadata="https:\/\/public\.example\/\.well-known\/oauth-protected-resource\/mcp"/
  )
  for (const path of [PRM, `${PRM}/mcp`]) {
    assert.deepEqual(JSON.parse((await ask(gw, path)).body), {
      resource,
      authorization_servers: [ISSUER],
      bearer_methods_supported: ['header'],
      scopes_supported: ['a']
    })
  }
})

test('a token without a required scope gets 403, with the scope in the challenge', async (t) => {
  const gw = await gateway(t, { issuer: ISSUER, audiences: ['tools'], jwks, requiredScopes: ['mcp:read', 'mcp:call'] })
  const withScope = async (more: object) => ask(gw, '/mcp', bearer(await token(key, hour({ aud: 'tools', ...more }))))
  assert.equal((await withScope({ scope: 'mcp:call other mcp:read' })).status, 200)
  assert.equal((await withScope({ scp: ['mcp:call', 'mcp:read'] })).status, 200)
  const refused = await withScope({ scope: 'mcp:read' })
  assert.equal(refused.status, 403)
  assert.match(refused.head, /scope="mcp:read mcp:call", error="insufficient_scope"/)
  assert.match((await ask(gw, '/mcp')).head, /, scope="mcp:read mcp:call"\r/)
  assert.deepEqual(JSON.parse((await ask(gw, `${PRM}/mcp`)).body).scopes_supported, ['mcp:read', 'mcp:call'])
})

test('modes: Optional admits requests without a token, Permissive all requests', async (t) => {
  const settings = { issuer: ISSUER, audiences: ['tools'], jwks }
  const optional = await gateway(t, { ...settings, mode: 'Optional' })
  assert.equal((await ask(optional, '/mcp')).status, 200)
  assert.equal((await ask(optional, '/mcp', bearer('x'))).status, 401)
  const permissive = await gateway(t, { ...settings, mode: 'permissive' })
  assert.equal((await ask(permissive, '/mcp', bearer('x'))).status, 200)
})

test('claims are there for authorization', async (t) => {
  const rules = { authorization: { rules: ['jwt.sub == "ann"'] } }
  const gw = await gateway(t, { issuer: ISSUER, audiences: ['tools'], jwks }, rules)
  const as = async (sub: string) =>
    (await ask(gw, '/mcp', bearer(await token(key, hour({ aud: 'tools', sub }))))).status
  assert.deepEqual([await as('ann'), await as('bob')], [200, 403])
})

test('documents are open to programs in browsers, and say where they are reached', async (t) => {
  const gw = await gateway(t, { issuer: ISSUER, audiences: ['tools'], jwks })
  const answer = await ask(gw, `${PRM}/mcp`, ['X-Forwarded-Proto: https'])
  assert.equal(answer.status, 200)
  assert.equal(fieldOf(answer, 'access-control-allow-origin'), '*')
  assert.equal(fieldOf(answer, 'content-type'), 'application/json')
  assert.equal(JSON.parse(answer.body).resource, 'https://gw.example/mcp')
  assert.equal(
    (await ask(gw, `${PRM}/mcp`, ['X-Forwarded-Proto: javascript'])).body.includes('"http://gw.example/mcp"'),
    true
  )
  assert.equal((await ask(gw, `${PRM}/mcp`, ['OPTIONS'])).status, 204)
  const put = await ask(gw, `${PRM}/mcp`, ['PUT'])
  assert.deepEqual([put.status, fieldOf(put, 'allow')], [405, 'GET, HEAD, OPTIONS'])
  assert.equal((await ask(gw, '/.well-known/other')).status, 404)
})

test('nothing that a client sends gets out of its quotes', async (t) => {
  const gw = await gateway(t, { issuer: ISSUER, audiences: ['tools'], jwks })
  for (const path of ['/mcp/%22,error=%22', '/mcp/%0d%0aX:1', '/mcp/<b>']) {
    const { status, head } = await ask(gw, path)
    assert.ok(status === 401 || status === 400, path)
    assert.doesNotMatch(head, /"",|,error="|^X:|<b>/m)
  }
  assert.equal((await ask(gw, `${PRM}/mcp/<b>`)).body.includes('<b>'), false)
})

test('metadata of the issuer is asked for where RFC 8414 says, then where OpenID Connect does, and kept', async (t) => {
  const issuer = await new Issuer().start(t, '/tenant')
  const document = { ...METADATA, issuer: issuer.url, authorization_endpoint: 'https://idp.example/a' }
  issuer.documents.set('/.well-known/openid-configuration/tenant', document)
  const gw = await gateway(t, { issuer: issuer.url, audiences: ['tools'], jwks })
  for (const path of [`${ASM}/mcp`, '/.well-known/openid-configuration/mcp', ASM]) {
    assert.deepEqual(JSON.parse((await ask(gw, path)).body), document)
  }
  assert.deepEqual(issuer.paths, [
    '/.well-known/oauth-authorization-server/tenant',
    '/.well-known/openid-configuration/tenant'
  ])
})

test('an issuer that is down, or says that it is another one, is 502, and asked again only after a while', async (t) => {
  const issuer = await new Issuer().start(t)
  issuer.documents.set('/.well-known/oauth-authorization-server', { ...METADATA, issuer: 'https://evil.example' })
  const gw = await gateway(t, { issuer: issuer.url, audiences: ['tools'], jwks })
  const answers = [await ask(gw, ASM), await ask(gw, ASM)]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [502, 502]
  )
  assert.equal(JSON.parse(answers[0]!.body).error, 'temporarily_unavailable')
  assert.equal(issuer.paths.length, 1)
  assert.equal(gw.logged.length, 1)
  assert.match(gw.logged[0]!, /^warn: cannot fetch the metadata .*: its issuer is another one$/)
})

test('Auth0: tokens are asked for the audience, and the gateway is the issuer', async (t) => {
  const issuer = await new Issuer().start(t, '/')
  const endpoint = 'https://idp.example/authorize?x=1'
  const { token_endpoint } = METADATA
  const document = { token_endpoint, signed_metadata: 'x', issuer: issuer.url, authorization_endpoint: endpoint }
  issuer.documents.set('/.well-known/oauth-authorization-server', document)
  const gw = await gateway(t, { issuer: issuer.url, audiences: ['https://api/ x'], jwks, provider: 'IdpA' })
  assert.deepEqual(JSON.parse((await ask(gw, `${PRM}/mcp`)).body).authorization_servers, ['http://gw.example/mcp'])
  assert.deepEqual(JSON.parse((await ask(gw, `${ASM}/mcp`)).body), {
    token_endpoint: METADATA.token_endpoint,
    issuer: 'http://gw.example/mcp',
    authorization_endpoint: 'https://idp.example/authorize?x=1&audience=https%3A%2F%2Fapi%2F+x'
  })
  assert.equal((await ask(gw, `${ASM}/mcp/client-registration`, [], '{}')).status, 404)
})

test('Keycloak: keys and metadata at its own paths, registration through the gateway', async (t) => {
  const issuer = await new Issuer().start(t, '/realms/r')
  issuer.documents.set('/realms/r/.well-known/openid-configuration', { ...METADATA, issuer: issuer.url })
  issuer.documents.set('/realms/r/protocol/openid-connect/certs', JSON.parse(jwks))
  const gw = await gateway(t, { issuer: issuer.url, audiences: ['tools'], provider: { keycloak: {} } })
  assert.equal((await ask(gw, '/mcp', bearer(await token(key, hour({ iss: issuer.url, aud: 'tools' }))))).status, 200)
  const { registration_endpoint: endpoint } = JSON.parse((await ask(gw, `${ASM}/mcp`)).body)
  assert.equal(endpoint, `http://gw.example${ASM}/mcp/client-registration`)
  const path = new URL(endpoint).pathname
  const made = await ask(gw, path, [], '{"redirect_uris":["http://localhost/cb"]}')
  assert.deepEqual([made.status, made.body], [201, '{"client_id":"made"}'])
  assert.equal(fieldOf(made, 'access-control-allow-origin'), '*')
  assert.deepEqual(issuer.registered, { redirect_uris: ['http://localhost/cb'] })
  assert.equal(issuer.paths.at(-1), '/realms/r/clients-registrations/openid-connect')
  issuer.registration = { status: 403, body: '{"error":"insufficient_scope"}' }
  assert.equal((await ask(gw, path, [], '{}')).status, 403)
  issuer.registration = { status: 200, body: '<html>' }
  assert.equal((await ask(gw, path, [], '{}')).status, 502)
  assert.equal((await ask(gw, path, [], '[]')).status, 400)
  assert.equal((await ask(gw, path, [], `{"a":"${'x'.repeat(70_000)}"}`)).status, 413)
  assert.equal((await ask(gw, path)).status, 405)
})

test('a client that registers gets the configured client', async (t) => {
  const gw = await gateway(t, { issuer: ISSUER, audiences: ['tools'], jwks, clientId: 'known' })
  const registration = '{"redirect_uris":["http://localhost/cb"],"client_name":"C","client_secret":"s","extra":1}'
  const { status, body } = await ask(gw, `${ASM}/mcp/client-registration`, [], registration)
  assert.equal(status, 201)
  assert.deepEqual(JSON.parse(body), {
    client_id: 'known',
    client_name: 'C',
    redirect_uris: ['http://localhost/cb'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none'
  })
  assert.equal((await ask(gw, `${ASM}/mcp/client-registration`, [], '{"redirect_uris":[]}')).status, 400)
})

test('a route answers for its own documents, and other routes keep their paths', async (t) => {
  const route = (name: string, mcpAuthentication: object | undefined) => ({
    name,
    matches: [{ path: { exact: `/${name}` } }],
    policies: { directResponse: { status: 200, body: name }, ...(mcpAuthentication && { mcpAuthentication }) }
  })
  const auth = (resource: string) => ({ issuer: ISSUER, jwks, resourceMetadata: { resource } })
  const routes = [
    route('a', auth('https://x.example/a')),
    route('b', auth('https://x.example/b')),
    route('c', undefined)
  ]
  const gw = await startGateway(JSON.stringify({ binds: [{ port: 0, listeners: [{ routes }] }] }))
  t.after(() => gw.close())
  const resourceAt = async (path: string) => JSON.parse((await ask(gw, PRM + path)).body).resource
  assert.deepEqual([await resourceAt('/a'), await resourceAt('/b')], ['https://x.example/a', 'https://x.example/b'])
  assert.equal((await ask(gw, '/c')).body, 'c')
  assert.equal((await ask(gw, '/.well-known/openid-configuration')).status, 404)
})

test('mistakes are reported by name', () => {
  const base = { issuer: ISSUER, jwks }
  const cases: [config: object, message: RegExp][] = [
    [{ jwks }, /^issuer: /],
    [{ ...base, issuer: 'me' }, /^issuer: must be the http/],
    [{ ...base, issuer: 'https://u:p@a/' }, /^issuer: must be the http/],
    [{ ...base, provider: 'Other' }, /^provider: must be Auth0 or Keycloak/],
    [{ ...base, provider: { okta: {} } }, /^provider: must be Auth0 or Keycloak/],
    [{ ...base, authorizationServer: 'Both' }, /^authorizationServer: /],
    [{ ...base, provider: {} }, /^provider: must be Auth0 or Keycloak/],
    [{ ...base, clientSecret: 'x' }, /clients are public ones/],
    [{ ...base, authorizationLocation: {} }, /MCP has it in the header Authorization/],
    [{ ...base, audiences: [] }, /^audiences: must have 1 to 64 entries/],
    [{ ...base, requiredScopes: ['a b'] }, /must be a scope/],
    [{ ...base, jwks: '{' }, /^jwks/]
  ]
  for (const [config, message] of cases) assert.match(problemsOf(mcpAuthentication, config).join('\n'), message)
  const warned = (config: object) =>
    mcpAuthentication.warnings!(mcpAuthentication.schema.parse(config) as never, { mayHaveKeys: true })
  assert.equal(warned(base).length, 1)
  assert.deepEqual(warned({ ...base, audiences: ['a'] }), [])
  assert.deepEqual(warned({ ...base, resourceMetadata: { resource: 'https://a' } }), [])
  for (const provider of ['Auth0', 'auth0', 'IdpA', { auth0: {} }]) {
    assert.equal((mcpAuthentication.schema.parse({ ...base, provider }) as { provider: string }).provider, 'auth0')
  }
})

test('mcp-authentication.yaml does what it says', async (t) => {
  const folder = join(import.meta.dirname, '../../docs/examples')
  const gw = await startGateway(readFileSync(join(folder, 'mcp-authentication.yaml'), 'utf8'), { folder })
  t.after(() => gw.close())
  const refused = await ask(gw, '/mcp', ['Origin: https://a.example'])
  assert.equal(refused.status, 401)
  assert.match(refused.head, /Bearer resource_metadata="http:\/\/gw\.example.*\/mcp", scope="mcp:tools"\r/)
  assert.equal(refused.head.match(/access-control-allow-origin/gi)?.length, 1)
  const document = await ask(gw, `${PRM}/mcp`, ['Origin: https://a.example'])
  assert.deepEqual(JSON.parse(document.body), {
    resource: 'http://gw.example/mcp',
    authorization_servers: ['https://issuer.example'],
    bearer_methods_supported: ['header'],
    scopes_supported: ['mcp:tools'],
    resource_name: 'Tools of this house'
  })
  // The policy cors and the document's own openness are one.
  assert.equal(document.head.match(/access-control-allow-origin/gi)?.length, 1)
})
