import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startOrigin } from '#engine/testing/origin.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { startStack } from '#engine/testing/stack.ts'

test('a request that names no host goes upstream with the host of its destination', async (t) => {
  const origin = await startOrigin()
  const stack = await startStack({ upstream: origin.port })
  t.after(() => {
    stack.close()
    origin.close()
  })
  const answer = await exchangeRaw(stack.port, 'GET /old HTTP/1.0\r\n\r\n')
  assert.match(answer, /^HTTP\/1\.1 200 /)
  assert.deepEqual(origin.seen[0]?.headers.slice(0, 2), ['Host', `127.0.0.1:${origin.port}`])
})
