/** TLS that is passed on by its server name: to real servers, by real clients. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import tls from 'node:tls'
import { promisify } from 'node:util'
import { selfSigned } from '#engine/testing/certificates.ts'
import { folderOf, startHaproxy, startNginx } from '#engine/testing/daemon.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { freePort } from '#engine/testing/program.ts'

const run = promisify(execFile)

interface Stand {
  readonly gateway: TestGateway
  lines(count: number): Promise<string[]>
}

async function stand(t: TestContext, yaml: string, bind = 0, folder = folderOf(t)): Promise<Stand> {
  const path = join(folder, 'access.log')
  const gateway = await startGateway(yaml, {
    folder,
    log: { format: 'text', fd: openSync(path, 'w') },
    // A test gateway has one port.
    edit: (snapshot) => ({ ...snapshot, binds: [snapshot.binds[bind]!] })
  })
  t.after(() => gateway.close())
  return {
    gateway,
    async lines(count) {
      for (;;) {
        const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
        if (lines.length >= count) return lines
        await turn()
      }
    }
  }
}

/** An nginx of TLS that says its name and whom it talks to. */
async function nginx(t: TestContext, name: string, listen = ''): Promise<number> {
  const folder = folderOf(t)
  const { cert, key } = selfSigned([name])
  writeFileSync(join(folder, 'cert'), cert)
  writeFileSync(join(folder, 'key'), key)
  const port = await freePort()
  const client = listen === '' ? '$remote_addr' : '$proxy_protocol_addr:$proxy_protocol_port'
  await startNginx(
    t,
    port,
    `http { server { listen 127.0.0.1:${port} ssl http2 ${listen}; server_name ${name};
      ssl_certificate ${folder}/cert; ssl_certificate_key ${folder}/key;
      location / { return 200 "${name} ${client} $server_protocol\\n"; } } }`
  )
  return port
}

const curl = async (port: number, name: string, ...args: string[]): Promise<string> => {
  const to = ['--connect-to', `${name}:443:127.0.0.1:${port}`]
  return (await run('curl', ['-sk', '--max-time', '10', ...to, ...args, `https://${name}/`])).stdout
}

const listener = (routes: string, more = '') =>
  `${more}\nbinds: [{ port: 0, listeners: [{ name: l, protocol: TLS, tcpRoutes: [${routes}] }] }]`

test('two servers behind one port, told apart by their names, with their own certificates', async (t) => {
  const [one, two] = [await nginx(t, 'one.test'), await nginx(t, 'two.test')]
  const { gateway, lines } = await stand(
    t,
    listener(`{ name: a, hostnames: [ONE.test], backends: [{ host: 127.0.0.1:${one} }] },
      { name: b, hostnames: ["*.test"], backends: [{ host: 127.0.0.1:${two} }] }`)
  )
  assert.equal(await curl(gateway.port, 'one.test'), 'one.test 127.0.0.1 HTTP/2.0\n')
  assert.equal(await curl(gateway.port, 'two.test', '--http1.1'), 'two.test 127.0.0.1 HTTP/1.1\n')
  const output = await run('sh', [
    '-c',
    `echo | openssl s_client -connect 127.0.0.1:${gateway.port} -servername two.test -tls1_2 2>&1`
  ])
  assert.match(output.stdout, /subject=.*CN ?= ?two\.test/)
  const [first, second] = await lines(3)
  assert.match(first!, /listener=l route=a endpoint=127\.0\.0\.1:\d+ .*tls\.sni=one\.test protocol=tcp bytes\.in=\d+/)
  assert.match(second!, /route=b .*tls\.sni=two\.test/)
})

test('an unknown server name, and bytes that are not TLS, close the connection without a word', async (t) => {
  const { gateway, lines } = await stand(
    t,
    'binds: [{ port: 0, listeners: [{ name: l, protocol: TLS, hostname: "*.a.test", tcpRoutes: [{ hostnames: [x.a.test], backends: [{ host: "127.0.0.1:1" }] }] }] }]'
  )
  const refused = await assert.rejects(connected(gateway.port, 'b.test'), { code: 'ECONNRESET' })
  assert.equal(refused, undefined)
  await assert.rejects(connected(gateway.port, 'y.a.test'), { code: 'ECONNRESET' })
  for (const text of ['GET / HTTP/1.1\r\n\r\n', 'PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\n', '\0\0\0\0']) {
    const socket = net.connect(gateway.port, '127.0.0.1').resume()
    socket.write(text)
    await once(socket, 'close')
  }
  // Nothing was said: no line, as for the probes of a load balancer.
  await once(net.connect(gateway.port, '127.0.0.1').end().resume(), 'close')
  const cut = net.connect(gateway.port, '127.0.0.1').resume()
  cut.end('\x16\x03\x01\x02')
  await once(cut, 'close')
  const all = await lines(6)
  assert.match(all[0]!, /tls\.sni=b\.test .*reason=LISTENER_NOT_FOUND/)
  assert.match(all[1]!, /listener=l .*tls\.sni=y\.a\.test .*reason=ROUTE_NOT_FOUND/)
  assert.match(all[2]!, /error="clear text \(HTTP\?\) on a port of TLS" reason=BAD_CLIENT_HELLO/)
  assert.match(all[3]!, /error="a PROXY header that no setting announces"/)
  assert.match(all[4]!, /error="no TLS"/)
  assert.match(all[5]!, /reason=CLIENT_GONE/)
})

async function connected(port: number, servername: string): Promise<tls.TLSSocket> {
  const socket = tls.connect({ port, host: '127.0.0.1', servername, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  return socket
}

test('a ClientHello that comes byte by byte, in several records, is passed on as it came', async (t) => {
  const port = await nginx(t, 'one.test')
  const { gateway } = await stand(t, listener(`{ hostnames: [one.test], backends: [{ host: 127.0.0.1:${port} }] }`))
  const far = net.connect({ port: gateway.port, host: '127.0.0.1', noDelay: true })
  await once(far, 'connect')
  // Between the client and the gateway: the first write is cut into bytes and records.
  const inner = net.createServer().listen(0, '127.0.0.1')
  await once(inner, 'listening')
  t.after(() => inner.close())
  const { port: innerPort } = inner.address() as net.AddressInfo
  const client = tls.connect({ port: innerPort, host: '127.0.0.1', servername: 'one.test', rejectUnauthorized: false })
  const [near] = (await once(inner, 'connection')) as [net.Socket]
  const [hello] = (await once(near, 'data')) as [Buffer]
  const message = hello.subarray(5)
  for (const part of [message.subarray(0, 50), message.subarray(50, 100), message.subarray(100)]) {
    const record = Buffer.concat([Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part])
    for (const byte of record.subarray(0, 40)) {
      far.write(Buffer.from([byte]))
      await turn()
    }
    far.write(record.subarray(40))
  }
  near.pipe(far).pipe(near)
  for (const socket of [near, far]) socket.on('error', (error) => client.destroy(error))
  await once(client, 'secureConnect')
  client.write('GET / HTTP/1.1\r\nHost: one.test\r\nConnection: close\r\n\r\n')
  const [answer] = await once(client, 'data')
  // nginx is gone by then: what the client still sends may be answered with a reset.
  client.on('error', () => {})
  assert.match(String(answer), /200 OK/)
})

test('the dynamic backend dials the server name: not without one, not inside, not itself', async (t) => {
  const dynamic = (more: string) => listener(`{ name: d, backends: [{ dynamic: { ${more} } }] }`)
  const { gateway, lines } = await stand(t, dynamic(''))
  await assert.rejects(connected(gateway.port, 'localhost'))
  await assert.rejects(connected(gateway.port, ''))
  await gateway.reload(dynamic('allowAddresses: [127.0.0.0/8, "::1"]'))
  await assert.rejects(connected(gateway.port, 'localhost'))
  const all = await lines(3)
  assert.match(all[0]!, /tls\.sni=localhost .*reason=ADDRESS_REFUSED/)
  assert.match(all[1]!, /error="the client names no server \(SNI\), and the backend is dynamic" reason=NO_SERVER_NAME/)
  assert.match(all[2]!, /error="the destination is this gateway itself" reason=LOOP_DETECTED/)
})

test('PROXY headers out, to an nginx that wants them: v1 and v2', async (t) => {
  const port = await nginx(t, 'one.test', 'proxy_protocol')
  for (const version of ['v1', 'v2']) {
    const { gateway } = await stand(
      t,
      listener(`{ backends: [{ host: 127.0.0.1:${port}, policies: { tcp: { proxyProtocol: ${version} } } }] }`)
    )
    assert.match(await curl(gateway.port, 'one.test'), /^one\.test 127\.0\.0\.1:\d+ HTTP\/2\.0\n$/)
  }
})

test('PROXY headers out, for HTTP by either version: nginx hears of each client, and a TCP route of the same backend', async (t) => {
  const port = await nginx(t, 'one.test', 'proxy_protocol')
  for (const [header, version] of [
    ['v1', 'HTTP1'],
    ['v2', 'HTTP2']
  ]) {
    const own = `{ tcp: { proxyProtocol: ${header} }, backendTLS: { insecure: true }, http: { version: ${version} } }`
    const { gateway } = await stand(
      t,
      `backends: [{ name: n, host: "127.0.0.1:${port}", policies: ${own} }]
binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ backend: n }] }] }] }]`
    )
    const url = `http://one.test:${gateway.port}/`
    const at = ['-s', '--resolve', `one.test:${gateway.port}:127.0.0.1`]
    const write = ['-w', ' %{local_port}\n']
    const { stdout } = await run('curl', [
      ...at,
      ...write,
      url,
      url,
      '--next',
      ...at,
      ...write,
      '--local-port',
      '0',
      url
    ])
    const results = [...stdout.matchAll(/127\.0\.0\.1:(\d+) HTTP\/([\d.]+)\n (\d+)\n/g)].map(([, ...found]) => found)
    assert.deepEqual(
      results.map(([client, http]) => [client, http]),
      results.map(([, , local]) => [local, version === 'HTTP1' ? '1.1' : '2.0'])
    )
    assert.equal(results.length, 3)
    const passed = await stand(
      t,
      `backends: [{ name: n, host: "127.0.0.1:${port}", policies: { tcp: { proxyProtocol: ${header} } } }]
${listener('{ backends: [{ backend: n }] }')}`
    )
    assert.match(await curl(passed.gateway.port, 'one.test'), /^one\.test 127\.0\.0\.1:\d+ HTTP\/2\.0\n$/)
  }
})

test('PROXY headers in, from HAProxy and curl: HTTP, TLS and TCP hear of the client', async (t) => {
  const name = 'one.test'
  const tlsPort = await nginx(t, name, 'proxy_protocol')
  const frontend = 'frontendPolicies: { proxyProtocol: { version: all } }'
  const passed = await stand(
    t,
    listener(`{ backends: [{ host: 127.0.0.1:${tlsPort}, policies: { tcp: { proxyProtocol: v2 } } }] }`, frontend)
  )
  const http = await stand(
    t,
    `${frontend}\nbinds: [{ port: 0, listeners: [{ routes: [{ policies: { directResponse: { status: 200, bodyExpression: 'source.address + " " + string(source.port)' } } }] }] }]`
  )
  const front = await freePort()
  await startHaproxy(
    t,
    front,
    `
    defaults
      mode tcp
      timeout connect 5s
      timeout client 5s
      timeout server 5s
    listen front
      bind 127.0.0.1:${front}
      source 127.0.0.9
      server weir 127.0.0.1:${passed.gateway.port} send-proxy-v2`
  )
  // HAProxy itself comes from another address: what nginx hears is the client's.
  assert.match(await curl(front, name), /^one\.test 127\.0\.0\.1:\d+ HTTP\/2\.0\n$/)
  assert.match((await passed.lines(1)).at(-1)!, /src\.addr=127\.0\.0\.1:/)
  const answer = await run('curl', [
    ...['-s', '--haproxy-protocol', '--interface', '127.0.0.5', `http://127.0.0.1:${http.gateway.port}/`]
  ])
  assert.match(answer.stdout, /^127\.0\.0\.5 \d+$/)
  assert.match((await http.lines(1))[0]!, /src\.addr=127\.0\.0\.5:/)
})

test('optional: a client that waits for its server to speak gets one when no header has come', async (t) => {
  const server = net
    .createServer(
      (socket) =>
        void socket
          .resume()
          .on('error', () => {})
          .end('220 hello\r\n')
    )
    .listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as net.AddressInfo
  const { gateway } = await stand(
    t,
    `frontendPolicies: { proxyProtocol: { mode: optional } }
binds: [{ port: 0, listeners: [{ protocol: TCP, tcpRoutes: [{ backends: [{ host: 127.0.0.1:${port} }] }] }] }]`
  )
  const client = net.connect(gateway.port, '127.0.0.1')
  let greeting = ''
  client.on('data', (chunk: Buffer) => {
    greeting += chunk
  })
  // Both sides have ended: nothing is left for the gateway to cut.
  await once(client, 'close')
  assert.equal(greeting, '220 hello\r\n')
})

test('strict refuses what comes without a header, optional takes it; versions count', async (t) => {
  const yaml = (settings: string, bind = '') =>
    `frontendPolicies: { proxyProtocol: { ${settings} } }
binds: [{ port: 0, ${bind} listeners: [{ routes: [{ policies: { directResponse: { status: 200, bodyExpression: 'source.address' } } }] }] }]`
  const request = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
  const v1 = 'PROXY TCP4 203.0.113.7 10.0.0.1 1 2\r\n'
  const { gateway, lines } = await stand(t, yaml(''))
  const ask = async (text: string, pieces = false) => {
    const socket = net.connect({ port: gateway.port, host: '127.0.0.1', noDelay: true }).on('error', () => {})
    let answer = ''
    socket.on('data', (chunk: Buffer) => {
      answer += chunk
    })
    if (pieces)
      for (const byte of text) {
        socket.write(byte, 'latin1')
        await turn()
      }
    else socket.write(text, 'latin1')
    await new Promise((resolve) => socket.once('close', resolve))
    return answer.split('\r\n\r\n')[1]
  }
  assert.equal(await ask(request), undefined)
  assert.equal(await ask(v1 + request), undefined)
  assert.match((await lines(2))[0]!, /error="there is no PROXY header" reason=BAD_PROXY_HEADER/)
  assert.match((await lines(2))[1]!, /error="a PROXY header of a version that is not accepted"/)
  const v2 = '\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0f\xcb\x00\x71\x08\x0a\x00\x00\x01\x1f\x90\x01\xbb\x04\x00\x00'
  assert.equal(await ask(v2 + request), '203.0.113.8')
  assert.equal(await ask(v2 + request, true), '203.0.113.8')
  assert.equal(await ask(`\r\n\r\n\0\r\nQUIT\n\x20\x00\x00\x00${request}`), '127.0.0.1')
  await gateway.reload(yaml('version: all, mode: optional'))
  assert.equal(await ask(request, true), '127.0.0.1')
  assert.equal(await ask(v1 + request, true), '203.0.113.7')
  await gateway.reload(yaml('', 'tunnelProtocol: direct,'))
  assert.equal(await ask(request), '127.0.0.1')
  await gateway.reload(yaml('version: v1', 'tunnelProtocol: proxy,'))
  assert.equal(await ask(v1 + request), '203.0.113.7')
})

test('the example', async (t) => {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/examples/tcp.yaml'), 'utf8')
  const heard: string[] = []
  const server = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (chunk: Buffer) => {
      heard.push(chunk.latin1Slice())
      socket.end('ok')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as net.AddressInfo
  const plain = text.replace(/localhost:900[12]/g, `127.0.0.1:${port}`)
  const folder = folderOf(t)
  const queue = selfSigned(['queue.test'])
  mkdirSync(join(folder, 'tls'))
  writeFileSync(join(folder, 'tls/queue.pem'), queue.cert)
  writeFileSync(join(folder, 'tls/queue.key'), queue.key)
  const database = await stand(t, plain, 0, folder)
  for (let i = 0; i < 4; i++) {
    const socket = net.connect(database.gateway.port, '127.0.0.1')
    socket.end('hello')
    await once(socket.resume(), 'close')
  }
  assert.equal(heard.filter((text) => text === 'hello').length, 3)
  assert.equal(heard.filter((text) => text.startsWith('\r\n\r\n\0\r\nQUIT\n\x21\x11')).length, 1)
  const [shop, other] = [await nginx(t, 'shop.example.com'), await nginx(t, 'a.example.com')]
  const named = text.replaceAll('localhost:9001', `127.0.0.1:${shop}`).replace('localhost:9002', `127.0.0.1:${other}`)
  const secure = await stand(t, named, 1, folder)
  const ended = await stand(t, plain, 1, folder)
  const client = await connected(ended.gateway.port, 'queue.test')
  client.end('hello')
  assert.equal(String((await once(client, 'data'))[0]), 'ok')
  for (const name of ['shop.example.com', 'a.example.com'])
    assert.match(await curl(secure.gateway.port, name), new RegExp(`^${name} `))
})
