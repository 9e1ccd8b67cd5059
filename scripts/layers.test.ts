import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROOT } from './files.ts'
import { asLines, fixtureTree } from './fixture.ts'
import { checkLayers } from './layers.ts'

/** Files with one import each (path -> specifier), and the findings over them without their place. */
function judge(t: Parameters<typeof fixtureTree>[0], imports: Readonly<Record<string, string>>): string[] {
  const files = Object.entries(imports).map(([path, specifier]) => [path, `import '${specifier}'\n`])
  return asLines(checkLayers(fixtureTree(t, Object.fromEntries(files))))
}

test('the repository has no breach', () => {
  assert.deepEqual(asLines(checkLayers(ROOT)), [])
})

test('imports that go down, to the right, or stay in their module pass', (t) => {
  assert.deepEqual(
    judge(t, {
      'engine/process/main.ts': '#policies/index.ts',
      'engine/process/cli.ts': './main.ts',
      'engine/lifecycle/lifecycle.ts': '#engine/contract/exchange.ts',
      'engine/workers/thread.ts': '#engine/build/runtime.ts',
      'engine/upstream/client.ts': '#engine/ir/snapshot.ts',
      'engine/upstream/pool.ts': './client.ts',
      'engine/contract/transport.ts': '#engine/socket/memory.ts',
      'engine/http/llhttp.ts': '#engine/socket/memory.ts',
      'engine/http/llhttp-binary.ts': 'undici/lib/llhttp/llhttp-wasm.js',
      'engine/downstream/uws/listen.ts': 'uWebSockets.js',
      'engine/kit/pattern.ts': 're2js',
      'engine/kit/ring.ts': 'node:assert',
      'policies/index.ts': './traffic/csrf.ts',
      'policies/traffic/csrf.ts': '#policies/shared/origin.ts',
      'backends/index.ts': '#backends/http/static.ts',
      'backends/http/static.ts': '#engine/contract/backend.ts'
    }),
    []
  )
})

test('an import that goes up is found, with its line', (t) => {
  const root = fixtureTree(t, {
    'engine/kit/ring.ts': "// first line\nimport { x } from '#engine/upstream/pool.ts'\n"
  })
  assert.deepEqual(asLines(checkLayers(root)), [
    'engine/kit/ring.ts:2 import goes up, from kit (layer 0) to upstream (layer 2): pass it down as an argument'
  ])
})

test('an import that goes sideways is found', (t) => {
  const [finding, ...others] = judge(t, {
    'engine/upstream/http1/connection.ts': '#engine/downstream/http1/connection.ts'
  })
  assert.match(finding!, /sideways, from upstream \(layer 2\) to downstream \(layer 2\)/)
  assert.deepEqual(others, [])
})

test('engine/lifecycle/lifecycle.ts is in layer 2 and engine/process/cli.ts in layer 5', (t) => {
  const findings = judge(t, {
    'engine/lifecycle/lifecycle.ts': '#engine/upstream/pool.ts',
    'engine/workers/main.ts': '#engine/process/cli.ts'
  })
  assert.equal(findings.length, 2)
  assert.match(findings[0]!, /sideways, from lifecycle/)
  assert.match(findings[1]!, /up, from workers \(layer 4\) to process \(layer 5\)/)
})

test('in layer 0 an import to the left is found', (t) => {
  const [finding] = judge(t, { 'engine/kit/ring.ts': '#engine/socket/wire.ts' })
  assert.match(finding!, /to the left in layer 0, from kit to socket/)
})

test('type-only imports, re-exports, dynamic imports and workers by URL count', (t) => {
  const root = fixtureTree(t, {
    'engine/kit/a.ts': "import type { X } from '#engine/upstream/pool.ts'\n",
    'engine/kit/b.ts': "export { X } from '#engine/upstream/pool.ts'\n",
    'engine/kit/c.ts': "const x = await import('#engine/upstream/pool.ts')\n",
    'engine/kit/d.ts': "new Worker(new URL('../upstream/pool.ts', import.meta.url))\n",
    'engine/kit/e.ts': "import {\n  type A,\n  b\n} from '#engine/upstream/pool.ts'\n"
  })
  assert.deepEqual(
    checkLayers(root).map(({ file, line }) => `${file}:${line}`),
    ['engine/kit/a.ts:1', 'engine/kit/b.ts:1', 'engine/kit/c.ts:1', 'engine/kit/d.ts:1', 'engine/kit/e.ts:4']
  )
})

test('imports that only stand in comments and strings do not count', (t) => {
  const text = "// import '#engine/upstream/pool.ts'\nexport const x = \"import '#engine/upstream/pool.ts'\"\n"
  assert.deepEqual(checkLayers(fixtureTree(t, { 'engine/kit/a.ts': text })), [])
})

test("'../' is refused everywhere, tests included", (t) => {
  const findings = judge(t, { 'engine/kit/a.test.ts': '../http/url.ts', 'scripts/x.ts': '../engine/process/main.ts' })
  assert.equal(findings.length, 2)
  assert.match(findings[0]!, /'\.\.\/http\/url\.ts': write '#engine/)
})

test('only engine/process/main.ts imports the registries', (t) => {
  const findings = judge(t, {
    'engine/process/cli.ts': '#policies/index.ts',
    'engine/build/runtime.ts': '#backends/index.ts',
    'engine/process/main.ts': '#backends/index.ts',
    'engine/build/runtime.test.ts': '#policies/index.ts'
  })
  assert.equal(findings.length, 2)
  for (const finding of findings) assert.match(finding, /only engine\/process\/main\.ts may import/)
})

test('the engine, main included, imports no policy and no backend by name', (t) => {
  const findings = judge(t, {
    'engine/process/main.ts': '#policies/traffic/csrf.ts',
    'engine/build/runtime.ts': '#backends/http/static.ts'
  })
  assert.equal(findings.length, 2)
  for (const finding of findings) assert.match(finding, /the engine knows no (?:policies|backends) by name/)
})

test('policies and backends use layers 0 and 1, and do not import each other', (t) => {
  const findings = judge(t, {
    'backends/http/static.ts': '#engine/upstream/client.ts',
    'backends/llm/serve.ts': '#policies/traffic/csrf.ts',
    'backends/mcp/serve.ts': '#backends/llm/serve.ts',
    'policies/traffic/csrf.ts': '#policies/traffic/cors.ts',
    'policies/shared/jwks.ts': '#policies/traffic/cors.ts'
  })
  assert.equal(findings.length, 5)
  assert.match(findings[0]!, /backends use layers 0 and 1/)
  assert.match(findings[1]!, /backends and policies do not import each other/)
  assert.match(findings[2]!, /backends\/mcp may not import backends\/llm/)
  assert.match(findings[3]!, /policies\/shared may not import policies\/traffic\/cors/)
  assert.match(findings[4]!, /policies\/traffic\/csrf may not import policies\/traffic\/cors/)
})

test('each package is imported in one place, and a new package nowhere', (t) => {
  const findings = judge(t, {
    'engine/downstream/listen.ts': 'uWebSockets.js',
    'engine/http/parse.ts': 'undici',
    'engine/ir/load.ts': 'yaml',
    'engine/upstream/a.ts': 're2js',
    'engine/upstream/b.ts': 'esbuild',
    'engine/upstream/c.ts': 'ws',
    'engine/upstream/d.ts': '@some/thing/deep',
    'policies/traffic/csrf.ts': 'zod'
  })
  assert.equal(findings.length, 8)
  assert.match(findings[0]!, /uWebSockets\.js may only be imported in engine\/downstream\/uws\//)
  assert.match(findings[6]!, /package @some\/thing is not listed/)
})

test('tests, testing/, bench/, fuzz/ and scripts/ may import anything; nothing that ships imports them', (t) => {
  const findings = judge(t, {
    'engine/kit/ring.test.ts': '#engine/upstream/pool.ts',
    'engine/testing/gateway.ts': '#engine/process/main.ts',
    'bench/main.ts': 'hdr-histogram-js',
    'fuzz/main.ts': '#policies/traffic/csrf.ts',
    'scripts/build.ts': 'esbuild',
    'engine/workers/start.ts': '#engine/testing/gateway.ts'
  })
  assert.equal(findings.length, 1)
  assert.match(findings[0]!, /^engine\/workers\/start\.ts:1 engine\/testing\/gateway\.ts is for development/)
})

test('a folder that is no module is found', (t) => {
  const [finding] = judge(t, { 'engine/stuff/a.ts': '#engine/kit/ring.ts' })
  assert.match(finding!, /engine\/stuff\/a\.ts belongs to no module/)
})

test('a circle of imports is found', (t) => {
  const [finding, ...others] = judge(t, { 'engine/kit/ring.ts': './queue.ts', 'engine/kit/queue.ts': './ring.ts' })
  assert.match(finding!, /^engine\/kit\/queue\.ts:0 circle of 2 files/)
  assert.deepEqual(others, [])
})
