/** The spend log in the whole program: from a call of a model to what the admin port tells of it. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startModels } from '#engine/testing/models.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'
import { fetchText, started } from './program.fixture.ts'

async function stand(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'weir-spend-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const models = await startModels()
  t.after(() => models.close())
  const [port, admin] = [await freePort(), await freePort()]
  const text = (spendLog: object | null) =>
    JSON.stringify({
      config: {
        ...{ adminAddr: `127.0.0.1:${admin}`, statsAddr: 'off', readinessAddr: 'off', workerThreads: 2 },
        ...(spendLog === null ? {} : { spendLog })
      },
      keys: [{ name: 'alice', key: 'sk-alice-0001', team: 'search' }],
      teams: [{ name: 'search' }],
      llm: {
        port,
        models: [{ name: 'm', provider: 'openai', params: { baseUrl: `http://127.0.0.1:${models.port}/v1` } }]
      }
    })
  const run = async (spendLog: object | null) => {
    const program = await started(runProgram(['-c', text(spendLog)]))
    t.after(() => program.stop())
    return program
  }
  const ask = async (key = 'sk-alice-0001') => {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, connection: 'close' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] })
    })
    await response.arrayBuffer()
    return response.status
  }
  const answerTo = async (path: string) => JSON.parse((await fetchText(admin, path)).body)
  return { folder, admin, run, ask, answerTo }
}

test('calls of models outlive the process as records and sums; a drain loses none', async (t) => {
  const { folder, admin, run, ask, answerTo } = await stand(t)
  const spendLog = { path: join(folder, 'spend') }
  const first = await run(spendLog)
  for (let i = 0; i < 20; i++) assert.equal(await ask(), 200)
  first.signal('SIGTERM')
  assert.equal(await first.exited(), 0)
  assert.doesNotMatch(first.output, /ExperimentalWarning/)
  await run(spendLog)
  const { sums } = await answerTo('/api/v1/spend?groupBy=key,team,provider')
  assert.deepEqual(
    [sums.length, sums[0].key, sums[0].team, sums[0].provider, sums[0].calls],
    [1, 'alice', 'search', 'openai', 20]
  )
  const { records, next } = await answerTo('/api/v1/spend/records?limit=5')
  assert.equal(records.length, 5)
  assert.ok(records[0].outputTokens > 0 && records[0].durationMs >= 0)
  assert.equal((await answerTo(`/api/v1/spend/records?limit=100&cursor=${next}`)).records.length, 15)
  const csv = await fetchText(admin, '/api/v1/spend?groupBy=team&format=csv')
  assert.match(csv.body, /^team,calls,[^\r]*\r\nsearch,20,/)
  assert.equal((await fetchText(admin, '/api/v1/spend?group=team')).status, 400)
})

test('a folder that cannot be used ends the start, and says why', async (t) => {
  const { run } = await stand(t)
  await assert.rejects(run({ path: '/dev/null/spend' }))
})

test('without config.spendLog there is no log, and the admin port says so', async (t) => {
  const { admin, run, ask } = await stand(t)
  await run(null)
  assert.equal(await ask(), 200)
  const { status, body } = await fetchText(admin, '/api/v1/spend')
  assert.equal(status, 404)
  assert.match(body, /config\.spendLog/)
})

const EXAMPLE = readFileSync(new URL('../../docs/examples/spend-prompts.yaml', import.meta.url), 'utf8')

test('prompts are kept where that is configured, masked, for those who ask for them; the file has no masked word', async (t) => {
  const { folder, admin, answerTo } = await stand(t)
  const models = await startModels()
  t.after(() => models.close())
  const port = await freePort()
  const settings = `  adminAddr: 127.0.0.1:${admin}\n  statsAddr: "off"\n  readinessAddr: "off"\n  workerThreads: 1\n`
  const text = EXAMPLE.replace('config:\n', `config:\n${settings}`)
    .replace(/path: \$.*/, `path: ${folder}/spend`)
    .replace('port: 3000', `port: ${port}`)
    .replace('params: {', `params: { baseUrl: "http://127.0.0.1:${models.port}/v1",`)
  const program = await started(runProgram(['-c', text]))
  t.after(() => program.stop())
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'I am canary@example.org' }] })
  })
  await response.arrayBuffer()
  assert.equal(response.status, 200)
  let page = await answerTo('/api/v1/spend/prompts')
  while (page.records.length === 0) page = await answerTo('/api/v1/spend/prompts')
  assert.equal(page.keepsPrompts, true)
  const [{ content }] = page.records
  assert.match(content.prompt[0].content, /^I am <[\w ]+>$/)
  assert.equal(content.answer.length, 1)
  const [plain] = (await answerTo('/api/v1/spend/records')).records
  assert.equal('content' in plain, false)
  program.signal('SIGTERM')
  assert.equal(await program.exited(), 0)
  for (const file of readdirSync(join(folder, 'spend'))) {
    assert.equal(readFileSync(join(folder, 'spend', file)).includes('canary@example.org'), false)
  }
})
