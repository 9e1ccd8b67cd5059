/** Requests, answers, errors and streams of predictions (see engine/testing/attack-format.ts), and their states. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { FormatError } from '#backends/llm/formats/format.ts'
import { predictions as towardsProviders } from '#backends/llm/formats/predictions/index.ts'
import { shown, stateIn } from '#backends/llm/predictions/state.ts'
import { predictions } from '#backends/llm/testing/predictions/index.ts'
import { attack, WORDS } from '#engine/testing/attack-format.ts'

export const name = 'llm-predictions'

export const dictionary = [
  ...WORDS,
  '"output":',
  '"status":"succeeded"',
  '"status":"processing"',
  '"metrics":',
  '"input_token_count":',
  'event: output\n',
  'event: prediction\n',
  '../'
]

const SEEDS = ['request', 'answer', 'stream'].map((seed) =>
  readFileSync(new URL(`../corpus/${name}/${seed}`, import.meta.url), 'utf8')
)

export function run(data: Buffer): void {
  attack(predictions, data, SEEDS)
  const state = stateIn(data)
  if (state === null) return
  if (state.id !== null) assert.match(`/v1/predictions/${state.id}`, /^\/v1\/predictions\/[A-Za-z0-9_-]{1,128}$/)
  const passed = shown(state)
  assert.deepEqual(
    Object.keys(passed).filter((member) => member === 'urls' || member === 'logs'),
    []
  )
  if (state.status !== 'succeeded' || state.text === null) return
  try {
    const text = towardsProviders
      .readAnswer(passed)
      .choices[0]!.parts.map((part) => (part.kind === 'text' ? part.text : ''))
    assert.equal(text.join(''), state.text)
  } catch (error) {
    if (!(error instanceof FormatError)) throw error
  }
}
