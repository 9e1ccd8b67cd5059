/** Addresses of workloads of a mesh beside others: who is spoken to over mutual TLS, who is believed, and when. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SPOKEN_DEFAULT, type SpokenHttp, type WeightedHost } from '#engine/contract/endpoint.ts'
import type { TcpSession } from '#engine/contract/tcp.ts'
import { secret } from '#engine/kit/secret.ts'
import { type Authority, authority } from '#engine/testing/certificates.ts'
import { startOrigin } from '#engine/testing/origin.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { startStack } from '#engine/testing/stack.ts'
import { startWorkload, type Workload } from '#engine/testing/workload.ts'
import { HostLists } from './host-lists.ts'
import { MeshTls } from './mesh.ts'

const HOST = 'cart.shop.svc.cluster.invalid'
const NAME = `${HOST}:8080`
const CART = 'ns/shop/sa/cart'
const OURS = 'spiffe://mesh.test/ns/demo/sa/edge'
const OPTIONS = { guarded: false, allow: [], connectTimeoutMs: 5_000, tls: null }

const root = authority('root.test')

const certificateOf = (by: Authority, identity: string) => by.issue('/O=mesh', [`URI:spiffe://mesh.test/${identity}`])

function credentials(by: Authority, trusted = by.cert) {
  const { cert, key } = by.issue('/O=mesh', [`URI:${OURS}`])
  return { trustDomain: 'mesh.test', cert, key: secret(key), ca: trusted }
}

const at = (port: number, identity?: string): WeightedHost => {
  const plain = { host: '127.0.0.1', port, unixPath: null, weight: 1 }
  return identity === undefined ? plain : { ...plain, identity }
}

interface Rigged {
  readonly spoken?: SpokenHttp
  readonly sockets?: 'handles' | 'net'
  /** Each exchange has a connection of its own. */
  readonly requestsPerConnectionMax?: number
}

/** A gateway in front of a Service that has workloads and others. */
async function rig(t: { after(work: () => void): void }, { spoken = SPOKEN_DEFAULT, ...options }: Rigged = {}) {
  const lists = new HostLists()
  const mesh = new MeshTls()
  const stack = await startStack({
    upstream: 1,
    lists,
    mesh,
    ...options,
    serve: (ex) => stack.upstream.send(ex, endpoint)
  })
  const to = { host: HOST, port: 8080, unixPath: null }
  const endpoint = stack.upstream.endpoint(to, { ...OPTIONS, http: spoken })
  t.after(() => stack.close())
  const get = async () => {
    const answer = await exchangeRaw(stack.port, 'GET /a HTTP/1.1\r\nHost: cart\r\nConnection: close\r\n\r\n')
    return `${answer.split(' ')[1]} ${answer.split('\r\n\r\n')[1]}`
  }
  return { lists, mesh, stack, get, to, error: () => stack.records.at(-1)?.error }
}

async function workload(t: { after(work: () => void): void }, identity = CART, by = root): Promise<Workload> {
  const made = await startWorkload(certificateOf(by, identity), root.cert, 'mesh')
  t.after(() => made.close())
  return made
}

describe('addresses with an identity', () => {
  for (const sockets of ['handles', 'net'] as const) {
    test(`get our certificate and the ALPN of the mesh, and those beside them clear text (${sockets})`, async (t) => {
      const { lists, mesh, get } = await rig(t, { sockets })
      const pod = await workload(t)
      const plain = await startOrigin((response) => response.end('plain'))
      t.after(() => plain.close())
      mesh.set(credentials(root))
      lists.change({ [NAME]: [at(pod.port, CART), at(plain.port)] })
      const answers = [await get(), await get(), await get(), await get()]
      deepEqual([...new Set(answers)].toSorted(), ['200 mesh', '200 plain'])
      equal(pod.peers[0]!.names, `URI:${OURS}`)
      deepEqual(pod.peers[0]!.alpn, ['istio', 'http/1.1'])
      ok(pod.requests.every((line) => line === 'HTTP/1.1 - GET /a'))
    })
  }

  test('are refused when their certificate is for another workload, of the mesh though it be', async (t) => {
    const { lists, mesh, get, error } = await rig(t)
    const other = await workload(t, 'ns/shop/sa/thief')
    mesh.set(credentials(root))
    lists.change({ [NAME]: [at(other.port, CART)] })
    match(await get(), /^502 no TLS connection to the backend/)
    deepEqual([error(), other.requests], ['UPSTREAM_TLS', []])
  })

  test('are not reached in clear text while there is no certificate, or none any more', async (t) => {
    const { lists, mesh, get, error } = await rig(t)
    // It would take clear text.
    const plain = await startOrigin((response) => response.end('plain'))
    t.after(() => plain.close())
    lists.change({ [NAME]: [at(plain.port, CART)] })
    for (const reason of [null, 'it has expired']) {
      if (reason !== null) mesh.set({ reason })
      match(await get(), /^503 the backend is part of a mesh/)
      equal(error(), 'NO_MESH_CERTIFICATE')
    }
    deepEqual(plain.seen, [])
    const pod = await workload(t)
    lists.change({ [NAME]: [at(pod.port, CART)] })
    match(await get(), /^503 /)
    mesh.set(credentials(root))
    equal(await get(), '200 mesh')
  })

  test('that another workload has got are connected to anew', async (t) => {
    const { lists, mesh, get, error } = await rig(t)
    const pod = await workload(t)
    mesh.set(credentials(root))
    lists.change({ [NAME]: [at(pod.port, CART)] })
    equal(await get(), '200 mesh')
    lists.change({ [NAME]: [at(pod.port, 'ns/shop/sa/till')] })
    match(await get(), /^502 /)
    deepEqual([error(), pod.requests.length], ['UPSTREAM_TLS', 1])
  })

  test('speak HTTP/2 where the configuration says so, by the scheme of clear text', async (t) => {
    const { lists, mesh, get } = await rig(t, { spoken: { version: 'HTTP2', requestTimeoutMs: 0 } })
    const pod = await workload(t)
    mesh.set(credentials(root))
    lists.change({ [NAME]: [at(pod.port, CART)] })
    equal(await get(), '200 mesh')
    deepEqual([pod.requests, pod.peers[0]!.alpn], [['HTTP/2.0 http GET /a'], ['istio', 'h2']])
  })

  test('get bytes that are passed on over mutual TLS, too', async (t) => {
    const { lists, mesh, stack, to } = await rig(t)
    const pod = await workload(t)
    lists.change({ [NAME]: [at(pod.port, CART)] })
    const stream = stack.upstream.stream(to, OPTIONS)
    const dial = () =>
      new Promise<string | null>((resolve) => {
        stream.connect({ attempts: 0, localPort: 1 } as TcpSession, '', (reason, wire) => {
          wire?.destroy()
          resolve(reason)
        })
      })
    equal(await dial(), 'NO_MESH_CERTIFICATE')
    mesh.set(credentials(root))
    equal(await dial(), null)
    await pod.shaken
    equal(pod.peers[0]!.names, `URI:${OURS}`)
  })
})

describe('a certificate that is replaced', () => {
  test('is shown on connections that are made from then on, and no request fails', async (t) => {
    const { lists, mesh, get } = await rig(t, { requestsPerConnectionMax: 1 })
    const pod = await workload(t)
    const made = Array.from({ length: 3 }, () => credentials(root))
    mesh.set(made[0]!)
    lists.change({ [NAME]: [at(pod.port, CART)] })
    for (const one of made) {
      mesh.set(one)
      const answers = await Promise.all(Array.from({ length: 12 }, get))
      deepEqual([...new Set(answers)], ['200 mesh'])
    }
    equal(new Set(pod.peers.map(({ serial }) => serial)).size, 3)
  })

  test('brings the authorities that are believed from then on', async (t) => {
    const { lists, mesh, get, error } = await rig(t, { requestsPerConnectionMax: 1 })
    const next = authority('next.test')
    const pod = await workload(t, CART, next)
    lists.change({ [NAME]: [at(pod.port, CART)] })
    mesh.set(credentials(root))
    match(await get(), /^502 /)
    equal(error(), 'UPSTREAM_TLS')
    mesh.set(credentials(root, `${root.cert}${next.cert}`))
    equal(await get(), '200 mesh')
    mesh.set(credentials(root))
    match(await get(), /^502 /)
  })
})
