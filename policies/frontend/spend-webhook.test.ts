import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { startModels } from '#engine/testing/models.ts'

interface Received {
  readonly url: string
  readonly signature: string
  readonly body: string
}

/** A receiver that answers with `statuses`, then 200; `all` resolves with as many requests. */
async function receiver(t: TestContext, statuses: number[] = []) {
  const received: Received[] = []
  const { promise: first, resolve } = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += String(chunk)))
    request.on('end', () => {
      received.push({ url: request.url ?? '', signature: String(request.headers['x-weir-signature']), body })
      response.writeHead(statuses.shift() ?? 200).end()
      resolve()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { received, first, port: (server.address() as AddressInfo).port }
}

const EXAMPLE = readFileSync(new URL('../../docs/examples/spend-webhook.yaml', import.meta.url), 'utf8')

async function gatewayTo(t: TestContext, port: number, delay = '1s') {
  const models = await startModels()
  t.after(() => models.close())
  const gateway = await startGateway(
    EXAMPLE.replace('127.0.0.1:9000', `127.0.0.1:${port}`)
      .replace('scheduleDelay: 1s', `scheduleDelay: ${delay}`)
      .replace(/signingKey: .*/, 'signingKey: key-of-us')
      .replace('params: {', `params: { baseUrl: "http://127.0.0.1:${models.port}/v1",`)
  )
  const ask = async () => {
    const response = await fetch(`http://127.0.0.1:${gateway.port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'a secret of mine' }] })
    })
    assert.equal(response.status, 200)
    await response.arrayBuffer()
  }
  return { gateway, ask }
}

test('each call of a model is a record for the receiver, signed, and without what was said', async (t) => {
  const { received, first, port } = await receiver(t)
  const { gateway, ask } = await gatewayTo(t, port)
  await ask()
  await ask()
  await first
  const [{ url, signature, body }] = received as [Received]
  assert.equal(url, '/spend?from=edge')
  const [, seconds, digest] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature)!
  assert.equal(digest, createHmac('sha256', 'key-of-us').update(`${seconds}.${body}`).digest('hex'))
  const { records } = JSON.parse(body)
  assert.deepEqual([records.length, records[0].provider, records[0].status], [2, 'openai', 200])
  assert.doesNotMatch(body, /secret of mine/)
  await gateway.close()
  assert.match(gateway.metrics(), /weir_spend_exported_total\{result="sent"\} 2/)
})

test('what has been gathered leaves when the worker ends', async (t) => {
  const { received, port } = await receiver(t)
  const { gateway, ask } = await gatewayTo(t, port, '1h')
  await ask()
  assert.equal(received.length, 0)
  await gateway.close()
  assert.equal(received.length, 1)
})
