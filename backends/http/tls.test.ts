/** TLS to backends through the whole gateway: real servers (nginx, openssl), certificates made by openssl. */
import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type Leaf, TestAuthority } from '#engine/testing/authority.ts'
import { startServer } from '#engine/testing/daemon.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { freePort } from '#engine/testing/program.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'

const folder = mkdtempSync(join(tmpdir(), 'weir-backtls-'))
const ca = new TestAuthority()
const other = new TestAuthority('Other CA')
after(() => {
  ca.remove()
  other.remove()
  rmSync(folder, { recursive: true })
})

const stops: (() => Promise<void>)[] = []
after(async () => {
  for (const stop of stops) await stop()
})

async function run(program: string, args: readonly string[], port: number): Promise<void> {
  stops.push(await startServer(program, args, port))
}

interface Server extends Leaf {
  readonly port: number
}

/** One nginx with a server for each leaf. It answers with the name in SNI and the client's certificate. */
async function startNginx(leaves: readonly Leaf[], extra: (i: number) => string = () => ''): Promise<Server[]> {
  const servers: Server[] = []
  for (const leaf of leaves) servers.push({ ...leaf, port: await freePort() })
  const blocks = servers.map(
    ({ cert, key, port }, i) => `server { listen 127.0.0.1:${port} ssl; ssl_certificate ${cert};
      ssl_certificate_key ${key}; ${extra(i)}
      location / { return 200 "sni=$ssl_server_name reused=$ssl_session_reused client=$ssl_client_s_dn alpn=$ssl_alpn_protocol"; } }`
  )
  const base = mkdtempSync(join(folder, 'nginx-'))
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${base}/${name};`)
  const conf = `daemon off; master_process off; pid ${base}/pid; error_log /dev/null;
    events {} http { access_log off; ${paths.join(' ')} keepalive_requests 1000000; ${blocks.join('\n')} }`
  writeFileSync(join(base, 'conf'), conf)
  await run('nginx', ['-p', base, '-c', join(base, 'conf'), '-e', '/dev/null'], servers[0]!.port)
  return servers
}

interface Outcome {
  readonly status: number
  readonly body: string
  readonly gateway: TestGateway
  readonly log: string
}

const route = (host: string, tls: string) =>
  `config: { logging: { level: info } }
binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ host: "${host}", policies: { backendTLS: ${tls} } }] }] }] }]`

let files = 0

/** One request through a gateway of its own. */
async function ask(host: string, tls: string, times = 1): Promise<Outcome> {
  const path = join(folder, `log${files++}`)
  const gateway = await startGateway(route(host, tls), { log: { format: 'text', fd: openSync(path, 'w') } })
  let answer = ''
  for (let i = 0; i < times; i++) answer = await get(gateway.port)
  await gateway.close()
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  return { status: Number(head.slice(9, 12)), body, gateway, log: readFileSync(path, 'utf8') }
}

const get = (port: number) => exchangeRaw(port, 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')

/** A fault, as client and log see it. */
async function refused(host: string, tls: string, reason: RegExp): Promise<void> {
  const { status, body, log } = await ask(host, tls)
  assert.equal(status, 502, log)
  assert.equal(body.trim(), 'no TLS connection to the backend: its certificate or its protocol is not acceptable')
  assert.match(log, /reason=UPSTREAM_TLS reason\.detail=/)
  assert.match(log, reason)
}

describe('certificates of backends', () => {
  const servers: Record<string, Server> = {}
  const past = { from: '20200101000000Z', to: '20200102000000Z' }
  const future = { from: '20900101000000Z', to: '20910101000000Z' }

  before(async () => {
    const leaves: Record<string, Leaf> = {
      dns: ca.leaf({ names: 'DNS:a.test,DNS:localhost,DNS:*.wild.test' }),
      ip: ca.leaf({ names: 'IP:127.0.0.1,DNS:c.test' }),
      spiffe: ca.leaf({ names: 'URI:spiffe://td/ns/a' }),
      nameless: ca.leaf({ names: '' }),
      expired: ca.leaf({ names: 'DNS:localhost,IP:127.0.0.1', ...past }),
      early: ca.leaf({ names: 'DNS:localhost,IP:127.0.0.1', ...future }),
      usage: ca.leaf({ names: 'DNS:localhost,IP:127.0.0.1', usage: 'clientAuth' }),
      stranger: other.leaf({ names: 'DNS:localhost,IP:127.0.0.1' })
    }
    const names = Object.keys(leaves)
    const started = await startNginx(Object.values(leaves))
    names.forEach((name, i) => {
      servers[name] = started[i]!
    })
  })

  const at = (name: string, host = '127.0.0.1') => `${host}:${servers[name]!.port}`
  const trust = (more = '') => `{ root: ${ca.root}${more} }`

  test('a name is sent and verified; an address is verified, and is not sent', async () => {
    const named = await ask(at('dns', 'localhost'), trust())
    assert.equal(named.status, 200, named.log)
    assert.match(named.body, /^sni=localhost /)
    const literal = await ask(at('ip'), trust())
    assert.equal(literal.status, 200, literal.log)
    assert.match(literal.body, /^sni= /)
  })

  test('hostname takes the place of the destination, in SNI and in what is verified', async () => {
    const { status, body } = await ask(at('dns'), trust(', hostname: b.wild.test'))
    assert.deepEqual([status, /^sni=b\.wild\.test /.test(body)], [200, true])
    await refused(at('dns'), trust(', sni: b.c.wild.test'), /not for b\.c\.wild\.test, but for DNS:a\.test/)
  })

  test('subjectAltNames: any of them, of every kind, instead of the name', async () => {
    for (const [name, names] of [
      ['spiffe', '["spiffe://td/ns/a"]'],
      ['spiffe', '[b.test, "spiffe://td/ns/a"]'],
      ['ip', '[127.0.0.1]'],
      ['dns', '[a.test]']
    ] as const) {
      const { status, log } = await ask(at(name), trust(`, subjectAltNames: ${names}`))
      assert.equal(status, 200, log)
    }
    await refused(
      at('spiffe'),
      trust(', verifySubjectAltNames: ["spiffe://td/ns/b"]'),
      /but for URI:spiffe:\/\/td\/ns\/a/
    )
    await refused(at('spiffe'), trust(', subjectAltNames: ["spiffe://td/ns"]'), /not for spiffe/)
    await refused(at('dns', 'localhost'), trust(', subjectAltNames: [b.test]'), /not for b\.test/)
  })

  test('the fault of a certificate is in the log, and not in the answer', async () => {
    await refused(at('ip', 'localhost'), trust(), /not for localhost, but for IP Address:127\.0\.0\.1, DNS:c\.test/)
    await refused(at('dns'), trust(), /not for 127\.0\.0\.1, but for DNS:a\.test/)
    await refused(
      at('nameless', 'localhost'),
      trust(', hostname: common.test'),
      /not for common\.test, but for no name/
    )
    await refused(at('expired'), trust(), /has expired; the server's own: from Jan {2}1 00:00:00 2020 GMT to Jan {2}2/)
    await refused(at('early'), trust(), /not valid yet/)
    await refused(at('usage'), trust(), /not one for servers \(extended key usage\)/)
    await refused(at('stranger'), trust(), /unknown authority/)
    await refused(at('ip'), '{}', /unknown authority/)
  })

  test('Hostname looks at the chain only, All at nothing', async () => {
    for (const tls of [trust(', insecureHost: true'), trust(', insecureSkipVerify: Hostname')]) {
      assert.equal((await ask(at('dns'), tls)).status, 200)
    }
    await refused(at('stranger'), trust(', insecureHost: true'), /unknown authority/)
    await refused(at('expired'), trust(', insecureHost: true'), /expired/)
    for (const name of ['stranger', 'expired', 'nameless', 'usage']) {
      assert.equal((await ask(at(name), '{ insecure: true }')).status, 200)
    }
    assert.equal((await ask(at('early'), '{ insecureSkipVerify: All }')).status, 200)
  })

  test('a server that speaks no TLS, and one that hangs up', async () => {
    const plain = await freePort()
    const base = mkdtempSync(join(folder, 'plain-'))
    writeFileSync(
      join(base, 'conf'),
      `daemon off; master_process off; pid ${base}/pid; error_log /dev/null; events {}
       http { access_log off; server { listen 127.0.0.1:${plain}; client_body_temp_path ${base}/a; return 200 "x"; } }`
    )
    await run('nginx', ['-p', base, '-c', join(base, 'conf'), '-e', '/dev/null'], plain)
    await refused(`127.0.0.1:${plain}`, trust(), /it does not speak TLS/)
  })

  test('sessions are resumed, and metrics tell', async () => {
    const closing = (await startNginx([ca.leaf({ names: 'IP:127.0.0.1' })], () => 'keepalive_timeout 0;'))[0]!
    const gateway = await startGateway(route(`127.0.0.1:${closing.port}`, trust()))
    assert.match(await get(gateway.port), /reused=\./)
    for (let i = 0; i < 3; i++) assert.match(await get(gateway.port), /reused=r/)
    assert.match(gateway.metrics(), /weir_upstream_tls_handshakes_total\{resumed="true"\} 3\n/)
    assert.match(gateway.metrics(), /weir_upstream_tls_handshakes_total\{resumed="false"\} 1\n/)
    await gateway.close()
  })
})

describe('certificates of our own', () => {
  test('nginx verifies the client, and says whom it has seen', async () => {
    const own = ca.leaf({ names: 'DNS:weir.test', usage: 'clientAuth' })
    const verify = `ssl_verify_client on; ssl_client_certificate ${ca.root};`
    const [server] = await startNginx([ca.leaf({ names: 'IP:127.0.0.1' })], () => verify)
    const host = `127.0.0.1:${server!.port}`
    const shown = await ask(host, `{ root: ${ca.root}, cert: ${own.cert}, key: ${own.key} }`)
    assert.match(shown.body, /client=CN=common\.test/)
    const nothing = await ask(host, `{ root: ${ca.root} }`)
    assert.deepEqual([nothing.status, /No required SSL certificate/.test(nothing.body)], [400, true])
  })

  for (const version of ['tls1_2', 'tls1_3']) {
    test(`a server that insists on a certificate by ${version}`, async () => {
      const leaf = ca.leaf({ names: 'IP:127.0.0.1' })
      const own = ca.leaf({ usage: 'clientAuth' })
      const stranger = other.leaf({ usage: 'clientAuth' })
      const port = await freePort()
      const args = ['s_server', '-accept', `127.0.0.1:${port}`, '-cert', leaf.cert, '-key', leaf.key, '-www']
      await run('openssl', [...args, `-${version}`, '-CAfile', ca.root, '-Verify', '2', '-verify_return_error'], port)
      const host = `127.0.0.1:${port}`
      const shown = await ask(host, `{ root: ${ca.root}, cert: ${own.cert}, key: ${own.key} }`)
      assert.equal(shown.status, 200, shown.log)
      await refused(host, `{ root: ${ca.root} }`, /wants a certificate of ours|refuses|handshake|ciphers/)
      await refused(
        host,
        `{ root: ${ca.root}, cert: ${stranger.cert}, key: ${stranger.key} }`,
        /refuses our certificate/
      )
    })
  }
})

test('files are read again: roots and certificates change under load, and no request fails', async () => {
  const [root, cert, key] = ['root.pem', 'own.pem', 'own.key'].map((name) => join(folder, name)) as [
    string,
    string,
    string
  ]
  const verify = (authority: TestAuthority) => `ssl_verify_client on; ssl_client_certificate ${authority.root};`
  const [first, second] = [ca, other].map((authority) => authority.leaf({ names: 'IP:127.0.0.1' }))
  const servers = await startNginx([first!, second!], (i) => verify(i === 0 ? ca : other))
  const put = (authority: TestAuthority) => {
    const own = authority.leaf({ usage: 'clientAuth' })
    copyFileSync(authority.root, root)
    copyFileSync(own.cert, cert)
    copyFileSync(own.key, key)
  }
  put(ca)
  const file = (i: number) => route(`127.0.0.1:${servers[i]!.port}`, `{ root: ${root}, cert: ${cert}, key: ${key} }`)
  const gateway = await startGateway(file(0))
  let isOver = false
  const statuses = new Map<string, number>()
  const load = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      const status = (await get(gateway.port)).slice(9, 12)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  })
  for (let round = 0; round < 6; round++) {
    const until = [...statuses.values()].reduce((sum, count) => sum + count, 0) + 40
    while ([...statuses.values()].reduce((sum, count) => sum + count, 0) < until) await get(gateway.port)
    put(round % 2 === 0 ? other : ca)
    await gateway.reload(file(round % 2 === 0 ? 1 : 0))
  }
  isOver = true
  await Promise.all(load)
  await gateway.close()
  assert.deepEqual([...statuses.keys()], ['200'])
})

test('the example file', async () => {
  const names = 'DNS:orders.example.org,URI:spiffe://example.org/orders'
  const [server] = await startNginx([ca.leaf({ names })])
  const example = readFileSync(join(import.meta.dirname, '../../docs/examples/', 'backend-tls.yaml'), 'utf8')
  const own = example.replace('port: 8080', 'port: 0').replaceAll(':9001', `:${server!.port}`)
  const gateway = await startGateway(own.replaceAll('backend-tls.root.pem', ca.root))
  const at = (path: string, host = 'a.test') =>
    exchangeRaw(gateway.port, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  assert.match(await at('/named'), /sni=orders\.example\.org /)
  assert.match(await at('/identity'), /200 OK[\s\S]*sni= /)
  // Its authority is not one of the system's.
  assert.match(await at('/', `127.0.0.1:${server!.port}`), / 502 /)
  await gateway.close()
})
