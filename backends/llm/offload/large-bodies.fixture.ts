/** What tests of large bodies share. */
import type { TestContext } from 'node:test'
import { LARGE_BYTES } from './threshold.ts'

/** Stands for the text of a prompt, in small and in large bodies. */
export const TEXT = '%'
export const LONG = 'Say naïve again.\\n'.repeat(Math.ceil(LARGE_BYTES / 16))

/** What is printed of a body does not tell long ones from short ones; times and fresh ids are not looked at. */
export const bare = (text: string, long: string): string => text.replaceAll(long, TEXT)
export const timeless = (text: string): string =>
  text
    .replaceAll(/"created":\d+/g, '"created":0')
    .replaceAll(/"id":"[^"]*"/g, '"id":""')
    .replaceAll(/tokens?":\d+/g, '')

/** Tokens that have been counted. */
export function total(metrics: string): number {
  let sum = 0
  for (const [, value] of metrics.matchAll(/^gen_ai_client_token_usage_sum\{[^}]*\} (\d+)/gm)) sum += Number(value)
  return sum
}

/** Who reads and writes for the tests, in this thread too. */
const OF_TESTS = /\/engine\/(?:testing|standalone)\/|\.test\.ts|\/testing\//

/** Units of the longest text that this thread parses or prints, but for the tests' own. */
export function watchJson(t: TestContext): { longest: number } {
  const seen = { longest: 0 }
  const { parse, stringify } = JSON
  const note = (units: number) => {
    if (units <= LARGE_BYTES) return
    const { stack = '' } = new Error('who asks')
    if (!OF_TESTS.test(stack)) seen.longest = Math.max(seen.longest, units)
  }
  t.mock.method(JSON, 'parse', (text: string, reviver?: Parameters<typeof parse>[1]) => {
    note(text.length)
    return parse(text, reviver)
  })
  t.mock.method(JSON, 'stringify', (value: unknown) => {
    const text = stringify(value)
    note(text?.length ?? 0)
    return text
  })
  return seen
}
