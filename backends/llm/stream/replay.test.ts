/** A stream that has been kept: it is replayed in turns, and what comes out is what comes out at once. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { Exchange } from '#engine/contract/exchange.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { nativeTap } from './native-tap.ts'
import { replay } from './replay.ts'

const tapOf = () => {
  const { streamReader } = FORMATS.completions
  const writer = () => {
    throw new Error('nothing is to be said')
  }
  return nativeTap({ format: 'completions', reader: streamReader(), writer, hidesUsage: true, offload: null })!
}

function streamOf(count: number): Buffer {
  const chunk = (content: string) => `data: {"choices":[{"index":0,"delta":{"content":"${content}"}}]}\n\n`
  const usage = 'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}\n\n'
  return Buffer.from(`${chunk('naïve words').repeat(count)}${usage}data: [DONE]\n\n`)
}

test('others have their turns while a long one is replayed; a short one is there at once', async () => {
  const ex = new Exchange(null as never, 'POST', '/', '', 'a', new HeaderBlock(), 0, 0, 0)
  for (const count of [1, 400, 20_000]) {
    const events = streamOf(count)
    const [tap, other] = [tapOf(), tapOf()]
    let turns = 0
    let isDone = false
    const turn = () => {
      turns++
      if (!isDone) setImmediate(turn)
    }
    setImmediate(turn)
    const passing = replay(ex, tap, events)
    equal(Buffer.isBuffer(passing), count < 500)
    const made = await passing
    isDone = true
    const whole = [other.body(ex, events, 0, events.length), other.end(ex)]
    ok(made.equals(Buffer.concat(whole.filter((piece) => piece !== null))))
    deepEqual([tap.cost.usage?.input, tap.cost.usage?.output, made.includes('usage')], [3, 4, false])
    if (count > 500) ok(turns >= events.length / (32 * 1024) - 1, `${turns}`)
  }
})
