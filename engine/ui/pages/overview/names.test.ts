import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { namesByDestination } from './names.ts'

test('a destination has the names of its backends, also of those inside of them, and not of their policies', () => {
  const snapshot = {
    backends: {
      shop: { host: 'a', port: 80, policies: { extAuth: { host: 'auth', port: 9 } } },
      again: { host: 'a', port: 80 },
      models: {
        models: [
          {
            backend: {
              groups: [
                [
                  { host: 'api', port: 443 },
                  { host: 'api', port: 443 }
                ]
              ]
            }
          }
        ]
      }
    }
  }
  deepEqual(
    [...namesByDestination({ hash: '', version: 1, acceptedAt: '', snapshot })],
    [
      ['a:80', ['shop', 'again']],
      ['api:443', ['models']]
    ]
  )
  deepEqual([...namesByDestination({ hash: '', version: 1, acceptedAt: '', snapshot: {} })], [])
})
