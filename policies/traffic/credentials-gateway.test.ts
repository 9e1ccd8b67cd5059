/** basicAuthentication and apiKeyAuthentication through a running gateway, over real connections. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { exchangeRaw, rawServer } from '#engine/testing/raw.ts'
import { keySet, signingKey } from '#engine/testing/tokens.ts'

interface Vector {
  readonly made: string
  readonly password: string
  readonly hash: string
}

const vectors = JSON.parse(
  readFileSync(new URL('../../engine/kit/password/testdata/vectors.json', import.meta.url), 'utf8')
) as Vector[]
const hashOf = (made: string) => vectors.find((one) => one.made === made && one.password === 'pass')!.hash

/** A backend that answers with the head that it received. */
async function echo(t: TestContext): Promise<number> {
  const server = await rawServer(async (client) => {
    const head = await client.until('\r\n\r\n')
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

const config = (backend: number, policies: object, transport = 'auto') =>
  JSON.stringify({
    ...(transport === 'uws' ? { frontendPolicies: UWS } : {}),
    binds: [
      { port: 0, transport, listeners: [{ routes: [{ policies, backends: [{ host: `127.0.0.1:${backend}` }] }] }] }
    ]
  })

async function gateway(t: TestContext, yaml: string, folder?: string): Promise<TestGateway> {
  const started = await startGateway(yaml, folder === undefined ? {} : { folder })
  t.after(() => started.close())
  return started
}

const basic = (text: string) => `Authorization: Basic ${Buffer.from(text).toString('base64')}\r\n`

async function ask({ port }: TestGateway, lines: string, target = '/') {
  const answer = await exchangeRaw(port, `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines}\r\n`)
  const end = answer.indexOf('\r\n\r\n')
  return { status: Number(answer.slice(9, 12)), head: answer.slice(0, end), body: answer.slice(end + 4) }
}

for (const transport of ['node', 'uws']) {
  test(`${transport}: a password of every kind of hash opens the door, and does not reach the backend`, async (t) => {
    const chosen = vectors.filter(({ password }) => password !== 'x'.repeat(100))
    const users = chosen.map(({ hash }, i) => `user${i}:${hash}`)
    const basicAuth = { users, realm: 'Staff' }
    const authorization = { rules: ['basicAuth.username.startsWith("user")'] }
    const weir = await gateway(t, config(await echo(t), { basicAuth, authorization }, transport))
    for (const [i, { password, made }] of chosen.entries()) {
      const { status, body } = await ask(weir, `X-A: 1\r\n${basic(`user${i}:${password}`)}X-B: 2\r\n`)
      assert.equal(status, 200, made)
      assert.match(body.toLowerCase(), /x-a: 1\r\nx-b: 2\r\n/)
      assert.doesNotMatch(body.toLowerCase(), /authorization/)
    }
    for (const [i, { made }] of chosen.entries()) {
      assert.equal((await ask(weir, basic(`user${i}:wrong`))).status, 401, made)
    }
  })

  test(`${transport}: what is refused, and with which words`, async (t) => {
    const weir = await gateway(t, config(1, { basicAuth: { users: [`a:${hashOf('htpasswd -nbB')}`] } }, transport))
    const rows: [string, number, string][] = [
      ['', 401, 'this request needs a user name and a password\n'],
      [basic('a:canary'), 401, 'the user name or the password is wrong\n'],
      [basic('nobody:pass'), 401, 'the user name or the password is wrong\n'],
      ['Authorization: Basic %%%\r\n', 401, 'the user name or the password is wrong\n'],
      [basic('a:pass') + basic('a:pass'), 400, 'the request has more than one Authorization header\n']
    ]
    for (const [lines, status, body] of rows) {
      const answer = await ask(weir, lines)
      assert.deepEqual([answer.status, answer.body], [status, body])
      const challenge = /\r\nWWW-Authenticate: Basic realm="Restricted", charset="UTF-8"\r\n/i
      assert.equal(challenge.test(`${answer.head}\r\n`), status === 401)
    }
  })

  test(`${transport}: API keys in a header, a query parameter and a cookie`, async (t) => {
    const keys = [{ key: 'canary-key', metadata: { team: 'blue' } }]
    const authorization = { rules: ['apiKey.team == "blue"'] }
    const backend = await echo(t)
    const at = (location?: object) =>
      gateway(t, config(backend, { apiKey: { keys, location }, authorization }, transport))
    const header = await at()
    const good = await ask(header, 'X-A: 1\r\nAuthorization: Bearer canary-key\r\nX-B: 2\r\n')
    assert.equal(good.status, 200)
    assert.match(good.body.toLowerCase(), /x-a: 1\r\nx-b: 2\r\n/)
    assert.doesNotMatch(good.body, /canary|authorization/i)
    const none = await ask(header, '')
    assert.deepEqual([none.status, none.body], [401, 'this request needs an API key\n'])
    const wrong = await ask(header, 'Authorization: Bearer canary-kez\r\n')
    assert.deepEqual([wrong.status, wrong.body], [401, 'the API key is wrong\n'])
    for (const { head } of [none, wrong]) assert.match(head, /WWW-Authenticate: Bearer realm="Restricted"/i)
    const twice = await ask(header, 'Authorization: Bearer a\r\n'.repeat(2))
    assert.deepEqual([twice.status, twice.body], [400, 'the request has more than one API key where one belongs\n'])

    const query = await ask(await at({ queryParameter: { name: 'key' } }), '', '/p?a=%20b&key=canary%2Dkey&c')
    assert.deepEqual([query.status, query.body.split('\r\n')[0]], [200, 'GET /p?a=%20b&c HTTP/1.1'])
    const cookie = await ask(await at({ cookie: { name: 'key' } }), 'Cookie: a=1;b=2; key=canary-key; c\r\n')
    assert.equal(cookie.status, 200)
    assert.match(cookie.body, /cookie: a=1;b=2; c\r\n/i)
  })
}

test('users in a file; the file changes', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-basic-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'users')
  writeFileSync(file, `# staff\na:${hashOf('htpasswd -nbm')}\n`)
  const yaml = config(await echo(t), { basicAuth: { htpasswd: { file: 'users' } } })
  const weir = await gateway(t, yaml, folder)
  assert.equal((await ask(weir, basic('a:pass'))).status, 200)
  writeFileSync(file, `a:${vectors.find((one) => one.made === 'htpasswd -nbm' && one.password === '')!.hash}\n`)
  await weir.reload(yaml)
  assert.equal((await ask(weir, basic('a:pass'))).status, 401)
  assert.equal((await ask(weir, basic('a:'))).status, 200)
  writeFileSync(file, 'a:swordfish\n')
  await assert.rejects(weir.reload(yaml), (error: Error) => {
    assert.match(error.message, /htpasswd\.file: users: line 1: has none of the known hashes/)
    assert.doesNotMatch(error.message, /swordfish/)
    return true
  })
})

test('a refused key or token is not in the access log, whatever fields the log has', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-refused-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'access.log')
  const add = { uri: 'request.uri', headers: 'request.headers', cookie: 'request.headers["cookie"]' }
  const places = [{ queryParameter: { name: 'k' } }, { header: { name: 'x-k' } }, { cookie: { name: 'k' } }]
  for (const location of places) {
    const jwtAuth = { issuer: 'a', jwks: keySet([signingKey('ES256')]), location }
    for (const policy of [{ apiKey: { keys: [{ key: 'canary' }], location } }, { jwtAuth }]) {
      const yaml = JSON.parse(config(1, policy)) as object
      const log = { format: 'json', fd: openSync(path, 'a') } as const
      const weir = await startGateway(JSON.stringify({ ...yaml, frontendPolicies: { accessLog: { add } } }), { log })
      for (const times of [1, 2]) {
        const key = times === 1 ? 'canary-x' : 'canary'
        const target = `/?a=1${`&k=${key}`.repeat('queryParameter' in location ? times : 0)}`
        const name = 'header' in location ? `X-K: ${key}\r\n` : 'cookie' in location ? `Cookie: k=${key}\r\n` : ''
        const { status } = await ask(weir, name.repeat(times), target)
        assert.equal(status, times === 1 ? 401 : 400)
      }
      await weir.close()
    }
  }
  const text = readFileSync(path, 'utf8')
  assert.equal(text.split('"http.status":4').length, 13)
  assert.doesNotMatch(text, /canary/)
})

test('many logins at once: each gets an answer, and known callers do not wait', async (t) => {
  const slow = hashOf('htpasswd -nbB -C 8')
  const weir = await gateway(t, config(await echo(t), { basicAuth: { users: [`a:${slow}`, `b:${slow}`] } }))
  assert.equal((await ask(weir, basic('a:pass'))).status, 200)
  const guesses = Array.from({ length: 100 }, (_, i) => ask(weir, basic(`guess${i}:x`)))
  assert.equal((await ask(weir, basic('a:pass'))).status, 200)
  const answers = await Promise.all(guesses)
  const busy = answers.filter(({ status }) => status === 503)
  assert.equal(answers.filter(({ status }) => status === 401).length + busy.length, 100)
  assert.ok(busy.length > 0)
  for (const { head, body } of busy) {
    assert.match(head, /\r\nRetry-After: 1\r\n/i)
    assert.equal(body, 'too many passwords wait to be verified\n')
  }
  const together = await Promise.all(Array.from({ length: 20 }, () => ask(weir, basic('b:pass'))))
  assert.deepEqual(new Set(together.map(({ status }) => status)), new Set([200]))
})

test('the examples of the documentation do what they say', async (t) => {
  const folder = join(import.meta.dirname, '../../docs/examples')
  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  const users = await gateway(t, read('basic-authentication.yaml'), folder)
  const none = await ask(users, '')
  assert.equal(none.status, 401)
  assert.match(none.head, /Basic realm="Staff"/)
  const alice = await ask(users, basic('alice:wonderland'))
  assert.deepEqual([alice.status, alice.body], [200, 'welcome'])
  assert.equal((await ask(users, basic('guest:guest'))).status, 403)
  const text = read('api-key-authentication.yaml')
  const keys = await gateway(t, text, folder)
  assert.equal((await ask(keys, '')).status, 401)
  const [, key] = /X-API-Key: (\w+)/.exec(text)!
  assert.ok(text.includes(createHash('sha256').update(key!).digest('hex')))
  assert.equal((await ask(keys, `X-API-Key: ${key}\r\n`)).body, 'hello blue')
  const [, other] = /OTHER_KEY:-(\w+)/.exec(text)!
  assert.equal((await ask(keys, `X-API-Key: ${other}\r\n`)).body, 'hello green')
})
