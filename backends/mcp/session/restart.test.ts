/** The program is killed under load and started again, and runs twice: sessions of clients go on. */
import { deepEqual, equal } from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { z } from 'zod'
import { INITIALIZE, post } from '#backends/mcp/testing/gateway.ts'
import { startMcp } from '#backends/mcp/testing/servers.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'

/** A server on standard streams that adds, and is started in no time. */
const ADDER = `
  const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
  require('node:readline').createInterface(process.stdin).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    const serverInfo = { name: 'adder', version: '1' }
    if (method === 'initialize') say(id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo })
    else if (method === 'tools/call') {
      const { a, b } = params.arguments
      say(id, { content: [{ type: 'text', text: String(a + b) }] })
    }
  })`
const CLIENTS = 8
const CALLS = 25

const fileOf = (port: number, upstream: number): string => {
  const file = join(mkdtempSync(join(tmpdir(), 'weir-mcp-')), 'weir.json')
  const config = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', workerThreads: 2 }
  const targets = [
    { name: 'http', mcp: { host: `http://127.0.0.1:${upstream}/mcp` } },
    { name: 'child', stdio: { cmd: process.execPath, args: ['-e', ADDER] } }
  ]
  writeFileSync(file, JSON.stringify({ config, mcp: { port, targets, session: { key: 'a key of both of them' } } }))
  return file
}

const adds = (t: Parameters<typeof startMcp>[0]) =>
  startMcp(t, {
    isJson: true,
    setUp: (made) =>
      void made.registerTool('add', { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => ({
        content: [{ type: 'text', text: String(a + b) }]
      }))
  })

async function begin(url: string): Promise<Record<string, string>> {
  const response = await post(url, INITIALIZE)
  await response.text()
  const session = { 'mcp-session-id': response.headers.get('mcp-session-id')! }
  equal((await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, session)).status, 202)
  return session
}

/** What a tool says to a and b, or what else came of it. */
async function call(url: string, session: Record<string, string>, name: string, args: object): Promise<string> {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
  const response = await post(url, message, session)
  const text = await response.text()
  return /"text":"([^"]*)"/.exec(text)?.[1] ?? `${response.status} ${text}`
}

const begun = ({ seen }: Awaited<ReturnType<typeof adds>>): number =>
  seen.filter(({ body }) => body.includes('"initialize"')).length

test('killed under load and started again: clients that connect again go on, and no call fails', async (t) => {
  const upstream = await adds(t)
  const port = await freePort()
  const file = fileOf(port, upstream.port)
  const url = `http://127.0.0.1:${port}/mcp`
  const first = runProgram(['-f', file])
  t.after(() => first.stop())
  await first.logged('target=start')
  const sessions = await Promise.all(Array.from({ length: CLIENTS }, () => begin(url)))
  const wrong: string[] = []
  let answers = 0
  let lost = 0
  const half = Promise.withResolvers<void>()
  const back = Promise.withResolvers<void>()
  const client = async (session: Record<string, string>, index: number): Promise<void> => {
    for (let i = 0; i < CALLS; i++) {
      // Some have a child besides, which dies with the gateway and is begun anew.
      const isChild = index < 2 && i % 5 === 4
      const name = isChild ? 'child_add' : 'http_add'
      const args = { a: index, b: i }
      // A call whose connection breaks is the client's to make again, when there is somebody to connect to.
      const result = await call(url, session, name, args).catch(async () => {
        lost++
        await back.promise
        return call(url, session, name, args)
      })
      if (result !== String(index + i)) wrong.push(`${name} ${index} ${i}: ${result}`)
      if (++answers === (CLIENTS * CALLS) / 2) half.resolve()
    }
  }
  const clients = sessions.map(client)
  await half.promise
  first.signal('SIGKILL')
  await first.exited()
  const second = runProgram(['-f', file])
  t.after(() => second.stop())
  await second.logged('target=start')
  back.resolve()
  await Promise.all(clients)
  deepEqual(wrong, [])
  equal(lost, CLIENTS)
  // The server that lived on was not asked for new sessions.
  equal(begun(upstream), CLIENTS)
})

test('two replicas with one key serve one session, call by call', async (t) => {
  const upstream = await adds(t)
  const ports = [await freePort(), await freePort()]
  const urls = ports.map((port) => `http://127.0.0.1:${port}/mcp`)
  for (const port of ports) {
    const program = runProgram(['-f', fileOf(port, upstream.port)])
    t.after(() => program.stop())
    await program.logged('target=start')
  }
  const session = await begin(urls[0]!)
  const texts: string[] = []
  for (let i = 0; i < 6; i++) {
    texts.push(await call(urls[i % 2]!, session, i < 4 ? 'http_add' : 'child_add', { a: i, b: 1 }))
  }
  deepEqual(texts, ['1', '2', '3', '4', '5', '6'])
  equal(begun(upstream), 1)
  const deleted = upstream.until('DELETE')
  const ended = await fetch(urls[1]!, { method: 'DELETE', headers: session })
  equal(ended.ok, true)
  await deleted
  equal(upstream.sessions.size, 0)
})
