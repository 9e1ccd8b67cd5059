/** Requests, answers, errors and streams of gemini (see engine/testing/attack-format.ts). */
import { readFileSync } from 'node:fs'
import { gemini } from '#backends/llm/formats/gemini/index.ts'
import { attack, WORDS } from '#engine/testing/attack-format.ts'

export const name = 'llm-gemini'

export const dictionary = WORDS

const SEEDS = ['request', 'answer', 'stream'].map((seed) =>
  readFileSync(new URL(`../corpus/${name}/${seed}`, import.meta.url), 'utf8')
)

export const run = (data: Buffer): void => attack(gemini, data, SEEDS)
