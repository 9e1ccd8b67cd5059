/** A key of the gateway goes to no host that `allowHosts` does not name, however a client writes it. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import dns from 'node:dns/promises'
import { connect as connect2 } from 'node:http2'
import { syncBuiltinESMExports } from 'node:module'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { gatewayOf, serverOf } from './auth.fixture.ts'

const KEY = { policies: { auth: { key: 'canary' } } }

/** A gateway to whatever `allowHosts` names on loopback. */
async function proxyTo(t: TestContext, allowHosts: readonly string[], route: object = {}, more: object = {}) {
  const dynamic = { allowAddresses: ['127.0.0.1/32', '::1/128'], allowHosts, ...more }
  return await gatewayOf(t, { route, backends: [{ dynamic, ...KEY }] })
}

const statusOf = async (port: number, target: string, host: string | null, more = ''): Promise<number> => {
  const head = `GET ${target} HTTP/1.1\r\n${host === null ? '' : `Host: ${host}\r\n`}${more}Connection: close\r\n\r\n`
  return Number((await exchangeRaw(port, Buffer.from(head).toString('latin1'))).slice(9, 12))
}

test('a name is compared whole, in every spelling of the same name and in no other', async (t) => {
  const [server, other] = [await serverOf(t), await serverOf(t)]
  const { port: p } = server
  const { port } = await proxyTo(t, [`localhost:${p}`])
  const same = [`localhost:${p}`, `LOCALHOST:${p}`, `LocalHost:${p}`]
  for (const host of same) equal(await statusOf(port, '/', host), 200, host)
  equal(server.seen.length, same.length)
  const others = [
    ...[`localhost..:${p}`, `.localhost:${p}`, `xlocalhost:${p}`, `localhost.x:${p}`, `a.localhost:${p}`],
    ...[`localhost`, `localhost:`, `localhost:80`, `localhost:${other.port}`, `localhost:${p}:${p}`, `localhost:+${p}`],
    ...[
      `localhost:${p + 65536}`,
      `localhost:-1`,
      `localhost:0`,
      `localhost:${p}.0`,
      `localhost:0x50`,
      `localhost: ${p}`
    ],
    ...[`u@localhost:${p}`, `u:p@localhost:${p}`, `localhost:${p}@evil.test`, `localhost:${p}@127.0.0.1:${other.port}`],
    ...[`localhost%00:${p}`, `localhost%2e:${p}`, `localhost%20:${p}`, `localhost\\@evil:${p}`, `localhost/:${p}`],
    ...[`localhost,evil:${p}`, `localhost#:${p}`, `localhost?:${p}`, `ｌocalhost:${p}`, `lоcalhost:${p}`],
    ...[`xn--localhost:${p}`, `loc\u00adalhost:${p}`, `[localhost]:${p}`, `localhost\t:${p}`],
    ...[`127.0.0.1:${p}`, `127.1:${p}`, `2130706433:${p}`, `0x7f000001:${p}`, `0177.0.0.1:${p}`, `127.0.0.1.:${p}`],
    ...[
      `[::1]:${p}`,
      `[::ffff:127.0.0.1]:${p}`,
      `[::1%25lo]:${p}`,
      `[::1%lo]:${p}`,
      `[::]:${p}`,
      `0:${p}`,
      `0.0.0.0:${p}`
    ]
  ]
  for (const host of others) ok([400, 403].includes(await statusOf(port, '/', host)), host)
  deepEqual([server.seen.length, other.seen.length], [same.length, 0])
})

test('addresses are compared as they are written, and names with a star by whole labels', async (t) => {
  const server = await serverOf(t)
  const { port: p } = server
  const literal = await proxyTo(t, [`127.0.0.1:${p}`, `*.localhost:${p}`])
  equal(await statusOf(literal.port, '/', `127.0.0.1:${p}`), 200)
  const others = [
    ...[`127.1`, `127.0.1`, `2130706433`, `0x7f000001`, `0x7f.0.0.1`, `0177.0.0.1`, `017700000001`, `127.000.000.001`],
    ...[`[::ffff:127.0.0.1]`, `[::ffff:7f00:1]`, `[::127.0.0.1]`, `[0:0:0:0:0:ffff:127.0.0.1]`, `[64:ff9b::7f00:1]`],
    ...[`127.0.0.1.localhost.evil.test`, `alocalhost`, `evil-localhost`, `localhost`, `.localhost`, `a..localhost`]
  ]
  for (const host of others) ok([400, 403].includes(await statusOf(literal.port, '/', `${host}:${p}`)), host)
  equal(server.seen.length, 1)
})

test('the target in absolute form names the host; Host says nothing then', async (t) => {
  const [server, other] = [await serverOf(t), await serverOf(t)]
  const allowed = `localhost:${server.port}`
  const refused = `127.0.0.1:${other.port}`
  const { port } = await proxyTo(t, [allowed])
  // RFC 9112 section 3.2.2: the field is ignored.
  equal(await statusOf(port, `http://${allowed}/x`, refused), 200)
  equal(server.seen.at(-1)!.headers.host, allowed)
  for (const [target, host] of [
    [`http://${refused}/x`, allowed],
    [`http://u@${refused}/`, allowed],
    [`http://${allowed}@${refused}/`, allowed],
    [`http://${refused}#@${allowed}/`, allowed],
    [`http://${refused}\\@${allowed}/`, allowed],
    [`//${refused}/`, refused],
    [`http:${refused}/`, allowed],
    ['http:///', refused]
  ] as const) {
    ok([400, 403].includes(await statusOf(port, target, host)), `${target} ${host}`)
  }
  equal(await statusOf(port, '/', null), 400)
  // Two of them, and a second one in other clothes.
  equal(await statusOf(port, '/', allowed, `Host: ${refused}\r\n`), 400)
  equal(await statusOf(port, '/', refused, `Host: ${allowed}\r\n`), 400)
  await statusOf(port, '/', allowed, `X-Forwarded-Host: ${refused}\r\nForwarded: host=${refused}\r\n`)
  deepEqual([other.seen, server.seen.every(({ headers }) => headers.host === allowed)], [[], true])
})

test('over HTTP/2 :authority names the host; a Host that says otherwise reaches nobody', async (t) => {
  const [server, other] = [await serverOf(t), await serverOf(t)]
  const allowed = `localhost:${server.port}`
  const refused = `127.0.0.1:${other.port}`
  const { port } = await proxyTo(t, [allowed])
  const client = connect2(`http://127.0.0.1:${port}`)
  t.after(() => client.destroy())
  const ask = (fields: Record<string, string>) =>
    new Promise<number>((resolve) => {
      const stream = client.request({ ':path': '/', ...fields })
      let status = 0
      stream.on('response', (headers) => {
        status = Number(headers[':status'])
      })
      stream.on('error', () => undefined)
      stream.on('close', () => resolve(status))
      stream.resume()
    })
  equal(await ask({ ':authority': allowed }), 200)
  equal(await ask({ ':authority': allowed, host: allowed }), 200)
  for (const fields of [
    { ':authority': refused },
    { ':authority': refused, host: allowed },
    { ':authority': allowed, host: refused },
    { ':authority': '', host: refused },
    { ':authority': `u@${allowed}` }
  ]) {
    const status = await ask(fields)
    ok(status === 0 || status === 400 || status === 403, `${JSON.stringify(fields)}: ${status}`)
  }
  deepEqual([other.seen, server.seen.length], [[], 2])
  deepEqual([...new Set(server.seen.map(({ headers }) => headers.host))], [allowed])
})

test('a name whose addresses change is judged by what is dialled, each time', async (t) => {
  const server = await serverOf(t)
  const { port: p } = server
  let addresses = ['127.0.0.1']
  let resolved = Promise.withResolvers<void>()
  const { lookup, resolve4, resolve6 } = dns
  const none = () => Promise.reject(Object.assign(new Error('none'), { code: 'ENOTFOUND' }))
  Object.assign(dns, {
    resolve4: none,
    resolve6: none,
    lookup: async () => {
      setImmediate(() => resolved.resolve())
      return addresses.map((address) => ({ address, family: 4 }))
    }
  })
  syncBuiltinESMExports()
  let ahead = 0
  const { now } = performance
  performance.now = () => now.call(performance) + ahead
  t.after(() => {
    Object.assign(dns, { lookup, resolve4, resolve6 })
    syncBuiltinESMExports()
    performance.now = now
  })
  const { port } = await proxyTo(t, [`one.test:${p}`, `two.test:${p}`])
  const to = (name: string) => statusOf(port, '/', `${name}:${p}`)
  equal(await to('one.test'), 200)
  addresses = ['127.0.0.1', '127.0.0.2']
  equal(await to('two.test'), 403)
  addresses = ['127.0.0.2']
  resolved = Promise.withResolvers()
  ahead += 60_000
  // The old addresses serve until the new ones are known.
  await to('one.test')
  await resolved.promise
  await new Promise((resolve) => setImmediate(resolve))
  equal(await to('one.test'), 403)
  equal(server.seen.length, 2)
})

test('what policies make of the host is no way around, and a tunnel is none', async (t) => {
  const [server, other] = [await serverOf(t), await serverOf(t)]
  const allowed = `localhost:${server.port}`
  const refused = `127.0.0.1:${other.port}`
  const set = (name: string) => ({ transformation: { request: { set: { [name]: 'request.headers["x-to"]' } } } })
  for (const name of [':authority', 'host']) {
    const { port } = await proxyTo(t, [allowed], set(name))
    // It is what the server is told, not where it is.
    equal(await statusOf(port, '/', allowed, `X-To: ${refused}\r\n`), 200)
    equal(await statusOf(port, '/', refused, `X-To: ${allowed}\r\n`), 403)
  }
  const { port } = await proxyTo(t, [allowed])
  const socket = connect(port, '127.0.0.1')
  socket.write(`CONNECT ${refused} HTTP/1.1\r\nHost: ${allowed}\r\n\r\n`)
  const [chunk] = await new Promise<[Buffer]>((resolve) => socket.once('data', (bytes) => resolve([bytes])))
  socket.destroy()
  ok(!/^HTTP\/1\.1 2/.test(chunk.toString()), chunk.toString())
  deepEqual(other.seen, [])
})
