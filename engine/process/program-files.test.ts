/** Files that a configuration refers to, and what must never be seen outside, in the whole program. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort, type RunningProgram, runProgram } from '#engine/testing/program.ts'
import { compact, hour, keySet, type SigningKey, signingKey, token } from '#engine/testing/tokens.ts'

const first = signingKey('ES256')
const second = signingKey('ES256')

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'weir-files-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

function config(port: number, jwks: string, more = "adminAddr: 'off', logging: { level: 'info,request=off' }"): string {
  return `
config: { statsAddr: 'off', readinessAddr: 'off', workerThreads: 1, ${more} }
binds:
- port: ${port}
  listeners:
  - routes:
    - policies:
        jwtAuth: { issuer: 'https://issuer.example', jwks: ${jwks} }
        directResponse: { status: 200, body: in }
`
}

async function started(t: TestContext, ...args: string[]): Promise<RunningProgram> {
  const program = runProgram(args)
  t.after(() => program.stop())
  await program.logged('target=start')
  return program
}

async function ask(port: number, text: string): Promise<Response> {
  return await fetch(`http://127.0.0.1:${port}/`, { headers: { authorization: `Bearer ${text}` } })
}

const status = async (port: number, key: SigningKey): Promise<number> => (await ask(port, await token(key))).status

test('a key file is found beside the configuration, and a change of it is put in force', async (t) => {
  const path = folder(t)
  mkdirSync(join(path, 'keys'))
  const port = await freePort()
  writeFileSync(join(path, 'keys', 'jwks.json'), keySet([first]))
  writeFileSync(join(path, 'weir.yaml'), config(port, '{ file: keys/jwks.json }'))
  const program = await started(t, '-f', join(path, 'weir.yaml'))
  assert.deepEqual([await status(port, first), await status(port, second)], [200, 401])
  writeFileSync(join(path, 'new'), keySet([second]))
  renameSync(join(path, 'new'), join(path, 'keys', 'jwks.json'))
  await program.logged(/configuration [0-9a-f]{12} in force/)
  assert.deepEqual([await status(port, first), await status(port, second)], [401, 200])
  writeFileSync(join(path, 'keys', 'jwks.json'), '{ "keys": [] }')
  await program.logged('configuration refused')
  const place = `${join(path, 'weir.yaml')}:8:62: binds[0].listeners[0].routes[0].policies.jwtAuth.jwks.file: `
  assert.ok(program.output.includes(place), program.output)
  assert.deepEqual([await status(port, first), await status(port, second)], [401, 200])
  writeFileSync(join(path, 'keys', 'jwks.json'), keySet([first]))
  await program.logged(/configuration [0-9a-f]{12} in force/, 2)
  assert.deepEqual([await status(port, first), await status(port, second)], [200, 401])
})

test('another key file in a changed configuration is watched too', async (t) => {
  const path = folder(t)
  const port = await freePort()
  writeFileSync(join(path, 'one.json'), keySet([first]))
  writeFileSync(join(path, 'two.json'), keySet([first]))
  writeFileSync(join(path, 'weir.yaml'), config(port, '{ file: one.json }'))
  const program = await started(t, '-f', join(path, 'weir.yaml'))
  writeFileSync(join(path, 'weir.yaml'), config(port, '{ file: two.json }'))
  await program.logged(/configuration [0-9a-f]{12} in force/)
  writeFileSync(join(path, 'two.json'), keySet([second]))
  await program.logged(/configuration [0-9a-f]{12} in force/, 2)
  assert.deepEqual([await status(port, first), await status(port, second)], [401, 200])
})

test('a mounted ConfigMap: its link is swapped', async (t) => {
  const path = folder(t)
  const port = await freePort()
  const publish = (version: string, key: SigningKey) => {
    mkdirSync(join(path, version))
    writeFileSync(join(path, version, 'jwks.json'), keySet([key]))
    symlinkSync(version, join(path, '..data_tmp'))
    renameSync(join(path, '..data_tmp'), join(path, '..data'))
  }
  publish('..1', first)
  symlinkSync(join('..data', 'jwks.json'), join(path, 'jwks.json'))
  writeFileSync(join(path, 'weir.yaml'), config(port, '{ file: jwks.json }'))
  const program = await started(t, '-f', join(path, 'weir.yaml'))
  assert.equal(await status(port, first), 200)
  publish('..2', second)
  await program.logged(/configuration [0-9a-f]{12} in force/)
  assert.deepEqual([await status(port, first), await status(port, second)], [401, 200])
})

test('a configuration from the command line: paths begin at the working directory', async (t) => {
  const path = folder(t)
  const port = await freePort()
  const file = join(path, 'jwks.json')
  writeFileSync(file, keySet([first]))
  const program = await started(t, '-c', config(port, `{ file: '${relative(process.cwd(), file)}' }`))
  assert.equal(await status(port, first), 200)
  writeFileSync(file, keySet([second]))
  await program.logged(/configuration [0-9a-f]{12} in force/)
  assert.equal(await status(port, second), 200)
})

test('--validate-only names the file that is missing, with its place', async () => {
  const program = runProgram(['--validate-only', '-c', config(1, '{ file: /no/such/jwks.json }')])
  assert.equal(await program.exited(), 3)
  const path = 'binds[0].listeners[0].routes[0].policies.jwtAuth.jwks.file'
  const expected = `command line:8:62: ${path}: cannot read /no/such/jwks.json: there is no such file\n`
  assert.ok(program.output.includes(expected), program.output)
})

test('of a token, logs have its issuer, audience, dates and key id; error bodies and the dump have nothing', async (t) => {
  const path = folder(t)
  const [port, admin] = [await freePort(), await freePort()]
  writeFileSync(join(path, 'jwks.json'), keySet([first, { kid: 'a' }]))
  const more = `adminAddr: 'localhost:${admin}', logging: { level: trace }`
  writeFileSync(join(path, 'weir.yaml'), config(port, '{ file: jwks.json }', more))
  const program = await started(t, '-f', join(path, 'weir.yaml'))
  const canary = 'canary-7f3a'
  const claims = hour({ sub: canary, [canary]: 1, aud: 'elsewhere' })
  const tokens = [
    await token(first, claims, { kid: 'a' }),
    await token(first, claims, { kid: 'another' }),
    await token(second, claims, { kid: 'a' }),
    await token(first, { ...claims, iss: 'a stranger' }, { kid: 'a' }),
    await token(first, { ...claims, exp: 1 }, { kid: 'a' }),
    compact({ alg: 'odd' }, claims, canary),
    canary
  ]
  const seen: string[] = []
  for (const text of tokens) {
    const answer = await ask(port, text)
    seen.push(JSON.stringify([...answer.headers]), await answer.text())
  }
  const dump = await fetch(`http://localhost:${admin}/config_dump`)
  assert.equal(dump.status, 200)
  seen.push(await dump.text())
  program.signal('SIGTERM')
  assert.equal(await program.exited(), 0)
  assert.equal(program.output.split('target=request').length, tokens.length + 1)
  seen.push(program.output)
  const all = seen.join('\n')
  const parts = tokens.flatMap((text) => text.split('.'))
  // The first part of a token says only {"alg":"ES256",...}: as good a canary as the others.
  for (const part of [...parts, canary, Buffer.from(canary).toString('base64url')]) {
    assert.ok(!all.includes(part), `${part} is seen`)
  }
})

test('what came from the environment is a reference in the dump and in what pages are made of', async (t) => {
  const port = await freePort()
  // The port is said to listen only after it was taken.
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port: admin } = other.address() as AddressInfo
  const text = `
config: { statsAddr: 'off', readinessAddr: 'off', adminAddr: '127.0.0.1:${admin}', workerThreads: 1 }
binds:
- port: $PORT
  listeners:
  - hostname: $NAME
    routes:
    - matches: [{ path: { pathPrefix: /hook/$CANARY } }]
      policies:
        headerModifiers: { request: { set: { x-tenant: $CANARY, x-pin: "$PIN" } } }
        transformation: { request: { set: { x-who: '"who: $CANARY"' } } }
        directResponse: { status: 200, body: "I am \${CANARY}" }
`
  const env = { PORT: String(port), NAME: 'a.example', CANARY: 'canary-7f3', PIN: '4711' }
  const program = runProgram(['-c', text], '', env)
  t.after(() => program.stop())
  await program.logged('trying again')
  other.close()
  await program.logged('listening now')
  const [dump, page] = await Promise.all(
    ['config_dump', 'api/v1/configuration'].map(async (path) =>
      (await fetch(`http://127.0.0.1:${admin}/${path}`)).text()
    )
  )
  assert.ok(!`${dump}${page}${program.output}`.includes(env.CANARY), dump)
  const [bind] = JSON.parse(dump!).snapshot.binds
  const [route] = bind.listeners[0].routes
  assert.deepEqual([bind.port, bind.listeners[0].hostname], [port, 'a.example'])
  assert.deepEqual(route.matches[0].path, { prefix: '/hook/$CANARY' })
  assert.deepEqual(route.policies.headerModifiers.request.set, [
    { name: 'x-tenant', value: '$CANARY' },
    { name: 'x-pin', value: '$PIN' }
  ])
  assert.equal(route.policies.directResponse.body, `I am \${CANARY}`)
  assert.match(page!, /"\/hook\/\$CANARY"/)
})

test('a pipe or a device instead of a file is refused, and stops nothing', async (t) => {
  const path = folder(t)
  const file = join(path, 'weir.yaml')
  const port = await freePort()
  writeFileSync(join(path, 'jwks.json'), keySet([first]))
  execFileSync('mkfifo', [join(path, 'pipe')])
  writeFileSync(file, config(port, '{ file: jwks.json }'))
  const program = await started(t, '-f', file)
  for (const [i, name] of ['pipe', '/dev/zero'].entries()) {
    writeFileSync(file, config(port, `{ file: ${name} }`))
    await program.logged('it is not a regular file', i + 1)
  }
  // What was refused is watched, and so is a file that was good: opening the pipe would wait for ever.
  renameSync(join(path, 'pipe'), join(path, 'jwks.json'))
  writeFileSync(join(path, 'other.json'), keySet([second]))
  writeFileSync(file, config(port, '{ file: other.json }'))
  await program.logged(/configuration [0-9a-f]{12} in force/)
  assert.deepEqual([await status(port, first), await status(port, second)], [401, 200])
})

test('a configuration is checked by the admin port as at the start, and nothing of it is in force', async (t) => {
  const path = folder(t)
  const [port, admin] = [await freePort(), await freePort()]
  writeFileSync(join(path, 'jwks.json'), keySet([first]))
  const text = config(port, '{ file: jwks.json }', `adminAddr: '127.0.0.1:${admin}'`)
  writeFileSync(join(path, 'weir.yaml'), text)
  const program = await started(t, '-f', join(path, 'weir.yaml'))
  const check = async (wanted: string) => {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ text: wanted })
    const answer = await fetch(`http://127.0.0.1:${admin}/api/v1/configuration/check`, {
      method: 'POST',
      headers,
      body
    })
    return (await answer.json()) as { isValid: boolean; isInForce: boolean; errors: unknown[]; errorCount: number }
  }
  assert.deepEqual(await check(text), { isValid: true, isInForce: true, errors: [], errorCount: 0, warnings: [] })
  const other = text.replace('status: 200', 'status: 299')
  assert.deepEqual(await check(other), { isValid: true, isInForce: false, errors: [], errorCount: 0, warnings: [] })
  const wrong = await check(text.replace('status: 200', 'status: 99').replace('jwks.json', 'none.json'))
  const at = 'binds[0].listeners[0].routes[0].policies'
  const found = wrong.errors as { line: number; column: number; path: string }[]
  assert.deepEqual(
    found.map(({ line, path: field }) => `${line} ${field}`),
    [`8 ${at}.jwtAuth.jwks.file`, `9 ${at}.directResponse.status`]
  )
  const broken = await check('binds: [')
  assert.deepEqual([broken.isValid, broken.errorCount > 0], [false, true])
  assert.equal(await status(port, first), 200)
  assert.equal(/in force|refused/.test(program.output), false, program.output)
  // The file is read again as before.
  writeFileSync(join(path, 'new'), other)
  renameSync(join(path, 'new'), join(path, 'weir.yaml'))
  await program.logged(/configuration [0-9a-f]{12} in force/)
  assert.equal(await status(port, first), 299)
})
