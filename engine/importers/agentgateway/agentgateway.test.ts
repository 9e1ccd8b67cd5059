/** What is imported of agentgateway's file, before real ports: what is carried acts, what protects is never lost. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { provider } from '#backends/llm/testing/llm-gateway.ts'
import { imported } from '#engine/importers/imported.fixture.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { hour, keySet, signingKey, token } from '#engine/testing/tokens.ts'

const HI = [{ role: 'user', content: 'Hi' }]

async function gateway(t: TestContext, text: string) {
  const made = imported('agentgateway', text)
  const started = await startGateway(made.text)
  t.after(() => started.close())
  const base = `http://127.0.0.1:${started.port}`
  const chat = async (body: object) => {
    const options = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages: HI, ...body })
    }
    const response = await fetch(`${base}/v1/chat/completions`, options)
    return { status: response.status, body: await response.text() }
  }
  return { ...made, base, chat }
}

const onRoute = (policies: string, backends = '[]') =>
  `binds:\n- port: 3000\n  listeners:\n  - routes:\n    - policies: ${policies}\n      backends: ${backends}\n`

test('names without their prefix, and choices under conditions', async (t) => {
  const models = await provider(t)
  const at = `apiKey: k, baseUrl: "http://127.0.0.1:${models.port}/v1"`
  const { chat, notes } = await gateway(
    t,
    `llm:
  models:
  - { name: "x/*", provider: openAI, params: { ${at} }, transformation: { model: 'llmRequest.model.stripPrefix("x/")' } }
  - { name: small, visibility: internal, provider: openAI, params: { ${at}, model: gpt-small } }
  - { name: large, visibility: internal, provider: openAI, params: { ${at}, model: gpt-large } }
  virtualModels:
  - name: smart
    routing:
      conditional: { targets: [{ when: 'default(llmRequest.max_tokens, 9) < 5', model: small }, { model: large }] }
`
  )
  deepEqual(notes, [])
  for (const body of [{ model: 'x/gpt' }, { model: 'smart', max_tokens: 2 }, { model: 'smart' }]) {
    equal((await chat(body)).status, 200)
  }
  equal((await chat({ model: 'large' })).status, 404)
  deepEqual(
    models.requests.map(({ body }) => body.model),
    ['gpt', 'gpt-small', 'gpt-large']
  )
})

test('prompts and guards with rules act', async (t) => {
  const models = await provider(t)
  const rejection = `{ status: 422, body: '{"error":{"message":"no"}}' }`
  const guard = `{ regex: { action: reject, rules: [{ pattern: forbidden }, { builtin: email }] }, rejection: ${rejection} }`
  const prompts = '{ append: [{ role: system, content: Be brief }] }'
  const ai = `{ ai: { prompts: ${prompts}, promptGuard: { request: [${guard}] } } }`
  const { chat, notes } = await gateway(
    t,
    onRoute(ai, `[{ ai: { name: a, provider: { openAI: {}, host: 127.0.0.1, port: ${models.port} } } }]`)
  )
  deepEqual(notes, [])
  equal((await chat({ model: 'm' })).status, 200)
  match(JSON.stringify(models.requests[0]?.body.messages), /Be brief/)
  for (const content of ['forbidden', 'me@example.com']) {
    const refused = await chat({ model: 'm', messages: [{ role: 'user', content }] })
    equal(refused.status, 422)
    match(refused.body, /"no"/)
  }
  equal(models.requests.length, 1)
})

test('what protects and is not carried closes its route, and no other; what does not protect is left out', async (t) => {
  const backend = createServer((_, response) => response.end('backend')).listen(0, '127.0.0.1')
  await once(backend, 'listening')
  t.after(() => backend.close())
  const host = `[{ host: "127.0.0.1:${(backend.address() as AddressInfo).port}" }]`
  const { base, notes } = await gateway(
    t,
    `binds:
- port: 3000
  listeners:
  - routes:
    - { matches: [{ path: { pathPrefix: /oidc } }], policies: { oidc: { issuer: a } }, backends: ${host} }
    - { matches: [{ path: { pathPrefix: /signed } }], policies: { backendAuth: { unheard: {} } }, backends: ${host} }
    - { matches: [{ path: { pathPrefix: /unheard } }], policies: { newPolicy: {} }, backends: ${host} }
    - { matches: [{ path: { pathPrefix: /narrow }, cookies: [a] }], backends: ${host} }
    - { matches: [{ path: { pathPrefix: /slow } }], policies: { delay: { duration: '1' } }, backends: ${host} }
`
  )
  const statuses = ['/oidc', '/signed', '/unheard', '/narrow', '/slow'].map(
    async (path) => (await fetch(base + path)).status
  )
  deepEqual(await Promise.all(statuses), [403, 403, 403, 404, 200])
  equal(notes.length, 5)
  match(notes.join('\n'), /config\.yaml:5: .*policies\.oidc: .*authorization denies all/)
})

test('guards of clouds are those of weir; that of Azure gets a key', () => {
  const safety = '{ endpoint: name.cognitiveservices.azure.com, detectJailbreak: {} }'
  const { text, notes } = imported(
    'agentgateway',
    onRoute(
      `{ ai: { promptGuard: { request: [{ azureContentSafety: ${safety} }] } } }`,
      '[{ ai: { name: a, provider: { openAI: {} } } }]'
    )
  )
  match(notes.join(), /azureContentSafety: identities of Azure are not read/)
  equal(notes.length, 1)
  match(text, /auth:\n\s+key: \$AZURE_CONTENT_SAFETY_KEY\n/)
})

test('a guard that is not carried closes its models', async (t) => {
  const models = await provider(t)
  const guarded = onRoute(
    '{ ai: { promptGuard: { request: [{ unheardGuard: { region: a } }] } } }',
    `[{ ai: { name: a, provider: { openAI: {}, host: 127.0.0.1, port: ${models.port} } } }]`
  )
  const { chat, notes } = await gateway(t, guarded)
  equal((await chat({ model: 'm' })).status, 403)
  deepEqual([notes.length, models.requests.length], [1, 0])
})

test('a token is exchanged for the one that the backend gets', async (t) => {
  const seen: string[] = []
  const listen = async (answer: (url: string, body: string, authorization: string) => string) => {
    const server = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk) => (body += String(chunk)))
      request.on('end', () => response.end(answer(request.url ?? '', body, request.headers.authorization ?? '')))
    }).listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    return `127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const issuer = await listen((url, body, authorization) => {
    seen.push(`${url} ${authorization}`, ...new URLSearchParams(body).values())
    return '{"access_token":"exchanged"}'
  })
  const backend = await listen((_url, _body, authorization) => authorization)
  const client = '{ clientId: i, clientSecret: s }'
  const exchange = `{ host: "${issuer}", path: /token, grantType: jwtBearer, clientAuth: ${client}, audiences: [aud] }`
  const { base, notes } = await gateway(
    t,
    onRoute('{}', `[{ host: "${backend}", policies: { backendAuth: { oauthTokenExchange: ${exchange} } } }]`)
  )
  deepEqual(notes, [])
  const answer = await fetch(base, { headers: { authorization: 'Bearer mine' } })
  equal(await answer.text(), 'Bearer exchanged')
  const basic = `Basic ${Buffer.from('i:s').toString('base64')}`
  deepEqual(
    seen.toSorted(),
    [`/token ${basic}`, 'aud', 'mine', 'urn:ietf:params:oauth:grant-type:jwt-bearer'].toSorted()
  )
  ok((await fetch(base)).status >= 400)
})

test('cross-app access: a checked token becomes an assertion, and that the token of the backend', async (t) => {
  const key = signingKey('ES256')
  const seen: Record<string, string>[] = []
  const listen = async (answer: (fields: Record<string, string>, authorization: string) => string) => {
    const server = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk) => (body += String(chunk)))
      request.on('end', () => {
        const fields = Object.fromEntries(new URLSearchParams(body))
        response.end(answer(fields, request.headers.authorization ?? ''))
      })
    }).listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    return `127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const issuer = await listen((fields, authorization) => {
    seen.push({ ...fields, authorization })
    return JSON.stringify({ access_token: fields.assertion === undefined ? 'an-assertion' : 'exchanged' })
  })
  const backend = await listen((_, authorization) => authorization)
  const leg = (clientId: string, method: string) => {
    return { host: issuer, path: '/token', clientAuth: { clientId, clientSecret: 's', method } }
  }
  const access = JSON.stringify({
    subjectToken: { source: { expression: 'jwt.rawToken.unredacted()' } },
    ...{ audience: 'https://r.example/', scopes: ['todos.read'], resources: ['https://api.example'] },
    identityProvider: leg('one', 'clientSecretBasic'),
    resourceAuthorizationServer: leg('two', 'clientSecretPost')
  })
  const jwtAuth = JSON.stringify({ issuer: 'https://i.example', jwks: keySet([key]) })
  const { base, notes } = await gateway(
    t,
    onRoute(`{ jwtAuth: ${jwtAuth}, backendAuth: { crossAppAccess: ${access} } }`, `[{ host: "${backend}" }]`)
  )
  deepEqual(notes, [])
  const mine = await token(key, hour({ iss: 'https://i.example' }))
  const answer = await fetch(base, { headers: { authorization: `Bearer ${mine}` } })
  equal(await answer.text(), 'Bearer exchanged')
  const common = { scope: 'todos.read' }
  deepEqual(seen, [
    {
      ...{ ...common, audience: 'https://r.example/', resource: 'https://api.example', subject_token: mine },
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
      authorization: `Basic ${Buffer.from('one:s').toString('base64')}`
    },
    {
      ...{ ...common, assertion: 'an-assertion', client_id: 'two', client_secret: 's', authorization: '' },
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer'
    }
  ])
  for (const wrong of [{}, { authorization: `Bearer ${mine}x` }])
    equal((await fetch(base, { headers: wrong })).status, 401)
  equal(seen.length, 2)
})

test('a service with an endpoint picker is a pool, which is served without the picker, too', async (t) => {
  const server = createServer((_, response) => response.end('the pool')).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const routing = '{ inferenceRouting: { endpointPicker: { host: "127.0.0.1:1" }, destinationMode: passthrough } }'
  const { base, text, notes } = await gateway(
    t,
    `services: [{ name: my-model, namespace: default, hostname: 127.0.0.1, vips: [], ports: { ${port}: ${port} } }]
${onRoute('{}', `[{ service: { name: default/my-model, port: ${port} }, policies: ${routing} }]`)}`
  )
  equal(notes.length, 1)
  match(notes[0]!, /inferenceRouting: the picker chooses from the endpoints of the pool/)
  match(text, /extProc:\n\s+host: 127\.0\.0\.1:1\n/)
  equal(await (await fetch(base, { method: 'POST', body: '{}' })).text(), 'the pool')
})

test('gateways become binds, and an agent of AgentCore a host that is signed for', () => {
  const { text, notes } = imported(
    'agentgateway',
    `gateways:
  web: { port: 8080, listeners: [{ name: a }, { name: b, hostname: b.example }] }
  default: { port: 9000 }
routes:
- gateways: web/b
  backends: [{ aws: { agentCore: { agentRuntimeArn: "arn:aws:bedrock-agentcore:us-west-2:1:runtime/x" } } }]
mcp: { targets: [{ name: t, mcp: { host: "http://localhost:1/mcp" } }] }
`
  )
  deepEqual(notes, [])
  match(text, /- port: 8080\n\s+listeners:\n\s+- name: b\n\s+hostname: b\.example/)
  match(text, /host: bedrock-agentcore\.us-west-2\.amazonaws\.com:443/)
  match(text, /full: \/runtimes\/arn%3Aaws%3Abedrock-agentcore%3Aus-west-2%3A1%3Aruntime%2Fx\/invocations/)
  match(text, /mcp:\n(?:.*\n)*\s+port: 9000/)
})

test('comments stay where they were', () => {
  const { text } = imported(
    'agentgateway',
    'binds:\n# the door\n- port: 3000 # of all\n  listeners: [{ routes: [] }]\n'
  )
  match(text, /# the door\n\s+# of all\n\s+- port: 3000/)
})
