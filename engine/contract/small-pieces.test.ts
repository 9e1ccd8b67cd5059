/** A body that comes a byte at a time takes no more memory than one that comes at once. */
import { equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { HeaderBlock } from '#engine/http/headers.ts'
import { RetryBudget } from '#engine/kit/retry-budget.ts'
import { collectRequest } from './body.ts'
import { collectRequestPrefix } from './body-prefix.ts'
import { BODY_STREAM, type ClientStream, Exchange, RetryState } from './exchange.ts'
import { keepForRetry } from './retry.ts'

const BYTES = 500_000
const MEMORY_MAX = 8 * BYTES
const byte = Buffer.from('a')

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

function used(): number {
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

function exchange(): Exchange {
  const client = { resumeBody() {} } as unknown as ClientStream
  return new Exchange(client, 'POST', '/', '', 'a.test', new HeaderBlock(), BODY_STREAM, 0, 0)
}

/** Who takes a body, and what it has of it at the end. */
const TAKERS: readonly (readonly [string, (ex: Exchange) => { take(): void; end(): number }])[] = [
  [
    'what is kept for another attempt',
    (ex) => {
      const budget = new RetryBudget({ percent: 20, minPerSecond: 3 })
      const state = new RetryState({ plan: {} as never, budget, bodyBytesMax: BYTES }, ex)
      return { take: () => keepForRetry(ex, state, byte, 0, 1), end: () => state.kept!.bytes }
    }
  ],
  [
    'a body that a hook wants whole',
    (ex) => {
      void collectRequest(BYTES)(ex)
      const collector = ex.requestCollector!
      return {
        take: () => collector.take(byte, 0, 1),
        end() {
          collector.end()
          return ex.requestBytes!.length
        }
      }
    }
  ],
  [
    'a beginning',
    (ex) => {
      void collectRequestPrefix(2 * BYTES)(ex)
      const collector = ex.requestCollector!
      return {
        take: () => collector.take(byte, 0, 1),
        end() {
          collector.end()
          return ex.requestPrefix!.length
        }
      }
    }
  ]
]

describe('bodies in pieces of one byte', () => {
  for (const [name, start] of TAKERS) {
    it(`${name}: few objects`, () => {
      const ex = exchange()
      const { take, end } = start(ex)
      const before = used()
      for (let i = 0; i < BYTES; i++) take()
      const more = used() - before
      ok(more < MEMORY_MAX, `${more} bytes for ${BYTES}`)
      equal(end(), BYTES)
    })
  }
})
