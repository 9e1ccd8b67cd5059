/** docs/rejections.md, replayed: every request of that page to a started weir, every answer compared with the page. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { ERRORS } from '#engine/contract/errors.ts'
import { freePort, type RunningProgram, runProgram } from '#engine/testing/program.ts'
import { type RawClient, rawClient, rawServer } from '#engine/testing/raw.ts'

const PAGE = readFileSync(new URL('../docs/rejections.md', import.meta.url), 'utf8')

interface Step {
  readonly command: string
  /** What curl shows; '' where the page shows nothing. */
  readonly shown: string
}

interface Case {
  readonly title: string
  /** The `reason` that the title names. */
  readonly code: string | null
  readonly steps: readonly Step[]
}

// --- the page ---

function block(language: string): string {
  const found = PAGE.match(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``))
  assert.ok(found, `the page has no block of ${language}`)
  return found[1]!
}

function casesOf(page: string): Case[] {
  return page.split(/^### /m).flatMap((section) => {
    const transcript = section.match(/```console\n([\s\S]*?)```/)?.[1]
    if (transcript === undefined) return []
    const title = section.slice(0, section.indexOf('\n'))
    const steps = transcript.split(/^\$ /m).slice(1)
    return { title, code: title.match(/`([A-Z_0-9]+)`$/)?.[1] ?? null, steps: steps.map(stepOf) }
  })
}

function stepOf(text: string): Step {
  const end = text.indexOf('\n')
  return { command: text.slice(0, end), shown: text.slice(end + 1) }
}

/** Rows of the page's table: reason -> "status text". */
function tableOf(page: string): Map<string, string> {
  const rows = [...page.matchAll(/^\| `([A-Z_0-9]+)` \| (\d+) \| (.*) \|$/gm)]
  return new Map(rows.map(([, code, status, message]) => [code!, `${status} ${message}`]))
}

// --- what stands behind weir ---

/** Ports of the page -> what the server there does with a request. Nobody listens at the last one. */
const BEHIND: Readonly<Record<number, (client: RawClient) => void>> = {
  9001: (client) => client.send('HTTP/1.1 503 Service Unavailable\r\nContent-Length: 12\r\n\r\nback later!\n'),
  9002() {},
  9003: (client) => client.close(),
  9004: (client) => client.send('nonsense\r\n\r\n'),
  9005: (client) => client.send(`HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n${'a'.repeat(40)}`),
  9006: (client) =>
    client.send('HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Basic\r\nContent-Length: 13\r\n\r\nwho are you?\n')
}
const CLOSED = 9009

async function start(t: TestContext): Promise<{ program: RunningProgram; port: number }> {
  const port = await freePort()
  let file = block('yaml').replace('port: 8080', `port: ${port}`)
  file = file.replaceAll(`localhost:${CLOSED}`, `localhost:${await freePort()}`)
  for (const [known, serve] of Object.entries(BEHIND)) {
    const server = await rawServer((client) => client.socket.on('data', () => serve(client)))
    t.after(() => server.close())
    file = file.replaceAll(`localhost:${known}`, `localhost:${server.port}`)
  }
  const quiet = 'config: { adminAddr: "off", statsAddr: "off", readinessAddr: "off", workerThreads: 1 }\n'
  const program = runProgram(['-c', quiet + file])
  t.after(() => program.stop())
  await program.logged('target=start')
  return { program, port }
}

// --- curl ---

/** What curl sends for a command of the page, whose port is `port`. */
function requestOf(command: string, variables: ReadonlyMap<string, string>, port: number): string {
  const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) =>
    (quoted ?? plain)!.replace(/\$([A-Z]+)/g, (_, name: string) => variables.get(name)!)
  )
  let [method, target, body] = ['', '', '']
  const headers = [`Host: localhost:${port}`, 'User-Agent: curl', 'Accept: */*']
  for (let i = 1; i < words.length; i++) {
    const word = words[i]!
    if (word.startsWith('http://')) target ||= new URL(word).pathname
    else if (word === '-X') method = words[++i]!
    else if (word === '-d') body = words[++i]!
    else if (word === '-u') headers.push(`Authorization: Basic ${Buffer.from(words[++i]!).toString('base64')}`)
    else if (word === '--request-target') target = words[++i]!
    else if (word === '-H' && words[++i]!.startsWith('Host:')) headers.splice(0, 1, ...hostOf(words[i]!))
    else if (word === '-H') headers.push(words[i]!)
    else if (word === '-o') i++
    else assert.ok(['-i', '-s'].includes(word), `the test knows no ${word}`)
  }
  if (body !== '') headers.push(`Content-Length: ${body.length}`)
  method ||= body === '' ? 'GET' : 'POST'
  return `${method} ${target} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${body}`
}

/** A header without a value is one that curl leaves out. */
function hostOf(header: string): string[] {
  return header === 'Host:' ? [] : [header]
}

async function answerTo(request: string, port: number): Promise<string> {
  const client = await rawClient(port)
  client.send(request)
  const head = await client.until('\r\n\r\n')
  const length = head.match(/\r\ncontent-length: (\d+)/i)?.[1]
  assert.ok(length !== undefined, `an answer without a length: ${head}`)
  const text = await client.until(new RegExp(`\\r\\n\\r\\n[\\s\\S]{${length}}`))
  client.close()
  return text
}

const MADE_ID = /^x-request-id: req_[0-9a-f]{32}\n/m

/** An answer without what differs from run to run. Seconds of the rate limit's hour: no test takes ten minutes. */
function normal(answer: string): string {
  return answer
    .replaceAll('\r\n', '\n')
    .replace(/^Date: .*$/m, 'Date: now')
    .replace(MADE_ID, '')
    .replace(/^(Retry-After|x-ratelimit-reset): (3600|3[0-5]\d\d)$/gm, '$1: 3600')
    .trimEnd()
}

// --- tests ---

test('every rejection of docs/rejections.md is what a client gets', async (t) => {
  const { program, port } = await start(t)
  const lines = [...block('sh').matchAll(/^([A-Z]+)=(.*)$/gm)]
  const variables = new Map(lines.map(([, name, value]) => [name!, value!]))
  const refusals = new Map<string, number>()
  for (const { title, code, steps } of casesOf(PAGE)) {
    await t.test(title, async () => {
      for (const { command, shown } of steps) {
        const answer = await answerTo(requestOf(command, variables, port), port)
        if (shown === '') continue
        assert.equal(normal(answer), normal(shown), command)
        if (code === null) continue
        assert.match(answer.replaceAll('\r\n', '\n'), MADE_ID, command)
        const times = (refusals.get(code) ?? 0) + 1
        refusals.set(code, times)
        await program.logged(`reason=${code} `, times)
      }
    })
  }
})

test('docs/rejections.md names every reason for which weir refuses', () => {
  const shown = casesOf(PAGE).flatMap(({ code }) => code ?? [])
  const table = tableOf(PAGE)
  assert.deepEqual([...new Set([...shown, ...table.keys()])].sort(), Object.keys(ERRORS).sort())
  for (const [code, row] of table) {
    const { status, message } = ERRORS[code as keyof typeof ERRORS]
    assert.equal(row, `${status} ${message}`, code)
  }
})
