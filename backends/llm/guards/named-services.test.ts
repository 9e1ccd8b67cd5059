/** Webhooks that are backends of the file: asked with the policies of the backend. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { accountOf } from '#engine/testing/account.ts'
import { type Authority, authority, type Pair } from '#engine/testing/certificates.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { type Body, startModels } from '#engine/testing/models.ts'
import { CHAT, chat } from './guards.fixture.ts'
import { type Service, says, service } from './service.fixture.ts'

const named = (more: object = {}, name = 'judge') => ({ webhook: { backendRef: { name }, ...more } })

/** A gateway before a mock provider, with the backend "judge" and guards. */
async function stand(t: TestContext, judge: object, promptGuard: object) {
  const models = await startModels()
  t.after(() => models.close())
  const backends = [
    { name: 'judge', ...judge },
    { name: 'several', dynamic: {} }
  ]
  const configOf = (guards: object) => {
    const ai = { provider: { openai: {}, host: '127.0.0.1', port: models.port }, promptGuard: guards }
    return JSON.stringify({ backends, binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ ai }] }] }] }] })
  }
  const gateway = await startGateway(configOf(promptGuard))
  t.after(() => gateway.close())
  const ask = (body: object, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${gateway.port}${CHAT}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body)
    })
  return { models, ask, reload: (guards: object) => gateway.reload(configOf(guards)) }
}

const at = ({ port }: Service) => ({ host: `127.0.0.1:${port}` })
const masking: Service['answer'] = (request, response) => {
  const messages = request.body.messages?.map(({ role }: Body) => ({ role, content: 'XX' }))
  const choices = request.body.choices?.map(({ message }: Body) => ({ message: { ...message, content: 'YY' } }))
  response.end(JSON.stringify({ action: { body: { messages, choices } } }))
}

test('requests and answers are judged, masked and rejected; header fields that match are sent along', async (t) => {
  const judge = await service(t)
  const forwardHeaderMatches = [
    { name: 'X-Team', value: { exact: 'blue' } },
    { name: 'x-user', value: { regex: 'a.*' } }
  ]
  const guards = { request: [named({ forwardHeaderMatches })], response: [named()] }
  const { models, ask } = await stand(t, at(judge), guards)
  await ask(chat('hello'), { 'x-team': 'blue', 'x-user': 'bob', authorization: 'Bearer secret' })
  const { path, headers, body } = judge.seen[0]!
  deepEqual([path, body], ['/request', { body: { messages: [{ role: 'user', content: 'hello' }] } }])
  deepEqual(
    ['x-team', 'x-user', 'authorization', 'host', 'content-type'].map((name) => headers[name]),
    ['blue', undefined, undefined, `127.0.0.1:${judge.port}`, 'application/json']
  )
  equal(judge.seen[1]!.path, '/response')
  judge.answer = masking
  const masked = (await (await ask(chat('hello'))).json()) as Body
  equal(models.requests.at(-1)!.body.messages[0].content, 'XX')
  equal(masked.choices[0].message.content, 'YY')
  judge.answer = says({ action: { body: 'go away', status_code: 451 } })
  const rejected = await ask(chat('hello'), { 'x-request-id': 'mine' })
  deepEqual([rejected.status, rejected.headers.get('x-request-id')], [451, 'mine'])
  match(await rejected.text(), /go away/)
})

test('a body that is too long for one loop passes it whole', async (t) => {
  const judge = await service(t)
  const { models, ask } = await stand(t, at(judge), { request: [named()] })
  const long = 'a sentence of a prompt. '.repeat(40_000)
  equal((await ask(chat(long))).status, 200)
  equal(judge.seen[0]!.body.body.messages[0].content, long)
  equal(models.requests.at(-1)!.body.messages[0].content, long)
})

test('a service that is slow, dead or talks nonsense: closed by default, open on demand', async (t) => {
  const judge = await service(t)
  const answers: [string, Service['answer']][] = [
    ['slow', () => {}],
    ['dead', (_, response) => response.destroy()],
    ['garbage', (_, response) => response.end('{{{')],
    ['error', (_, response) => response.writeHead(500).end('{"action":{}}')],
    ['redirect', (_, response) => response.writeHead(302, { location: '/other' }).end()]
  ]
  for (const [failureMode, status] of [
    ['FailClosed', 503],
    ['FailOpen', 200]
  ] as const) {
    const { ask } = await stand(t, at(judge), { request: [named({ timeout: '100ms', failureMode })] })
    for (const [name, answer] of answers) {
      judge.answer = answer
      equal((await ask(chat('hello'))).status, status, name)
    }
  }
})

test('an answer that finds no room is 503 with Retry-After, also where a guard that is down lets pass', async (t) => {
  const judge = await service(t)
  for (const side of ['request', 'response']) {
    const { ask } = await stand(t, at(judge), { [side]: [named({ failureMode: 'FailOpen' })] })
    const account = accountOf(t, 500 * 1024)
    judge.answer = says({ action: {}, reason: 'x'.repeat(600 * 1024) })
    const refused = await ask(chat('hello'))
    deepEqual([refused.status, refused.headers.get('retry-after')], [503, '1'])
    match(await refused.text(), /as many messages are kept in memory as may be/)
    judge.answer = says({ action: {} })
    equal((await ask(chat('hello'))).status, 200)
    equal(account.bytes, 0)
  }
})

/** A server that wants certificates of its own authority, and notes the names of both sides of each handshake. */
async function tlsService(t: TestContext, ours: Authority, answer: string) {
  const seen: string[] = []
  const server = createServer(
    { ...ours.issue('/CN=judge', ['DNS:judge.example']), ca: ours.cert, requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      const { servername } = request.socket as TLSSocket & { servername: string }
      seen.push(`${(request.socket as TLSSocket).getPeerCertificate().subject.CN} ${servername}`)
      request.resume().on('end', () => response.end(answer))
    }
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { seen, host: `127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const CLEAN = '{"results":[{"flagged":false}]}'
const moderation = { openAIModeration: { backendRef: { name: 'judge' } } }

for (const [kind, guard, answer] of [
  ['webhook', named(), '{"action":{}}'],
  ['moderation', moderation, CLEAN]
] as const) {
  test(`${kind}: the TLS policy of the backend holds: authorities, SNI, the certificate of the gateway`, async (t) => {
    const [ours, theirs] = [authority('ours'), authority('theirs')]
    const folder = mkdtempSync(join(tmpdir(), 'weir-guards-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    }
    const own = (name: string, pair: Pair) => ({
      cert: file(`${name}.pem`, pair.cert),
      key: file(`${name}.key`, pair.key)
    })
    const root = file('ours.root', ours.cert)
    const sni = 'judge.example'
    const mine = own('mine', ours.issue('/CN=weir'))
    const { seen, host } = await tlsService(t, ours, answer)
    const cases: [string, object, number][] = [
      ['all of it', { root, sni, ...mine }, 200],
      ['other authority', { root: file('theirs.root', theirs.cert), sni, ...mine }, 503],
      ['other name', { root, sni: 'jury.example', ...mine }, 503],
      ['another name of the certificate', { root, sni, subjectAltNames: ['jury.example'], ...mine }, 503],
      ['no certificate', { root, sni }, 503],
      ['certificate of others', { root, sni, ...own('theirs', theirs.issue('/CN=weir')) }, 503],
      ['nothing verified', { insecure: true, ...mine }, 200]
    ]
    for (const [name, tls, status] of cases) {
      const { ask, models } = await stand(t, { host, policies: { tls } }, { request: [guard] })
      equal((await ask(chat('hello'))).status, status, name)
      equal(models.requests.length, status === 200 ? 1 : 0, name)
    }
    deepEqual(seen, ['weir judge.example', 'weir false'])
  })
}

test('a name that is no server of the file is a mistake at its place', async (t) => {
  const { reload } = await stand(t, { host: '127.0.0.1:1' }, { request: [named()] })
  const place = /promptGuard\.request\[0\]\.webhook\.backendRef\.name: /
  for (const [name, message] of [
    ['jugde', /there is no backend "jugde" at the top of the file: did you mean "judge"\?/],
    ['several', /"several" is not one server that a policy could ask/]
  ] as const) {
    const problem = new RegExp(place.source + message.source)
    await rejects(reload({ request: [named({}, name)] }), problem)
  }
})
