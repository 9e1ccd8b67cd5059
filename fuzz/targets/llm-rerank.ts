/** Ranking, in the words of each client at every provider (see engine/testing/attack-operation.ts). */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { isObject } from '#backends/llm/formats/fields.ts'
import type { RerankAnswerSpec } from '#backends/llm/routes/rerank.ts'
import { type Attack, attackOperation } from '#engine/testing/attack-operation.ts'

export const name = 'llm-rerank'

export const dictionary = [
  ...[
    '"query":"q"',
    '"documents":["d"]',
    '"text":',
    '"top_n":',
    '"top_k":',
    '"truncation":true',
    '"return_documents":true'
  ],
  ...[
    '"results":[',
    '"data":[',
    '"index":',
    '"relevance_score":',
    '"score":',
    '"search_units":',
    '1e999',
    '-1',
    '"__proto__":'
  ]
]

const seeds = (...names: string[]) =>
  names.map((seed) => readFileSync(new URL(`../corpus/${name}/${seed}`, import.meta.url), 'utf8'))

const judge: Attack['judge'] = (spec, body) => {
  const list = (spec as RerankAnswerSpec).words === 'rerankTopK' ? body.data : body.results
  assert.ok(Array.isArray(list))
  for (const one of list) assert.ok(isObject(one) && typeof one.index === 'number' && 'relevance_score' in one)
}

const paths = ['/v1/rerank', '/v2/rerank']
const requests = seeds('request-list', 'request-top-k')
const answers = seeds('answer-results', 'answer-data')

export const run = (data: Buffer): void =>
  attackOperation({ type: 'Rerank', paths, fields: [], requests, answers, judge }, data)
