/** Credentials of programs, by real ones: how often they are run, what they are told, and how they fail. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import { connectionOf } from '#engine/kubernetes/client/kubeconfig.ts'
import { KINDS } from '#engine/kubernetes/objects/object.ts'
import { ApiServerDouble } from '#engine/kubernetes/testing/api-server/server.ts'
import { authority } from '#engine/testing/certificates.ts'
import { ManualTime } from '#engine/testing/manual-time.ts'

const V1 = 'client.authentication.k8s.io/v1'
const MINUTE_MS = 60_000
/** Between two runs of a program at most. */
const PAUSE_MS_MAX = 10_000

/** What a shell prints: a credential. */
const prints = (status: string) =>
  `printf '{"apiVersion":"${V1}","kind":"ExecCredential","status":%s}' "${status.replaceAll('"', '\\"')}"`

/** A kubeconfig with a program of this script, which counts its runs as $n. */
function stand(t: TestContext, script: string, more: { readonly exec?: object; readonly user?: object } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'weir-exec-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const runs = join(folder, 'runs')
  const text = `#!/bin/sh\nprintf x >>'${runs}'\nn=$(wc -c <'${runs}' | tr -d ' ')\ncd '${folder}'\n${script}\n`
  writeFileSync(join(folder, 'login'), text, { mode: 0o700 })
  const time = new ManualTime()
  const exec = { apiVersion: V1, command: './login', interactiveMode: 'Never', ...more.exec }
  const config = (server: string) => ({
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'near', user: 'me' } }],
    clusters: [{ name: 'near', cluster: { server } }],
    users: [{ name: 'me', user: { exec, ...more.user } }]
  })
  const env = { PATH: process.env.PATH }
  const connect = (server = 'http://127.0.0.1:1') =>
    connectionOf(config(server), { folder, time, env, hasTerminal: false })
  const count = () => (existsSync(runs) ? readFileSync(runs, 'utf8').length : 0)
  return { folder, time, connect, count, file: (name: string) => join(folder, name) }
}

test('a program is run when its credentials are needed, once for all who ask, and again when they have expired', async (t) => {
  const { connect, time, count } = stand(t, prints('{"token":"t$n","expirationTimestamp":"1970-01-01T00:10:00Z"}'))
  const { credentials } = connect()
  assert.equal(count(), 0)
  const shown = await Promise.all([credentials.present(), credentials.present()])
  assert.deepEqual(
    shown.map(({ authorization }) => authorization),
    ['Bearer t1', 'Bearer t1']
  )
  time.pass(10 * MINUTE_MS)
  assert.equal((await credentials.present()).authorization, 'Bearer t1')
  assert.equal(count(), 1)
  time.pass(1)
  assert.equal((await credentials.present()).authorization, 'Bearer t2')
})

test('one that is refused is made again, once, and what was made since then stays', async (t) => {
  const { connect, count, time } = stand(t, prints('{"token":"t$n"}'))
  const { credentials } = connect()
  const first = await credentials.present()
  time.pass(MINUTE_MS)
  credentials.refused(first)
  assert.equal((await credentials.present()).authorization, 'Bearer t2')
  credentials.refused(first)
  assert.equal((await credentials.present()).authorization, 'Bearer t2')
  assert.equal(count(), 2)
})

test('a program whose credentials are refused again and again is run after pauses', async (t) => {
  const { connect, count, time } = stand(t, prints('{"token":"t$n"}'))
  const { credentials } = connect()
  const pauses: number[] = []
  for (let i = 0; i < 9; i++) {
    const answer = Promise.resolve(credentials.present())
    const begun = time.ms
    if (i > 0) await time.passNext(PAUSE_MS_MAX)
    pauses.push(time.ms - begun)
    credentials.refused(await answer)
  }
  assert.equal(count(), 9)
  assert.deepEqual(pauses, [0, 150, 300, 600, 1200, 2400, 4800, 7500, 7500])
})

test('the next token of a program is tried after 401', async (t) => {
  const server = new ApiServerDouble()
  server.add({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'demo' } })
  server.tokens.set('t2', { username: 'weir' })
  await server.start()
  t.after(() => server.stop())
  const { connect, time, count } = stand(t, prints('{"token":"t$n"}'))
  const client = new KubernetesClient(connect(server.url), { time })
  t.after(() => client.close())
  const answer = client.list(KINDS.Namespace)
  await time.passNext(PAUSE_MS_MAX)
  assert.ok((await answer).items.some(({ metadata }) => metadata.name === 'demo'))
  assert.equal(count(), 2)
})

test('a client certificate is of the connection, and no token is sent', async (t) => {
  const { cert, key } = authority('exec.test').issue('/CN=me')
  const { connect, file } = stand(t, 'cat answer')
  const status = { clientCertificateData: cert, clientKeyData: key }
  writeFileSync(file('answer'), JSON.stringify({ apiVersion: V1, kind: 'ExecCredential', status }))
  assert.deepEqual(await connect().credentials.present(), { authorization: null, tls: { cert, key } })
})

test('it gets its arguments, its variables beside ours, and the cluster when it asks for it', async (t) => {
  const exec = {
    args: ['get-token', 'a b'],
    env: [{ name: 'PROFILE', value: 'x y' }],
    provideClusterInfo: true
  }
  const script = `printf '%s|' "$@" "$PROFILE" "$KUBERNETES_EXEC_INFO" >told\n${prints('{"token":"t"}')}`
  const { connect, file } = stand(t, script, { exec })
  await connect().credentials.present()
  const [one, two, profile, info] = readFileSync(file('told'), 'utf8').split('|')
  assert.deepEqual([one, two, profile], ['get-token', 'a b', 'x y'])
  const spec = { cluster: { server: 'http://127.0.0.1:1' }, interactive: false }
  assert.deepEqual(JSON.parse(info!), { kind: 'ExecCredential', apiVersion: V1, spec })
})

test('what stands in the kubeconfig itself wins', async (t) => {
  const { connect, count } = stand(t, prints('{"token":"t"}'), { user: { token: 'own' } })
  assert.equal((await connect().credentials.present()).authorization, 'Bearer own')
  assert.equal(count(), 0)
})

test('a program that fails is an error with its user and what it says, without what it was told', async (t) => {
  const secret = 'horse-battery-staple'
  const exec = {
    args: ['--client-secret', secret, `--api-key=${secret}2`],
    env: [{ name: 'LOGIN_TOKEN', value: 'mellon' }]
  }
  const script = 'echo no login for $2, $3, $LOGIN_TOKEN, Bearer abcdef >&2; exit 7'
  const { connect } = stand(t, script, { exec })
  const hidden = '<redacted>'
  const says = `: it has ended with code 7: no login for ${hidden}, --api-key=${hidden}, ${hidden}, Bearer ${hidden}`
  await assert.rejects(
    async () => connect().credentials.present(),
    ({ message }: Error) => {
      assert.ok(message.startsWith('kubeconfig: users: me: exec: /'), message)
      assert.ok(message.endsWith(says), message)
      return true
    }
  )
})

test('a program that is missing is an error with the hint of the kubeconfig', async (t) => {
  const exec = { command: 'weir-no-such-login', installHint: 'see https://login.example' }
  const message = /^kubeconfig: users: me: exec: weir-no-such-login: it was not found\nsee https:\/\/login\.example$/
  await assert.rejects(async () => stand(t, '', { exec }).connect().credentials.present(), { message })
  const other = /: it was not found; install it, or name its whole path$/
  const bare = { command: 'weir-no-such-login' }
  await assert.rejects(async () => stand(t, '', { exec: bare }).connect().credentials.present(), { message: other })
})

test('a program that hangs is ended after a minute, with what it has started', async (t) => {
  const { connect, time, file } = stand(t, 'sleep 1000 & echo $! >child; wait')
  // Who reads from a pipe with a name waits for one who writes.
  execFileSync('mkfifo', [file('child')])
  const answer = Promise.resolve(connect().credentials.present())
  const failed = assert.rejects(answer, { message: /: it has not ended after 60 s$/ })
  const child = Number(await readFile(file('child'), 'utf8'))
  await time.passNext(MINUTE_MS)
  await failed
  while (isRunning(child)) await new Promise(setImmediate)
})

/** One that has ended, and that nobody has waited for, is a zombie ("Z"). */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

test('an answer without an end is cut off', async (t) => {
  const { connect } = stand(t, 'yes')
  await assert.rejects(async () => connect().credentials.present(), {
    message: /: its answer is longer than 1048576 bytes$/
  })
})

test('what the kubeconfig says wrong of a program is named before it is run', (t) => {
  const cases: readonly (readonly [exec: object, message: RegExp])[] = [
    [{ command: '' }, /^kubeconfig: users\.0\.user\.exec\.command: /],
    [{ apiVersion: 'client.authentication.k8s.io/v1alpha1' }, /^kubeconfig: users\.0\.user\.exec\.apiVersion: /],
    [{ env: [{ value: 'a' }] }, /^kubeconfig: users\.0\.user\.exec\.env\.0\.name: /],
    [{ interactiveMode: undefined }, /^kubeconfig: users: me: exec: interactiveMode: is required: Never, /],
    [{ interactiveMode: 'Always' }, /^kubeconfig: users: me: exec: interactiveMode: Always: standard input is no term/]
  ]
  for (const [exec, message] of cases) assert.throws(() => stand(t, '', { exec }).connect(), { message })
  stand(t, '', { exec: { apiVersion: `${V1}beta1`, interactiveMode: undefined } }).connect()
})
