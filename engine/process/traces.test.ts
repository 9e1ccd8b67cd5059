/** POST /trace and GET /trace/ID of the program: live requests and what they have gone through. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { AttemptStep, Story, StoryStep } from '#engine/story/story.ts'
import { folderOf } from '#engine/testing/daemon.ts'
import { startModels } from '#engine/testing/models.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'

const CANARY = 'sk-canary-0123456789abcdef'
const TOKEN = 'x-weir-trace'

interface Armed {
  readonly id: string
  readonly token: string
  readonly header: string
  readonly expires: string
}

type Served = (message: IncomingMessage, response: ServerResponse) => void

async function origin(t: TestContext, answer: Served) {
  const heads: IncomingMessage['rawHeaders'][] = []
  const server = createServer((message, response) => {
    heads.push(message.rawHeaders)
    message.resume()
    answer(message, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { heads, host: `127.0.0.1:${(server.address() as AddressInfo).port}` }
}

async function gateway(t: TestContext, routes: readonly object[], workers = 1, backends: readonly object[] = []) {
  const [port, admin] = [await freePort(), await freePort()]
  const path = join(folderOf(t), 'weir.json')
  const config = { adminAddr: `127.0.0.1:${admin}`, statsAddr: 'off', readinessAddr: 'off', workerThreads: workers }
  const write = (of = routes) =>
    writeFileSync(
      path,
      JSON.stringify({ config, backends, binds: [{ port, listeners: [{ name: 'main', routes: of }] }] })
    )
  write()
  const program = runProgram(['-f', path])
  t.after(() => program.stop())
  await program.logged('target=start')
  const at = `http://127.0.0.1:${admin}/trace`
  const post = (body: string, headers: Record<string, string> = {}) => fetch(at, { method: 'POST', body, headers })
  return {
    ...{ port, program, write, post },
    url: `http://127.0.0.1:${port}`,
    get: (id: string) => fetch(`${at}/${id}`),
    async arm(body = ''): Promise<Armed> {
      const answer = await post(body)
      assert.equal(answer.status, 200)
      return (await answer.json()) as Armed
    },
    /** When there are so many. */
    async stories(id: string, count = 1): Promise<readonly Story[]> {
      for (;;) {
        const answer = await fetch(`${at}/${id}`)
        const { stories = [] } = (await answer.json()) as { stories?: readonly Story[] }
        if (stories.length >= count) return stories
      }
    }
  }
}

/** Over a connection of its own. */
async function get(url: string, headers: Record<string, string>): Promise<number> {
  const [response] = (await once(request(url, { headers, agent: false }).end(), 'response')) as [IncomingMessage]
  await response.resume().toArray()
  return response.statusCode!
}

const isAttempt = (step: StoryStep): step is AttemptStep => step.step === 'attempt'
const namesOf = ({ steps }: Story) =>
  steps.map((one) => (one.step === 'policy' ? `${one.side} ${one.policy}` : one.step))

test('shares and what was drawn of several backends, and the calls of policies to services', async (t) => {
  const { host } = await origin(t, (_, response) => response.writeHead(200).end('x'))
  const service = await origin(t, (_, response) => response.writeHead(200).end())
  const policies = { extAuth: { backendRef: { name: 'authz' }, http: { path: `"/check?token=${CANARY}"` } } }
  const references = [
    { backend: 'a', weight: 3 },
    { backend: 'b', weight: 1 }
  ]
  const weir = await gateway(t, [{ name: 'one', policies, backends: references }], 1, [
    { name: 'a', host },
    { name: 'b', host },
    { name: 'authz', host: service.host }
  ])
  const { id, token } = await weir.arm('{"uses": 4}')
  for (let i = 0; i < 4; i++) assert.equal(await get(`${weir.url}/`, { [TOKEN]: token }), 200)
  const stories = await weir.stories(id, 4)
  for (const story of stories) {
    assert.deepEqual(namesOf(story), [
      'listener',
      'route',
      'request extAuth',
      'call',
      'backend',
      'attempt',
      'first byte'
    ])
    const call = story.steps.find((step) => step.step === 'call')!
    assert.deepEqual([call.service, call.request, call.result], ['authz', 'GET /check', 'ok'])
    assert.ok(call.took !== null && call.took > 0)
    const backend = story.steps.find((step) => step.step === 'backend')!
    assert.deepEqual(
      backend.shares.map((share) => [share.backend, share.percent]),
      [
        ['a', 75],
        ['b', 25]
      ]
    )
    assert.equal(backend.why, 'its turn by weight')
    assert.equal(story.steps.find(isAttempt)!.backend, backend.name)
    assert.doesNotMatch(JSON.stringify(story), /canary/)
  }
  const drawn = stories.map(({ steps }) => steps.find((step) => step.step === 'backend')!.name)
  assert.deepEqual(drawn.toSorted(), ['a', 'a', 'a', 'b'])
})

test('a retry over HTTP/1.1 and HTTP/2: the steps in order, and nothing of it goes to the backend', async (t) => {
  let count = 0
  const { heads, host } = await origin(t, (_, response) => response.writeHead(count++ % 2 === 0 ? 503 : 200).end('x'))
  const policies = {
    retry: { attempts: 2, codes: [503], backoff: '1ms' },
    requestHeaderModifier: { set: { 'x-a': 'b' } },
    responseHeaderModifier: { set: { 'x-c': 'd' } }
  }
  const weir = await gateway(t, [{ name: 'one', policies, backends: [{ host }] }])
  const { id, token, header, expires } = await weir.arm('{"uses": 2}')
  assert.equal(header, TOKEN)
  assert.ok(Date.parse(expires) > Date.now())
  assert.equal((await weir.get(id)).status, 404)

  const headers = { [TOKEN]: token, authorization: `Bearer ${CANARY}` }
  assert.equal(await get(`${weir.url}/a?api_key=${CANARY}`, headers), 200)
  const session = connect(weir.url)
  const [answer] = (await once(session.request({ ':path': '/b', ...headers }), 'response')) as [Record<string, number>]
  assert.equal(answer[':status'], 200)
  session.destroy()

  const stories = await weir.stories(id, 2)
  assert.deepEqual(
    stories.map((story) => story.request),
    [
      { method: 'GET', url: `${weir.url}/a?api_key=<redacted>`, httpVersion: '1.1', from: '127.0.0.1' },
      { method: 'GET', url: `${weir.url}/b`, httpVersion: '2', from: '127.0.0.1' }
    ]
  )
  for (const story of stories) {
    assert.deepEqual(namesOf(story), [
      ...['listener', 'route', 'request headerModifiers', 'attempt', 'first byte', 'retry', 'attempt', 'first byte'],
      'response headerModifiers'
    ])
    assert.deepEqual(
      story.steps.filter(isAttempt).map(({ number, address, balancing, why }) => [number, address, balancing, why]),
      [
        [1, host, 'its only address', 'the first attempt'],
        [2, host, 'its only address', 'retry 1, because of status 503']
      ]
    )
    const times = story.steps.map(({ at }) => at)
    assert.deepEqual(
      times,
      [...times].sort((a, b) => a - b)
    )
    assert.ok(times[0]! >= 0 && story.took >= times.at(-1)!)
    assert.deepEqual([story.status, story.code, story.backend !== null], [200, null, true])
    assert.equal(JSON.stringify(story).includes(CANARY), false)
    assert.equal(JSON.stringify(story).includes(token), false)
  }
  assert.equal(heads.length, 4)
  for (const head of heads) assert.equal(head.join('\n').toLowerCase().includes(TOKEN), false)
})

test('a refusal says which policy, where and why; what no route has says that', async (t) => {
  const { host } = await origin(t, (_, response) => response.end())
  const authorization = { rules: ['request.headers["x-team"] == "blue"'] }
  const weir = await gateway(t, [
    { name: 'one', matches: [{ path: { pathPrefix: '/a' } }], policies: { authorization }, backends: [{ host }] }
  ])
  const { id, token } = await weir.arm('{"uses": 2}')
  assert.equal(await get(`${weir.url}/a`, { [TOKEN]: token, 'x-team': 'red' }), 403)
  assert.equal(await get(`${weir.url}/b`, { [TOKEN]: token }), 404)
  const [refused, lost] = await weir.stories(id, 2)
  const step = refused!.steps.find((one) => one.step === 'policy')!
  assert.equal(step.verdict, 'answers')
  assert.match(step.place, /^binds\[0\]\.listeners\[0\]\.routes\[0\]\.policies\.authorization/)
  assert.match(step.detail!, /request\.headers\["x-team"\] is "red"/)
  assert.deepEqual([refused!.status, refused!.code, refused!.detail], [403, 'FORBIDDEN', step.detail])
  assert.deepEqual([lost!.status, lost!.code], [404, 'ROUTE_NOT_FOUND'])
  assert.deepEqual(
    lost!.steps.map((one) => (one.step === 'route' ? one.code : one.step)),
    ['listener', 'ROUTE_NOT_FOUND']
  )
  assert.match(lost!.detail!, /"\/a"/)
})

test('a call of a model: provider, model and tokens, and no key', async (t) => {
  const models = await startModels()
  t.after(() => models.close())
  const ai = { name: 'm', provider: { openAI: {}, host: '127.0.0.1', port: models.port } }
  const policies = { backendAuth: { key: CANARY } }
  const weir = await gateway(t, [{ name: 'llm', policies, backends: [{ ai }] }])
  const { id, token } = await weir.arm()
  const body = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'a secret of mine' }] })
  const headers = { [TOKEN]: token, 'content-type': 'application/json' }
  const answer = await fetch(`${weir.url}/v1/chat/completions`, { method: 'POST', headers, body })
  assert.equal(answer.status, 200, await answer.text())
  const [story] = await weir.stories(id)
  assert.deepEqual([story!.llm?.provider, story!.llm?.requestModel], ['openai', 'gpt-4o'])
  assert.ok(story!.llm!.inputTokens! > 0 && story!.llm!.outputTokens! > 0)
  assert.ok(namesOf(story!).includes('attempt'))
  const { headers: sent } = models.requests[0]!
  assert.deepEqual([sent.authorization, sent[TOKEN]], [`Bearer ${CANARY}`, undefined])
  for (const secret of [CANARY, 'a secret of mine']) assert.equal(JSON.stringify(story).includes(secret), false)
})

test('uses hold over two workers and a reload; what is forged or used up is served as any other', async (t) => {
  const { heads, host } = await origin(t, (_, response) => response.end())
  const weir = await gateway(t, [{ name: 'one', backends: [{ host }] }], 2)
  const { id, token } = await weir.arm('{"uses": 6}')
  const statuses = await Promise.all(Array.from({ length: 5 }, () => get(weir.url, { [TOKEN]: token })))
  weir.write([{ name: 'renamed', backends: [{ host }] }])
  await weir.program.logged(/configuration [0-9a-f]{12} in force/)
  const other = await weir.arm()
  const more = await Promise.all(
    Array.from({ length: 12 }, (_, i) => get(weir.url, { [TOKEN]: i % 2 === 0 ? token : `${other.token}x` }))
  )
  assert.deepEqual(new Set([...statuses, ...more]), new Set([200]))
  // Behind all of them, of each worker: what is told comes in order.
  assert.equal(await get(weir.url, { [TOKEN]: other.token }), 200)
  assert.equal((await weir.stories(other.id)).length, 1)
  const stories = await weir.stories(id, 6)
  assert.deepEqual(
    stories.map(({ steps }) => steps.find((one) => one.step === 'route')!.name),
    ['one', 'one', 'one', 'one', 'one', 'renamed']
  )
  assert.equal(heads.length, 18)
  for (const head of heads) assert.equal(head.join('\n').toLowerCase().includes(TOKEN), false)
})

test('the admin port: bounds, other origins and methods', async (t) => {
  const weir = await gateway(t, [{ name: 'one', policies: { directResponse: { status: 200, body: 'x' } } }])
  for (const body of ['[]', 'x', '{"uses": 0}', '{"uses": 101}', '{"uses": 1.5}', '{"lifetime": 601}', '{"use": 1}']) {
    const answer = await weir.post(body)
    assert.equal(answer.status, 400, body)
    assert.match(((await answer.json()) as { error: string }).error, /uses|lifetime/)
  }
  assert.equal((await weir.post('', { origin: 'https://evil.example' })).status, 403)
  const unknown = await weir.get('999')
  assert.deepEqual([unknown.status, ((await unknown.json()) as { error: string }).error.length > 20], [404, true])
  assert.equal((await fetch(weir.url, { headers: { [TOKEN]: 'nonsense' } })).status, 200)
  for (let i = 0; i < 16; i++) await weir.arm('{"uses": 100, "lifetime": 600}')
  assert.equal((await weir.post('')).status, 429)
})
