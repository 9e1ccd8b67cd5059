/** Requests, answers, errors and streams of messages (see engine/testing/attack-format.ts). */
import { readFileSync } from 'node:fs'
import { messages } from '#backends/llm/formats/messages/index.ts'
import { attack, WORDS } from '#engine/testing/attack-format.ts'

export const name = 'llm-messages'

export const dictionary = WORDS

const SEEDS = ['request', 'answer', 'stream'].map((seed) =>
  readFileSync(new URL(`../corpus/${name}/${seed}`, import.meta.url), 'utf8')
)

export const run = (data: Buffer): void => attack(messages, data, SEEDS)
