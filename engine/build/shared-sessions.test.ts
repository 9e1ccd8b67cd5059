import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BackendKind } from '#engine/contract/backend.ts'
import type { Backend, Snapshot } from '#engine/ir/snapshot.ts'
import { SharedSessions } from './shared-sessions.ts'

interface Keyed {
  readonly key: string | null
}

const KINDS = [
  { kind: 'plain' },
  { kind: 'keyed', withSessionKey: (backend: Keyed, key: string) => ({ ...backend, key: backend.key ?? key }) }
] as unknown as readonly BackendKind[]

const draftOf = (backends: Readonly<Record<string, object>>) =>
  ({ backends: backends as Readonly<Record<string, Backend>> }) as Pick<Snapshot, 'backends'>

const keyOf = (draft: Pick<Snapshot, 'backends'>, name: string): unknown =>
  (draft.backends[name] as unknown as Keyed).key

test('backends without a key get the shared one, and what has not changed stays the same object', () => {
  const sessions = new SharedSessions(KINDS, 'shared')
  const [plain, free, own] = [{ kind: 'plain' }, { kind: 'keyed', key: null }, { kind: 'keyed', key: 'own' }]
  const draft = draftOf({ plain, free, own })
  const made = sessions.of(draft)
  assert.deepEqual([keyOf(made, 'free'), keyOf(made, 'own')], ['shared', 'own'])
  assert.equal(made.backends.plain, draft.backends.plain)
  assert.equal(sessions.of(draft), made)
  const next = sessions.of(draftOf({ plain: { kind: 'plain' }, free }))
  assert.equal(next.backends.free, made.backends.free)
})

test('a draft in which nobody needs a key is itself', () => {
  const draft = draftOf({ plain: { kind: 'plain' } })
  assert.equal(new SharedSessions(KINDS, 'shared').of(draft), draft)
})
