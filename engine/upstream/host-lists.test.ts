/** Destinations whose hosts are listed, and change while requests are on their way. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SPOKEN_DEFAULT, type WeightedHost } from '#engine/contract/endpoint.ts'
import { type Origin, startOrigin } from '#engine/testing/origin.ts'
import { startPressure } from '#engine/testing/pressure.ts'
import { rawClient } from '#engine/testing/raw.ts'
import { type Stack, startStack } from '#engine/testing/stack.ts'
import type { EndpointState } from './endpoint.ts'
import { HostLists } from './host-lists.ts'
import { NO_CONNECTIONS } from './pool.ts'

/** No DNS server has it (RFC 6761). */
const HOST = 'shop.demo.svc.cluster.invalid'
const NAME = `${HOST}:8080`
const OPTIONS = { guarded: false, allow: [], connectTimeoutMs: 5_000, tls: null, http: SPOKEN_DEFAULT }
const CHANGES = 10_000

const at = ({ port }: Origin, weight = 1): WeightedHost => ({ host: '127.0.0.1', port, unixPath: null, weight })

async function listed(t: { after(work: () => void): void }, origins: number) {
  const made = await Promise.all(
    Array.from({ length: origins }, (_, i) => startOrigin((response) => response.end(String(i))))
  )
  const lists = new HostLists()
  const stack: Stack = await startStack({
    upstream: 1,
    lists,
    serve: (ex) => stack.upstream.send(ex, endpoint)
  })
  const endpoint = stack.upstream.endpoint({ host: HOST, port: 8080, unixPath: null }, OPTIONS)
  t.after(() => {
    stack.close()
    for (const origin of made) origin.close()
  })
  return { origins: made, lists, stack, endpoint }
}

async function get(port: number): Promise<{ status: number; body: string }> {
  const client = await rawClient(port)
  client.send('GET / HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n')
  await client.untilEnd()
  client.close()
  const [head = '', body = ''] = client.received.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), body }
}

describe('a destination in the lists', () => {
  test('has the hosts of its list, by their weight, and clients say what Host is', async (t) => {
    const { origins, lists, stack, endpoint } = await listed(t, 2)
    lists.change({ [NAME]: [at(origins[0]!, 3), at(origins[1]!)] })
    assert.equal(endpoint.isHostname, false)
    for (let i = 0; i < 8; i++) assert.equal((await get(stack.port)).status, 200)
    assert.deepEqual([origins[0]!.seen.length > origins[1]!.seen.length, origins[1]!.seen.length > 0], [true, true])
    assert.ok(origins[0]!.seen[0]!.headers.includes('shop.example'))
  })

  test('costs little for hosts without traffic: there may be thousands', async (t) => {
    const { origins, lists, stack, endpoint } = await listed(t, 1)
    const hosts = Array.from({ length: 100 }, (_, i) => ({ ...at(origins[0]!, 1), host: `127.0.1.${i + 1}` }))
    lists.change({ [NAME]: [at(origins[0]!, 1_000_000), ...hosts] })
    assert.equal((await get(stack.port)).status, 200)
    const { pools } = endpoint as EndpointState
    assert.equal(pools.length, 101)
    assert.deepEqual(
      pools
        .filter(({ usedHttp2, connections }) => usedHttp2 !== null || connections !== NO_CONNECTIONS)
        .map(({ label }) => label),
      [`127.0.0.1:${origins[0]!.port}`]
    )
    // A host is the entry of the list, not a copy of it.
    assert.equal(pools[1]!.host.destination, hosts[0])
  })

  test('changes at once, and with no host refuses requests without asking DNS', async (t) => {
    const { origins, lists, stack } = await listed(t, 2)
    lists.change({ [NAME]: [at(origins[0]!)] })
    assert.deepEqual(await get(stack.port), { status: 200, body: '0' })
    lists.change({ [NAME]: [at(origins[1]!)] })
    assert.deepEqual(await get(stack.port), { status: 200, body: '1' })
    lists.change({ [NAME]: [] })
    assert.match((await get(stack.port)).body, /the backend has no endpoint at the moment/)
    assert.deepEqual([stack.records.at(-1)!.status, stack.records.at(-1)!.error], [503, 'NO_ENDPOINT'])
    lists.change({ [NAME]: [at(origins[0]!)] })
    assert.deepEqual(await get(stack.port), { status: 200, body: '0' })
  })

  test('is a name for DNS when it leaves them, and before it is in them', async (t) => {
    const { origins, lists, stack, endpoint } = await listed(t, 1)
    assert.deepEqual([(await get(stack.port)).status, endpoint.isHostname], [502, true])
    assert.equal(stack.records.at(-1)!.error, 'DNS_FAILURE')
    lists.change({ [NAME]: [at(origins[0]!)] })
    assert.equal((await get(stack.port)).status, 200)
    lists.change({ [NAME]: null })
    assert.equal((await get(stack.port)).status, 502)
    assert.equal(stack.records.at(-1)!.error, 'DNS_FAILURE')
  })

  test('is no matter of names that clients give', async (t) => {
    const { origins, lists, stack } = await listed(t, 1)
    lists.change({ [NAME]: [at(origins[0]!)] })
    const guarded = stack.upstream.endpoint({ host: HOST, port: 8080, unixPath: null }, { ...OPTIONS, guarded: true })
    assert.equal(guarded.isHostname, true)
  })

  test(`loses no request over ${CHANGES} changes, and knows no host that is not listed`, async (t) => {
    const { origins, lists, stack } = await listed(t, 4)
    const hosts = origins.map((origin) => at(origin))
    lists.change({ [NAME]: hosts })
    const load = startPressure({
      port: stack.port,
      connections: 8,
      path: '/',
      isRight: (body) => /^[0-3]$/.test(body),
      mayClose: false
    })
    await load.more(50)
    const before = load.answers()
    for (let i = 1; i <= CHANGES; i++) {
      // One of four stays out, another one each time; names of others come and go beside it.
      lists.change({ [NAME]: hosts.filter((_, at) => at !== i % 4), [`other${i % 100}:80`]: i % 2 === 0 ? [] : null })
      if (i % 10 === 0) await load.more(1)
    }
    assert.ok(load.answers() - before >= CHANGES / 10)
    assert.deepEqual(await load.stop(), [])
    const { addresses } = stack.upstream.report().find(({ destination }) => destination === NAME)!
    assert.equal(addresses.length, 3)
  })
})
