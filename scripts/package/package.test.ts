/** The package as people get it: packed from a copy of the clone, and run where nothing of the clone is. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { freePort, runNode } from '#engine/testing/program.ts'

const ROOT = join(import.meta.dirname, '..', '..')
/** What a build reads. */
const SOURCES = ['package.json', 'README.md', 'LICENSE', 'engine', 'policies', 'backends', 'scripts', 'docs']
/** What the package says it needs at run time: installed beside it. */
const BESIDE = ['node', 'piscina', 'uWebSockets.js']
/** With the clients of Redis and PostgreSQL, 280 KB, and the browser application, compressed twice, 500 KB. */
const BYTES_MAX = 5.2 * 1024 * 1024

interface Packed {
  readonly filename: string
  readonly unpackedSize: number
  readonly files: readonly { readonly path: string }[]
}

describe('the package', () => {
  let folder = ''
  let installed = ''
  let packed: Packed

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'weir-package-'))
    const clone = join(folder, 'clone')
    const isCode = (path: string) => !/\.test\.ts$|testdata|node_modules/.test(basename(path))
    for (const name of SOURCES) await cp(join(ROOT, name), join(clone, name), { recursive: true, filter: isCode })
    await symlink(join(ROOT, 'node_modules'), join(clone, 'node_modules'), 'dir')
    const npm = (...args: string[]) => execFileSync('npm', args, { cwd: clone, encoding: 'utf8', stdio: 'pipe' })
    npm('run', 'prepack')
    const report: unknown = JSON.parse(npm('pack', '--ignore-scripts', '--json'))
    packed = (Object.values(report as object) as Packed[])[0]!
    const modules = join(folder, 'elsewhere', 'node_modules')
    installed = join(modules, 'weir')
    await mkdir(installed, { recursive: true })
    execFileSync('tar', ['-xzf', join(clone, packed.filename), '-C', installed, '--strip-components=1'])
    for (const name of BESIDE) await symlink(join(ROOT, 'node_modules', name), join(modules, name), 'dir')
  })

  after(() => rm(folder, { recursive: true, force: true }))

  test('has the bundle, types, schema, examples and licences, and nothing else', async () => {
    const paths = packed.files.map(({ path }) => path)
    const known =
      /^(?:package\.json|README\.md|LICENSE|engine\/process\/weir\.mjs|docs\/examples\/[^/]+|dist\/(?:weir(?:-[\w-]+)?\.mjs|weir\.d\.ts|weir\.schema\.json|licenses\.txt|ui\/(?:index\.html|assets\/[\w.-]+\.(?:js|css|svg))\.(?:br|gz)|ui\/assets\/[\w-]+\.woff2))$/
    assert.deepEqual(
      paths.filter((path) => !known.test(path)),
      []
    )
    for (const name of ['weir.mjs', 'weir-main.mjs', 'weir-jobs.mjs', 'weir.d.ts', 'weir.schema.json', 'licenses.txt'])
      assert.ok(paths.includes(`dist/${name}`), name)
    assert.ok(packed.unpackedSize < BYTES_MAX, `${packed.unpackedSize} bytes`)
    assert.match(await readFile(join(installed, 'dist', 'licenses.txt'), 'utf8'), /^zod [\d.]+\n\n.*MIT/ms)
    const { dependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
    assert.deepEqual(Object.keys(dependencies).toSorted(), BESIDE.toSorted())
  })

  test('serves where nothing of the clone is, work for other threads too', async (t) => {
    const port = await freePort()
    // htpasswd -nbB user pass
    const users = ['user:$2y$05$.paP4xFss/eXtuGfkysCpOJn/Zn01JN10qDE.eWa9oSAX6q8Jpk.S']
    const policies = { basicAuth: { users }, directResponse: { status: 200, body: 'hi' } }
    const off = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', workerThreads: 1 }
    const config = { config: off, binds: [{ port, listeners: [{ routes: [{ policies }] }] }] }
    const program = runNode([join(installed, 'engine', 'process', 'weir.mjs'), '-c', JSON.stringify(config)])
    t.after(() => program.stop())
    await program.logged('target=start')
    const headers = { authorization: `Basic ${Buffer.from('user:pass').toString('base64')}` }
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers })
    assert.equal(await response.text(), 'hi')
    program.signal('SIGTERM')
    assert.equal(await program.exited(), 0)
    assert.doesNotMatch(program.output, /Warning|dist is older/)
  })

  test('prints the schema that it has, for editors', async () => {
    const program = runNode([join(installed, 'engine', 'process', 'weir.mjs'), 'schema'])
    assert.equal(await program.exited(), 0)
    const schema = JSON.parse(program.output)
    assert.deepEqual(schema, JSON.parse(await readFile(join(installed, 'dist', 'weir.schema.json'), 'utf8')))
    assert.match(schema.$id, /^urn:weir:configuration:\d+\.\d+\.\d+$/)
    assert.match(schema.$comment, /# yaml-language-server: \$schema=/)
  })

  test('has types that a program can write a configuration by', async () => {
    const types = await readFile(join(installed, 'dist', 'weir.d.ts'), 'utf8')
    assert.match(types, /export interface Configuration \{\n\$schema\?: string\nconfig\?:/)
    assert.match(types, /^directResponse\?: \{\nstatus: number\n/m)
    assert.match(types, /^path\?: \{\nexact\?: string\npathPrefix\?: string\n/m)
  })
})

test('npm ci on an older Node installs uWebSockets.js, and warns of nothing', async () => {
  const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'))
  // npm leaves an optional package out, and warns of another, when `engines` names a later Node than its own.
  const entry = lock.packages['node_modules/uWebSockets.js']
  assert.deepEqual([entry.optional, entry.engines], [undefined, undefined])
})
