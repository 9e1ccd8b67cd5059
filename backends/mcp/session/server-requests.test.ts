import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { ServerRequests } from './server-requests.ts'

function stand() {
  const requests = new ServerRequests()
  const ended: (readonly [id: string | number, errorType: string | undefined])[] = []
  const add = (id: string | number, relay: object, target = 'one'): void =>
    requests.add({ target, id, relay, end: (errorType) => void ended.push([id, errorType]) })
  return { requests, ended, add }
}

test('a request ends with its answer, once', () => {
  const { requests, ended, add } = stand()
  const relay = {}
  add(1, relay)
  add('1', relay)
  requests.answered('other', 1, undefined)
  requests.answered('one', 1, '-1')
  requests.answered('one', 1, undefined)
  deepEqual(ended, [[1, '-1']])
  requests.endOf({})
  requests.endOf(relay)
  requests.endOf(relay)
  deepEqual(ended, [
    [1, '-1'],
    ['1', undefined]
  ])
})

test('a server that asks without end takes a bounded place', () => {
  const { requests, ended, add } = stand()
  for (let id = 0; id < 100; id++) add(id, requests)
  deepEqual(
    ended.map(([id]) => id),
    Array.from({ length: 36 }, (_, id) => id)
  )
  requests.answered('one', 0, undefined)
  requests.endOf(requests)
  deepEqual(ended.length, 100)
})
