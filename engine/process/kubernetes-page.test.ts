/** docs/kubernetes.md: what it says to type, on a laptop. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { freePort, runProgram } from '#engine/testing/program.ts'

const PAGE = new URL('../../docs/kubernetes.md', import.meta.url)
const OFF = { WORKER_THREADS: '1', ADMIN_ADDR: 'off', STATS_ADDR: 'off', READINESS_ADDR: 'off' }

async function chat(): Promise<string> {
  const [, text] = /^## The chat\n.*?^```yaml\n(.*?)^```/ms.exec(await readFile(PAGE, 'utf8')) ?? []
  return text!
}

test('its manifest is valid as it stands', async () => {
  const program = runProgram(['-f', '-', '--validate-only'], await chat())
  assert.equal(await program.exited(), 0)
  assert.match(program.output, /configuration is valid: 1 bind, 1 route, 1 backend\n/)
})

test('a chat goes to the model with the key of the Secret, 20 times a minute', async (t) => {
  const seen: string[] = []
  const model = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    seen.push(`${request.url} ${request.headers.authorization} ${JSON.parse(body).model}`)
    const message = { role: 'assistant', content: 'Hello' }
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage: { total_tokens: 2 } })
    )
  }).listen(0, '127.0.0.1')
  t.after(() => model.close())
  const port = await freePort()
  const { port: modelPort } = model.address() as AddressInfo
  const text = (await chat())
    .replace('port: 8080', `port: ${port}`)
    .replace('      openai:', `      host: 127.0.0.1\n      port: ${modelPort}\n      openai:`)
  const program = runProgram(['-f', '-'], text, OFF)
  t.after(() => program.stop())
  await program.logged('target=start')
  const ask = () =>
    fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }] })
    })
  const answer = (await (await ask()).json()) as { readonly choices: readonly { readonly message: object }[] }
  assert.deepEqual(answer.choices[0]?.message, { role: 'assistant', content: 'Hello' })
  assert.deepEqual(seen, ['/v1/chat/completions Bearer sk-... gpt-5-mini'])
  const more = await Promise.all(Array.from({ length: 20 }, async () => (await ask()).status))
  assert.ok(more.includes(429), more.join(' '))
})
