/** Streams over replicas: that go on elsewhere, that are copied, and whose replica is told to end. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { answering, type Case, count, KEY, many, TEAM, team, withFleet } from './case.ts'
import { becomes, type Fleet, NANOS_PER_TOKEN, PRICES, type ProviderBody, usageOf } from './fleet.ts'

const STREAM = { model: 'first', stream: true }
/** Of what breaks: a token of input, and three pieces. */
const BROKEN = 4
const TOKENS = 40

const event = (data: { readonly type: string }): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
const typed = (type: string, more: object) => event({ type, ...more })
const text = (word: string) => typed('content_block_delta', { index: 0, delta: { type: 'text_delta', text: word } })
const chunk = (more: object) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...more })}\n\n`
const piece = (content: string, finish: string | null = null) =>
  chunk({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] })

/** A stream of Messages that breaks: each piece is a token that is paid. */
function breakOff(response: ServerResponse): void {
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'first', content: [] }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const begun = typed('message_start', { message: { ...message, usage: { input_tokens: 1, output_tokens: 0 } } })
  const opened = typed('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
  response.write(begun + opened + text('a ') + text('b ') + text('c '), () => void response.socket!.destroySoon())
}

const end = (tokens: number) => `${piece('', 'stop')}${chunk({ choices: [], usage: usageOf(tokens) })}data: [DONE]\n\n`

function goOn(response: ServerResponse, tokens: number): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(piece('d') + end(tokens))
}

const TWO_MODELS = (params: object) => ({
  // The first is asked each time, whatever happened before.
  ...{ streams: { continue: 1 }, failover: { cooldown: { failures: 1_000 } } },
  models: [
    { name: 'first', provider: 'anthropic', params, prices: PRICES, fallbacks: ['second'] },
    { name: 'second', provider: 'vllm', params, prices: PRICES }
  ]
})

const WITH_SHADOW = (params: object) => ({
  models: ['own', 'copy'].map((name) => ({ name, provider: 'openai', params, prices: PRICES })),
  virtualModels: [
    {
      name: 'first',
      routing: { failover: { targets: [{ model: 'own' }] } },
      shadow: { model: 'copy', percent: 100 }
    }
  ]
})

/** Books at the replica `i`, once nothing is set aside: exactly what was billed for. */
async function balances(fleet: Fleet, i: number, tokens: number): Promise<void> {
  const book = { spent: tokens * NANOS_PER_TOKEN, reserved: 0 }
  const isSo = async () => {
    const found = await fleet.book(i, TEAM)
    return found.reserved === 0 && found.spent === book.spent
  }
  if (!(await becomes(isSo))) deepEqual(await fleet.book(i, TEAM), book)
}

const goesOn = (calls: number, amount: number, maxTokens: number): Case => ({
  name: `${calls} streams at once that break and go on elsewhere, with ${amount}`,
  run: async ({ server: { url }, provider, prefix }) => {
    let billed = 0
    const answer = ({ model }: ProviderBody, response: ServerResponse): void => {
      const tokens = maxTokens - BROKEN
      billed += model === 'first' ? BROKEN : tokens
      if (model === 'first') breakOff(response)
      else goOn(response, tokens)
    }
    const options = { url, provider, prefix, replicas: 3, accounts: team(String(amount)), llm: TWO_MODELS }
    return await withFleet(options, async (fleet) =>
      answering(provider, answer, async () => {
        const all = await many(calls, async (i) => await fleet.chat(i % 3, KEY, { ...STREAM, max_tokens: maxTokens }))
        const whole = all.filter((one) => one.text.includes('[DONE]') && !one.text.includes('"error"')).length
        // The rest of a broken stream is set aside anew: another call may have taken what is left meanwhile.
        equal(whole, Math.min(calls, Math.round((amount * 1e9) / NANOS_PER_TOKEN / maxTokens)))
        await balances(fleet, 1, billed)
        const isOver = billed * NANOS_PER_TOKEN > amount * 1e9 + maxTokens * NANOS_PER_TOKEN
        ok(!isOver, `${billed} tokens were billed`)
        return `${whole} whole, ${count(all, 429)} refused; billed and booked ${(billed * NANOS_PER_TOKEN) / 1e9}`
      })
    )
  }
})

/** Each stream says a piece, and the rest when `goes` is there. */
function slow(goes: Promise<unknown>, billed: () => void) {
  return (_: ProviderBody, response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(piece('a '))
    void goes.then(() => {
      billed()
      response.end(piece('b') + end(TOKENS))
    })
  }
}

const STREAMS = 60

export const STREAM_CASES: readonly Case[] = [
  goesOn(60, 100, 1_000),
  goesOn(200, 0.01, 10_000),
  {
    name: 'copies of calls are paid by nobody who has a key',
    run: async ({ server: { url }, provider, prefix }) => {
      const tokens = { own: 0, copy: 0 }
      const answer = ({ model }: ProviderBody, response: ServerResponse): void => {
        tokens[model as 'own' | 'copy'] += TOKENS
        goOn(response, TOKENS)
      }
      const options = { url, provider, prefix, replicas: 2, accounts: team('100'), llm: WITH_SHADOW }
      return await withFleet(options, async (fleet) =>
        answering(provider, answer, async () => {
          const all = await many(STREAMS, async (i) => await fleet.chat(i % 2, KEY, STREAM))
          equal(count(all, 200), STREAMS)
          ok(await becomes(async () => tokens.copy > 0))
          equal(tokens.own, STREAMS * TOKENS)
          await balances(fleet, 0, tokens.own)
          return `${STREAMS} calls booked, ${tokens.copy / TOKENS} copies asked for`
        })
      )
    }
  },
  {
    name: 'SIGTERM of a replica in the middle of streams: they end as usual, and each is booked',
    run: async ({ server: { url }, provider, prefix }) => {
      let billed = 0
      const goes = Promise.withResolvers<void>()
      const answer = slow(goes.promise, () => (billed += TOKENS))
      return await withFleet({ url, provider, prefix, replicas: 3, accounts: team('100') }, async (fleet) =>
        answering(provider, answer, async () => {
          const before = provider.calls
          const streams = many(STREAMS, async (i) => await fleet.chat(i % 3, KEY, { stream: true }))
          ok(await becomes(async () => provider.calls - before === STREAMS))
          const { program } = fleet.replicas[1]!
          program.signal('SIGTERM')
          await program.logged('SIGTERM: draining')
          goes.resolve()
          const all = await streams
          equal(all.filter((one) => one.status === 200 && one.text.includes('[DONE]')).length, STREAMS)
          await program.exited()
          await balances(fleet, 2, billed)
          return `${STREAMS} streams, ${billed / TOKENS} billed and booked`
        })
      )
    }
  }
]
