/**
 * `npm run conformance -- jwks`: gateways that fetch keys from a real Keycloak, which rotates them by its admin API.
 * Prints a line for each thing that has to be so.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { freePort } from '#bench/load/ports.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { KEYCLOAK_VERSION, type Keycloak, startKeycloak } from '#engine/testing/keycloak.ts'
import { hour, signingKey, token } from '#engine/testing/tokens.ts'

const CLIENT = { clientId: 'service', secret: 'secret of a service' }
/** Seconds; longer than a run. */
const TOKEN_LIFE = 3600
/** Where several requests come at once. */
const AT_ONCE = 20
const FLOOD = 300
/** Between two fetches for unknown keys (docs/configuration.md#jwtauthentication). */
const COOL_DOWN_MS = 10_000

// --- between a gateway and Keycloak ---

/** Passes connections on as they are, and counts fetches of keys. */
class Tap {
  fetches = 0
  #waiting: { readonly count: number; readonly resolve: () => void }[] = []
  readonly #sockets = new Set<Socket>()
  readonly #server

  constructor(target: number) {
    this.#server = createServer((client) => {
      const server = connect(target, '127.0.0.1')
      for (const [socket, other] of [
        [client, server],
        [server, client]
      ] as const) {
        this.#sockets.add(socket)
        socket.on('error', () => other.destroy())
        socket.on('close', () => this.#sockets.delete(socket))
        socket.pipe(other)
      }
      client.on('data', (piece: Buffer) => this.#count(piece.toString('latin1')))
    })
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Resolves when `count` further fetches have begun. */
  further(count: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ count: this.fetches + count, resolve }))
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #count(piece: string): void {
    this.fetches += piece.split('GET /').length - 1
    const ready = this.#waiting.filter(({ count }) => count <= this.fetches)
    this.#waiting = this.#waiting.filter((one) => !ready.includes(one))
    for (const { resolve } of ready) resolve()
  }
}

interface Guarded extends TestGateway {
  readonly tap: Tap
}

/** A gateway that takes tokens of the realm; its keys are at most `cacheDuration` old. */
async function guarded(issuer: string, cacheDuration: string): Promise<Guarded> {
  const { port, pathname } = new URL(issuer)
  const tap = await new Tap(Number(port)).start()
  const jwksPath = `${pathname}/protocol/openid-connect/certs`
  const jwks = { remote: { backendRef: { name: 'keycloak' }, jwksPath, cacheDuration } }
  const policies = { jwtAuthentication: { issuer, jwks }, directResponse: { status: 204 } }
  const file = {
    backends: [{ name: 'keycloak', host: `127.0.0.1:${tap.port}` }],
    binds: [{ port: 0, listeners: [{ routes: [{ policies }] }] }]
  }
  return { ...(await startGateway(JSON.stringify(file))), tap }
}

async function statusOf({ port }: Guarded, text: string): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: { authorization: `Bearer ${text}` } })
  await answer.arrayBuffer()
  return answer.status
}

// --- the realm ---

async function makeClient({ admin }: Keycloak): Promise<void> {
  const flows = { publicClient: false, serviceAccountsEnabled: true, standardFlowEnabled: false }
  const attributes = { 'access.token.lifespan': String(TOKEN_LIFE) }
  await admin('POST', '/clients', { ...CLIENT, ...flows, attributes })
}

/** By client_credentials, from Keycloak itself. */
async function newToken({ issuer }: Keycloak): Promise<string> {
  const { clientId, secret } = CLIENT
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret: secret })
  const answer = await fetch(`${issuer}/protocol/openid-connect/token`, { method: 'POST', body })
  return ((await answer.json()) as { access_token: string }).access_token
}

const kidOf = (text: string): string =>
  (JSON.parse(Buffer.from(text.split('.')[0]!, 'base64url').toString()) as { kid: string }).kid

interface Component {
  readonly id: string
  readonly providerId: string
  readonly config: Readonly<Record<string, readonly string[]>>
}

const KEY_PROVIDER = 'org.keycloak.keys.KeyProvider'

async function signingComponent({ admin }: Keycloak): Promise<Component> {
  const all = (await admin('GET', `/components?type=${KEY_PROVIDER}`)) as Component[]
  return all.find(({ providerId }) => providerId === 'rsa-generated')!
}

/** The new key signs; the old one is in the key set still. */
async function rotate({ admin }: Keycloak, old: Component): Promise<void> {
  const config = { priority: ['200'], enabled: ['true'], active: ['true'], keySize: ['2048'], algorithm: ['RS256'] }
  await admin('POST', '/components', {
    name: 'next',
    providerId: 'rsa-generated',
    providerType: KEY_PROVIDER,
    config
  })
  await admin('PUT', `/components/${old.id}`, { ...old, config: { ...old.config, active: ['false'] } })
}

async function disable({ admin }: Keycloak, old: Component): Promise<void> {
  await admin('PUT', `/components/${old.id}`, {
    ...old,
    config: { ...old.config, active: ['false'], enabled: ['false'] }
  })
}

// --- what has to be so ---

interface Run {
  readonly keycloak: Keycloak
  /** Keeps keys for longer than a run. */
  readonly long: Guarded
  /** Keeps them for two seconds. */
  readonly short: Guarded
  readonly check: (what: string, found: unknown, expected: unknown) => void
}

/** False: something is not as it has to be. */
export async function runJwks(print: (line: string) => void): Promise<boolean> {
  const endings: (() => unknown)[] = []
  let passed = 0
  let failed = 0
  const check: Run['check'] = (what, found, expected) => {
    const [got, wanted] = [JSON.stringify(found), JSON.stringify(expected)]
    if (got === wanted) passed++
    else failed++
    print(got === wanted ? `ok     ${what}` : `FAILED ${what}: ${got} and not ${wanted}`)
  }
  try {
    const keycloak = await startKeycloak(await freePort())
    endings.push(keycloak.stop)
    await makeClient(keycloak)
    const [long, short] = [await guarded(keycloak.issuer, '1h'), await guarded(keycloak.issuer, '2s')]
    for (const { close, tap } of [long, short]) endings.push(() => tap.close(), close)
    await keysOf({ keycloak, long, short, check })
  } finally {
    for (const step of endings.reverse()) await step()
  }
  print(`jwks: Keycloak ${KEYCLOAK_VERSION}: ${passed} passed, ${failed} failed`)
  return failed === 0
}

async function keysOf(run: Run): Promise<void> {
  const { keycloak, long, short, check } = run
  const old = await signingComponent(keycloak)
  const first = await newToken(keycloak)
  check('a token of client_credentials is accepted', await statusOf(long, first), 204)
  check('so it is by the gateway that keeps keys for two seconds', await statusOf(short, first), 204)
  check('the keys were fetched once', long.tap.fetches, 1)

  await rotate(keycloak, old)
  const second = await newToken(keycloak)
  check('the realm signs with another key', kidOf(second) === kidOf(first), false)
  check('a token of the old key is accepted', await statusOf(long, first), 204)
  check('without another fetch', long.tap.fetches, 1)
  const all = await Promise.all(Array.from({ length: AT_ONCE }, () => statusOf(long, second)))
  check(`${AT_ONCE} tokens of the new key at once are accepted`, new Set(all).size === 1 && all[0], 204)
  check('after one fetch', long.tap.fetches, 2)
  check('a token of the old key is accepted after it', await statusOf(long, first), 204)

  await flood(run)

  await disable(keycloak, old)
  const before = long.tap.fetches
  // The second of them begins when the first has been read.
  await short.tap.further(2)
  check('a key that is gone counts no longer once the cache is over', await statusOf(short, first), 401)
  check('and does as long as it is not', await statusOf(long, first), 204)
  check('the new key counts', [await statusOf(short, second), await statusOf(long, second)], [204, 204])
  check('nothing was fetched for that', long.tap.fetches, before)

  await keycloak.stop()
  await short.tap.further(2)
  check('Keycloak is stopped: keys stay', [await statusOf(short, second), await statusOf(long, second)], [204, 204])
  check('and what is gone stays gone', await statusOf(short, first), 401)
  const warnings = short.logged.filter((line) => line.includes('the keys known so far stay in use'))
  check('the log says so once', warnings.length, 1)
}

async function flood({ keycloak, long, check }: Run): Promise<void> {
  const key = signingKey('RS256')
  const claims = hour({ iss: keycloak.issuer })
  const before = long.tap.fetches
  const startedAt = Date.now()
  const found = new Set<number>()
  for (let sent = 0; sent < FLOOD; sent += AT_ONCE) {
    const some = Array.from({ length: AT_ONCE }, async () =>
      statusOf(long, await token(key, claims, { kid: randomUUID() }))
    )
    for (const status of await Promise.all(some)) found.add(status)
  }
  const allowed = 1 + Math.floor((Date.now() - startedAt) / COOL_DOWN_MS)
  check(`${FLOOD} tokens with unknown keys are refused`, [...found], [401])
  check('a fetch in ten seconds is all that they cause', long.tap.fetches - before <= allowed, true)
}
