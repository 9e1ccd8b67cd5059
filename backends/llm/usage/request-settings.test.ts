import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { settingsOf } from './request-settings.ts'

test('what is no setting is none, and what is long is cut', () => {
  deepEqual(
    settingsOf('completions', { '': ['what was said'], temperature: 'hot', top_p: Number.POSITIVE_INFINITY }),
    {}
  )
  const stop = ['x'.repeat(10_000), 1, ...Array.from({ length: 100 }, () => 'y')]
  const { stopSequences } = settingsOf('messages', { stop_sequences: stop })
  deepEqual(stopSequences, ['x'.repeat(256), ...Array.from({ length: 14 }, () => 'y')])
})
