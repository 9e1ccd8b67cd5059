/** Big prompts: how much of one is read on the event loop, counted and not timed. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { INLINE_BYTES_MAX, runIn } from './guard-body.ts'
import { CHAT, chat, regex, SSN, stand } from './guards.fixture.ts'
import { type GuardJob, runGuardJob } from './job.ts'
import { GUARD_JOB } from './job-name.ts'
import { hook, service } from './service.fixture.ts'

const BIG = `${'Nothing to see here, move along. '.repeat(300_000)}${SSN}`
const BIG_UNITS = 1024 * 1024

interface Read {
  readonly units: number
  /** By the guards. */
  readonly isGuards: boolean
}

/** What is parsed in this thread, but by the provider of the tests, which is here too. */
function watchParse(t: TestContext): Read[] {
  const reads: Read[] = []
  const { parse } = JSON
  t.mock.method(JSON, 'parse', (text: string, reviver?: Parameters<typeof parse>[1]) => {
    const { stack = '' } = new Error('who asks')
    const isTest = stack.includes('/engine/testing/') || stack.includes('.fixture.ts')
    if (!isTest) reads.push({ units: text.length, isGuards: stack.includes('/kit/scan/') })
    return parse(text, reviver)
  })
  return reads
}

const isBig = ({ units }: Read) => units > BIG_UNITS

test('a guarded prompt: of 10 MB the guards read nothing on the event loop, of small ones up to their bound', async (t) => {
  const { models, ask } = await stand(t, { request: [regex(), regex({ builtins: ['CreditCard'] })] })
  const reads = watchParse(t)
  equal((await ask(CHAT, chat(BIG))).status, 200)
  ok((models.requests.at(-1)!.body.messages[0].content as string).endsWith('<SSN>'))
  deepEqual(
    reads.filter(({ isGuards }) => isGuards),
    []
  )
  // Nor does the backend itself (offload/large-request.ts).
  equal(reads.filter(isBig).length, 0)
  for (const units of [100, INLINE_BYTES_MAX - 200, INLINE_BYTES_MAX + 1, 100_000]) {
    await ask(CHAT, chat(`${'x '.repeat(units / 2)}${SSN}`))
    ok((models.requests.at(-1)!.body.messages[0].content as string).endsWith('<SSN>'))
  }
  const units = reads.flatMap((read) => (read.isGuards ? [read.units] : []))
  equal(units.length, 2)
  ok(Math.max(...units) <= INLINE_BYTES_MAX)
})

test('a service among the guards does not bring the scan back', async (t) => {
  const webhook = await service(t)
  const { ask } = await stand(t, { request: [regex(), hook(webhook.port), regex()] })
  const reads = watchParse(t)
  equal((await ask(CHAT, chat(BIG))).status, 200)
  equal(
    reads.some(({ isGuards }) => isGuards),
    false
  )
  equal((webhook.seen[0]!.body.body.messages[0].content as string).endsWith('<SSN>'), true)
})

test('rules that follow one another are one job', async () => {
  const jobs: GuardJob[] = []
  const offload = {
    run: async (name: string, job: unknown) => {
      equal(name, GUARD_JOB)
      jobs.push(job as GuardJob)
      return runGuardJob(job as GuardJob)
    }
  }
  const run = runIn({ offload }, fakeExchange())
  const shape = {
    kind: 'json',
    reach: { texts: ['messages'], declared: [], hasNames: true, isRequest: true },
    role: 'user'
  } as const
  const step = { kind: 'search', guards: [] } as const
  for (const length of [INLINE_BYTES_MAX, INLINE_BYTES_MAX + 1]) {
    await run({ bytes: Buffer.from('{}'.padEnd(length)), shape, step })
  }
  deepEqual(
    jobs.map(({ bytes }) => bytes.length),
    [INLINE_BYTES_MAX + 1]
  )
})

test('a large prompt without guards is not parsed here, by name of the model nor by route', async (t) => {
  const models = await provider(t)
  const address = { baseUrl: `http://127.0.0.1:${models.port}/v1`, apiKey: 'k' }
  const named = await gatewayOf(t, {
    frontendPolicies: { http: { maxBufferSize: 33_554_432 } },
    llm: { port: 4000, models: [{ name: 'm', provider: 'openai', params: address }] }
  })
  const routed = await stand(t, { response: [regex()] })
  const reads = watchParse(t)
  for (const [name, ask] of [
    ['llm', named.ask],
    ['route', routed.ask]
  ] as const) {
    reads.length = 0
    equal((await ask(CHAT, chat(BIG))).status, 200)
    equal(reads.filter(isBig).length, 0, name)
  }
})
