/** Requests, answers, errors and streams of Converse, its events as SSE (see engine/testing/attack-format.ts). */
import { readFileSync } from 'node:fs'
import { converse } from '#backends/llm/testing/converse/index.ts'
import { attack, WORDS } from '#engine/testing/attack-format.ts'

export const name = 'llm-converse'

export const dictionary = [
  ...WORDS,
  '"toolUse":',
  '"reasoningContent":',
  'event: throttlingException\n',
  '"stopReason":'
]

const SEEDS = ['request', 'answer', 'stream'].map((seed) =>
  readFileSync(new URL(`../corpus/${name}/${seed}`, import.meta.url), 'utf8')
)

export const run = (data: Buffer): void => attack(converse, data, SEEDS)
