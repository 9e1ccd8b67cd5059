import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { type Action, CHORD_MS, NO_CHORD, press } from './keyboard.ts'

/** What comes of keys, each pressed `apartMs` behind the one before. */
function typed(keys: readonly string[], apartMs = 10, isTyping = false, hasModifier = false): (Action | null)[] {
  let state = NO_CHORD
  return keys.map((key, i) => {
    const step = press(state, { key, isTyping, hasModifier }, i * apartMs)
    state = step.state
    return step.action
  })
}

test('g and a letter go to a page; a letter alone, or too late, does not', () => {
  deepEqual(typed(['g', 'r']), [null, { kind: 'go', key: 'r' }])
  deepEqual(typed(['r']), [null])
  deepEqual(typed(['g', 'r'], CHORD_MS + 1), [null, null])
  deepEqual(typed(['g', 'Escape', 'r']), [null, { kind: 'close' }, null])
})

test('single keys search, help, pause; not in a field, and not with a modifier', () => {
  deepEqual(typed(['/', '?', 'p', 'x']), [{ kind: 'search' }, { kind: 'help' }, { kind: 'pause' }, null])
  deepEqual(typed(['/', 'g', 'r', 'Escape'], 10, true), [null, null, null, { kind: 'close' }])
  deepEqual(typed(['g', 'r', '?'], 10, false, true), [null, null, null])
})
