/** Requests, answers, errors and streams of responses (see engine/testing/attack-format.ts). */
import { readFileSync } from 'node:fs'
import { responses } from '#backends/llm/formats/responses/index.ts'
import { attack, WORDS } from '#engine/testing/attack-format.ts'

export const name = 'llm-responses'

export const dictionary = WORDS

const SEEDS = ['request', 'answer', 'stream'].map((seed) =>
  readFileSync(new URL(`../corpus/${name}/${seed}`, import.meta.url), 'utf8')
)

export const run = (data: Buffer): void => attack(responses, data, SEEDS)
