/** What is said to child processes over the hub, and where what they say goes. */
import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { ask, call, rig, specOf } from './rig.fixture.ts'

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

test('a child gets the harmless part of the environment, and the variables of the configuration', async (t) => {
  process.env.WEIR_TEST_SECRET = 'hidden'
  t.after(() => delete process.env.WEIR_TEST_SECRET)
  const { workers } = rig(t)
  const { result } = await call(
    workers[0].open('s', specOf('polite', { env: { ALLOWED: 'yes' } }), null),
    'environment'
  )
  const env = result?.env as Record<string, string>
  equal(env.ALLOWED, 'yes')
  equal(env.PATH, process.env.PATH)
  // PWD, OLDPWD, SHLVL and _ are the shell's own.
  const allowed = ['ALLOWED', 'PATH', 'HOME', 'LANG', 'TERM', 'TMPDIR', 'USER', 'PWD', 'OLDPWD', 'SHLVL', '_']
  deepEqual(
    Object.keys(env).filter((name) => !allowed.includes(name)),
    []
  )
})

test('a message that is nested too deep reaches no worker, where serializing it would overflow the stack', async (t) => {
  const { workers } = rig(t)
  const link = workers[0].open('s', specOf('polite'), null)
  const { failure, messages } = await call(link, 'deep')
  equal(failure?.message, 'sent a message that is nested too deep')
  deepEqual(messages, [])
  deepEqual((await call(link, 'echo', { brackets: '[[['.repeat(99) })).result?.echo, { brackets: '[[['.repeat(99) })
})

test('a link that is let go answers what waits, and is heard; one that is closed fails both', async (t) => {
  const { workers } = rig(t)
  const [link, next] = [0, 0].map(() => workers[0].open('s', specOf('polite'), null))
  await call(link!, 'echo')
  const heard = Promise.withResolvers<string>()
  const stop = link!.listen({ message: heard.resolve, ended: () => heard.reject(new Error('ended')) })
  const pending = call(link!, 'hold')
  link!.release()
  await call(next!, 'letGo')
  deepEqual((await pending).result, { held: true })
  await Promise.all([
    call(next!, 'hold'),
    call(next!, 'notify', { methods: ['notifications/x'] }),
    call(next!, 'letGo')
  ])
  match(await heard.promise, /notifications\/x/)
  stop()
  const over = Promise.withResolvers<string>()
  next!.listen({ message: () => undefined, ended: ({ message }) => over.resolve(message) })
  const waits = call(next!, 'hold')
  next!.close()
  equal((await waits).failure?.message, 'the conversation has been ended')
  equal(await over.promise, 'the conversation has been ended')
})

test('messages of the server reach their request, the only request or the listener, or are kept for it', async (t) => {
  const { workers } = rig(t)
  const link = workers[0].open('s', specOf('polite'), null)
  deepEqual((await call(link, 'notify', { methods: ['notifications/a'] })).messages, ['notifications/a'])
  // Two under way: progress finds its own, the rest goes to the first of them.
  const pending = call(link, 'hold', {}, 'token-1')
  deepEqual((await call(link, 'progress', { token: 'token-1' })).messages, [])
  deepEqual((await call(link, 'notify', { methods: ['notifications/b'] })).messages, [])
  await call(link, 'letGo')
  deepEqual((await pending).messages, ['notifications/progress', 'notifications/b'])
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
  const noEvents = { message: () => undefined, answered: () => undefined, failed: () => undefined }
  const text = JSON.stringify({ jsonrpc: '2.0', method: 'tools/call', params: { name: 'hold' } })
  const giveUp = link.request({ text, id: 'mine', progressToken: null, isInitialize: false }, noEvents)
  giveUp()
  link.request(
    { text, id: 'yours', progressToken: null, isInitialize: false },
    {
      ...noEvents,
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
