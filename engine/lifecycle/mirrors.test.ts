/** Copies of requests for mirrors: what they carry, and that the exchange they were made from feels nothing. */
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { accountOf } from '#engine/testing/account.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { startOrigin, statuses } from '#engine/testing/origin.ts'
import { dechunk, exchangeRaw, type RawClient, rawClient, rawServer } from '#engine/testing/raw.ts'

const GET = 'GET /a?b=c HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

interface Setup {
  /** What the mirror does with a connection; default: answers each request. */
  readonly mirror?: (client: RawClient) => void
  /** Settings of the mirror beside its backend, as in the file. */
  readonly share?: string
  readonly policies?: string
  readonly top?: string
}

async function start(t: TestContext, { mirror, share = '', policies = '', top = '' }: Setup = {}) {
  const primary = await startOrigin()
  const shadow = await rawServer(mirror ?? ((client) => client.socket.on('data', () => client.send(OK))))
  const gateway = await startGateway(`
${top}
binds:
  - port: 0
    listeners:
      - routes:
          - name: r
            policies:
              requestMirror: { backend: { host: 127.0.0.1:${shadow.port} }${share} }
${policies}
            backends: [{ host: 127.0.0.1:${primary.port} }]
`)
  t.after(async () => {
    await gateway.close()
    primary.close()
    shadow.close()
  })
  return { primary, shadow, gateway }
}

/** Keeps every connection of a mirror, and answers what is whole. */
function keeper() {
  const clients: RawClient[] = []
  return {
    clients,
    serve: (client: RawClient) => {
      clients.push(client)
      client.socket.on('data', () => {
        if (client.received.endsWith('\r\n\r\n') || client.received.endsWith('END')) client.send(OK)
      })
    }
  }
}

/** What the gateway has counted of copies, as "backend result n". */
function copies(gateway: Awaited<ReturnType<typeof startGateway>>): string[] {
  const lines = gateway.metrics().split('\n')
  return lines.flatMap((line) => {
    const found = /^weir_mirrored_requests_total\{route="r",backend="(.*)",result="(.*)"\} (\d+)$/.exec(line)
    return found === null ? [] : [`${found[1]} ${found[2]} ${found[3]}`]
  })
}

async function counted(gateway: Awaited<ReturnType<typeof startGateway>>, wanted: string): Promise<void> {
  while (!copies(gateway).includes(wanted)) await turn()
}

describe('mirrors', () => {
  it('a copy has the method, target, host and headers that hooks have left', async (t) => {
    const kept = keeper()
    const policies = '              headerModifiers: { request: { set: { x-from: weir }, remove: [x-secret] } }'
    const { gateway, primary } = await start(t, { mirror: kept.serve, policies })
    const request = GET.replace('Host', 'X-Secret: 1\r\nHost')
    deepEqual(statuses(await exchangeRaw(gateway.port, request)), [200])
    await counted(gateway, 'r/mirror answered 1')
    const { received } = kept.clients[0]!
    match(received, /^GET \/a\?b=c HTTP\/1.1\r\nHost: a.test\r\n/)
    match(received, /\r\nx-from: weir\r\n/)
    doesNotMatch(received, /secret/i)
    equal(primary.seen.length, 1)
    // Not a request of a client.
    match(gateway.metrics(), /weir_requests_total\{[^}]*route="r"[^}]*\} 1\n/)
  })

  for (const kind of ['sized', 'chunked'] as const) {
    it(`a ${kind} body is copied byte by byte`, async (t) => {
      const kept = keeper()
      const { gateway, primary } = await start(t, { mirror: kept.serve })
      const bytes = `${Array.from({ length: 200_000 }, (_, i) => String.fromCharCode((i * 7) % 256)).join('')}END`
      const client = await rawClient(gateway.port)
      const framing = kind === 'sized' ? `Content-Length: ${bytes.length}` : 'Transfer-Encoding: chunked'
      client.send(`POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n${framing}\r\n\r\n`)
      for (let at = 0; at < bytes.length; at += 50_000) {
        const piece = bytes.slice(at, at + 50_000)
        client.send(kind === 'sized' ? piece : `${piece.length.toString(16)}\r\n${piece}\r\n`)
        await turn()
      }
      if (kind === 'chunked') client.send('0\r\n\r\n')
      match(await client.untilEnd(), /^HTTP\/1.1 200/)
      equal(primary.seen[0]!.body, bytes)
      const shadow = kept.clients[0]!
      if (kind === 'sized') equal((await shadow.until('END')).slice(-bytes.length), bytes)
      else equal(dechunk(await shadow.until('\r\n0\r\n\r\n')), bytes)
      await counted(gateway, 'r/mirror answered 1')
    })
  }

  for (const [bytes, result] of [
    [300_000, 'answered'],
    [600_000, 'dropped']
  ] as const) {
    it(`a copy of ${bytes} bytes counts where 1 MiB may be kept: it is ${result}`, async (t) => {
      const kept = keeper()
      const policies = '              transformation: { request: { set: { x-size: "string(size(request.body))" } } }'
      const { gateway } = await start(t, { mirror: kept.serve, policies })
      const account = accountOf(t, 1024 * 1024)
      const head = `POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: ${bytes}\r\n\r\n`
      deepEqual(statuses(await exchangeRaw(gateway.port, head + 'END'.padStart(bytes, 'a'))), [200])
      await counted(gateway, `r/mirror ${result} 1`)
      equal(account.bytes, 0)
    })
  }

  it('a mirror that is dead, resets or talks nonsense is not noticed', async (t) => {
    for (const mirror of [
      (client: RawClient) => void client.socket.resetAndDestroy(),
      (client: RawClient) => void client.socket.on('data', () => client.socket.resetAndDestroy()),
      (client: RawClient) => client.send('nonsense\r\n\r\n')
    ]) {
      const { gateway } = await start(t, { mirror })
      match(await exchangeRaw(gateway.port, GET), /^HTTP\/1.1 200/)
      await counted(gateway, 'r/mirror failed 1')
    }
    const { gateway, shadow } = await start(t)
    shadow.close()
    match(await exchangeRaw(gateway.port, GET), /^HTTP\/1.1 200/)
    await counted(gateway, 'r/mirror failed 1')
  })

  it('a mirror that does not read loses its copy; the request passes whole', async (t) => {
    const top = 'frontendPolicies: { http: { maxBufferSize: 65536 } }'
    const { gateway, primary } = await start(t, { mirror: (client) => void client.socket.pause(), top })
    const body = 'x'.repeat(12_000_000)
    const head = `POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`
    const answer = await exchangeRaw(gateway.port, head + body)
    match(answer, /^HTTP\/1.1 200/)
    equal(primary.seen[0]!.body.length, body.length)
    deepEqual(copies(gateway), ['r/mirror dropped 1'])
  })

  it('a mirror that never answers holds no answer back, and its copy ends with the timeout', async (t) => {
    const policies = '              timeouts: { request: 100ms }'
    const { gateway } = await start(t, { mirror: (client) => void client.socket.resume(), policies })
    match(await exchangeRaw(gateway.port, GET), /^HTTP\/1.1 200/)
    deepEqual(copies(gateway), [])
    await counted(gateway, 'r/mirror failed 1')
  })

  it('no more than 256 copies are under way', async (t) => {
    const { gateway } = await start(t, { mirror: (client) => void client.socket.resume() })
    const client = await rawClient(gateway.port)
    const one = GET.replace('Connection: close\r\n', '')
    for (let i = 1; i <= 258; i++) {
      client.send(one)
      while (statuses(client.received).length < i) await turn()
    }
    deepEqual(copies(gateway), ['r/mirror dropped 2'])
    client.close()
  })

  it('copies that are over make room for others', async (t) => {
    const { gateway } = await start(t)
    const client = await rawClient(gateway.port)
    for (let i = 1; i <= 300; i++) {
      client.send(GET.replace('Connection: close\r\n', ''))
      while (statuses(client.received).length < i) await turn()
      if (i % 50 === 0) await counted(gateway, `r/mirror answered ${i}`)
    }
    client.close()
  })

  it('fields removed from a copy stay on the request', async (t) => {
    const kept = keeper()
    const { gateway, primary } = await start(t, { mirror: kept.serve })
    const request =
      'POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nEND'
    equal(statuses(await exchangeRaw(gateway.port, request)).at(-1), 200)
    await counted(gateway, 'r/mirror answered 1')
    ok(primary.seen[0]!.headers.includes('100-continue'))
    doesNotMatch(kept.clients[0]!.received, /expect/i)
  })

  it('a client that leaves in the middle of its body breaks the copy off', async (t) => {
    const kept = keeper()
    const { gateway } = await start(t, { mirror: kept.serve })
    const client = await rawClient(gateway.port)
    client.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\nhello')
    while (kept.clients[0]?.received.endsWith('hello') !== true) await turn()
    client.close()
    await kept.clients[0]!.untilEnd()
    await counted(gateway, 'r/mirror failed 1')
  })

  it('a share of zero is none', async (t) => {
    const none = await start(t, { share: ', percentage: 0' })
    match(await exchangeRaw(none.gateway.port, GET), /^HTTP\/1.1 200/)
    equal(none.shadow.accepted(), 0)
  })

  it('the address guard holds for a mirror that the request names', async (t) => {
    const { primary, gateway, shadow } = await start(t)
    const named = (backend: string) => `
backends: [{ name: any, dynamic: {} }]
binds:
  - port: 0
    listeners:
      - routes:
          - name: r
            policies: { requestMirror: { backendRef: { name: ${backend} }, fraction: { numerator: 4, denominator: 4 } } }
            backends: [{ host: 127.0.0.1:${primary.port} }]
`
    await gateway.reload(named('any'))
    const request = GET.replace('a.test', `127.0.0.1:${shadow.port}`)
    match(await exchangeRaw(gateway.port, request), /^HTTP\/1.1 200/)
    await counted(gateway, 'any failed 1')
    equal(shadow.accepted(), 0)
    await rejects(gateway.reload(named('anny')), /requestMirror.backend: there is no backend "anny"/)
  })

  it('a mirror that leads back here ends after one round, and is logged once', async (t) => {
    const primary = await startOrigin()
    const file = (port: number) => `
binds:
  - port: 0
    listeners:
      - routes:
          - name: r
            policies: { requestMirror: { backend: { host: "127.0.0.1:${port}" } } }
            backends: [{ host: 127.0.0.1:${primary.port} }]
`
    const gateway = await startGateway(file(1))
    t.after(async () => {
      await gateway.close()
      primary.close()
    })
    await gateway.reload(file(gateway.port))
    for (let i = 1; i <= 3; i++) {
      match(await exchangeRaw(gateway.port, GET), /^HTTP\/1.1 200/)
      await counted(gateway, `r/mirror answered ${i}`)
      await counted(gateway, `r/mirror dropped ${i}`)
    }
    equal(gateway.logged.filter((line) => line.includes('leads back here')).length, 1)
  })

  it('an upgrade is not mirrored', async (t) => {
    const { gateway, shadow } = await start(t)
    const upgrade = GET.replace('Connection: close', 'Connection: upgrade\r\nUpgrade: echo')
    const client = await rawClient(gateway.port)
    client.send(upgrade)
    await client.until('HTTP/1.1')
    client.close()
    equal(shadow.accepted(), 0)
    deepEqual(copies(gateway), [])
  })

  it('a request that is tried again is mirrored once', async (t) => {
    const kept = keeper()
    const policies = '              retry: { attempts: 2, codes: [502], backoff: 0s }'
    const { gateway, primary } = await start(t, { mirror: kept.serve, policies })
    primary.close()
    match(await exchangeRaw(gateway.port, GET), /^HTTP\/1.1 502/)
    await counted(gateway, 'r/mirror answered 1')
    ok(!kept.clients[0]!.received.includes('x-retry-attempt'))
    equal(kept.clients.length, 1)
  })
})
