import assert from 'node:assert/strict'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { freePort, runProgram } from '#engine/testing/program.ts'
import { type Backend, configFor, fetchText, startBackend, started } from './program.fixture.ts'

let folder: string
let backend: Backend

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-test-'))
  backend = await startBackend()
})

after(async () => {
  backend.close()
  await rm(folder, { recursive: true, force: true })
})

const config = (port: number, text: string): string => configFor(backend.port, port, text)

test('exit codes: help 0, wrong usage 2, invalid configuration 3 with every mistake', async () => {
  const help = runProgram(['--help'])
  assert.equal(await help.exited(), 0)
  assert.match(help.output, /Usage:/)
  const usage = runProgram(['--nope'])
  assert.equal(await usage.exited(), 2)
  const invalid = runProgram(['-f', '-'], 'binds:\n- port: 99999\n  listenrs: []\n')
  assert.equal(await invalid.exited(), 3)
  assert.match(invalid.output, /stdin:2:9: binds\[0\]\.port: must be a whole number from 1 to 65535/)
  assert.match(invalid.output, /stdin:3:3: binds\[0\]\.listenrs: is not a known key\n +did you mean "listeners"\?/)
  const port = runProgram([], '', { PORT: 'high' })
  assert.equal(await port.exited(), 2)
  assert.match(port.output, /PORT must be a whole number from 1 to 65535, not 'high'/)
  const level = runProgram(['-c', config(1, 'x')], '', { LOG_LEVEL: 'loud' })
  assert.equal(await level.exited(), 3)
  assert.match(level.output, /environment variable LOG_LEVEL/)
  const missing = runProgram(['-f', join(folder, 'no-such-file.yaml')])
  assert.equal(await missing.exited(), 3)
  assert.match(missing.output, /cannot read .*no-such-file\.yaml: there is no such file\n/)
  const directory = runProgram(['-f', folder])
  assert.equal(await directory.exited(), 3)
  assert.ok(directory.output.includes(`cannot read ${folder}: it is a folder without a file *.yaml, *.yml or *.json`))
  const endless = runProgram(['--validate-only', '-f', '/dev/zero'])
  assert.equal(await endless.exited(), 3)
  assert.match(endless.output, /cannot read \/dev\/zero: it is longer than 64 MiB/)
})

test('--validate-only checks without starting, and sees what only a built Runtime shows', async () => {
  const good = runProgram(['--validate-only', '-c', config(1, 'x')])
  assert.equal(await good.exited(), 0)
  assert.match(good.output, /configuration is valid: 1 bind, 2 routes, 1 backend\n$/)
  const rewrite = `binds:
- port: 1
  listeners:
  - routes:
    - matches: [{ path: { exact: /a } }]
      policies: { urlRewrite: { path: { prefix: /b } } }
      backends: [{ host: 'localhost:1' }]
`
  const bad = runProgram(['--validate-only', '-c', rewrite])
  assert.equal(await bad.exited(), 3)
  assert.match(bad.output, /command line:6:\d+: binds\[0\]\.listeners\[0\]\.routes\[0\]\.policies\.urlRewrite/)
})

test('a port that is taken is a clear start error', async (t) => {
  // Without SO_REUSEPORT on its side, this socket keeps the port to itself.
  const { port } = backend
  const program = runProgram(['-c', config(port, 'x')])
  t.after(() => program.stop())
  assert.equal(await program.exited(), 1)
  assert.match(program.output, /EADDRINUSE.*binds\[\]\.port, llm\.port/)
})

test('a changed file is put in force, a broken one is refused and the old one stays', async (t) => {
  const port = await freePort()
  const file = join(folder, 'reload.yaml')
  await writeFile(file, config(port, 'one'))
  const program = await started(runProgram(['-f', file]))
  t.after(() => program.stop())
  assert.equal((await fetchText(port, '/version')).body, 'one')

  await writeFile(`${file}.new`, config(port, 'two'))
  await rename(`${file}.new`, file)
  await program.logged(/configuration \w+ in force/)
  assert.equal((await fetchText(port, '/version')).body, 'two')

  await writeFile(file, config(port, 'three').replace('exact', 'exakt'))
  await program.logged('configuration refused')
  assert.match(program.output, /exakt: is not a known key\\n +did you mean \\"exact\\"/)
  assert.equal((await fetchText(port, '/version')).body, 'two')

  await writeFile(file, config(port, 'four'))
  program.signal('SIGHUP')
  await program.logged(/configuration \w+ in force/, 2)
  assert.equal((await fetchText(port, '/version')).body, 'four')

  // Who asks gets an answer, also when nothing is new.
  program.signal('SIGHUP')
  await program.logged('is offered again: it is what runs')
})

test('the admin port shows what runs and the last error; the running file offered again clears it', async (t) => {
  const [port, admin] = [await freePort(), await freePort()]
  const file = join(folder, 'admin.yaml')
  const good = config(port, 'one').replace("adminAddr: 'off'", `adminAddr: '127.0.0.1:${admin}'`)
  await writeFile(file, good)
  // Another program has the port: traffic is served without the admin server, which comes when it can.
  const other = createServer().listen(admin, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  const program = await started(runProgram(['-f', file]))
  t.after(() => program.stop())
  // The line of the start comes when each server listens or has found that it cannot.
  assert.match(program.output, /adminAddr: 127\.0\.0\.1[\s\S]*target=start/)
  assert.equal((await fetchText(port, '/version')).body, 'one')
  other.close()
  await program.logged('listening now')

  interface Dump {
    readonly hash: string
    readonly acceptedAt: string
    readonly lastError: { readonly at: string; readonly message: string } | null
  }
  const dump = async () => JSON.parse((await fetchText(admin, '/config_dump')).body) as Dump
  const first = await dump()
  assert.equal(first.lastError, null)
  await writeFile(file, `${good}bindz: []\n`)
  await program.logged('configuration refused')
  const refused = await dump()
  assert.deepEqual([refused.hash, refused.acceptedAt], [first.hash, first.acceptedAt])
  assert.match(refused.lastError!.message, /bindz/)
  assert.ok(refused.lastError!.at > first.acceptedAt)
  await writeFile(file, good)
  await program.logged('is offered again')
  assert.equal((await dump()).lastError, null)
  await writeFile(file, good.replace('workerThreads: 2', 'workerThreads: 1'))
  await program.logged('needs a restart to take effect: config.workerThreads')
  assert.equal(program.output.split('trying again').length, 2, 'said once')
})

test('without arguments the demonstration runs', async (t) => {
  const port = await freePort()
  const env = { PORT: String(port), ADMIN_ADDR: 'off', STATS_ADDR: 'off', READINESS_ADDR: 'off' }
  const program = runProgram([], '', env)
  t.after(() => program.stop())
  await program.logged('curl -N')
  assert.match((await fetchText(port, '/')).body, /built-in demonstration/)
  assert.match((await fetchText(port, '/demo/hello')).body, /Hello from the demo backend/)
  const echo = JSON.parse((await fetchText(port, '/demo/echo')).body) as {
    url: string
    headers: Record<string, string>
  }
  assert.equal(echo.url, '/echo')
  assert.equal(echo.headers['x-demo'], 'through-weir')
  program.signal('SIGINT')
  assert.equal(await program.exited(), 0)
})
