/** How child processes begin and end, and what bounds them: real ones, polite and hostile. */
import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { ChildFailure, ChildLink, ChildSpec } from '#engine/contract/children.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { ChildrenOfWorker } from './client.ts'
import type { ChildEvent } from './messages.ts'
import { ask, call, lifeline, QUIET, rig, SERVER, specOf } from './rig.fixture.ts'

test('garbage on stdout is logged and passed over, the rest goes on', async (t) => {
  const { workers, logLine } = rig(t)
  const { result } = await call(workers[0].open('s', specOf('banner'), null), 'garbage')
  deepEqual(result, { survived: true })
  await logLine(/tools: wrote to stdout what is no message of MCP: \*\*\* Welcome/)
})

test('stderr goes to the log, bounded, without the values of its environment', async (t) => {
  const { workers, logged, logLine } = rig(t)
  const spec = specOf('polite', { env: { THE_KEY: 'sk-very-secret' } })
  await call(workers[0].open('s', spec, null), 'stderr')
  await logLine(/line 40/)
  ok(logged.includes('info: tools: the key is <redacted>'))
  ok(logged.length <= 51, `${logged.length} lines`)
  ok(logged.every((line) => line.length < 2200))
})

test('a message that is too long fails what waits, and an endless one ends the process', async (t) => {
  const { workers, logLine } = rig(t)
  const spec = specOf('polite', { lineBytesMax: 10_000 })
  const link = workers[0].open('s', spec, null)
  await call(link, 'echo')
  equal((await call(link, 'huge', { bytes: 20_000 })).failure?.kind, 'tooLarge')
  deepEqual((await call(link, 'huge', { bytes: 9000 })).failure, undefined)
  equal((await call(link, 'endless')).failure?.kind, 'tooLarge')
  await logLine(/it ended by SIGKILL/)
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
  deepEqual(failure, { kind: 'broken', message: 'it ended with code 3 before it answered' })
  equal((await ended).kind, 'expired')
  equal((await call(link, 'echo')).failure?.kind, 'expired')
  const anew = workers[1].open('s', specOf('polite'), null)
  ok((await ask(anew, 'initialize', {})).result)
  notEqual(anew.instance, before)
})

test('a process that dies at once again and again is refused for a while', async (t) => {
  const { workers, logLine } = rig(t)
  const link = workers[0].open('s', specOf('dies'), null)
  const first = await ask(link, 'initialize', {})
  equal(first.failure?.kind, 'unreachable')
  match(first.failure?.message ?? '', /^it ended with code 9 before it answered$/)
  await logLine(/tools: cannot find my configuration/)
  const second = await ask(workers[1].open('s2', specOf('dies'), null), 'initialize', {})
  equal(second.failure?.kind, 'refused')
  match(second.failure?.message ?? '', /could not be started once: the next try is in 1 s/)
})

test('a command that is missing, not executable or in no folder is named in the error', async (t) => {
  const { workers, logged } = rig(t)
  const why = async (key: string, more: Partial<ChildSpec>) => {
    const link = workers[0].open(key, specOf('polite', { target: key, ...more }), null)
    return (await ask(link, 'initialize', {})).failure
  }
  deepEqual(await why('a', { cmd: 'no-such-program' }), {
    kind: 'unreachable',
    message: "cannot be started: its command 'no-such-program' was not found in PATH"
  })
  match((await why('b', { cmd: './package.json' }))?.message ?? '', /'\.\/package\.json' is not an executable file$/)
  match((await why('c', { cwd: '/no/such/folder' }))?.message ?? '', /its folder \(cwd\) does not exist$/)
  match((await why('e', { cmd: 'npx -y server' }))?.message ?? '', /in PATH: what stands behind .* belongs in args$/)
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

test('idle processes are ended, unless a session listens to them', async (t) => {
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

test('too many processes are refused, and one that is deaf takes no more than its bound', async (t) => {
  const { workers } = rig(t, { childrenMax: 1 })
  const link = workers[0].open('s', specOf('deaf', { lineBytesMax: 64 * 1024 * 1024 }), null)
  const big = { text: 'x'.repeat(9 * 1024 * 1024) }
  const first = call(link, 'echo', big)
  equal((await call(link, 'echo')).failure?.message, 'does not read what is sent to it')
  const second = await call(workers[0].open('s2', specOf('polite'), null), 'echo')
  deepEqual(second.failure, { kind: 'refused', message: 'too many of its processes are in use' })
  link.close()
  void first
})

test('one client does not hold all processes, whatever its session ids', async (t) => {
  const { workers, hub } = rig(t, { childrenMax: 4 })
  const opened: ChildLink[] = []
  const open = (party: string, i: number): ChildLink => {
    const link = workers[i % 2]!.open(`${party} ${i}`, specOf('polite'), null, party)
    opened.push(link)
    return link
  }
  for (let i = 0; i < 3; i++) equal((await ask(open('greedy', i), 'initialize', {})).failure, undefined)
  for (let i = 3; i < 6; i++) {
    const { failure } = await call(open('greedy', i), 'echo')
    equal(failure?.kind, 'refused')
    match(failure!.message, /as many of its processes as one client may have/)
  }
  equal(hub.pids.length, 3)
  equal((await call(open('modest', 6), 'echo')).failure, undefined)
  match((await call(open('late', 7), 'echo')).failure!.message, /^too many of its processes/)
  opened[0]!.close()
  equal((await call(open('late', 8), 'echo')).failure, undefined)
})

test('a worker that takes nothing is not flooded: the process waits, and goes on with it', async (t) => {
  const reports: ChildEvent[] = []
  let queued = 0
  const stuck = Promise.withResolvers<void>()
  let idleTurns = 0
  const post = (_worker: number, report: ChildEvent) => {
    reports.push(report)
    idleTurns = 0
    if ('text' in report) queued += report.text.length
    if (queued > 4 * 1024 * 1024) stuck.resolve()
  }
  const { hub } = rig(t, { post })
  const worker = new ChildrenOfWorker((order) => hub.receive(0, order))
  const answer = call(worker.open('s', specOf('polite'), null), 'flood', { messages: 300 })
  await stuck.promise
  // Thousands of turns in which nothing more comes: 30 MB would have come by then.
  while (idleTurns++ < 20_000) await new Promise(setImmediate)
  ok(queued < 5 * 1024 * 1024, `${queued} characters`)
  let isOver = false
  void answer.then(() => {
    isOver = true
  })
  while (!isOver) {
    const report = reports.shift()
    if (report !== undefined) worker.receive(report)
    else await new Promise(setImmediate)
  }
  equal((await answer).messages.length, 300)
})

test('no process outlives a gateway that is killed, whatever it ignores', async (t) => {
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
