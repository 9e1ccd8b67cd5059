/** Calls without `index`, usage elsewhere: mended they say the same, and lack nothing more. A line is an event. */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { mending } from '#backends/llm/formats/completions/mending.ts'
import { parseJson } from '#engine/kit/json.ts'

export const name = 'llm-call-indexes'

export const dictionary = [
  '"index":',
  '"id":',
  '"tool_calls":[{',
  '"choices":[',
  '"delta":',
  '"type":',
  '"usage":{',
  '"x_groq":{',
  'null',
  '{}',
  '\n'
]

const BYTES_MAX = 64 * 1024

interface Call {
  index?: unknown
}

export function run(data: Buffer): void {
  const mend = mending.begin()
  for (const line of data.subarray(0, BYTES_MAX).toString().split('\n')) {
    const mended = mend(line)
    if (mended === null) continue
    for (const call of callsIn(mended)) assert.ok(call === null || typeof call !== 'object' || isNumbered(call))
    assert.equal(mending.begin()(mended), null)
    assert.deepEqual(without(mended), without(line))
    const [before, after] = [JSON.parse(line), JSON.parse(mended)]
    assert.ok(
      isDeepStrictEqual(after.usage, before.usage) || JSON.stringify(before).includes(JSON.stringify(after.usage))
    )
  }
  assert.equal(({} as Record<string, unknown>).polluted, undefined)
}

const isNumbered = (call: Call): boolean => Array.isArray(call) || typeof call.index === 'number'

function callsIn(text: string): Call[] {
  const { choices } = parseJson(text) as { choices?: { delta?: { tool_calls?: Call[] } }[] }
  return (Array.isArray(choices) ? choices : []).flatMap((choice) => {
    const calls = choice?.delta?.tool_calls
    return Array.isArray(calls) ? calls : []
  })
}

const PUT_IN: ReadonlySet<string> = new Set(['index', 'type', 'usage'])

/** With nothing in it that is put in. */
function without(text: string): unknown {
  return JSON.parse(text, (key, value) => (PUT_IN.has(key) ? undefined : value))
}
