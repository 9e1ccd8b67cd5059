/** Child processes that speak JSON-RPC, over the hub: real processes, polite and hostile. */
import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { ChildFailure, ChildLink, ChildSpec } from '#engine/contract/children.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { ChildrenOfWorker } from './client.ts'
import { ChildHub, type HubOptions } from './hub.ts'

const SERVER = fileURLToPath(new URL('./server.fixture.ts', import.meta.url))
const QUIET = '--disable-warning=ExperimentalWarning'

function specOf(manner: string, more: Partial<ChildSpec> = {}, port?: number): ChildSpec {
  const args = [QUIET, SERVER, manner, ...(port === undefined ? [] : [String(port)])]
  const spec = { backend: 'b', target: 'tools', cmd: process.execPath, args, env: {}, cwd: null }
  return { ...spec, lineBytesMax: 1024 * 1024, idleMs: 0, ...more }
}

interface Rig {
  readonly hub: ChildHub
  /** Two workers. */
  readonly workers: readonly [ChildrenOfWorker, ChildrenOfWorker]
  readonly logged: string[]
  /** Resolves when a logged line matches. */
  readonly said: (pattern: RegExp) => Promise<void>
}

function rig(t: TestContext, options: Partial<HubOptions> = {}): Rig {
  const logged: string[] = []
  const waiting: { pattern: RegExp; resolve: () => void }[] = []
  const hub = new ChildHub({
    log(level, message) {
      logged.push(`${level}: ${message}`)
      for (const { pattern, resolve } of waiting) if (pattern.test(message)) resolve()
    },
    post: (worker, report) => setImmediate(() => workers[worker]!.receive(structuredClone(report))),
    graceMs: 200,
    ...options
  })
  const workerOf = (worker: number) => new ChildrenOfWorker((order) => hub.receive(worker, structuredClone(order)))
  const workers = [workerOf(0), workerOf(1)] as const
  t.after(() => hub.close())
  const said = (pattern: RegExp): Promise<void> =>
    new Promise((resolve) => {
      if (logged.some((line) => pattern.test(line))) resolve()
      else waiting.push({ pattern, resolve })
    })
  return { hub, workers, logged, said }
}

interface Answered {
  readonly result?: Record<string, unknown>
  readonly failure?: ChildFailure
  readonly messages: string[]
}

/** Calls a tool of the fixture. */
function call(link: ChildLink, name: string, args: object = {}, token: string | null = null): Promise<Answered> {
  return ask(link, 'tools/call', { name, arguments: args }, token)
}

function ask(link: ChildLink, method: string, params: object, progressToken: string | null = null): Promise<Answered> {
  const text = JSON.stringify({ jsonrpc: '2.0', method, params })
  const messages: string[] = []
  return new Promise((resolve) => {
    const request = { text, id: 7, progressToken, isInitialize: method === 'initialize' }
    link.request(request, {
      message: (line) => messages.push((JSON.parse(line) as { method: string }).method),
      answered: (line) => resolve({ ...(JSON.parse(line) as { result: Record<string, unknown> }), messages }),
      failed: (failure) => resolve({ failure, messages })
    })
  })
}

/** Connections of the fixture: `pid` when it has come, `gone` when the process is dead. */
async function lifeline(t: TestContext) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const next = async () => {
    const [socket] = (await once(server, 'connection')) as [Socket]
    const gone = new Promise<void>((resolve) => socket.on('close', () => resolve()))
    // A reset is an end too.
    socket.on('error', () => undefined)
    const [pid] = (await once(socket, 'data')) as [Buffer]
    return { pid: Number(pid.toString()), gone }
  }
  return { port: (server.address() as AddressInfo).port, next }
}

test('one process per session, shared by the workers; requests with the same id do not meet', async (t) => {
  const { hub, workers } = rig(t)
  const spec = specOf('polite')
  const one = workers[0].open('s1', spec, null)
  const opened = await ask(one, 'initialize', { a: 1 })
  deepEqual(opened.result?.serverInfo, { name: 'polite', version: '1' })
  const other = workers[1].open('s1', spec, one.instance)
  const [first, second] = await Promise.all([call(one, 'echo', { from: 1 }), call(other, 'echo', { from: 2 })])
  deepEqual([first.result?.echo, second.result?.echo], [{ from: 1 }, { from: 2 }])
  notEqual(first.result?.wireId, second.result?.wireId)
  equal(hub.pids.length, 1)
  const stranger = workers[0].open('s2', spec, null)
  await call(stranger, 'echo')
  equal(hub.pids.length, 2)
})

test('a second initialize in the same words gets the first answer; other words get another process', async (t) => {
  const { workers } = rig(t)
  const spec = specOf('polite')
  const links = [0, 1].map((worker) => workers[worker as 0 | 1].open('s', spec, null))
  const answers = await Promise.all(links.map((link) => ask(link, 'initialize', { a: 1 })))
  for (const { result } of answers) equal(result?.protocolVersion, '2025-11-25')
  equal(links[0]!.instance, links[1]!.instance)
  const notice = { text: '{"jsonrpc":"2.0","method":"notifications/initialized"}', cancels: null }
  for (const link of links) equal(await link.send({ ...notice, method: 'notifications/initialized' }), null)
  const { result } = await call(links[0]!, 'environment')
  deepEqual(result?.heard, ['initialize', 'notifications/initialized', 'tools/call'])
  const anew = workers[0].open('s', spec, null)
  await ask(anew, 'initialize', { a: 2 })
  notEqual(anew.instance, links[0]!.instance)
  equal((await call(links[1]!, 'echo')).failure?.kind, 'expired')
})

test('only the harmless part of the environment goes in, and what the configuration says', async (t) => {
  process.env.WEIR_TEST_SECRET = 'hidden'
  t.after(() => delete process.env.WEIR_TEST_SECRET)
  const { workers } = rig(t)
  const { result } = await call(workers[0].open('s', specOf('polite', { env: { GIVEN: 'yes' } }), null), 'environment')
  const env = result?.env as Record<string, string>
  equal(env.GIVEN, 'yes')
  equal(env.PATH, process.env.PATH)
  // PWD, OLDPWD, SHLVL and _ are the shell's own.
  const allowed = ['GIVEN', 'PATH', 'HOME', 'LANG', 'TERM', 'TMPDIR', 'USER', 'PWD', 'OLDPWD', 'SHLVL', '_']
  deepEqual(
    Object.keys(env).filter((name) => !allowed.includes(name)),
    []
  )
})

test('what the server says unasked: its request, the only one, the listener, or kept for it', async (t) => {
  const { workers } = rig(t)
  const link = workers[0].open('s', specOf('polite'), null)
  deepEqual((await call(link, 'notify', { methods: ['notifications/a'] })).messages, ['notifications/a'])
  // Two under way: progress finds its own, the rest goes to the first of them.
  const held = call(link, 'hold', {}, 'token-1')
  deepEqual((await call(link, 'progress', { token: 'token-1' })).messages, [])
  deepEqual((await call(link, 'notify', { methods: ['notifications/b'] })).messages, [])
  await call(link, 'letGo')
  deepEqual((await held).messages, ['notifications/progress', 'notifications/b'])
  // Nobody is there: it waits for the listener, who gets the rest too while others are under way.
  deepEqual((await call(link, 'afterwards')).messages, [])
  const heard: string[] = []
  const more = Promise.withResolvers<void>()
  const stop = link.listen({
    message(line) {
      heard.push((JSON.parse(line) as { method: string }).method)
      if (heard.includes('notifications/d')) more.resolve()
    },
    ended: () => undefined
  })
  const waits = call(link, 'hold')
  await call(link, 'notify', { methods: ['notifications/d'] })
  await more.promise
  deepEqual(heard, ['notifications/late', 'notifications/d'])
  stop()
  await call(link, 'letGo')
  deepEqual((await waits).messages, [])
})

test('the server asks, and the answer of another worker reaches it', async (t) => {
  const { workers } = rig(t)
  const spec = specOf('polite')
  const link = workers[0].open('s', spec, null)
  await ask(link, 'initialize', {})
  const other = workers[1].open('s', spec, link.instance)
  const text = JSON.stringify({ jsonrpc: '2.0', method: 'tools/call', params: { name: 'ask' } })
  const answer = await new Promise<string>((resolve, reject) => {
    link.request(
      { text, id: 1, progressToken: null, isInitialize: false },
      {
        message(line) {
          const { id } = JSON.parse(line) as { id: string }
          const reply = JSON.stringify({ jsonrpc: '2.0', id, result: { roots: [] } })
          void other.send({ text: reply, method: null, cancels: null })
        },
        answered: resolve,
        failed: (failure) => reject(new Error(failure.message))
      }
    )
  })
  deepEqual((JSON.parse(answer) as { result: unknown }).result, { answered: { roots: [] } })
})

test('a request that is given up, or cancelled by its id, is cancelled at the server by the id on the wire', async (t) => {
  const { workers } = rig(t)
  const link = workers[0].open('s', specOf('polite'), null)
  const { result } = await call(link, 'echo')
  const cancelled: unknown[] = []
  const twice = Promise.withResolvers<void>()
  link.listen({
    message(line) {
      cancelled.push((JSON.parse(line) as { params: { cancelled: unknown } }).params.cancelled)
      if (cancelled.length === 2) twice.resolve()
    },
    ended: () => undefined
  })
  const nobody = { message: () => undefined, answered: () => undefined, failed: () => undefined }
  const text = JSON.stringify({ jsonrpc: '2.0', method: 'tools/call', params: { name: 'hold' } })
  const giveUp = link.request({ text, id: 'mine', progressToken: null, isInitialize: false }, nobody)
  giveUp()
  link.request(
    { text, id: 'yours', progressToken: null, isInitialize: false },
    {
      ...nobody,
      message(line) {
        cancelled.push((JSON.parse(line) as { params: { cancelled: unknown } }).params.cancelled)
        if (cancelled.length === 2) twice.resolve()
      }
    }
  )
  const params = { requestId: 'yours', reason: 'enough' }
  const notice = { method: 'notifications/cancelled', cancels: 'yours' }
  await link.send({ ...notice, text: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }) })
  await twice.promise
  const first = Number(result?.wireId) + 1
  deepEqual(cancelled, [first, first + 1])
})

test('garbage on stdout is logged and passed over, the rest goes on', async (t) => {
  const { workers, said } = rig(t)
  const { result } = await call(workers[0].open('s', specOf('banner'), null), 'garbage')
  deepEqual(result, { survived: true })
  await said(/tools: wrote to stdout what is no message of MCP: \*\*\* Welcome/)
})

test('stderr goes to the log, bounded, without the values of its environment', async (t) => {
  const { workers, logged, said } = rig(t)
  const spec = specOf('polite', { env: { THE_KEY: 'sk-very-secret' } })
  await call(workers[0].open('s', spec, null), 'stderr')
  await said(/line 40/)
  ok(logged.includes('info: tools: the key is <redacted>'))
  ok(logged.length <= 51, `${logged.length} lines`)
  ok(logged.every((line) => line.length < 2200))
})

test('a message that is too long fails what waits, and an endless one ends the process', async (t) => {
  const { workers, said } = rig(t)
  const spec = specOf('polite', { lineBytesMax: 10_000 })
  const link = workers[0].open('s', spec, null)
  await call(link, 'echo')
  equal((await call(link, 'huge', { bytes: 20_000 })).failure?.kind, 'tooLarge')
  deepEqual((await call(link, 'huge', { bytes: 9000 })).failure, undefined)
  equal((await call(link, 'endless')).failure?.kind, 'tooLarge')
  await said(/it ended by SIGKILL/)
  equal((await call(link, 'echo')).failure?.kind, 'expired')
})

test('a process that ends takes its requests with it; the session begins anew with initialize', async (t) => {
  const { workers } = rig(t)
  const link = workers[0].open('s', specOf('polite'), null)
  await ask(link, 'initialize', {})
  const before = link.instance
  const ended = new Promise<ChildFailure>((resolve) => {
    link.listen({ message: () => undefined, ended: resolve })
  })
  const { failure } = await call(link, 'die')
  deepEqual(failure, { kind: 'broken', message: 'MCP server tools: it ended with code 3 before it answered' })
  equal((await ended).kind, 'expired')
  equal((await call(link, 'echo')).failure?.kind, 'expired')
  const anew = workers[1].open('s', specOf('polite'), null)
  ok((await ask(anew, 'initialize', {})).result)
  notEqual(anew.instance, before)
})

test('one that dies at once again and again is refused for a while', async (t) => {
  const { workers, said } = rig(t)
  const link = workers[0].open('s', specOf('dies'), null)
  const first = await ask(link, 'initialize', {})
  equal(first.failure?.kind, 'unreachable')
  match(first.failure?.message ?? '', /^MCP server tools: it ended with code 9 before it answered$/)
  await said(/tools: cannot find my configuration/)
  const second = await ask(workers[1].open('s2', specOf('dies'), null), 'initialize', {})
  equal(second.failure?.kind, 'refused')
  match(second.failure?.message ?? '', /could not be started once: the next try is in 1 s/)
})

test('a command that is not there, not executable or in no folder is told by name', async (t) => {
  const { workers, logged } = rig(t)
  const why = async (key: string, more: Partial<ChildSpec>) => {
    const link = workers[0].open(key, specOf('polite', { target: key, ...more }), null)
    return (await ask(link, 'initialize', {})).failure
  }
  deepEqual(await why('a', { cmd: 'no-such-program' }), {
    kind: 'unreachable',
    message: "MCP server a cannot be started: its command 'no-such-program' was not found in PATH"
  })
  match((await why('b', { cmd: './package.json' }))?.message ?? '', /'\.\/package\.json' is not an executable file$/)
  match((await why('c', { cwd: '/no/such/folder' }))?.message ?? '', /its folder \(cwd\) does not exist$/)
  match((await why('d', { cmd: '/bin/no\0thing' }))?.message ?? '', /zero character/)
  ok(logged.includes("warn: a: cannot be started: its command 'no-such-program' was not found in PATH"))
})

test('close ends the process, step by step where it must', async (t) => {
  const { workers } = rig(t)
  const { port, next } = await lifeline(t)
  for (const manner of ['polite', 'stubborn']) {
    const link = workers[0].open(manner, specOf(manner, {}, port), null)
    const born = next()
    await ask(link, 'initialize', {})
    const { gone } = await born
    link.close()
    await gone
  }
})

test('idle processes are ended, and those that somebody listens to are not', async (t) => {
  const { workers, hub } = rig(t, { lookMs: 10 })
  const { port, next } = await lifeline(t)
  const spec = specOf('polite', { idleMs: 100 }, port)
  const born = next()
  const idle = workers[0].open('idle', spec, null)
  await call(idle, 'echo')
  const { gone } = await born
  const listening = workers[0].open('listening', spec, null)
  await call(listening, 'echo')
  listening.listen({ message: () => undefined, ended: () => undefined })
  await gone
  equal((await call(listening, 'echo')).failure, undefined)
  equal(hub.pids.length, 1)
  equal((await call(idle, 'echo')).failure?.kind, 'expired')
})

test('a reload ends what it removes or changes, and keeps the rest', async (t) => {
  const { workers, hub } = rig(t, { lookMs: 10 })
  const { port, next } = await lifeline(t)
  const kept = specOf('polite', { target: 'kept' })
  const changed = specOf('polite', { target: 'changed' }, port)
  const keptLink = workers[0].open('s', kept, null)
  await call(keptLink, 'echo')
  const born = next()
  await call(workers[0].open('s', changed, null), 'echo')
  const { gone } = await born
  const target = { ...kept, kind: 'stdio', name: 'kept' }
  hub.keep({
    backends: { b: { kind: 'mcp', targets: [target, { ...changed, kind: 'stdio', name: 'changed', cmd: 'x' }] } }
  } as unknown as Snapshot)
  await gone
  equal((await call(keptLink, 'echo')).failure, undefined)
  equal((await call(workers[1].open('s', changed, null), 'echo')).failure?.kind, 'refused')
})

test('a worker that dies leaves nothing behind, and the next one in its seat hears nothing of it', async (t) => {
  const { workers, hub } = rig(t)
  const spec = specOf('polite')
  const link = workers[0].open('s', spec, null)
  await call(link, 'echo')
  void call(link, 'hold')
  const other = workers[1].open('s', spec, link.instance)
  await call(other, 'echo')
  hub.workerGone(0)
  // Its request was cancelled.
  const { result } = await call(other, 'environment')
  ok(String(result?.heard).includes('notifications/cancelled'))
})

test('too many processes are refused, and one that is deaf takes no more than its bound', async (t) => {
  const { workers } = rig(t, { childrenMax: 1 })
  const link = workers[0].open('s', specOf('deaf', { lineBytesMax: 64 * 1024 * 1024 }), null)
  const big = { text: 'x'.repeat(9 * 1024 * 1024) }
  const first = call(link, 'echo', big)
  equal((await call(link, 'echo')).failure?.message, 'MCP server tools does not read what is sent to it')
  const second = await call(workers[0].open('s2', specOf('polite'), null), 'echo')
  deepEqual(second.failure, { kind: 'refused', message: 'too many processes of MCP server tools are in use' })
  link.close()
  void first
})

test('no process outlives a gateway that is killed, whatever it ignores', { timeout: 20_000 }, async (t) => {
  const { port, next } = await lifeline(t)
  const born = next()
  const host = fileURLToPath(new URL('./host.fixture.ts', import.meta.url))
  const gateway = spawn(process.execPath, [QUIET, host, QUIET, SERVER, 'stubborn', String(port)], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  t.after(() => gateway.kill('SIGKILL'))
  const { gone, pid } = await born
  equal((await once(gateway.stdout, 'data')).toString(), 'started\n')
  notEqual(pid, gateway.pid)
  gateway.kill('SIGKILL')
  await gone
})
