import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { NO_BUCKETS } from '#engine/contract/buckets.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { exchangeRaw, rawServer } from '#engine/testing/raw.ts'
import {
  compact,
  hour,
  KeyServer,
  keySet,
  opensslKey,
  opensslToken,
  type SigningKey,
  signingKey,
  token
} from '#engine/testing/tokens.ts'
import { jwtAuthentication } from './jwt-authentication.ts'

const first = signingKey('ES256')
const second = signingKey('RS256')

/** A backend that answers with the head that it received, in lower case. */
async function echo(t: TestContext): Promise<number> {
  const server = await rawServer(async (client) => {
    const head = (await client.until('\r\n\r\n')).toLowerCase()
    client.send(`HTTP/1.1 200 OK\r\nContent-Length: ${head.length}\r\nConnection: close\r\n\r\n${head}`)
  })
  t.after(() => server.close())
  return server.port
}

/** What uWebSockets.js does by itself, so that it may serve. */
const UWS = {
  http: { http1IdleTimeout: '12s', http1HeaderTimeout: '12s', http1MaxHeaders: 98 },
  tcp: { keepalives: { time: '0s' } }
}

const config = (backend: number, jwtAuth: object, transport = 'auto', more: object = {}) =>
  JSON.stringify({
    ...(transport === 'uws' ? { frontendPolicies: UWS } : {}),
    binds: [
      {
        port: 0,
        transport,
        listeners: [{ routes: [{ policies: { jwtAuth, ...more }, backends: [{ host: `127.0.0.1:${backend}` }] }] }]
      }
    ]
  })

async function gateway(t: TestContext, yaml: string): Promise<TestGateway> {
  const started = await startGateway(yaml)
  t.after(() => started.close())
  return started
}

interface Answer {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** `lines`: header lines, or a token to send as Bearer. */
async function ask({ port }: TestGateway, lines: string, target = '/'): Promise<Answer> {
  const headers = lines === '' || lines.includes(':') ? lines : `Authorization: Bearer ${lines}\r\n`
  const request = `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}\r\n`
  const answer = await exchangeRaw(port, request)
  const end = answer.indexOf('\r\n\r\n')
  return { status: Number(answer.slice(9, 12)), head: answer.slice(0, end), body: answer.slice(end + 4) }
}

async function statuses(of: TestGateway, ...tokens: readonly string[]): Promise<number[]> {
  const answers: number[] = []
  for (const text of tokens) answers.push((await ask(of, text)).status)
  return answers
}

const ISSUER = 'https://issuer.example'

for (const transport of ['node', 'uws']) {
  test(`${transport}: a token opens the door, does not reach the backend, and tells rules who asks`, async (t) => {
    const jwtAuth = { issuer: ISSUER, audiences: ['api'], jwks: keySet([first, { kid: 'a' }]) }
    const authorization = { rules: ['jwt.sub == "alice" && "dev" in jwt.realm.roles'] }
    const weir = await gateway(t, config(await echo(t), jwtAuth, transport, { authorization }))
    const claims = hour({ aud: ['api'], sub: 'alice', realm: { roles: ['dev'] } })
    const good = await token(first, claims, { kid: 'a' })
    for (const scheme of ['Bearer', 'bearer']) {
      const { status, body } = await ask(weir, `X-A: 1\r\nAuthorization: ${scheme} ${good}\r\nX-B: 2\r\n`)
      assert.equal(status, 200)
      assert.match(body, /x-a: 1\r\nx-b: 2\r\n/)
      assert.ok(!body.includes('authorization'))
    }
    assert.equal((await ask(weir, await token(first, { ...claims, sub: 'bob' }, { kid: 'a' }))).status, 403)
    assert.equal((await ask(weir, await token(first, { ...claims, aud: 'x' }, { kid: 'a' }))).status, 401)
  })

  test(`${transport}: what is refused, and with which words`, async (t) => {
    const weir = await gateway(t, config(1, { issuer: ISSUER, jwks: keySet([first, { kid: 'a' }]) }, transport))
    const none = await ask(weir, '')
    assert.equal(none.status, 401)
    assert.match(none.head, /\r\nWWW-Authenticate: Bearer realm="Restricted"\r\n/i)
    assert.equal(none.body, 'this request needs a bearer token\n')
    const bearer = (text: string) => `Authorization: Bearer ${text}\r\n`
    const rows: [string, number, string, string][] = [
      [bearer('canary'), 401, 'invalid_token', 'the token is malformed or not of a supported kind'],
      [bearer(`${'x'.repeat(16_400)}.y.z`), 401, 'invalid_token', 'the token is malformed or not of a supported kind'],
      [
        bearer(compact({ alg: 'none' }, hour(), '')),
        401,
        'invalid_token',
        'the token is malformed or not of a supported kind'
      ],
      [bearer('a') + bearer('b'), 400, 'invalid_request', 'the request has more than one token where one belongs'],
      [bearer(await token(first, hour({ exp: 1 }))), 401, 'invalid_token', 'the token has expired'],
      // No leeway where none is configured.
      [
        bearer(await token(first, hour({ exp: Math.floor(Date.now() / 1000) - 1 }))),
        401,
        'invalid_token',
        'the token has expired'
      ],
      [bearer(await token(second)), 401, 'invalid_token', 'the issuer has no key that fits the token'],
      [bearer(await token(signingKey('ES256'))), 401, 'invalid_token', 'the signature of the token is not valid']
    ]
    for (const [lines, status, error, message] of rows) {
      const answer = await ask(weir, lines)
      assert.deepEqual([answer.status, answer.body], [status, `${message}\n`])
      const challenge = `Bearer realm="Restricted", error="${error}", error_description="${message}"`
      assert.ok(answer.head.includes(challenge), answer.head)
    }
  })
}

test('a token of the openssl program; in a query parameter; in a cookie', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-jwt-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const key = opensslKey('PS256')
  const text = opensslToken(key, folder, hour({ sub: 'alice' }))
  const at = async (location: object) =>
    gateway(t, config(await echo(t), { issuer: ISSUER, jwks: keySet([key]), location }))
  const query = await ask(await at({ queryParameter: { name: 'token' } }), '', `/p?a=1&token=${text}&b=2`)
  assert.deepEqual([query.status, query.body.split('\r\n')[0]], [200, 'get /p?a=1&b=2 http/1.1'])
  const cookie = await ask(await at({ cookie: { name: 'jwt' } }), `Cookie: a=1; jwt=${text}\r\n`)
  assert.equal(cookie.status, 200)
  assert.match(cookie.body, /cookie: a=1\r\n/)
})

test('keys at a URL: rotation, one fetch for an unknown key, and an issuer that is down', async (t) => {
  const server = await new KeyServer(keySet([first, { kid: 'a' }])).start()
  t.after(() => server.stop())
  const weir = await gateway(t, config(await echo(t), { issuer: ISSUER, jwks: { url: server.url } }))
  const old = await token(first, hour(), { kid: 'a' })
  assert.deepEqual([await statuses(weir, old, old), server.requests], [[200, 200], 1])
  server.body = keySet([second, { kid: 'b' }])
  const fresh = await token(second, hour(), { kid: 'b' })
  assert.deepEqual(
    [await statuses(weir, fresh, old), server.requests],
    [[200, 401], 2],
    'the key that is gone is revoked'
  )
  const unknown = await Promise.all(['c', 'd', 'e'].map((kid) => token(second, hour(), { kid })))
  assert.deepEqual([await statuses(weir, ...unknown), server.requests], [[401, 401, 401], 2], 'cool-down')
  await server.stop()
  const another = await token(second, hour({ sub: 'x' }), { kid: 'b' })
  assert.deepEqual(await statuses(weir, fresh, another), [200, 200], 'keys stay while the issuer is down')
})

/** OpenSSL before 3 made such keys when it was asked for nothing else; some issuers still have one. */
function keyOfExponent3(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 })
  return { alg: 'RS256', privateKey, jwk: publicKey.export({ format: 'jwk' }) }
}

test('a weak key beside a good one at a URL: the good one works, the weak one does not, and the log says so once', async (t) => {
  const weak = keyOfExponent3()
  const set = keySet([weak, { kid: 'weak' }], [second, { kid: 'good' }])
  const server = await new KeyServer(set).start()
  t.after(() => server.stop())
  const strict = { issuer: ISSUER, jwks: { url: server.url, minRsaExponent: 65_537 } }
  const backend = await echo(t)
  const weir = await gateway(t, config(backend, strict))
  const tokens = [await token(second, hour(), { kid: 'good' }), await token(weak, hour(), { kid: 'weak' })]
  // The unknown key has the set fetched again, and nothing is new in it.
  assert.deepEqual([await statuses(weir, ...tokens, ...tokens), server.requests], [[200, 401, 200, 401], 2])
  const reason = 'keys[0] (kid "weak") has the exponent 3, and minRsaExponent is 65537'
  assert.deepEqual(weir.logged, [`warn: keys of ${server.url} that are not used: ${reason}`])
  // What another configuration takes of the same URL is its own matter, also for tokens that were verified.
  await weir.reload(config(backend, { ...strict, jwks: { url: server.url } }))
  assert.deepEqual(await statuses(weir, ...tokens), [200, 200])
  await weir.reload(config(backend, strict))
  assert.deepEqual(await statuses(weir, ...tokens), [200, 401])
})

test('the exponent 3 in a configuration, inline and in a file, is taken or refused by name', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-jwt-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const weak = keyOfExponent3()
  const inline = keySet([weak, { kid: 'weak' }])
  writeFileSync(join(folder, 'keys.json'), inline)
  const message =
    /jwks\.(inline|file): (keys\.json: )?keys\[0\] \(kid "weak"\) has the exponent 3, and minRsaExponent is 65537/
  for (const jwks of [{ inline }, { file: 'keys.json' }]) {
    for (const minRsaExponent of [undefined, 3]) {
      const yaml = config(await echo(t), { issuer: ISSUER, jwks: { ...jwks, minRsaExponent } })
      const weir = await startGateway(yaml, { folder })
      t.after(() => weir.close())
      assert.deepEqual(await statuses(weir, await token(weak, hour(), { kid: 'weak' })), [200])
    }
    const yaml = config(1, { issuer: ISSUER, jwks: { ...jwks, minRsaExponent: 65_537 } })
    await assert.rejects(startGateway(yaml, { folder }), message)
  }
  const odd = config(1, { issuer: ISSUER, jwks: { inline, minRsaExponent: 17 } })
  await assert.rejects(startGateway(odd), /jwks\.minRsaExponent: must be 3 or 65537/)
})

test('a request that comes before the keys waits for them', async (t) => {
  const server = await new KeyServer('').start()
  t.after(() => server.stop())
  let answer: () => void = () => {}
  server.body = (response) => {
    answer = () => void response.end(keySet([first]))
  }
  const weir = await gateway(t, config(await echo(t), { issuer: ISSUER, jwks: { url: server.url } }))
  await server.until(1)
  const waiting = [ask(weir, await token(first)), ask(weir, await token(first, hour({ sub: 'b' })))]
  // A refusal that needs no keys has overtaken them: they have arrived.
  assert.equal((await ask(weir, 'x')).status, 401)
  answer()
  assert.deepEqual(await Promise.all(waiting.map(async (one) => (await one).status)), [200, 200])
  assert.equal(server.requests, 1)
})

test('an issuer that is not there yet: 503 with a reason, logged once, until its keys are fetched', async (t) => {
  const gone = await new KeyServer('').start()
  const { port, url } = gone
  await gone.stop()
  const weir = await gateway(t, config(await echo(t), { issuer: ISSUER, jwks: { url } }))
  const text = await token(first)
  const early = await ask(weir, text)
  assert.deepEqual([early.status, early.body], [503, 'the keys of the token issuer are not available yet\n'])
  assert.ok(!/www-authenticate/i.test(early.head))
  const line = `warn: cannot fetch the keys of ${url}: fetch failed (ECONNREFUSED); tokens of this issuer get 503`
  assert.deepEqual(weir.logged, [line])
  const server = await new KeyServer(keySet([first])).start(port)
  t.after(() => server.stop())
  await server.until(1)
  let status = 503
  while (status === 503) ({ status } = await ask(weir, text))
  assert.equal(status, 200)
  assert.equal(weir.logged[1], `info: keys of ${url} are fetched again`)
})

test('over a reload keys and verified tokens stay; without their URL they go', async (t) => {
  const server = await new KeyServer(keySet([first])).start()
  t.after(() => server.stop())
  const backend = await echo(t)
  const remote = { issuer: ISSUER, jwks: { url: server.url } }
  const weir = await gateway(t, config(backend, remote))
  const text = await token(first)
  assert.deepEqual(await statuses(weir, text), [200])
  await weir.reload(config(backend, remote, 'auto', { timeouts: { request: '9s' } }))
  await weir.reload(config(backend, { ...remote, mode: 'Optional' }))
  assert.deepEqual([await statuses(weir, text), server.requests], [[200], 1])
  await weir.reload(config(backend, { issuer: ISSUER, jwks: keySet([second]) }))
  assert.deepEqual(await statuses(weir, text), [401])
  // The issuer takes the key back while nobody asks: the token must not come back with the URL.
  server.body = keySet([second])
  await weir.reload(config(backend, remote))
  assert.deepEqual([await statuses(weir, text), server.requests >= 2], [[401], true])
})

test('a change elsewhere leaves the policy what it was: no key is fetched or imported again', async (t) => {
  const { mock } = t.mock.method(jwtAuthentication, 'compile')
  // Checking a file compiles too, and nothing of that runs.
  const compiled = () => mock.calls.filter(({ arguments: [, { buckets }] }) => buckets !== NO_BUCKETS).length
  const server = await new KeyServer(keySet([first])).start()
  t.after(() => server.stop())
  const backend = await echo(t)
  const several = (more: object[], mode = 'Strict') =>
    JSON.stringify({
      binds: [
        {
          port: 0,
          listeners: [
            {
              policies: { jwtAuth: { issuer: ISSUER, jwks: { url: server.url }, mode } },
              routes: [
                ...more,
                { name: 'own', matches: at('/own'), policies: { jwtAuth: { issuer: ISSUER, jwks: keySet([first]) } } },
                { name: 'all', backends: [{ host: `127.0.0.1:${backend}` }] }
              ]
            }
          ]
        }
      ]
    })
  const at = (exact: string) => [{ path: { exact } }]
  const answers = { policies: { directResponse: { status: 201 } } }
  const weir = await gateway(t, several([]))
  const text = await token(first)
  assert.deepEqual([await statuses(weir, text), compiled()], [[200], 2])
  await weir.reload(several([{ name: 'new', matches: at('/new'), ...answers }]))
  await weir.reload(several([{ name: 'new', matches: at('/newer'), ...answers }]))
  assert.equal((await ask(weir, text, '/newer')).status, 201)
  assert.deepEqual([await statuses(weir, text), compiled(), server.requests], [[200], 2, 1])
  // What is changed is compiled, and nothing else.
  await weir.reload(several([], 'Optional'))
  assert.deepEqual([await statuses(weir, text, ''), compiled(), server.requests], [[200, 200], 3, 1])
})

test('Optional and Permissive', async (t) => {
  const backend = await echo(t)
  const keys = { issuer: ISSUER, jwks: keySet([first]) }
  const forged = compact({ alg: 'ES256' }, hour(), Buffer.alloc(64))
  const optional = await gateway(t, config(backend, { ...keys, mode: 'Optional' }))
  assert.deepEqual([(await ask(optional, '')).status, (await ask(optional, forged)).status], [200, 401])
  const permissive = await gateway(t, config(backend, { ...keys, mode: 'Permissive' }))
  const passed = await ask(permissive, forged)
  assert.equal(passed.status, 200)
  assert.ok(passed.body.includes(`authorization: bearer ${forged.toLowerCase()}`), 'it is not ours: it stays')
})

test('the example of the documentation does what it says', async (t) => {
  const folder = join(import.meta.dirname, '../../docs/examples')
  const text = readFileSync(join(folder, 'jwt-authentication.yaml'), 'utf8')
  const weir = await startGateway(text, { folder })
  t.after(() => weir.close())
  assert.equal((await ask(weir, '')).status, 401)
  const answer = await ask(weir, /TOKEN=(\S+)/.exec(text)![1]!)
  assert.deepEqual([answer.status, answer.body], [200, 'welcome'])
})
