/** A policy whose service cannot be asked refuses as every policy does, with the status of the configuration. */
import { equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'

const NOTHING_LISTENS = '127.0.0.1:1'
const chat = '{"model":"m","messages":[{"role":"user","content":"hi"}]}'
const provider = { openai: {}, host: '127.0.0.1', port: 1 }

const policies = {
  extAuth: { host: NOTHING_LISTENS, grpc: {}, failureMode: { denyWithStatus: 521 } },
  extProc: { host: NOTHING_LISTENS, failureMode: { denyWithStatus: 521 } },
  rateLimit: {
    global: {
      host: NOTHING_LISTENS,
      domain: 'd',
      descriptors: [{ entries: [{ name: 'a', expression: '"b"' }] }],
      failureMode: { denyWithStatus: 521 }
    }
  }
}

for (const [name, policy] of Object.entries(policies))
  test(`${name}: denyWithStatus keeps the format of the client's API and the id of the request`, async (t) => {
    const routes = [{ policies: { [name]: policy }, backends: [{ ai: { provider } }] }]
    const gateway = await startGateway(JSON.stringify({ binds: [{ port: 0, listeners: [{ routes }] }] }))
    t.after(() => gateway.close())
    const head = 'POST /v1/chat/completions HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nX-Request-Id: id-1\r\n'
    const reply = await exchangeRaw(
      gateway.port,
      `${head}Content-Type: application/json\r\nContent-Length: ${chat.length}\r\n\r\n${chat}`
    )
    match(reply, /^HTTP\/1\.1 521 /)
    match(reply, /^content-type: application\/json\r$/im)
    match(reply, /^x-request-id: id-1\r$/im)
    const { error } = JSON.parse(reply.slice(reply.indexOf('\r\n\r\n') + 4)) as { error: { message: string } }
    equal(typeof error.message, 'string')
  })
