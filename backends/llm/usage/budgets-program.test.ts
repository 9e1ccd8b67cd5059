/** A budget in the real program, over its workers and over kill -9, beside the provider's own books. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort, runProgram } from '#engine/testing/program.ts'

/** Of an answer: at a dollar for a million tokens they cost a tenth of a cent. */
const TOKENS = 1_000
const CALL = 0.001
const BUDGET = 0.2
const CLIENTS = 8
const BUDGET_OF_STREAMS = 0.02

/** What it has answered is what it will bill. */
async function provider(t: TestContext) {
  const state = { port: 0, billed: 0 }
  const answer = JSON.stringify({
    ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
    choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 0, completion_tokens: TOKENS, total_tokens: TOKENS }
  })
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      state.billed++
      response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
    })
  })
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  state.port = (server.address() as AddressInfo).port
  return state
}

test('calls until the budget refuses, with a kill -9 among them: what was answered is paid for, and one call more at most', async (t) => {
  const models = await provider(t)
  const folder = await mkdtemp(join(tmpdir(), 'weir-'))
  t.after(() => rm(folder, { recursive: true }))
  const [port, admin] = [await freePort(), await freePort()]
  const params = { baseUrl: `http://127.0.0.1:${models.port}/v1`, apiKey: 'of-provider' }
  const quiet = { statsAddr: 'off', readinessAddr: 'off', logging: { level: 'info,request=off' } }
  const file = JSON.stringify({
    config: { ...quiet, adminAddr: `127.0.0.1:${admin}`, workerThreads: 3, state: { path: folder } },
    llm: { port, models: [{ name: 'm', provider: 'openai', params, prices: [{ input: 1, output: 1 }] }] },
    teams: [{ name: 'ml', budgets: [{ amount: BUDGET, period: 'Total' }] }],
    keys: [{ name: 'alice', key: 'sk-alice-0001', team: 'ml' }]
  })
  const start = async () => {
    const program = runProgram(['-c', file])
    t.after(() => program.stop())
    await program.logged('target=start')
    return program
  }
  const ask = async (): Promise<{ readonly status: number; readonly text: string }> => {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk-alice-0001' },
      body: JSON.stringify({ model: 'm', max_tokens: TOKENS, messages: [{ role: 'user', content: 'hi' }] })
    })
    return { status: response.status, text: await response.text() }
  }
  let answered = 0
  const book = async () => {
    const response = await fetch(`http://127.0.0.1:${admin}/api/v1/budgets`)
    const { budgets } = (await response.json()) as { budgets: { spent: string; reserved: string }[] }
    return { spent: Number(budgets[0]!.spent), reserved: Number(budgets[0]!.reserved) }
  }
  const first = await start()
  const until = async (isOver: () => boolean): Promise<void> => {
    const client = async () => {
      while (!isOver()) {
        // A connection that the kill has cut: nothing was answered.
        const { status } = await ask().catch(() => ({ status: 0 }))
        if (status === 200) answered++
        else if (status !== 429) return
        if (answered === 60) first.signal('SIGKILL')
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
  }
  await until(() => false)
  await first.exited()
  const before = { answered, billed: models.billed }
  ok(answered >= 60 && answered <= models.billed)
  await start()
  const found = await book()
  equal(found.reserved, 0)
  ok(found.spent > before.answered * CALL - 1e-9, `${found.spent} for ${before.answered} answers`)
  const untilRefused = async (): Promise<void> => {
    for (;;) {
      const { status, text } = await ask()
      if (status === 200) answered++
      else equal(status, 429)
      // Others may hold what is left: then it is refused for a moment only.
      if (text.includes('is used up')) return
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, untilRefused))
  const { spent, reserved } = await book()
  equal(reserved, 0)
  ok(spent >= BUDGET - CALL && spent <= BUDGET + 2 * CALL, String(spent))
  ok(answered * CALL <= spent + 1e-9, `${answered} answers for ${spent}`)
  equal(models.billed - before.billed, answered - before.answered)
})

/** Says a piece of an answer and then nothing more; `open` counts its streams. */
async function silentProvider(t: TestContext) {
  const state = { port: 0, open: 0 }
  const choices = [{ index: 0, delta: { content: 'hi' }, finish_reason: null }]
  const piece = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices }
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${JSON.stringify(piece)}\n\n`)
      state.open++
    })
  })
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  state.port = (server.address() as AddressInfo).port
  return state
}

test('kill -9 with streams open, then 200 calls at once: what was set aside is spent, and one call over at most', async (t) => {
  const [answering, silent] = [await provider(t), await silentProvider(t)]
  const folder = await mkdtemp(join(tmpdir(), 'weir-'))
  t.after(() => rm(folder, { recursive: true }))
  const [port, admin] = [await freePort(), await freePort()]
  const quiet = { statsAddr: 'off', readinessAddr: 'off', logging: { level: 'info,request=off' } }
  const models = [answering, silent].map((models, i) => ({
    ...{ name: ['m', 'silent'][i]!, provider: 'openai', prices: [{ input: 1, output: 1 }] },
    params: { baseUrl: `http://127.0.0.1:${models.port}/v1`, apiKey: 'of-provider' }
  }))
  const file = JSON.stringify({
    config: { ...quiet, adminAddr: `127.0.0.1:${admin}`, workerThreads: 2, state: { path: folder } },
    llm: { port, models },
    keys: [{ name: 'alice', key: 'sk-alice-0001', budgets: [{ amount: BUDGET_OF_STREAMS, period: 'Total' }] }]
  })
  const start = async () => {
    const program = runProgram(['-c', file])
    t.after(() => program.stop())
    await program.logged('target=start')
    return program
  }
  const ask = (more: object) =>
    fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk-alice-0001' },
      body: JSON.stringify({ model: 'm', max_tokens: TOKENS, messages: [{ role: 'user', content: 'hi' }], ...more })
    })
  const book = async () => {
    const { budgets } = (await (await fetch(`http://127.0.0.1:${admin}/api/v1/budgets`)).json()) as {
      budgets: { spent: string; reserved: string }[]
    }
    return { spent: Number(budgets[0]!.spent), reserved: Number(budgets[0]!.reserved) }
  }
  const first = await start()
  // Their heads are here, so that each has been set aside for, and none is settled.
  const streams = await Promise.all(Array.from({ length: 8 }, () => ask({ model: 'silent', stream: true })))
  const broken = streams.map((stream) => stream.text().catch(() => 'broken'))
  equal(silent.open, 8)
  const { spent: none, reserved } = await book()
  equal(none, 0)
  ok(reserved > 8 * CALL)
  first.signal('SIGKILL')
  await first.exited()
  await Promise.all(broken)
  await start()
  deepEqual(await book(), { spent: reserved, reserved: 0 })
  const all = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const response = await ask({})
      await response.text()
      return response.status
    })
  )
  const answered = all.filter((status) => status === 200).length
  equal(answered, answering.billed)
  const last = await book()
  equal(last.reserved, 0)
  ok(Math.abs(last.spent - reserved - answered * CALL) < 1e-9, `${last.spent} for ${answered} answers`)
  ok(answered > 0 && last.spent <= BUDGET_OF_STREAMS + CALL, String(last.spent))
})
