/** Fetches of keys that are under way when a reload takes their policy away: they are given up, and nothing stays. */
import { deepEqual, equal } from 'node:assert/strict'
import { createHook } from 'node:async_hooks'
import { type TestContext, test } from 'node:test'
import { rawService } from '#engine/testing/faulty-services.ts'
import { startGateway } from '#engine/testing/gateway.ts'

const ISSUER = 'https://issuer.example'
const RELOADS = 100

interface Place {
  readonly backends?: readonly object[]
  readonly policies?: object
}

const fileOf = ({ backends = [], policies = {} }: Place) =>
  JSON.stringify({
    backends,
    binds: [{ port: 0, listeners: [{ routes: [{ policies: { ...policies, directResponse: { status: 204 } } }] }] }]
  })

const atUrl = (port: number, i: number): Place => ({
  policies: { jwtAuthentication: { issuer: ISSUER, jwks: { url: `http://127.0.0.1:${port}/${i}` } } }
})

const ofService = (port: number, i: number): Place => ({
  backends: [{ name: 'idp', host: `127.0.0.1:${port}` }],
  policies: {
    jwtAuthentication: { issuer: ISSUER, jwks: { remote: { backendRef: { name: 'idp' }, jwksPath: `${i}` } } }
  }
})

/** Timers of the process that have neither struck nor been called off. */
function openTimers(t: TestContext): ReadonlySet<number> {
  const open = new Set<number>()
  const hook = createHook({
    init: (id, type) => void (type === 'Timeout' && open.add(id)),
    destroy: (id) => void open.delete(id)
  }).enable()
  t.after(() => hook.disable())
  return open
}

/** Hooks are told of what is over in a turn of its own. */
const turns = async () => {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
}

for (const [name, place] of Object.entries({ url: atUrl, service: ofService })) {
  test(`an issuer that is slow, by ${name}: a hundred reloads leave neither connections nor timers`, async (t) => {
    let came = 0
    const issuer = await rawService(t, () => void came++)
    const gateway = await startGateway(fileOf({}))
    t.after(() => gateway.close())
    await gateway.reload(fileOf(place(issuer.port, 0)))
    await issuer.arrival
    const timers = openTimers(t)
    for (let i = 1; i <= RELOADS; i++) await gateway.reload(fileOf(place(issuer.port, i)))
    await gateway.reload(fileOf({}))
    await issuer.idle()
    await turns()
    // A fetch that has come to its deadline says so.
    deepEqual(gateway.logged, [])
    equal(came > 0, true)
    // Clients of the platform keep one timer for all connections; the gateway has one wheel.
    equal(timers.size < 5, true, `${timers.size} timers`)
  })
}
