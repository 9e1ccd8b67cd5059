/** Nearly two thousand exchanges whose bodies pass services that do what they like: nothing of them stays. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { Agent, request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { queryObjects } from 'node:v8'
import { Exchange } from '#engine/contract/exchange.ts'
import { accountOf } from '#engine/testing/account.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { Conversation } from './conversation.ts'
import { bodyIn, callsEnded, harness, immediate, piece } from './gateway.fixture.ts'
import { answer, answerTo, type Call, fieldsOf, type Processor } from './services.fixture.ts'

const { service, stops, backendPort } = harness()

/** Two hundred of each behaviour, half of them in each mode. */
const EXCHANGES = 1_800
const AT_ONCE = 24
const ACCOUNT_BYTES = 64 * 1024 * 1024
const BODY = Buffer.alloc(20_000, 'a')
/** Each takes longer than the timeout of an exchange. */
const RECOUNTS = 4

/** What a service does with the piece of a body, by the field x-act of the request. */
const ACTS: Readonly<Record<string, (message: Parameters<Processor>[0], call: Call) => ReturnType<Processor>>> = {
  answers: (message) => [pass(message)],
  resets: (_, call) => {
    call.emit('error', { code: 7, details: 'no' })
    return []
  },
  'ends the stream': (_, call) => {
    call.end()
    return []
  },
  'stays silent': () => [],
  'sends garbage': () => [Buffer.from([255, 255])],
  'answers at once': () => [immediate({ status: { code: 429 }, body: Buffer.from('no') })],
  'answers twice': (message) => [pass(message), pass(message), pass(message)],
  'replies itself': () => [
    answer({
      $case: 'streamedImmediateResponse',
      value: { response: { $case: 'bodyResponse', value: { ...BYTES, endOfStream: true } } }
    })
  ],
  'loses its client': (message) => [pass(message)]
}
const BYTES = { body: Buffer.from('made'), endOfStreamWithoutMessage: false, grpcMessageCompressed: false }
const NAMES = Object.keys(ACTS)

function pass(message: Parameters<Processor>[0]) {
  const part = bodyIn(message)
  if (part === null || message.metadataContext === undefined) return answerTo(message)
  return answerTo(message, piece(part[0], part[1]))
}

const head = () =>
  answer({
    $case: 'streamedImmediateResponse',
    value: {
      response: {
        $case: 'headersResponse',
        value: {
          headers: { headers: [{ key: ':status', value: '203', rawValue: Buffer.alloc(0) }] },
          attributes: {},
          endOfStream: false
        }
      }
    }
  })

const acts = new WeakMap<Call, string>()
const process: Processor = (message, call) => {
  if (message.request!.$case === 'requestHeaders') acts.set(call, fieldsOf(message)['x-act']!)
  const act = acts.get(call)!
  if (message.request!.$case === 'requestHeaders') return [act === 'replies itself' ? head() : answerTo(message)]
  return bodyIn(message) === null ? [answerTo(message)] : ACTS[act]!(message, call)
}

/** Each count walks the heap for seconds. A BodyStream has its Conversation, and is counted by it. */
const alive = (): number[] =>
  [Exchange, Conversation].map((type) => queryObjects(type as new (...args: never[]) => object, { format: 'count' }))

test('streamed exchanges leave nothing behind, whatever their services do', async (t) => {
  service.process = process
  const policyOf = (mode: string) =>
    `{ host: "127.0.0.1:${service.port}", messageTimeout: 300ms, ` +
    `processingMode: { requestBodyMode: ${mode}, responseBodyMode: ${mode} }${mode === 'STREAMED' ? '' : ', metadataContext: { a: { b: "1" } }'} }`
  const routeOf = (mode: string) => `
          - matches: [{ path: { pathPrefix: /${mode} } }]
            policies: { timeouts: { request: 600ms }, extProc: ${policyOf(mode)} }
            backends: [{ host: "127.0.0.1:${backendPort()}" }]`
  const gateway = await startGateway(
    `binds:\n  - port: 0\n    listeners:\n      - routes:${routeOf('STREAMED')}${routeOf('FULL_DUPLEX_STREAMED')}\n`
  )
  const account = accountOf(t, ACCOUNT_BYTES)
  stops.push(() => gateway.close())
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const statuses = new Map<string, number>()
  /** Resolves when it is over, however it has ended. */
  const exchange = (i: number): Promise<void> =>
    new Promise((resolve) => {
      const act = NAMES[i % NAMES.length]!
      const mode = i % 2 === 0 ? 'STREAMED' : 'FULL_DUPLEX_STREAMED'
      const headers = { 'x-act': act, 'content-length': BODY.length }
      const request = httpRequest({ port: gateway.port, agent, method: 'POST', path: `/${mode}`, headers })
      request.on('response', (response) => {
        const key = `${mode} ${act} ${response.statusCode}`
        statuses.set(key, (statuses.get(key) ?? 0) + 1)
        response.resume()
      })
      request.on('error', () => undefined)
      request.on('close', resolve)
      if (act === 'loses its client') request.write(BODY.subarray(0, 10_000), () => request.destroy())
      else request.end(BODY)
    })
  const run = async (count: number): Promise<void> => {
    let next = 0
    const worker = async (): Promise<void> => {
      while (next < count) {
        service.requests.length = 0
        await exchange(next++)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
  }
  await run(EXCHANGES)
  agent.destroy()
  await gateway.drain()
  // Services end their streams behind their exchanges.
  while (callsEnded(gateway) < EXCHANGES) await turn()
  equal(account.bytes, 0)
  // A timer that was disarmed holds its exchange until its time comes (engine/socket/timer-wheel.ts).
  let left = alive()
  for (let i = 0; i < RECOUNTS && left.some((count) => count > 0); i++) left = alive()
  deepEqual(left, [0, 0])
  equal(callsEnded(gateway), EXCHANGES)
  ok(statuses.size > NAMES.length)
})
