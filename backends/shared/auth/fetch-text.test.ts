import { equal, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { fetchText } from './fetch-text.ts'

test('why there is no token is said with the host, and quotes nothing but the error’s code', async (t) => {
  const server = createServer(({ url }, response) => {
    if (url === '/long') response.end('x'.repeat(70_000))
    else if (url === '/never') return
    else if (url === '/broken') response.destroy()
    else if (url === '/') response.end('token')
    else response.writeHead(400).end('{"error":"invalid_grant","error_description":"secret"}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const { signal } = new AbortController()
  const ask = (path: string, timeoutMs = 60_000) =>
    fetchText(`http://${host}/${path}`, { timeoutMs, signal, method: 'POST' })
  equal(await ask(''), 'token')
  await rejects(ask('refused'), { message: `${host} answered with status 400: invalid_grant`, status: 400 })
  await rejects(ask('long'), { message: `${host} answered with more than 65536 bytes`, status: null })
  await rejects(ask('never', 20), { message: `${host} gave no complete answer within 20 ms`, status: null })
  await rejects(ask('broken'), { message: `${host} cannot be reached (UND_ERR_SOCKET)`, status: null })
})
