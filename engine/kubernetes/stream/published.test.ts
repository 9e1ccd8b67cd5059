/** What is kept for data planes that are behind has a bound. */
import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { test } from 'node:test'
import type { ServiceEndpoints } from '#engine/kubernetes/endpoints/index.ts'
import { readToDataPlane } from './messages.ts'
import { GONE_MAX, Published } from './published.ts'
import { decodeRecord } from './records.ts'

const ADDRESS = [{ host: '10.0.0.1', port: 80, unixPath: null, weight: 1 }]

/** Publishes endpoints alone. */
function start() {
  const published = new Published('epoch')
  const publish = (endpoints: ServiceEndpoints) => published.publish({ draft: {} as never, endpoints })
  const since = (held: number) => {
    const record = readToDataPlane(decodeRecord(published.endpointsSince(held)))
    if (record.kind !== 'endpoints') throw new Error(record.kind)
    return [record.base, Object.keys(record.changes).length]
  }
  return { published, publish, since }
}

test('who holds too little gets all endpoints, and of those that are gone few names are kept', () => {
  const { published, publish, since } = start()
  publish({ kept: ADDRESS })
  const held = published.endpointsVersion
  for (let i = 0; i < GONE_MAX / 2; i++) publish({ kept: ADDRESS, [`service-${i}`]: ADDRESS })
  publish({ kept: ADDRESS })
  deepEqual(since(held), [held, GONE_MAX / 2])
  for (let i = 0; i < 4 * GONE_MAX; i++) {
    publish({ kept: ADDRESS, [`other-${i}`]: ADDRESS })
    deepEqual(since(published.endpointsVersion - 1), [published.endpointsVersion - 1, i === 0 ? 1 : 2])
  }
  deepEqual(since(held), [0, 2])
  const oldest = Array.from({ length: published.endpointsVersion }, (_, version) => version).find(
    (version) => since(version)[0] === version && version > 0
  )!
  equal(since(oldest)[1]! <= GONE_MAX + 2, true)
})

test('records for data planes that hold the same are the same bytes, and few are kept', () => {
  const { published, publish } = start()
  for (let i = 0; i < 40; i++) publish({ [`service-${i}`]: ADDRESS })
  const first = published.endpointsSince(1)
  equal(published.endpointsSince(1), first)
  for (let held = 2; held < 40; held++) published.endpointsSince(held)
  notEqual(published.endpointsSince(1), first)
  deepEqual(published.endpointsSince(1), first)
})
