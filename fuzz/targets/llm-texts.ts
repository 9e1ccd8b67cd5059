/** The older completions, asked at every provider (see engine/testing/attack-operation.ts). */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { isObject } from '#backends/llm/formats/fields.ts'
import { type Attack, attackOperation } from '#engine/testing/attack-operation.ts'

export const name = 'llm-texts'

export const dictionary = [
  ...[
    '"prompt":"p"',
    '"echo":true',
    '"suffix":""',
    '"logprobs":1',
    '"n":2',
    '"best_of":1',
    '"stream":true',
    '"stop":["."]'
  ],
  ...[
    '"choices":[',
    '"content":',
    '"token":',
    '"top_logprobs":[',
    '"logprob":',
    '"usage":{',
    '1e999',
    '"__proto__":',
    '\\ud800'
  ]
]

const seeds = (...names: string[]) =>
  names.map((seed) => readFileSync(new URL(`../corpus/${name}/${seed}`, import.meta.url), 'utf8'))

const judge: Attack['judge'] = (_, body) => {
  assert.equal(body.object, 'text_completion')
  assert.ok(Array.isArray(body.choices))
  for (const one of body.choices) assert.ok(isObject(one) && typeof one.text === 'string')
}

const requests = seeds('request')
const answers = seeds('answer-messages', 'answer-gemini', 'answer-chat')

export const run = (data: Buffer): void =>
  attackOperation({ type: 'TextCompletions', paths: ['/v1/completions'], fields: [], requests, answers, judge }, data)
