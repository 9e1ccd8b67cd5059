import { deepEqual, equal, match } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { Story } from '#engine/story/story.ts'
import { againAsCommand, againAsTest } from './again.ts'

const story = (url: string, changes: Partial<Story> = {}): Story => ({
  ...{
    id: 'one',
    startedAt: '2026-05-31T08:00:00Z',
    requestId: 'req_1',
    took: 900,
    status: 403,
    code: 'Authorization'
  },
  request: { method: 'POST', url, httpVersion: '1.1', from: '127.0.0.1' },
  steps: [
    {
      ...{ at: 1, step: 'policy', policy: 'jwtAuthentication', place: 'binds[0]', side: 'request' },
      ...{ verdict: 'passes', took: 5, detail: null, expressions: [] }
    },
    {
      ...{ at: 2, step: 'policy', policy: 'authorization', place: 'binds[0]', side: 'request' },
      ...{ verdict: 'answers', took: 5, detail: 'no rule', expressions: [] }
    }
  ],
  ...{ detail: null, backend: null, bytes: { received: 12, sent: 0 }, llm: null, mcp: null, notes: [], ...changes }
})

test('a command has a placeholder for each secret that the policies have read, and for the body', () => {
  equal(
    againAsCommand(story("http://localhost:8080/it's")),
    "curl -i -X POST 'http://localhost:8080/it'\\''s' -H 'authorization: Bearer <token>' --data-raw '<body of 12 bytes>'".replace(
      ' -X POST',
      ''
    )
  )
  equal(
    againAsCommand(story('http://localhost:8080/', { steps: [], bytes: { received: 0, sent: 0 } })),
    'curl -i -X POST http://localhost:8080/'
  )
})

/** Runs the test as it is copied. */
async function run(text: string): Promise<number | null> {
  const env = { ...process.env, NODE_TEST_CONTEXT: '' }
  const child = spawn(process.execPath, ['--input-type=module', '-e', text], { env, stdio: 'ignore' })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code
}

test('a test passes as long as the status is the same', async (t) => {
  const got: IncomingMessage[] = []
  let status = 403
  const server = createServer((request, response) => {
    got.push(request)
    response.writeHead(status).end()
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a"\\$x?b=1`
  const text = againAsTest(story(url))
  match(text, /Authorization/)
  equal(await run(text), 0)
  status = 200
  equal(await run(text), 1)
  deepEqual(
    got.map(({ method, headers }) => [method, headers.authorization]),
    Array(2).fill(['POST', 'Bearer <token>'])
  )
})
