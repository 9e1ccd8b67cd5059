import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort, type RunningProgram, runNode } from './testing/program.ts'

const LAUNCHER = join(import.meta.dirname, 'weir.mjs')
/** Makes the launcher believe that it runs on a Node that is too old. The Node that it starts is not told. */
const OLD = `--import=data:text/javascript,${encodeURIComponent(
  "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } })"
)}`

function config(port: number): string {
  return `
config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', workerThreads: 1 }
binds:
- port: ${port}
  listeners: [{ routes: [{ policies: { directResponse: { status: 200, body: hi } } }] }]
`
}

function launch(old: boolean, args: readonly string[], input = ''): RunningProgram {
  return runNode([...(old ? [OLD] : []), LAUNCHER, ...args], input)
}

for (const old of [false, true]) {
  const where = old ? 'on an old Node' : 'on this Node'

  test(`the launcher ${where} passes arguments, standard input, output and exit code`, async () => {
    const version = launch(old, ['--version'])
    assert.equal(await version.exited(), 0)
    assert.match(version.output, /^weir \d+\.\d+\.\d+\n$/)
    const invalid = launch(old, ['-f', '-'], 'binds: 1\n')
    assert.equal(await invalid.exited(), 3)
    assert.match(invalid.output, /^stdin:1:8: /)
  })

  test(`the launcher ${where} passes signals, and prints no warnings of Node`, async (t) => {
    const program = launch(old, ['-c', config(await freePort())])
    t.after(() => program.stop())
    await program.said('target=start')
    program.signal('SIGTERM')
    assert.equal(await program.exited(), 0)
    assert.match(program.output, /target=drain message=done/)
    assert.doesNotMatch(program.output, /Warning/)
  })
}
