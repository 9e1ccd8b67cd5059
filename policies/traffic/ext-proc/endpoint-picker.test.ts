/** A service that picks endpoints of a pool of model servers (Gateway API Inference Extension, proposal 004). */
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { pickedEndpoints } from '#engine/contract/endpoint-picker.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { bodyIn, immediate, piece } from './gateway.fixture.ts'
import { answerTo, mutation, type Processor, startProcessor } from './services.fixture.ts'

const PICKED = 'x-gateway-destination-endpoint'

/** A model server that says its name, and what it was asked. */
async function server(t: TestContext, name: string) {
  const bodies: string[] = []
  const listening = createServer(async (request, response) => {
    let text = ''
    request.setEncoding('utf8')
    for await (const part of request) text += part
    bodies.push(text)
    response.writeHead(200, { 'x-server': name }).end(`answer of ${name}`)
  }).listen(0, '127.0.0.1')
  await once(listening, 'listening')
  t.after(() => {
    listening.close()
    listening.closeAllConnections()
  })
  return { bodies, at: `127.0.0.1:${(listening.address() as AddressInfo).port}` }
}

/** Nobody listens there. */
async function closedPort(): Promise<string> {
  const listening = createServer().listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const { port } = listening.address() as AddressInfo
  listening.close()
  await once(listening, 'close')
  return `127.0.0.1:${port}`
}

/** As the reference picker: it answers the head when the body is here, and gives all bodies back as they came. */
const picking =
  (endpoints: string, metadata = endpoints): Processor =>
  (request) => {
    const part = bodyIn(request)
    if (request.request?.$case === 'requestHeaders') return request.request.value.endOfStream ? [picks(request)] : []
    if (part === null || request.request?.$case !== 'requestBody') {
      return part === null ? [answerTo(request)] : [answerTo(request, piece(part[0], part[1]))]
    }
    const head = {
      ...request,
      request: { $case: 'requestHeaders' as const, value: { headers: undefined, endOfStream: false, attributes: {} } }
    }
    return part[1] ? [picks(head as never), answerTo(request, piece(part[0], true))] : []

    function picks(of: Parameters<Processor>[0]) {
      const more = { dynamicMetadata: { 'envoy.lb': { [PICKED]: metadata } } }
      return answerTo(of, { headerMutation: mutation({ [PICKED]: endpoints }) }, more)
    }
  }

/** `process` null: nobody listens. */
async function gatewayOf(t: TestContext, process: Processor | null, pool: object, policies: object = {}) {
  const picker = await startProcessor(process ?? (() => []))
  if (process === null) picker.close()
  t.after(() => picker.close())
  const extProc = { backendRef: { name: 'picker' }, processingOptions: {}, ...policies }
  const gateway = await startGateway(
    JSON.stringify({
      backends: [{ name: 'picker', host: `127.0.0.1:${picker.port}` }],
      binds: [{ port: 0, listeners: [{ routes: [{ policies: { extProc }, backends: [{ inferencePool: pool }] }] }] }]
    })
  )
  t.after(() => gateway.close())
  const ask = (headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${gateway.port}/v1/completions`, { method: 'POST', headers, body: '{"model":"m"}' })
  return { ask, picker }
}

test('the endpoint that is picked gets the request, and the picker is told which one has answered', async (t) => {
  const [a, b] = [await server(t, 'a'), await server(t, 'b')]
  const { ask, picker } = await gatewayOf(t, picking(b.at), { endpoints: [a.at, b.at] })
  for (let i = 0; i < 3; i++) {
    // What a client says is nothing.
    const response = await ask({ [PICKED]: a.at })
    deepEqual([response.status, response.headers.get('x-server'), await response.text()], [200, 'b', 'answer of b'])
  }
  deepEqual(b.bodies, Array(3).fill('{"model":"m"}'))
  const { metadataContext } = picker.requests.find(({ request }) => request?.$case === 'responseHeaders')!
  deepEqual(metadataContext?.filterMetadata['envoy.lb'], { 'x-gateway-destination-endpoint-served': b.at })
})

test('the example of the documentation', async (t) => {
  const [a, b] = [await server(t, 'a'), await server(t, 'b')]
  const picker = await startProcessor(picking(b.at))
  t.after(() => picker.close())
  const text = readFileSync(new URL('../../../docs/examples/inference-pool.yaml', import.meta.url), 'utf8')
    .replace('127.0.0.1:9001', a.at)
    .replace('127.0.0.1:9003', b.at)
    .replace('localhost:9002', `127.0.0.1:${picker.port}`)
  const gateway = await startGateway(text)
  t.after(() => gateway.close())
  const response = await fetch(`http://127.0.0.1:${gateway.port}/v1/completions`, { method: 'POST', body: '{}' })
  equal(response.headers.get('x-server'), 'b')
})

test('of several that are picked the next one is asked when one cannot be reached', async (t) => {
  const [gone, b] = [await closedPort(), await server(t, 'b')]
  const { ask } = await gatewayOf(t, picking(`${gone},${b.at}`), { endpoints: [gone, b.at] })
  equal((await ask()).headers.get('x-server'), 'b')
})

test('a picker cannot send requests out of the pool: it is as if it had picked nothing', async (t) => {
  const [a, other] = [await server(t, 'a'), await server(t, 'other')]
  for (const picks of [other.at, 'nonsense', `${other.at}, [::1`, '']) {
    const closed = await gatewayOf(t, picking(picks), { endpoints: [a.at] })
    equal((await closed.ask({ [PICKED]: a.at })).status, 503, picks)
    const open = await gatewayOf(t, picking(picks), { endpoints: [a.at], failureMode: 'FailOpen' })
    equal((await open.ask()).headers.get('x-server'), 'a', picks)
  }
  deepEqual(other.bodies, [])
})

/** As the small picker of the extension from 1.6 on: what it says of bodies is that they stay. */
const leavingBodies =
  (endpoint: string): Processor =>
  (request) => {
    const part = bodyIn(request)
    if (request.request?.$case !== 'requestBody' || part?.[1] !== true) {
      return request.request?.$case === 'requestHeaders' ? [] : [answerTo(request)]
    }
    const head = { $case: 'requestHeaders' as const, value: { headers: undefined, endOfStream: false, attributes: {} } }
    const more = { dynamicMetadata: { 'envoy.lb': { [PICKED]: endpoint } } }
    return [answerTo({ ...request, request: head } as never, {}, more), answerTo(request)]
  }

test('a picker that leaves bodies as they are does so by saying nothing of them, where that is allowed', async (t) => {
  const a = await server(t, 'a')
  const { ask } = await gatewayOf(t, leavingBodies(a.at), { endpoints: [a.at] }, { unchangedPasses: true })
  const response = await ask()
  deepEqual([response.status, await response.text()], [200, 'answer of a'])
  deepEqual(a.bodies, ['{"model":"m"}'])
  // Who sends bodies has sent all of them.
  const changing = await gatewayOf(t, picking(a.at), { endpoints: [a.at] }, { unchangedPasses: true })
  equal(await (await changing.ask()).text(), 'answer of a')
  deepEqual(a.bodies[1], '{"model":"m"}')
})

test('an immediate response of the picker is the answer: 429 when it sheds, 503 when nobody is ready', async (t) => {
  const a = await server(t, 'a')
  for (const code of [429, 503] as const) {
    const sheds: Processor = (request) => (bodyIn(request)?.[1] === true ? [immediate({ status: { code } })] : [])
    const { ask } = await gatewayOf(t, sheds, { endpoints: [a.at] })
    equal((await ask()).status, code)
  }
  deepEqual(a.bodies, [])
})

test('without its picker a pool is closed, or open where both say so', async (t) => {
  const a = await server(t, 'a')
  const closed = await gatewayOf(t, null, { endpoints: [a.at], failureMode: 'FailOpen' })
  equal((await closed.ask()).status, 500)
  const half = await gatewayOf(t, null, { endpoints: [a.at] }, { failureMode: 'FailOpen' })
  equal((await half.ask()).status, 503)
  const open = await gatewayOf(t, null, { endpoints: [a.at], failureMode: 'FailOpen' }, { failureMode: 'FailOpen' })
  equal((await open.ask()).headers.get('x-server'), 'a')
})

/** Two pools behind one route, each with its picker. `weights`: of the first and the second. */
async function twoPools(
  t: TestContext,
  weights: readonly number[],
  picks: readonly string[],
  pools: readonly object[]
) {
  const pickers = await Promise.all(picks.map((pick) => startProcessor(picking(pick))))
  t.after(() => pickers.forEach((picker) => void picker.close()))
  const gateway = await startGateway(
    JSON.stringify({
      backends: pickers.map(({ port }, i) => ({ name: `picker${i}`, host: `127.0.0.1:${port}` })),
      binds: [
        {
          port: 0,
          listeners: [
            {
              routes: [
                {
                  backends: pools.map((inferencePool, i) => ({
                    inferencePool,
                    weight: weights[i],
                    policies: {
                      extProc: { backendRef: { name: `picker${i}` }, processingOptions: {} },
                      headerModifiers: { request: { set: [{ name: 'x-pool', value: `${i}` }] } }
                    }
                  }))
                }
              ]
            }
          ]
        }
      ]
    })
  )
  t.after(() => gateway.close())
  const ask = () => fetch(`http://127.0.0.1:${gateway.port}/v1/completions`, { method: 'POST', body: '{"model":"m"}' })
  return { ask, pickers }
}

test('of several pools one is drawn, and its own picker is asked, and learns who has answered', async (t) => {
  const [a, b] = [await server(t, 'a'), await server(t, 'b')]
  const { ask, pickers } = await twoPools(t, [2, 1], [a.at, b.at], [{ endpoints: [a.at] }, { endpoints: [b.at] }])
  const names = new Set<string | null>()
  // By weight, at random (engine/build/drawn.test.ts).
  while (names.size < 2) names.add((await ask()).headers.get('x-server'))
  for (const [i, { at }] of [a, b].entries()) {
    const reports = pickers[i]!.requests.flatMap(({ request, metadataContext }) =>
      request?.$case === 'responseHeaders' ? [metadataContext?.filterMetadata['envoy.lb']] : []
    )
    deepEqual(
      new Set(reports.map((one) => JSON.stringify(one))),
      new Set([JSON.stringify({ [`${PICKED}-served`]: at })])
    )
  }
})

test('the picker of one pool picks nothing in another, and another attempt stays in the pool', async (t) => {
  const [a, b] = [await server(t, 'a'), await server(t, 'b')]
  const gone = await closedPort()
  const astray = await twoPools(t, [1, 1], [b.at, a.at], [{ endpoints: [a.at] }, { endpoints: [b.at] }])
  deepEqual([(await astray.ask()).status, (await astray.ask()).status], [503, 503])
  const further = await twoPools(
    t,
    [1, 0],
    [`${gone},${a.at}`, b.at],
    [{ endpoints: [gone, a.at] }, { endpoints: [b.at] }]
  )
  for (let i = 0; i < 4; i++) equal((await further.ask()).headers.get('x-server'), 'a')
  deepEqual(b.bodies, [])
})

test('what is no list of endpoints is none; each counts once, and there is an end to them', () => {
  const of = (value: unknown) => pickedEndpoints({ 'envoy.lb': { [PICKED]: value } })
  deepEqual(of(' 10.0.0.1:80 ,[fd00::1]:8000,10.0.0.1:80,10.0.0.2'), ['10.0.0.1:80', 'fd00::1:8000'])
  for (const value of [undefined, null, 7, ['10.0.0.1:80'], 'x'.repeat(5000)]) deepEqual(of(value), [])
  equal(of(Array.from({ length: 99 }, (_, i) => `10.0.0.${i}:1`).join()).length, 16)
  deepEqual([pickedEndpoints(null), pickedEndpoints({ 'envoy.lb': null })], [[], []])
})

test('a pool with what a picker cannot name, or with one endpoint twice, is refused with its place', async () => {
  const start = (endpoints: readonly string[]) =>
    startGateway(
      JSON.stringify({
        binds: [{ port: 1, listeners: [{ routes: [{ backends: [{ inferencePool: { endpoints } }] }] }] }]
      })
    )
  await rejects(start(['unix:/run/model']), /endpoints\[0\]: must be "host:port"/)
  await rejects(start(['10.0.0.1:80', '10.0.0.1:80']), /endpoints\[1\]: is 10\.0\.0\.1:80 again/)
  await rejects(start([]), /endpoints/)
})
