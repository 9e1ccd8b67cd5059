/** The file of the configuration, changed by the admin port, in the whole program. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort, type RunningProgram, runProgram } from '#engine/testing/program.ts'

interface Shown {
  readonly text: string
  readonly textHash: string
  readonly isWritable: boolean
  readonly why: string | null
}

const config = (port: number, admin: number, status: number, more = '') => `# mine
config: { adminAddr: '127.0.0.1:${admin}', statsAddr: 'off', readinessAddr: 'off', workerThreads: 1 ${more} }
binds:
- port: ${port}
  listeners: [{ routes: [{ policies: { directResponse: { status: ${status} } } }] }]
`

async function stand(
  t: TestContext,
  sources: (path: string, text: string) => readonly string[] = (path) => ['-f', path]
) {
  const folder = mkdtempSync(join(tmpdir(), 'weir-apply-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [port, admin] = [await freePort(), await freePort()]
  const path = join(folder, 'weir.yaml')
  const text = config(port, admin, 200)
  writeFileSync(path, text)
  const program: RunningProgram = runProgram([...sources(path, text)])
  t.after(() => program.stop())
  await program.logged('target=start')
  const call = async (method: string, at: string, body?: object) => {
    const answer = await fetch(`http://127.0.0.1:${admin}/api/v1/configuration${at}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    return { status: answer.status, json: (await answer.json()) as Record<string, unknown> }
  }
  const shown = async () => (await call('GET', '/text')).json as unknown as Shown
  const served = async () => (await fetch(`http://127.0.0.1:${port}/`)).status
  const put = async (wanted: string, textHash: string) => await call('PUT', '/text', { text: wanted, textHash })
  return { folder, path, port, admin, text, program, call, shown, served, put }
}

const codeOf = ({ json }: { readonly json: Record<string, unknown> }) =>
  (json.error as { code: string } | undefined)?.code

test('what is written runs, what was there before is kept and comes back, and each change is a line', async (t) => {
  const { path, port, admin, text, program, call, shown, served, put } = await stand(t)
  const before = await shown()
  deepEqual([before.text, before.isWritable, before.why], [text, true, null])
  const done = await put(config(port, admin, 201), before.textHash)
  deepEqual([done.status, await served()], [200, 201])
  equal(readFileSync(path, 'utf8'), config(port, admin, 201))
  equal((await shown()).textHash, done.json.textHash)
  // By then it is known already: two may not write over each other.
  equal(codeOf(await put(config(port, admin, 202), before.textHash)), 'CHANGED')
  const [version] = (await call('GET', '/versions')).json.versions as readonly { readonly id: string }[]
  equal((await call('GET', `/versions/${version!.id}`)).json.text, text)
  const restored = await call('POST', `/versions/${version!.id}/restore`, { textHash: done.json.textHash })
  deepEqual([restored.status, await served(), readFileSync(path, 'utf8')], [200, 200, text])
  await program.logged(/target=audit .*setConfigurationText.* status=200/)
  await program.logged(/target=audit .*restoreConfigurationVersion.* status=200/)
})

test('two who write at once: one is in force, the other is told', async (t) => {
  const { path, port, admin, shown, served, put } = await stand(t)
  const { textHash } = await shown()
  const outcomes = await Promise.all([201, 202].map((status) => put(config(port, admin, status), textHash)))
  deepEqual(outcomes.map(({ status }) => status).toSorted(), [200, 409])
  const won = outcomes[0]!.status === 200 ? 201 : 202
  deepEqual([await served(), readFileSync(path, 'utf8')], [won, config(port, admin, won)])
})

test('mistakes, and what cannot run, leave the file and what runs as they were', async (t) => {
  const { folder, path, port, admin, text, shown, served, put } = await stand(t)
  const { textHash } = await shown()
  const wrong = await put(text.replace('status: 200', 'status: 99'), textHash)
  deepEqual([wrong.status, codeOf(wrong)], [422, 'INVALID'])
  match((wrong.json.error as { message: string }).message, /^5:\d+: binds\[0\].*status: /)
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.after(() => taken.close())
  const busy = (taken.address() as AddressInfo).port
  const refused = await put(config(busy, admin, 200), textHash)
  deepEqual([refused.status, codeOf(refused)], [409, 'NOT_IN_FORCE'])
  deepEqual([readFileSync(path, 'utf8'), await served(), (await shown()).textHash], [text, 200, textHash])
  const { json } = await put(config(port, admin, 203, ', logging: { level: debug }'), textHash)
  deepEqual([json.warnings, await served()], [['needs a restart to take effect: config.logging'], 203])
  ok(
    readdirSync(folder).every((name) => name === 'weir.yaml' || name === '.weir.yaml.versions'),
    `${readdirSync(folder)}`
  )
})

test('what an editor writes is known at once', async (t) => {
  const { folder, path, port, admin, program, shown, served, put } = await stand(t)
  const { textHash } = await shown()
  writeFileSync(join(folder, 'new'), config(port, admin, 204))
  renameSync(join(folder, 'new'), path)
  equal(codeOf(await put(config(port, admin, 205), textHash)), 'CHANGED')
  await program.logged(/configuration [0-9a-f]{12} in force/)
  equal(await served(), 204)
  equal((await put(config(port, admin, 205), (await shown()).textHash)).status, 200)
  equal(await served(), 205)
})

test('secrets of the file are in no answer, and stay in the file', async (t) => {
  const { path, text, call, shown, put } = await stand(t)
  const own = `${text}llm: { port: ${await freePort()}, models: [{ name: m, provider: openai, params: { apiKey: hunter2-of-all } }] }\n`
  equal((await put(own, (await shown()).textHash)).status, 200)
  const found = await shown()
  match(found.text, /apiKey: <secret-[0-9a-f]{16}> /)
  equal((await call('POST', '/check', { text: found.text })).json.isInForce, true)
  const added = found.text.replace('name: m', 'name: n')
  const done = await put(added, found.textHash)
  equal(done.status, 200)
  equal(readFileSync(path, 'utf8'), own.replace('name: m', 'name: n'))
  equal(codeOf(await put(added.replace(/<secret-\w{4}/, '<secret-0000'), String(done.json.textHash))), 'INVALID')
  const { versions } = (await call('GET', '/versions')).json as { versions: readonly { readonly id: string }[] }
  for (const { id } of versions) ok(!JSON.stringify(await call('GET', `/versions/${id}`)).includes('hunter2'))
  const [newest] = versions
  const back = await call('POST', `/versions/${newest!.id}/restore`, { textHash: done.json.textHash })
  deepEqual([back.status, readFileSync(path, 'utf8')], [200, own])
})

test('a configuration that is no file is not changed, and the reason is said', async (t) => {
  const { shown, put } = await stand(t, (_, text) => ['-c', text])
  const { text, isWritable, why } = await shown()
  deepEqual([text, isWritable, why], [null, false, 'the configuration is no file: command line'])
  equal(codeOf(await put('binds: []', '00')), 'NOT_WRITABLE')
})
