/** The model lines of the README, as they stand there: what they print is what the README says they print. */
import { equal, match, ok } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { demoConfig } from '#backends/demo/config.ts'
import { startDemoServer } from '#backends/demo/server.ts'
import { startGateway } from '#engine/testing/gateway.ts'

const ROOT = new URL('../../', import.meta.url)
const README = readFileSync(new URL('README.md', ROOT), 'utf8')
/** From the first of the lines that say they are run to the next subject. */
const PART = README.slice(
  README.indexOf('`error-429` fails with that status. To try it:'),
  README.indexOf('Tools for agents')
)
const TOOLS = README.slice(README.indexOf('Tools for agents'), README.indexOf('Who may do what'))
const AT = 'http://localhost:3000'

async function started(t: TestContext): Promise<string> {
  const demo = await startDemoServer()
  const gateway = await startGateway(
    demoConfig('0', demo.port, new URL('../process/start.ts', import.meta.url)).replace('level: info', 'level: warn')
  )
  t.after(async () => {
    await gateway.close()
    demo.close()
  })
  return `http://localhost:${gateway.port}`
}

/** Lines of the README in which "..." stands for whatever is left out. */
function likeThe(shown: string): RegExp {
  const parts = shown.split('...').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${parts.join('[\\s\\S]*')}\\s*$`)
}

/** As curl would send it: -d makes it a POST of a form. */
function ask(url: string, body: string | undefined): Promise<Response> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return fetch(url, body === undefined ? {} : { method: 'POST', headers, body })
}

test('curl', async (t) => {
  const at = await started(t)
  const [, lines = ''] = /```console\n([\s\S]*?)```/.exec(PART) ?? []
  const commands = lines.split(/^\$ /m).slice(1)
  equal(commands.length, 8)
  for (const command of commands) {
    const [, url, body] = /^curl (?:-N )?http:\/\/localhost:3000(\S+)(?: -d '(.*)')?\n/.exec(command) ?? []
    ok(url !== undefined, command)
    const response = await ask(`${at}${url}`, body)
    const shown = command.slice(command.indexOf('\n') + 1)
    match(await response.text(), likeThe(shown.trimEnd()), command)
  }
})

/** What the program of `part` prints. */
async function printed(t: TestContext, at: string, part: string): Promise<string> {
  const [, program = ''] = /```js\n([\s\S]*?)```/.exec(part) ?? []
  ok(program.includes(AT))
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-']
  const child = spawn(process.execPath, flags, { cwd: fileURLToPath(ROOT), stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill())
  child.stdin.end(program.replace(AT, at))
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  equal((await once(child, 'close'))[0], 0)
  return Buffer.concat(chunks).toString()
}

test("the vendors' SDKs", async (t) => {
  const [, shown] = /```console\n\$ node demo\.mjs\n([\s\S]*?)```/.exec(PART) ?? []
  equal(await printed(t, await started(t), PART), shown)
})

test('tools with curl', async (t) => {
  const at = await started(t)
  const [, lines = ''] = /```console\n([\s\S]*?)```/.exec(TOOLS) ?? []
  const commands = lines.split(/^\$ /m).slice(1)
  equal(commands.length, 6)
  const headers: Record<string, string> = {}
  for (const [, name = '', value = ''] of commands[0]!.matchAll(/-H '([^:]+): ([^']+)'/g)) headers[name] = value
  for (const command of commands) {
    const body = /^mcp .*-d '(.*)'\n/.exec(command)?.[1]
    if (body === undefined) continue
    const response = await fetch(`${at}/mcp`, { method: 'POST', headers, body })
    match(await response.text(), likeThe(command.slice(command.indexOf('\n') + 1).trimEnd()), command)
    headers['mcp-session-id'] ??= response.headers.get('mcp-session-id') ?? ''
  }
})

test('tools with the SDK', async (t) => {
  const [, shown] = /```console\n\$ node tools\.mjs\n([\s\S]*?)```/.exec(TOOLS) ?? []
  equal(await printed(t, await started(t), TOOLS), shown)
})
