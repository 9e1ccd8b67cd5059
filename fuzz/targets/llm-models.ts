/**
 * Lists of models: those of providers, as each kind of client reads them (see engine/testing/attack-operation.ts), and
 * the configuration's, asked for by a path that may be anything.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { isObject } from '#backends/llm/formats/fields.ts'
import { type ModelsAnswerSpec, modelList } from '#backends/llm/routes/models.ts'
import { type Attack, attackOperation } from '#engine/testing/attack-operation.ts'

export const name = 'llm-models'

export const dictionary = [
  ...['"data":[', '"id":', '"object":"list"', '"has_more":', '"models":[', '"name":"models/m"', '"type":"model"'],
  ...['/v1/models/', '%2F', '%', '%ff', 'null', '"__proto__":', '\\ud800', '{"error":{"message":"m"}}']
]

const answers = ['answer-openai', 'answer-anthropic', 'answer-gemini', 'answer-one'].map((seed) =>
  readFileSync(new URL(`../corpus/${name}/${seed}`, import.meta.url), 'utf8')
)

const judge: Attack['judge'] = (spec, body) => {
  const telling = spec as ModelsAnswerSpec
  const field = telling.client === 'gemini' ? 'name' : 'id'
  const list = telling.isOne ? [body] : telling.client === 'gemini' ? body.models : body.data
  assert.ok(Array.isArray(list))
  for (const one of list) assert.ok(isObject(one) && typeof one[field] === 'string')
}

const PATHS = ['/v1/models', '/v1/models/m', '/v1beta/models', '/v1beta/models/m']

function known(data: Buffer): void {
  // A path as the routing gives it: visible characters.
  const path = `/v1/models/${data.toString('latin1').replaceAll(/[^!-~]/g, '')}`
  const names = ['m', '%', 'a/b']
  for (const client of ['completions', 'messages', 'gemini'] as const) {
    const one = modelList(client, path, { names, isServed: (model) => model.startsWith('gpt-') }, 'o')
    if (one === null) continue
    // Without a name it is the list.
    if (path.endsWith('/models/')) continue
    const id = client === 'gemini' ? (one.name as string).replace('models/', '') : (one.id as string)
    assert.ok(names.includes(id) || id.startsWith('gpt-'))
  }
}

export function run(data: Buffer): void {
  known(data)
  for (const fields of [[], ['anthropic-version', '2023-06-01']])
    attackOperation({ type: 'Models', paths: PATHS, fields, requests: [], answers, judge }, data)
}
