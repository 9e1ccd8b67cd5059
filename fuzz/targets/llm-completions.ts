/** Requests, answers, errors and streams of completions (see engine/testing/attack-format.ts). */
import { readFileSync } from 'node:fs'
import { completions } from '#backends/llm/formats/completions/index.ts'
import { attack, WORDS } from '#engine/testing/attack-format.ts'

export const name = 'llm-completions'

export const dictionary = WORDS

const SEEDS = ['request', 'answer', 'stream'].map((seed) =>
  readFileSync(new URL(`../corpus/${name}/${seed}`, import.meta.url), 'utf8')
)

export const run = (data: Buffer): void => attack(completions, data, SEEDS)
