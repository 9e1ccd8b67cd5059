/** Addresses as all workers know them: requests add up, the worst state is told, and nobody hears a question twice. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { AddressReport, EndpointReport } from '#engine/contract/endpoint.ts'
import { EndpointReports } from './endpoint-reports.ts'

const report = (one: Partial<AddressReport>): EndpointReport[] => [
  {
    destination: 'shop',
    addresses: [
      {
        ...{ address: '10.0.0.1:80', host: 'a:80', weight: 1, state: 'healthy', reason: '', forMs: 0, requests: 0 },
        ...one
      }
    ]
  }
]

test('what workers answer is put together', async () => {
  let questions = 0
  const reports = new EndpointReports(() => {
    questions++
    return [0, 1]
  })
  const [first, second] = [reports.collect(), reports.collect()]
  reports.take(0, report({ requests: 3 }))
  reports.take(0, report({ requests: 100 }))
  reports.take(1, report({ requests: 4, state: 'unreachable', reason: 'a connection has failed', forMs: 500 }))
  const wanted = report({ requests: 7, state: 'unreachable', reason: 'a connection has failed', forMs: 500 })
  deepEqual(await first, wanted)
  deepEqual(await second, wanted)
  equal(questions, 1)
})

test('without workers there is nothing to wait for', async () => {
  deepEqual(await new EndpointReports(() => []).collect(), [])
})
