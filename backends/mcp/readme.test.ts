/** The MCP lines of the README, as they stand there, in the program as it is started. */
import { ok } from 'node:assert/strict'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort, runProgram } from '#engine/testing/program.ts'
import { clientOf } from './testing/gateway.ts'

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const QUIET = 'config: { adminAddr: "off", statsAddr: "off", readinessAddr: "off", workerThreads: 2 }\n'

test('seven lines serve a child process at /mcp', async (t) => {
  const [, lines = ''] = /```yaml\n# tools\.yaml\n([\s\S]*?)```/.exec(README) ?? []
  const port = await freePort()
  const file = join(mkdtempSync(join(tmpdir(), 'weir-mcp-')), 'tools.yaml')
  writeFileSync(file, QUIET + lines.replace('mcp:\n', `mcp:\n  port: ${port}\n`))
  const program = runProgram(['-f', file])
  t.after(() => program.stop())
  await program.logged('target=start')
  const { client } = await clientOf(t, `http://localhost:${port}/mcp`)
  const { tools } = await client.listTools()
  ok(tools.some(({ name }) => name === 'echo'))
  const { content } = await client.callTool({ name: 'echo', arguments: { message: 'hello' } })
  ok(JSON.stringify(content).includes('hello'))
})
