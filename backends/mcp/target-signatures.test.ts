/** Signatures of AWS and tokens of Google on targets: every request of each transport has them, and no other server. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { signatureProblem } from '#engine/testing/aws.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { clientOf } from './testing/gateway.ts'
import {
  answerHttp,
  answerOf,
  answerSse,
  type Received,
  SERVER_KINDS,
  serverOf,
  targetOf
} from './testing/plain-servers.ts'

const KEYS = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'canary-of-aws', sessionToken: 'of/the+session=' }
const AWS = { aws: { ...KEYS, region: 'eu-west-1', service: 'execute-api' } }

async function expectSigned(seen: readonly Received[], lines: readonly string[], service = 'execute-api') {
  for (const request of seen) {
    equal(await signatureProblem(request, KEYS, 'eu-west-1', service), null, `${request.method} ${request.path}`)
  }
  const distinct = [...new Set(seen.map(({ method, path }) => `${method} ${path}`))]
  deepEqual(distinct.sort(), [...lines].sort())
}

async function gatewayOf(t: TestContext, target: object, mcp: object = {}) {
  const routes = [{ backends: [{ mcp: { targets: [target], ...mcp } }] }]
  const gateway = await startGateway(JSON.stringify({ binds: [{ port: 0, listeners: [{ routes }] }] }))
  t.after(() => gateway.close())
  return { ...gateway, url: `http://127.0.0.1:${gateway.port}/mcp` }
}

test('streamable HTTP: messages, the stream that listens, and the end of the session are signed', async (t) => {
  const ended = Promise.withResolvers<void>()
  const usual = answerHttp()
  const { seen, port } = await serverOf(t, (request, response) => {
    usual(request, response)
    if (request.method === 'DELETE') ended.resolve()
  })
  const path = '/mcp/a%20b?tenant=a%2Fb&tenant=A&x'
  const target = { name: 'signed', mcp: { host: `http://127.0.0.1:${port}${path}` }, policies: { auth: AWS } }
  const { url } = await gatewayOf(t, target, { forwardHeaders: ['authorization', 'x-amz-meta-tenant', 'x-amz-date'] })
  const forged = { authorization: 'AWS4-HMAC-SHA256 forged', 'x-amz-date': '19990101T000000Z' }
  const { client, transport } = await clientOf(t, url, { ...forged, 'x-amz-meta-tenant': 'of  the client' })
  await new Promise((resolve) => {
    client.setNotificationHandler(LoggingMessageNotificationSchema, resolve)
  })
  await client.listTools()
  await client.callTool({ name: 'x', arguments: { text: 'é'.repeat(1000) } })
  await transport.terminateSession()
  await client.close()
  await ended.promise
  await expectSigned(
    seen,
    ['POST', 'GET', 'DELETE'].map((method) => `${method} ${path}`)
  )
  deepEqual([...new Set(seen.map(({ headers }) => headers['x-amz-meta-tenant']))], ['of  the client'])
})

test('HTTP with SSE: the stream and each message are signed, at the place that the server names', async (t) => {
  const { seen, port } = await serverOf(t, answerSse())
  const target = { name: 'signed', sse: { host: `http://127.0.0.1:${port}/sse/x?b=2&a=1` }, policies: { auth: AWS } }
  const { url } = await gatewayOf(t, target)
  const { client } = await clientOf(t, url)
  equal((await client.listTools()).tools.length, 1)
  await client.callTool({ name: 'x', arguments: { text: 'x'.repeat(100_000) } })
  await expectSigned(seen, ['GET /sse/x?b=2&a=1', 'POST /sse/messages/a%20b?session=1%2F2&session=1&z&a=b+c'])
  equal(seen.length, 5)
})

const parameter = (name: string, place: string, schema: object = { type: 'string' }) => ({
  ...{ name, in: place, schema },
  ...(place === 'path' ? { required: true } : {})
})
const JSON_BODY = { content: { 'application/json': { schema: { type: 'object' } } } }
const FILES_API = {
  openapi: '3.0.0',
  info: { title: 'files', version: '1' },
  paths: {
    '/files/{name}': {
      get: {
        operationId: 'read',
        parameters: [
          parameter('name', 'path'),
          parameter('q', 'query'),
          parameter('tags', 'query', { type: 'array', items: { type: 'string' } }),
          parameter('x-amz-meta-tenant', 'header')
        ]
      },
      put: { operationId: 'write', parameters: [parameter('name', 'path')], requestBody: JSON_BODY },
      delete: { operationId: 'remove', parameters: [parameter('name', 'path'), parameter('x-amz-date', 'header')] }
    }
  }
}

for (const service of ['execute-api', 's3']) {
  test(`an API: paths, parameters and bodies are signed for ${service}`, async (t) => {
    const { seen, port } = await serverOf(t, (_request, response) => void response.end('{}'))
    const auth = { aws: { ...AWS.aws, service } }
    const openapi = { schema: FILES_API, host: `http://127.0.0.1:${port}/v1` }
    const { url } = await gatewayOf(t, { name: 'api', openapi, policies: { auth } })
    const { client } = await clientOf(t, url)
    const call = async (name: string, args: Record<string, unknown>) => {
      const { isError, content } = await client.callTool({ name, arguments: args })
      equal(isError ?? false, false, JSON.stringify(content))
    }
    const query = { q: 'a b&c=d+e/é*', tags: ['z', 'a', 'Z'] }
    await call('read', { path: { name: 'a b/(é)!*~' }, query, header: { 'x-amz-meta-tenant': ' two  blanks ' } })
    await call('read', { path: { name: 'x' } })
    await call('write', { path: { name: 'x' }, body: { text: 'é'.repeat(600_000) } })
    await call('remove', { path: { name: 'x' }, header: { 'x-amz-date': '19990101T000000Z' } })
    await expectSigned(
      seen,
      [
        'GET /v1/files/a%20b%2F%28%C3%A9%29%21%2A~?q=a%20b%26c%3Dd%2Be%2F%C3%A9%2A&tags=z&tags=a&tags=Z',
        'GET /v1/files/x',
        'PUT /v1/files/x',
        'DELETE /v1/files/x'
      ],
      service
    )
  })
}

for (const kind of SERVER_KINDS) {
  test(`${kind}: a redirect takes no key to another server`, async (t) => {
    const other = await serverOf(t, (_request, response) => void response.end('{}'))
    let isMoved = kind === 'openapi'
    const usual = answerOf(kind)
    const { seen, port } = await serverOf(t, (request, response) => {
      const location = `http://127.0.0.1:${other.port}${request.path}`
      if (isMoved) response.writeHead(307, { location }).end()
      else usual(request, response)
    })
    for (const auth of [AWS, { key: 'canary' }]) {
      const { url } = await gatewayOf(t, targetOf(kind, port, 'one', auth))
      isMoved = kind === 'openapi'
      const { client } = await clientOf(t, url)
      isMoved = true
      const before = seen.length
      const outcome = await client.callTool({ name: 'x' }).catch((error: Error) => ({ isError: true, error }))
      equal(outcome.isError, true, JSON.stringify(outcome))
      equal(seen.length > before, true)
    }
    deepEqual(other.seen, [])
  })

  test(`${kind}: a token of Google is on every request, and is fetched once`, async (t) => {
    let count = 0
    const tokens = await serverOf(t, (_request, response) => {
      response.end(JSON.stringify({ access_token: `token-${++count}`, expires_in: 3600 }))
    })
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const inline = JSON.stringify({
      ...{ type: 'service_account', client_email: 'a@b', token_uri: `http://127.0.0.1:${tokens.port}/` },
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' })
    })
    const { seen, port } = await serverOf(t, answerOf(kind))
    const { url } = await gatewayOf(t, targetOf(kind, port, 'one', { gcp: { credential: { inline } } }))
    const { client } = await clientOf(t, url)
    for (const _ of [1, 2]) await client.callTool({ name: 'x' })
    equal(count, 1)
    deepEqual([...new Set(seen.map(({ headers }) => headers.authorization))], ['Bearer token-1'])
    match(String(tokens.seen[0]!.bytes), /^grant_type=/)
  })
}
