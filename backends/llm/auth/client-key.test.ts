/** What of a request is a credential, and what may stand in a header line. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { compileProvider } from '#backends/llm/providers/index.ts'
import { identityOf } from '#engine/contract/identity.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { clientKeys, putKey, removeKeys, withoutAccount } from './client-key.ts'

const openai = compileProvider({ type: 'openai', cloud: null, formats: [] })

test('what policies have taken out is told apart, whatever header it stood in', () => {
  const ex = fakeExchange()
  ex.request.append('Authorization', 'Basic dTpw')
  identityOf(ex).credentials = ['X-Team-Key', 'secret', 'authorization', 'Bearer jwt']
  const { inRequest, consumed } = clientKeys(ex, ex.query)
  deepEqual(inRequest, { key: null, other: 'Basic dTpw' })
  deepEqual(consumed, { key: 'secret', other: null })
  removeKeys(ex, openai)
  deepEqual(ex.request.get('authorization'), undefined)
})

test('no key begins another line of the request', () => {
  const ex = fakeExchange()
  for (const key of ['a\r\nx: y', 'a\nb', 'a\0', '', '\u0100']) putKey(ex, openai, key)
  deepEqual(ex.request.added, null)
  putKey(ex, openai, 'a')
  deepEqual(ex.request.added, ['authorization', 'Bearer a'])
})

test('only whole parameters are taken out of a query', () => {
  const cases: [string, string][] = [
    ['', ''],
    ['?userProject=a', ''],
    ['?myuserProject=1&$userProject=a&userProjects=2', '?myuserProject=1&userProjects=2'],
    ['?api-version=2024-10-21&a', '?a']
  ]
  for (const [query, wanted] of cases) deepEqual(withoutAccount(query), wanted)
})
