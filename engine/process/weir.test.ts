import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { freePort, type RunningProgram, runNode } from '#engine/testing/program.ts'

const LAUNCHER = join(import.meta.dirname, 'weir.mjs')
/**
 * The launcher as it is installed: beside it the bundle that `npm test` has made, which starts in a third of the time,
 * and no sources. Else the clone's own.
 */
const INSTALLED = install(process.env.WEIR_TEST_PROGRAM)
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

/** The folder stays: the next run writes it again. */
function install(bundle: string | undefined): string {
  if (bundle === undefined) return LAUNCHER
  // Below the clone, so that the pinned Node is found as in an installation.
  const folder = join(dirname(bundle), 'installed')
  rmSync(join(folder, 'dist'), { recursive: true, force: true })
  for (const name of readdirSync(dirname(bundle)).filter((one) => one.endsWith('.mjs')))
    cpSync(join(dirname(bundle), name), join(folder, 'dist', name))
  const launcher = join(folder, 'engine', 'process', 'weir.mjs')
  cpSync(LAUNCHER, launcher)
  return launcher
}

function launch(old: boolean, args: readonly string[], input = '', launcher = INSTALLED): RunningProgram {
  return runNode([...(old ? [OLD] : []), launcher, ...args], input)
}

for (const old of [false, true]) {
  const where = old ? 'on an old Node' : 'on this Node'

  test(`the launcher ${where} passes arguments, standard input, output and exit code`, async () => {
    const version = launch(old, ['--version'], '', LAUNCHER)
    assert.equal(await version.exited(), 0)
    assert.match(version.output, /^(?:weir: dist is older.*\n)?weir \d+\.\d+\.\d+\n$/)
    const invalid = launch(old, ['-f', '-'], 'binds: 1\n')
    assert.equal(await invalid.exited(), 3)
    assert.match(invalid.output, /^stdin:1:8: /m)
  })

  test(`the launcher ${where} passes signals, and prints no warnings of Node`, async (t) => {
    const program = launch(old, ['-c', config(await freePort())])
    t.after(() => program.stop())
    await program.logged('target=start')
    program.signal('SIGTERM')
    assert.equal(await program.exited(), 0)
    assert.match(program.output, /target=drain message=done/)
    assert.doesNotMatch(program.output, /Warning/)
  })
}

test('what was built before the sources changed does not run', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-stale-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const write = (path: string, text: string, at: number): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
    utimesSync(join(folder, path), at, at)
  }
  cpSync(LAUNCHER, join(folder, 'engine', 'process', 'weir.mjs'))
  const run = async (): Promise<string> => {
    const program = runNode([join(folder, 'engine', 'process', 'weir.mjs')])
    assert.equal(await program.exited(), 0)
    return program.output
  }
  write('dist/weir.mjs', "process.stdout.write('built')", 2000)
  assert.equal(await run(), 'built')
  write('engine/process/start.ts', "process.stdout.write('sources')", 1000)
  write('node_modules/node/package.json', '{}', 1000)
  write('node_modules/zod/index.js', '', 1000)
  write('backends/a.test.ts', '', 3000)
  assert.equal(await run(), 'built')
  write('backends/http/a.ts', '', 3000)
  assert.match(await run(), /^weir: dist is older than backends.http.a\.ts: running the sources; .*\nsources$/)
})

test('without its packages the launcher says what to do', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-bare-'))
  t.after(() => rmSync(folder, { recursive: true }))
  cpSync(LAUNCHER, join(folder, 'engine', 'process', 'weir.mjs'))
  writeFileSync(join(folder, 'engine', 'process', 'start.ts'), "process.stdout.write('sources')")
  const program = runNode([join(folder, 'engine', 'process', 'weir.mjs')])
  assert.equal(await program.exited(), 1)
  const message = 'weir: its packages are not installed: run npm ci first (the sources need all of them)\n'
  assert.equal(program.output, message)
  // As npm ci --omit=dev leaves it.
  mkdirSync(join(folder, 'node_modules', 'node'), { recursive: true })
  writeFileSync(join(folder, 'node_modules', 'node', 'package.json'), '{}')
  const again = runNode([join(folder, 'engine', 'process', 'weir.mjs')])
  assert.equal(await again.exited(), 1)
  assert.equal(again.output, message)
})

test('where npm runs no install scripts the pinned Node is missing: the launcher says how to get it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-scriptless-'))
  t.after(() => rmSync(folder, { recursive: true }))
  cpSync(LAUNCHER, join(folder, 'engine', 'process', 'weir.mjs'))
  for (const path of ['dist', 'node_modules/node']) mkdirSync(join(folder, path), { recursive: true })
  writeFileSync(join(folder, 'dist', 'weir.mjs'), "process.stdout.write('built')")
  writeFileSync(join(folder, 'node_modules', 'node', 'package.json'), '{}')
  const program = launch(true, [], '', join(folder, 'engine', 'process', 'weir.mjs'))
  assert.equal(await program.exited(), 1)
  assert.match(
    program.output,
    /^weir: cannot start the pinned Node: npm .* run npm rebuild node, or .* 22\.18 or later\n$/
  )
})
