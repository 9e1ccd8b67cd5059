/** The policy `auth` on targets: what each server is shown, which neither another server nor another caller gets. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { signatureProblem } from '#engine/testing/aws.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { hour, keySet, signingKey, token } from '#engine/testing/tokens.ts'
import { clientOf } from './testing/gateway.ts'
import { type McpHttpServer, startMcp } from './testing/servers.ts'

test('a key, a signature and the token of the client each go to their own target; lists are per caller', async (t) => {
  const server = () => startMcp(t, { setUp: (made) => void made.registerTool('x', {}, () => ({ content: [] })) })
  const [keyed, signed, passed, open] = [await server(), await server(), await server(), await server()]
  const key = signingKey('ES256')
  const jwtAuth = { issuer: 'https://issuer.example', jwks: keySet([key]) }
  const keys = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'canary-of-aws' }
  const target = (name: string, { port }: McpHttpServer, auth?: object) => ({
    ...{ name, mcp: { host: `http://127.0.0.1:${port}/mcp` } },
    ...(auth === undefined ? {} : { policies: { auth } })
  })
  const targets = [
    target('keyed', keyed, { key: 'canary' }),
    target('signed', signed, { aws: { ...keys, region: 'eu-west-1', service: 'execute-api' } }),
    target('passed', passed, { passthrough: {} }),
    target('open', open)
  ]
  const routes = [{ policies: { jwtAuth }, backends: [{ mcp: { targets } }] }]
  const gateway = await startGateway(JSON.stringify({ binds: [{ port: 0, listeners: [{ routes }] }] }))
  t.after(() => gateway.close())
  const shown: string[] = []
  for (const sub of ['ann', 'bob']) {
    const authorization = `Bearer ${await token(key, hour({ sub }))}`
    shown.push(authorization)
    const { client } = await clientOf(t, `http://127.0.0.1:${gateway.port}/mcp`, { authorization })
    equal((await client.listTools()).tools.length, 4)
    for (const name of ['keyed', 'signed', 'passed', 'open']) await client.callTool({ name: `${name}_x` })
  }
  const received = ({ seen }: McpHttpServer) => [...new Set(seen.map(({ headers }) => headers.authorization))]
  deepEqual([received(keyed), received(passed), received(open)], [['Bearer canary'], shown, [undefined]])
  const lists = passed.seen.filter(({ body }) => body.includes('tools/list'))
  deepEqual([...new Set(lists.map(({ headers }) => headers.authorization))], shown)
  const posts = signed.seen.filter(({ method }) => method === 'POST')
  for (const { headers, body } of posts) {
    const request = { path: '/mcp', headers, body: {}, bytes: Buffer.from(body) }
    equal(await signatureProblem(request, keys, 'eu-west-1', 'execute-api'), null)
  }
  equal(posts.length > 5, true)
})
