import assert from 'node:assert/strict'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort, runNode } from '#engine/testing/program.ts'

/** Path of a new bundle, in a folder of its own. */
async function bundle(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-build-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'weir.mjs')
  const build = runNode(['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'build.ts'), file])
  assert.equal(await build.exited(), 0, build.output)
  // As beside an installed program: what is not in the bundle.
  await symlink(join(import.meta.dirname, '..', 'node_modules'), join(folder, 'node_modules'), 'dir')
  return file
}

test('the one file of the build serves: main thread, workers, demonstration and admin servers', async (t) => {
  const file = await bundle(t)
  const [port, admin] = [await freePort(), await freePort()]
  const off = { STATS_ADDR: 'off', READINESS_ADDR: 'off' }
  const program = runNode([file], '', { ...off, PORT: String(port), ADMIN_ADDR: `127.0.0.1:${admin}` })
  t.after(() => program.stop())
  await program.logged('curl -N')
  const hello = await fetch(`http://127.0.0.1:${port}/demo/hello`)
  assert.equal(await hello.text(), 'Hello from the demo backend.\n')
  const ask = () => fetch(`http://127.0.0.1:${admin}/config_dump`).catch(() => null)
  let dump = await ask()
  while (dump === null) dump = await ask()
  assert.equal(((await dump.json()) as { version: number }).version, 1)
  program.signal('SIGTERM')
  assert.equal(await program.exited(), 0)
  assert.doesNotMatch(program.output, /Warning/)
})

test('work for other threads is done from the bundle too: a slow password hash', async (t) => {
  const file = await bundle(t)
  const port = await freePort()
  // htpasswd -nbB user pass
  const users = ['user:$2y$05$.paP4xFss/eXtuGfkysCpOJn/Zn01JN10qDE.eWa9oSAX6q8Jpk.S']
  const policies = { basicAuth: { users }, directResponse: { status: 200 } }
  const off = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', workerThreads: 1 }
  const config = { config: off, binds: [{ port, listeners: [{ routes: [{ policies }] }] }] }
  const program = runNode([file, '-c', JSON.stringify(config)])
  t.after(() => program.stop())
  await program.logged('target=start')
  const ask = async (text: string) => {
    const headers = { authorization: `Basic ${Buffer.from(text).toString('base64')}` }
    return (await fetch(`http://127.0.0.1:${port}/`, { headers })).status
  }
  assert.deepEqual([await ask('user:pass'), await ask('user:Pass'), await ask('other:pass')], [200, 401, 401])
  program.signal('SIGTERM')
  assert.equal(await program.exited(), 0)
})
