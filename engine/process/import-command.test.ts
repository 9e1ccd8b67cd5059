/** `weir import` as a process: its exit codes, its summary, and a file that loads. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runProgram } from '#engine/testing/program.ts'
import { readPath } from './import-command.ts'

const WHOLE = 'model_list: [{ model_name: a, litellm_params: { model: openai/a, api_key: os.environ/KEY } }]\n'

function folderOf(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-import-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

test('0: everything is carried, into a file for its owner alone, which loads', async (t) => {
  const folder = folderOf(t, { 'in.yaml': 'include: [more.yaml]\n', 'more.yaml': WHOLE })
  const out = join(folder, 'out.yaml')
  const program = runProgram(['import', 'litellm', join(folder, 'in.yaml'), '-o', out])
  equal(await program.exited(), 0, program.output)
  equal(statSync(out).mode & 0o777, 0o600)
  match(readFileSync(out, 'utf8'), /apiKey: \$KEY/)
  const checked = runProgram(['-f', out, '--validate-only'], '', { KEY: 'k' })
  equal(await checked.exited(), 0, checked.output)
})

test('2: something is not carried, and is named; 3: it cannot be read, or is of another', async (t) => {
  const folder = folderOf(t, {
    'a.yaml': `${WHOLE}router_settings: { retry_policy: {} }\n`,
    'b.yaml': 'binds: []',
    'c.yaml': '{'
  })
  const codes = ['a.yaml', 'b.yaml', 'c.yaml', 'none.yaml'].map(async (name) => {
    const program = runProgram(['import', 'litellm', join(folder, name)])
    return [await program.exited(), program.output] as const
  })
  const [partly, foreign, broken, missing] = await Promise.all(codes)
  deepEqual([partly?.[0], foreign?.[0], broken?.[0], missing?.[0]], [2, 3, 3, 3])
  match(partly![1], /not carried: .*a\.yaml:2: router_settings\.retry_policy: .*\nweir: 1 setting of/)
  match(missing![1], /cannot read .*none\.yaml: there is no such file/)
})

test('paths of messages are read back', () => {
  deepEqual(readPath('a[0].b["c.d"].e'), ['a', 0, 'b', 'c.d', 'e'])
})
