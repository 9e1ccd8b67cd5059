import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { growthOf, lineOf, type Measured } from './growth.ts'

const MIB = 2 ** 20

/** `of`: what the n-th measure has otherwise. */
function measures(of: (n: number) => { readonly heap?: number; readonly external?: number; readonly files?: number }) {
  return Array.from({ length: 30 }, (_, n): Measured => {
    const { heap = 40 * MIB, external = 77 * MIB, files = 30 } = of(n)
    const memory = { thread: 0, heapBytes: 40 * MIB, externalBytes: 77 * MIB, resources: 5 }
    const worker = { ...memory, heapBytes: heap, externalBytes: external }
    return { changes: n, controller: memory, main: memory, worker, controllerFiles: 45, dataPlaneFiles: files }
  })
}

test('what has filled within the first third, or stands out once, has not grown', () => {
  deepEqual(growthOf(measures((n) => ({ heap: (n < 10 ? 20 + n : 40) * MIB }))), [])
  deepEqual(growthOf(measures((n) => ({ heap: (n % 4 === 3 ? 60 : 40) * MIB, files: 30 + (n % 3) }))), [])
  deepEqual(growthOf(measures((n) => ({ heap: (40 + n * 0.07) * MIB }))), [])
})

test('a heap that grows by a tenth of a MiB with each measure has grown, and memory outside of it is no excuse', () => {
  const [heap, ...others] = growthOf(measures((n) => ({ heap: (40 + n * 0.1) * MIB })))
  match(heap!, /^heap of worker has grown by 2\.4 %$/)
  equal(others.length, 0)
  match(growthOf(measures((n) => ({ external: (77 + n) * MIB })))[0]!, /^memory outside of the heap of worker/)
  deepEqual(growthOf(measures((n) => ({ files: 30 + n }))), ['open files of the data plane have grown from 45 to 55'])
})

test('a measure is a row of the table', () => {
  equal(lineOf(measures(() => ({}))[7]!), '| 7 | 40.0 + 77.0 (5) | 40.0 + 77.0 (5) | 40.0 + 77.0 (5) | 45 | 30 |')
})
