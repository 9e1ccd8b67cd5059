/** What is played to clients without a gateway is what their vendors say: their clients of npm read the facts in it. */
import { deepEqual, equal } from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Models, startModels } from '#engine/testing/models.ts'
import { type Facts, factsOf } from './facts.ts'
import { NPM_SDKS, type Sdk } from './npm-sdks.ts'
import { Player } from './play.ts'
import type { Recording } from './read.ts'
import { vendorAnswer } from './vendors.ts'

let models: Models
let player: Player
before(async () => {
  models = await startModels()
  player = await Player.start()
})
after(async () => {
  models.close()
  await player.close()
})

const COUNTS = { input: 21, output: 34, others: [] }
const TEXT = 'Rome: 21 degrees, and a few clouds in the evening. \u{1f324}'
const FACTS: Readonly<Record<string, Facts>> = {
  text: { text: TEXT, calls: [], stop: 'end', ...COUNTS },
  calls: { text: 'I look.', calls: ['weather({"city":"Rome (Lazio)"})', 'clock({})'], stop: 'tools', ...COUNTS },
  'half a text': { text: TEXT, calls: [], stop: 'length', ...COUNTS },
  'a text that a filter ends': { text: TEXT, calls: [], stop: 'filter', ...COUNTS }
}

for (const sdk of NPM_SDKS)
  for (const [name, facts] of Object.entries(FACTS))
    for (const isStreamed of [false, true])
      test(`${sdk.name}: ${name}${isStreamed ? ', streamed' : ''}`, async () => {
        const { contentType, bytes } = vendorAnswer(sdk.client, facts, isStreamed)
        models.instead = (_, response) => {
          response.writeHead(200, { 'content-type': contentType }).end(bytes)
          return true
        }
        const got = factsOf(sdk.client, await sdk.ask(`http://127.0.0.1:${models.port}`, isStreamed, []))
        deepEqual({ ...got, hasPieces: false }, { ...facts, hasPieces: false })
      })

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const recording: Recording = {
  ...{ source: 'made', provider: 'p', format: 'completions', isStreamed: true, status: 200 },
  contentType: 'text/event-stream',
  bytes: Buffer.from(`${chunk({ role: 'assistant', content: 'Hi.' })}${chunk({}, 'stop')}data: [DONE]\n\n`)
}
const failing = (ask: Sdk['ask']): Sdk => ({ name: 'a client', client: 'completions', ask })

test('a client that fails at everything fails at what its vendor says', async () => {
  const sdk = failing(() => Promise.reject(new TypeError('no streams here')))
  const why = await player.playTo(recording, sdk)
  deepEqual(why, ['TypeError: no streams here'])
  equal(await player.originOf(why, recording, sdk), 'vendor')
})

test('a client that fails at one recording alone fails at that', async () => {
  const sdk = failing(async (base, isStreamed) => {
    const whole = await NPM_SDKS[0]!.ask(base, isStreamed, [])
    if (whole.id === 'c') throw new TypeError('an id of one letter')
    return whole
  })
  const why = await player.playTo(recording, sdk)
  equal(await player.originOf(why, recording, sdk), 'recording')
})

test('a difference that is made by the gateway alone, or that is another one there, is none of the client', async () => {
  const own = `http://127.0.0.1:${models.port}`
  let isFirst = true
  const once = failing((_, isStreamed) => {
    if (!isFirst) return NPM_SDKS[0]!.ask(own, isStreamed, [])
    isFirst = false
    return Promise.reject(new TypeError('a gateway'))
  })
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': recording.contentType }).end(recording.bytes)
    return true
  }
  equal(await player.originOf(await player.playTo(recording, once), recording, once), null)
  let count = 0
  const other = failing(() => Promise.reject(new TypeError(['a gateway', 'a vendor', 'a recording'][count++])))
  equal(await player.originOf(await player.playTo(recording, other), recording, other), null)
})
