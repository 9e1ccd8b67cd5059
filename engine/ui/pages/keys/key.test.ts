import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { type Budget, bodyOf, budgetsOf, EMPTY, type Key, matching, shareOf, stateOf, tightest } from './key.ts'

const NOW = Date.parse('2026-05-01T00:00:00Z')
const key = (more: Partial<Key> = {}): Key => ({ name: 'bot', source: 'api', ...more })
const budget = (account: string, spent: string, amount = '10', reserved = '0'): Budget => ({
  ...{ account, period: 'per day', amount, spent, reserved, resetsAt: null }
})

test('a key is revoked, expired, rotating or active', () => {
  equal(stateOf(key(), NOW), 'active')
  equal(stateOf(key({ revoked: true, expires: '2027-01-01T00:00:00Z' }), NOW), 'revoked')
  equal(stateOf(key({ expires: '2026-05-01T00:00:00Z' }), NOW), 'expired')
  equal(stateOf(key({ expires: '2026-05-01T00:00:01Z' }), NOW), 'active')
  equal(stateOf(key({ previousValidUntil: '2026-05-02T00:00:00Z' }), NOW), 'rotating')
  equal(stateOf(key({ previousValidUntil: '2026-04-30T00:00:00Z' }), NOW), 'active')
})

test('of a budget what is set aside is used, too, and one of nothing is used up by anything', () => {
  equal(shareOf(budget('key/a', '2.5', '10', '2.5')), 0.5)
  equal(shareOf(budget('key/a', '15')), 1.5)
  equal(shareOf(budget('key/a', '0', '0')), 0)
  equal(shareOf(budget('key/a', '0.001', '0')), 1)
})

test('a key spends from its own budget, its team and its organisation; the tightest stands for all', () => {
  const all = [
    budget('key/bot', '1'),
    budget('team/ml', '9'),
    budget('team/ops', '10'),
    budget('organisation/acme', '2')
  ]
  const own = budgetsOf(key({ team: 'ml', organisation: 'acme' }), all)
  deepEqual(
    own.map(({ account }) => account),
    ['key/bot', 'team/ml', 'organisation/acme']
  )
  equal(tightest(own)!.account, 'team/ml')
  equal(tightest([]), null)
})

test('the search looks at names, owners, teams, tags and models', () => {
  const keys = [
    key({ name: 'a', owner: 'Zoe@example.com' }),
    key({ name: 'b', tags: ['ci'] }),
    key({ name: 'c', models: ['gpt-*'] })
  ]
  const names = (text: string) => matching(keys, text).map(({ name }) => name)
  deepEqual(
    [names('zoe'), names('CI'), names(' gpt '), names(''), names('none')],
    [['a'], ['b'], ['c'], ['a', 'b', 'c'], []]
  )
})

test('what is left empty is not sent', () => {
  deepEqual(bodyOf({ ...EMPTY, name: ' bot ' }), { name: 'bot' })
  deepEqual(
    bodyOf({
      ...EMPTY,
      name: 'bot',
      team: 'ml',
      models: 'gpt-*, claude-*',
      tags: 'ci laptop',
      expires: '2026-05-31',
      amount: '5',
      period: 'Day'
    }),
    {
      ...{ name: 'bot', team: 'ml', models: ['gpt-*', 'claude-*'], tags: ['ci', 'laptop'] },
      ...{ expires: '2026-05-31T23:59:59Z', budgets: [{ amount: '5', period: 'Day' }] }
    }
  )
})
