/** Requests, answers, errors and streams of Cohere's chat (see engine/testing/attack-format.ts). */
import { readFileSync } from 'node:fs'
import { cohereV2 } from '#backends/llm/testing/cohere-v2/index.ts'
import { attack, WORDS } from '#engine/testing/attack-format.ts'

export const name = 'llm-cohere'

export const dictionary = [
  ...WORDS,
  '"tool_plan":',
  '"tool_calls":',
  '"citations":',
  '"type":"citation-start"',
  '"type":"message-end"',
  '"billed_units":',
  '"thinking":'
]

const SEEDS = ['request', 'answer', 'stream'].map((seed) =>
  readFileSync(new URL(`../corpus/${name}/${seed}`, import.meta.url), 'utf8')
)

export const run = (data: Buffer): void => attack(cohereV2, data, SEEDS)
