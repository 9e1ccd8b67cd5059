import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import type { Story, StoryStep } from '#engine/story/story.ts'
import { rowsOf } from './story.ts'

const steps: StoryStep[] = [
  { at: 0, step: 'listener', name: 'public', port: 80 },
  { at: 0, step: 'route', name: null, rule: null, match: null, code: 'ROUTE_NOT_FOUND' },
  {
    ...{ at: 100, step: 'policy', policy: 'authorization', place: '', side: 'request', verdict: 'answers', took: 50 },
    ...{ detail: 'no rule allows it', expressions: ['a == b'] }
  },
  {
    ...{ at: 200, step: 'attempt', number: 1, backend: 'a', endpoint: 'a:80', address: '1.2.3.4:80' },
    ...{ why: 'the first attempt', balancing: null }
  },
  { at: 400, step: 'retry', why: 'connection refused' },
  {
    ...{ at: 500, step: 'attempt', number: 2, backend: 'b', endpoint: 'b:80', address: null },
    ...{ why: 'a retry', balancing: 'its turn' }
  },
  { at: 900, step: 'first byte', status: 502 }
]
const story = { steps, took: 1000 } as unknown as Story

test('each step is a row, with the time that it took', () => {
  deepEqual(
    rowsOf(story).map(({ name, what, tone, from, share, took }) => [
      name,
      what,
      tone,
      from,
      Math.round(share * 100) / 100,
      took
    ]),
    [
      ['listener', 'public, port 80', 'plain', 0, 0, null],
      ['route', 'none: ROUTE_NOT_FOUND', 'bad', 0, 0, null],
      ['authorization', 'ends it (request)', 'bad', 0.05, 0.05, 50],
      ['attempt 1', '1.2.3.4:80', 'ok', 0.2, 0.2, 200],
      ['retry', 'connection refused', 'warn', 0.4, 0, null],
      ['attempt 2', 'b:80', 'ok', 0.5, 0.4, 400],
      ['first byte', '502', 'bad', 0.9, 0.1, 100]
    ]
  )
  deepEqual(rowsOf(story)[2]!.more, ['no rule allows it'])
  deepEqual(rowsOf(story)[5]!.more, ['a retry, its turn'])
})

test('what goes on behind the end is cut there', () => {
  const [row] = rowsOf({ steps: [{ ...steps[3]!, at: 2000 }], took: 1000 } as unknown as Story)
  deepEqual([row!.from, row!.share], [1, 0])
})
