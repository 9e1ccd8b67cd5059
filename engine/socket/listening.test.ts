import { deepEqual } from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { listenedOn } from './listening.ts'

const HEAD = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'

test("listening ports of the kernel's tables, in both address families", () => {
  const tables: Record<string, string> = {
    '/proc/net/tcp': `${HEAD}   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1\n   1: 0100007F:1F91 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 2\n`,
    '/proc/net/tcp6': `${HEAD}   0: 00000000000000000000000000000000:0BB8 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 3\n`
  }
  deepEqual(
    listenedOn([8080, 8081, 3000, 3001], (path) => tables[path] ?? ''),
    [8080, 3000]
  )
  deepEqual(
    listenedOn([8080], () => ''),
    []
  )
})

test('a port of this machine', { skip: process.platform !== 'linux' && 'only Linux tells' }, async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  deepEqual(listenedOn([port]), [port])
  server.close()
  await once(server, 'close')
  deepEqual(listenedOn([port]), [])
})
