import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { asLines, fixtureTree } from './fixture.ts'
import { checkTidy } from './tidy.ts'

/** A tree that breaks no rule. */
const CLEAN: Readonly<Record<string, string>> = {
  'package.json': '{ "scripts": { "start": "node engine/process/main.ts" } }',
  'package-lock.json': '{ "packages": {} }',
  'README.md': '# A title\n\nSee [the pages](docs/README.md) and [all](docs).\n',
  '.ci/run': 'true\n',
  'engine/process/main.ts': "import '#policies/index.ts'\nimport '#backends/index.ts'\n",
  'policies/index.ts': 'export const traffic = []\n',
  'backends/index.ts': 'export const kinds = []\n',
  'bench/micro/ring.ts': 'export const name = 1\n',
  'fuzz/targets/head.ts': 'export const name = 1\n',
  'scripts/x.test.ts': 'export const name = 1\n',
  'docs/README.md': '# Pages\n\n[back](../README.md#a-title)\n'
}

/** The findings of the clean tree with `files` added. */
function tidy(t: TestContext, files: Readonly<Record<string, string>>): string[] {
  return asLines(checkTidy(fixtureTree(t, { ...CLEAN, ...files })))
}

/** The findings when the code is that of a file which the program imports. */
function tidyCode(t: TestContext, text: string, path = 'engine/kit/x.ts'): string[] {
  return tidy(t, { 'engine/process/main.ts': `${CLEAN['engine/process/main.ts']}import '#${path}'\n`, [path]: text })
}

test('a tidy tree has no findings', (t) => {
  assert.deepEqual(tidy(t, {}), [])
})

test('lines, functions and files have limits', (t) => {
  const body = '  f()\n'.repeat(70)
  assert.deepEqual(tidyCode(t, `const a = ${'x'.repeat(110)}\n`), [])
  assert.deepEqual(tidyCode(t, `const a = ${'x'.repeat(111)}\n`), [
    'engine/kit/x.ts:1 line of 121 columns; the limit is 120'
  ])
  // One long string stays whole.
  assert.deepEqual(tidyCode(t, `const a = '${'x'.repeat(150)}'\n`), [])
  assert.deepEqual(tidyCode(t, `function ok() {\n${body.slice(12)}}\n`), [])
  assert.deepEqual(tidyCode(t, `\nfunction big() {\n${body}}\n`), [
    'engine/kit/x.ts:2 function big of 72 lines; the limit is 70'
  ])
  assert.deepEqual(tidyCode(t, 'f()\n'.repeat(400)), [])
  assert.match(tidyCode(t, 'f()\n'.repeat(401))[0]!, /file of 401 lines; the limit is 400/)
  assert.deepEqual(tidy(t, { 'engine/kit/x.test.ts': 'f()\n'.repeat(600) }), [])
  assert.match(tidy(t, { 'engine/kit/x.test.ts': 'f()\n'.repeat(601) })[0]!, /the limit is 600/)
})

test('a describe block may be long, a test in it may not', (t) => {
  const body = '    f()\n'.repeat(80)
  assert.deepEqual(tidy(t, { 'engine/x.test.ts': `describe('a', () => {\n${body}})\n` }), [])
  assert.match(tidy(t, { 'engine/x.test.ts': `test('a', () => {\n${body}})\n` })[0]!, /function of 82 lines/)
})

test('each banned thing is found, and named with what to write instead', (t) => {
  const cases: [code: string, finding: RegExp][] = [
    ['console.error(1)', /console\.error: .*engine\/telemetry/],
    ['const a = b as any', /as any: no any/],
    ['// @ts-ignore', /@ts-ignore: the type checker/],
    ['/* @ts-expect-error */', /@ts-expect-error: /],
    ['try {\n  f()\n} catch {}', /catch \{\}: empty catch/],
    ['try {\n  f()\n} catch (error) {\n}', /catch \(error\) \{: empty catch/],
    ['f().catch(() => {})', /empty catch/],
    ['const a = Math.random()', /Math\.random: /],
    ['Atomics.add(a, 0, 1)', /Atomics: .*engine\/workers\/shared\.ts/],
    ['// FIX' + 'ME later', /leftover marker/]
  ]
  for (const [code, finding] of cases) {
    const findings = tidyCode(t, `${code}\n`, 'engine/http/x.ts')
    assert.equal(findings.length, 1, code)
    assert.match(findings[0]!, finding)
  }
})

test('banned words may stand in texts, and are allowed where they belong', (t) => {
  assert.deepEqual(tidyCode(t, "const a = 'as any, console.log, Math.random' // as any, Atomics\n"), [])
  assert.deepEqual(tidyCode(t, 'try {\n  f()\n} catch {\n  // Gone already: nothing to close.\n}\n'), [])
  assert.deepEqual(tidyCode(t, 'const a = Math.random()\n', 'engine/kit/random.ts'), [])
  assert.deepEqual(tidyCode(t, 'Atomics.add(a, 0, 1)\n', 'engine/workers/shared.ts'), [])
  assert.deepEqual(tidyCode(t, 'console.log(1)\n', 'engine/process/cli.ts'), [])
  assert.deepEqual(tidyCode(t, 'setTimeout(f, 1)\nsocket.setTimeout(1)\n'), [])
})

test('tests neither sleep nor are left out', (t) => {
  const cases = [
    'setTimeout(done, 10)',
    "import { setTimeout as sleep } from 'node:timers/promises'",
    "test.skip('a', f)",
    "describe.only('a', f)",
    "test('a', { todo: true }, f)",
    "test('a', { skip: 'later' }, f)",
    "test('a', { timeout: 5_000 }, f)"
  ]
  for (const code of cases) assert.equal(tidy(t, { 'engine/x.test.ts': `${code}\n` }).length, 1, code)
  assert.deepEqual(tidy(t, { 'engine/x.test.ts': 'socket.setTimeout(1)\nlist.skip\n' }), [])
})

test('hooks of policies keep the rules of the hot path, unless a comment says why not', (t) => {
  const hook = (line: string) => `async function onRequest(ex) {\n${line}\n}\nfunction compile() {\n  ${line}\n}\n`
  for (const line of ['await f()', 'JSON.parse(a)', 'f(...a)', 'const b = { ...a }', 'new RegExp(a)']) {
    const findings = tidyCode(t, hook(line), 'policies/traffic/x.ts')
    assert.deepEqual(findings.length, 1, line)
    assert.match(findings[0]!, /^policies\/traffic\/x\.ts:2 onRequest runs per request: no /)
    assert.deepEqual(tidyCode(t, hook(`// It must wait.\n${line}`), 'policies/traffic/x.ts'), [])
    assert.deepEqual(tidyCode(t, hook(line), 'engine/build/x.ts'), [])
  }
  const arrow = 'export const filter = { onRequest: (ex) => run(...ex) }\n'
  assert.equal(tidyCode(t, arrow, 'policies/traffic/x.ts').length, 1)
})

test('code that nothing leads to is found', (t) => {
  const findings = tidy(t, {
    'engine/kit/dead.ts': "import './deader.ts'\n",
    'engine/kit/deader.ts': '\n',
    'engine/kit/tested.ts': '\n',
    'engine/kit/tested.test.ts': "import './tested.ts'\n",
    'engine/testing/clock.ts': '\n',
    'engine/testing/raw.test.ts': "import './raw.ts'\n",
    'engine/testing/raw.ts': '\n'
  })
  assert.deepEqual(
    findings.map((finding) => finding.split(':')[0]),
    ['engine/kit/dead.ts', 'engine/kit/deader.ts', 'engine/kit/tested.ts', 'engine/testing/clock.ts']
  )
})

test('a file reached through a worker URL or a dynamic import is alive', (t) => {
  const main = "new URL('../workers/thread.ts', import.meta.url)\nawait import('../kit/late.ts')\n"
  const files = { 'engine/process/main.ts': `${CLEAN['engine/process/main.ts']}${main}` }
  assert.deepEqual(tidy(t, { ...files, 'engine/workers/thread.ts': '\n', 'engine/kit/late.ts': '\n' }), [])
})

test('file names say what is inside', (t) => {
  for (const name of ['utils', 'helpers', 'common', 'types', 'util']) {
    assert.match(tidyCode(t, '\n', `engine/kit/${name}.ts`)[0]!, /says nothing/)
  }
})

test('a page has one title, working links and no leftovers; code in it is free', (t) => {
  assert.match(tidy(t, { 'docs/a.md': 'no title\n' })[0]!, /has 0/)
  assert.match(tidy(t, { 'docs/a.md': '# a\n\n# b\n' })[0]!, /has 2/)
  assert.deepEqual(tidy(t, { 'docs/a.md': '# a\n\n[x](b.md) [y](https://example.com) [z](#a)\n' }), [
    'docs/a.md:3 broken link: b.md'
  ])
  assert.match(tidy(t, { 'docs/a.md': '# a\n\nTO' + 'DO\n' })[0]!, /docs\/a\.md:3 leftover marker/)
  assert.deepEqual(tidy(t, { 'docs/a.md': '# a\n\n```\n# b\n[x](b.md)\n```\n' }), [])
})

test('paths of one machine are found in any file', (t) => {
  const path = ['', 'home', 'ann', 'weir'].join('/')
  assert.match(tidyCode(t, `const a = '${path}'\n`)[0]!, /exists on one machine only/)
  assert.match(tidy(t, { '.ci/run': `cd ${path}\n` })[0]!, /^\.ci\/run:1 /)
  assert.deepEqual(tidyCode(t, `const a = 'http://example.com${path}'\n`), [])
})

test('the lock file names no registry', (t) => {
  const lock = '{\n  "resolved": "https://registry.example/x.tgz"\n}\n'
  assert.match(tidy(t, { 'package-lock.json': lock })[0]!, /^package-lock\.json:2 the lock file names a registry/)
})

test('the top of the repository has exactly the agreed folders', (t) => {
  assert.match(tidy(t, { 'lib/x.ts': 'export const name = 1\n' })[0]!, /^lib:0 unknown folder at the top/)
  const { '.ci/run': _, ...without } = CLEAN
  assert.deepEqual(asLines(checkTidy(fixtureTree(t, without))), ['.ci:0 missing: the repository has this folder'])
})

test('untracked files of experiments in a clone are not checked', (t) => {
  const left = {
    'demo.mjs': 'const a = 1 as any;;\n',
    'weir.yaml': `a: /${'home'}/me/x\n`,
    'certs/note.md': '## no title\n'
  }
  assert.deepEqual(tidy(t, { ...left, 'index.html': 'hello\n', head: 'HTTP/1.1 200 OK\n' }), [])
})
