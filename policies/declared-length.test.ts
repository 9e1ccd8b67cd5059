/** A body that declares more than its limit is refused before a byte of it is read, wherever there is a limit. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { createServer } from 'node:http'
import { connect as connect2 } from 'node:http2'
import { type TestContext, test } from 'node:test'
import { listening } from '#engine/testing/faulty-services.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { rawClient } from '#engine/testing/raw.ts'
import { answerTo, startProcessor } from './traffic/ext-proc/services.fixture.ts'

/** A backend, which is an authorization service too, and a processing service, which lets heads pass. */
async function servers(t: TestContext) {
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`)
    request.resume()
    response.end('{}')
  })
  const port = await listening(t, server)
  t.after(() => server.closeAllConnections())
  const processor = await startProcessor((request) => [answerTo(request)])
  t.after(() => processor.close())
  return { seen, port, processor: processor.port }
}

const LIMIT = 1000
const BUFFER = { frontendPolicies: { http: { maxBufferSize: LIMIT } } }
const AWS = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'secret', region: 'eu-west-1', service: 'execute-api' }

interface Place {
  readonly file: object
  readonly path?: string
  readonly headers?: readonly string[]
  /** What the body of the answer says. */
  readonly says: RegExp
}

/** Every place with a limit on bodies of requests. `port`: of a server that must not be asked. */
function placesOf(port: number, processor: number): Readonly<Record<string, Place>> {
  const host = `127.0.0.1:${port}`
  const routes = (backend: object, policies: object = {}) => ({
    backends: [
      { name: 'service', host },
      { name: 'processor', host: `127.0.0.1:${processor}` }
    ],
    binds: [{ port: 0, listeners: [{ routes: [{ policies, backends: [backend] }] }] }]
  })
  const kept = /larger than what a policy may keep of it/
  const forExtAuth = /larger than what the authorization service may be told/
  const plain = (policies: object, more: object = BUFFER, says = kept): Place => ({
    file: { ...more, ...routes({ host }, policies) },
    says
  })
  const service = { backendRef: { name: 'service' } }
  const chat = { path: '/v1/chat/completions', headers: ['Content-Type: application/json'] }
  const openai = { openai: {}, host: '127.0.0.1', port }
  const mcp = { targets: [{ name: 'one', mcp: { host: `http://${host}/mcp` } }] }
  const mcpHeaders = ['Content-Type: application/json', 'Accept: application/json, text/event-stream']
  return {
    maxRequestBodySize: plain(
      {},
      { frontendPolicies: { http: { maxRequestBodySize: LIMIT } } },
      /larger than the configured limit/
    ),
    'transformation that reads the body': plain({
      transformation: { request: { set: { 'x-size': 'string(size(request.body))' } } }
    }),
    'authorization that reads the body': plain({ authorization: { rules: ['size(request.body) > 0'] } }),
    'extAuth over HTTP': plain({ extAuth: { ...service, http: {}, forwardBody: { maxSize: LIMIT } } }, {}, forExtAuth),
    'extAuth over gRPC': plain({ extAuth: { ...service, grpc: {}, forwardBody: { maxSize: LIMIT } } }, {}, forExtAuth),
    'extAuth within its own limit': plain({ extAuth: { ...service, http: {}, forwardBody: { maxSize: 2 ** 50 } } }),
    'extProc, buffered': plain({
      extProc: {
        backendRef: { name: 'processor' },
        processingOptions: { requestBodyMode: 'BUFFERED', responseBodyMode: 'NONE' }
      }
    }),
    'a signed body': { file: { ...BUFFER, ...routes({ host, policies: { auth: { aws: AWS } } }) }, says: kept },
    'a provider of models': { ...chat, file: { ...BUFFER, ...routes({ ai: { provider: openai } }) }, says: kept },
    'prompt guards': {
      ...chat,
      file: {
        ...BUFFER,
        ...routes({ ai: { provider: openai, promptGuard: { request: [{ regex: { builtins: ['Ssn'] } }] } } })
      },
      says: kept
    },
    llm: {
      ...chat,
      file: {
        ...BUFFER,
        llm: {
          port: 1,
          models: [{ name: '*', provider: 'openAI', params: { baseUrl: `http://${host}/v1`, apiKey: 'k' } }]
        }
      },
      says: kept
    },
    'MCP servers': { headers: mcpHeaders, path: '/mcp', file: { ...BUFFER, ...routes({ mcp }) }, says: kept },
    mcp: { headers: mcpHeaders, path: '/mcp', file: { ...BUFFER, mcp: { port: 1, ...mcp } }, says: kept }
  }
}

const NAMES = Object.keys(placesOf(1, 1))

for (const name of NAMES) {
  test(`${name}: 413 at once, with and without Expect, over HTTP/1.1 and HTTP/2`, async (t) => {
    const { seen, port, processor } = await servers(t)
    const { file, path = '/', headers = [], says } = placesOf(port, processor)[name]!
    const gateway = await startGateway(JSON.stringify(file))
    t.after(() => gateway.close())
    for (const expect of [[], ['Expect: 100-continue']]) {
      for (const length of [LIMIT + 1, Number.MAX_SAFE_INTEGER]) {
        const lines = ['Host: a.test', ...headers, ...expect, `Content-Length: ${length}`]
        const client = await rawClient(gateway.port)
        t.after(() => client.close())
        client.send(`POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
        // No byte of the body follows.
        const answer = await client.until(/\r\n\r\n./)
        ok(answer.startsWith('HTTP/1.1 413 '), answer)
        match(answer, says)
      }
    }
    const session = connect2(`http://127.0.0.1:${gateway.port}`)
    t.after(() => session.destroy())
    const fields = Object.fromEntries(headers.map((line) => line.toLowerCase().split(': ') as [string, string]))
    for (const expect of [{}, { expect: '100-continue' }]) {
      const stream = session.request(
        { ':method': 'POST', ':path': path, ...fields, ...expect, 'content-length': String(LIMIT + 1) },
        { endStream: false }
      )
      let text = ''
      let isContinued = false
      stream.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      stream.on('continue', () => {
        isContinued = true
      })
      stream.on('error', () => undefined)
      const status = await new Promise((resolve) => stream.on('response', (answer) => resolve(answer[':status'])))
      await new Promise((resolve) => stream.on('end', resolve))
      stream.close()
      deepEqual([status, isContinued], [413, false])
      match(text, says)
    }
    deepEqual(seen, [])
  })
}

test('of what is within the limit the body is read', async (t) => {
  for (const name of NAMES) {
    const { port, processor } = await servers(t)
    const { file, path = '/', headers = [] } = placesOf(port, processor)[name]!
    const gateway = await startGateway(JSON.stringify(file))
    t.after(() => gateway.close())
    const lines = ['Host: a.test', ...headers, 'Connection: close', `Content-Length: ${LIMIT}`]
    const client = await rawClient(gateway.port)
    client.send(`POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${'x'.repeat(LIMIT)}`)
    equal((await client.untilEnd()).slice(9, 12) === '413', false, name)
    client.close()
  }
})
