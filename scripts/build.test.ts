import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort, runNode } from '#engine/testing/program.ts'

test('the one file of the build serves: main thread, workers, demonstration and admin servers', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-build-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'weir.mjs')
  const build = runNode(['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'build.ts'), file])
  assert.equal(await build.exited(), 0, build.output)

  const [port, admin] = [await freePort(), await freePort()]
  const off = { STATS_ADDR: 'off', READINESS_ADDR: 'off' }
  const program = runNode([file], '', { ...off, PORT: String(port), ADMIN_ADDR: `127.0.0.1:${admin}` })
  t.after(() => program.stop())
  await program.said('curl -N')
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
