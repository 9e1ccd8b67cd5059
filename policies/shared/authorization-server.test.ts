import { deepEqual, equal } from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { rawService } from '#engine/testing/faulty-services.ts'
import { AuthorizationServer } from './authorization-server.ts'

test('what is asked again beside requests is given up with the last configuration that has the issuer', async (t) => {
  const again = Promise.withResolvers<Socket>()
  let answered = false
  const service = await rawService(t, (socket) => {
    if (answered) again.resolve(socket)
    else {
      const body = JSON.stringify({ issuer: `http://127.0.0.1:${service.port}` })
      socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    }
    answered = true
  })
  const issuer = `http://127.0.0.1:${service.port}`
  const logged: string[] = []
  let now = 0
  const world = { now: () => now, log: (_: string, message: string) => void logged.push(message) }
  const server = new AuthorizationServer(issuer, true, world)
  const first = server.metadata()
  server.abandon()
  deepEqual(await first, { issuer }, 'a request waits for it')
  await service.idle()
  now = 300_000
  deepEqual(await server.metadata(), { issuer })
  await again.promise
  server.abandon()
  await service.idle()
  // A fetch that has come to its deadline says so.
  equal(logged.length, 0)
})
