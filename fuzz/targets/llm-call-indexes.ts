/** Calls of streams without `index`: what is mended says the same, and lacks nothing more. A line is an event. */
import assert from 'node:assert/strict'
import { mending } from '#backends/llm/formats/completions/call-indexes.ts'
import { parseJson } from '#engine/kit/json.ts'

export const name = 'llm-call-indexes'

export const dictionary = [
  '"index":',
  '"id":',
  '"tool_calls":[{',
  '"choices":[',
  '"delta":',
  '"type":',
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
  }
  assert.equal(({} as Record<string, unknown>).polluted, undefined)
}

const isNumbered = (call: Call): boolean => Array.isArray(call) || typeof call.index === 'number'

function callsIn(text: string): Call[] {
  const value = parseJson(text) as { choices: { delta?: { tool_calls?: Call[] } }[] }
  return value.choices.flatMap((choice) => {
    const calls = choice?.delta?.tool_calls
    return Array.isArray(calls) ? calls : []
  })
}

/** With nothing in it that is put in. */
function without(text: string): unknown {
  return JSON.parse(text, (key, value) => (key === 'index' || key === 'type' ? undefined : value))
}
