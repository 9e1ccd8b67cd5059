/** Active checks of servers that answer badly, and over many reloads: nothing hangs, and nothing stays behind. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { type Origin, startOrigin } from '#engine/testing/origin.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'

/** A server that writes what it likes, and knows its connections. */
async function writing(t: TestContext, write: (socket: Socket, request: string) => void) {
  const open = new Set<Socket>()
  let accepted = 0
  const server = createServer((socket) => {
    accepted++
    open.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => open.delete(socket))
    socket.on('data', (data) => write(socket, data.toString('latin1')))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return { port: (server.address() as AddressInfo).port, open, accepted: () => accepted }
}

const config = (ports: readonly number[], active: string, policies = '') => `
backends: [{ name: shop, hosts: [${ports.map((port) => `"127.0.0.1:${port}"`).join()}], policies: { ${policies}
  health: { active: ${active}, panicThreshold: 0 } } }]
binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ backend: shop }] }] }] }]
`
const CHECK = '{ http: { path: /well }, interval: 100ms, timeout: 100ms, unhealthyThreshold: 1 }'

async function start(t: TestContext, yaml: string): Promise<TestGateway> {
  const gateway = await startGateway(yaml)
  t.after(() => gateway.close())
  return gateway
}

const count = (gateway: TestGateway, result: 'ok' | 'failed') =>
  Number(new RegExp(`checks_total\\{destination="shop",result="${result}"\\} (\\d+)`).exec(gateway.metrics())?.[1] ?? 0)

/** Lets others run until `isSo`. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}

/** Writes `piece` as long as the other side reads. */
function endless(socket: Socket, piece: string): void {
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on('drain', more)
  more()
}

/** One byte a turn. */
function dripping(socket: Socket, text: string): void {
  let at = 0
  const more = () => {
    if (socket.destroyed) return
    socket.write(text[at++ % text.length]!)
    setImmediate(more)
  }
  more()
}

const HEAD = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
const CHUNK = `4000\r\n${'x'.repeat(0x4000)}\r\n`
const HOSTILE: Readonly<Record<string, (socket: Socket) => void>> = {
  'a head that never ends': (socket) => endless(socket, `x: ${'y'.repeat(1000)}\r\n`),
  '10,000 header fields': (socket) => {
    const fields = Array.from({ length: 10_000 }, (_, i) => `x-${i}: y\r\n`).join('')
    socket.write(`HTTP/1.1 200 OK\r\n${fields}Content-Length: 0\r\n\r\n`)
  },
  'a head that comes byte by byte': (socket) => dripping(socket, HEAD.slice(0, -4)),
  'a body that comes byte by byte': (socket) => {
    socket.write(HEAD)
    dripping(socket, '1\r\nx\r\n')
  },
  'interim answers without end': (socket) => endless(socket, 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'),
  'no answer': () => {},
  'a preface of HTTP/2': (socket) => socket.write(Buffer.from('00001204000000000000030000006400040000ffff', 'hex')),
  'what is no protocol': (socket) => endless(socket, '\0'.repeat(1000))
}

for (const [what, write] of Object.entries(HOSTILE)) {
  test(`a check is answered with ${what}`, async (t) => {
    const { port, open, accepted } = await writing(t, write)
    const gateway = await start(t, config([port], CHECK))
    await until(() => count(gateway, 'failed') > 2)
    equal(count(gateway, 'ok'), 0)
    // One may be under way: those before are closed.
    await until(() => open.size <= 1)
    ok(accepted() >= 3)
  })
}

test('a long answer is as good as its status says, and is not read to its end', async (t) => {
  const { port, open } = await writing(t, (socket) => {
    socket.write(HEAD)
    endless(socket, CHUNK)
  })
  const gateway = await start(t, config([port], CHECK.replace('timeout: 100ms', 'timeout: 20s')))
  await until(() => count(gateway, 'ok') > 2)
  equal(count(gateway, 'failed'), 0)
  await until(() => open.size <= 1)
})

// --- reloads ---

const get = async ({ port }: TestGateway) =>
  (await exchangeRaw(port, 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')).slice(9, 12)
const requests = ({ seen }: Origin) => seen.filter(({ url }) => url === '/').length

test('over a hundred reloads what is known stays, and with the last check nothing stays behind', async (t) => {
  const sick = await startOrigin((response, { url }) => response.writeHead(url === '/well' ? 503 : 200).end())
  t.after(() => sick.close())
  const checking = new Set<Socket>()
  const { port, open } = await writing(t, (socket, request) => {
    if (request.includes('/well')) checking.add(socket)
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
  })
  const wire = CHECK.replace('timeout: 100ms', 'timeout: 20s')
  const yaml = (i: number) => `# ${i}\n${config([sick.port, port], wire, `tcp: { connectTimeout: ${5 + (i % 2)}s },`)}`
  const gateway = await start(t, yaml(0))
  await until(() => count(gateway, 'failed') > 0 && count(gateway, 'ok') > 0)
  equal(await get(gateway), '200')
  const before = requests(sick)
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const timersBefore = timers()
  for (let i = 1; i <= 100; i++) {
    await gateway.reload(yaml(i))
    equal(await get(gateway), '200')
  }
  deepEqual([requests(sick), timers()], [before, timersBefore])
  const openOnes = () => [...open].filter((socket) => checking.has(socket)).length
  // One of each of the two ways to the server, not one for each reload.
  await until(() => openOnes() <= 2)
  const checks = sick.seen.length
  const [, without] = /^([\s\S]*), policies: [\s\S]*? \}\]\n/.exec(yaml(0)) ?? []
  await gateway.reload(`${without} }]\n${yaml(0).slice(yaml(0).indexOf('binds:'))}`)
  await until(() => openOnes() === 0)
  ok(sick.seen.length <= checks + 1)
})
