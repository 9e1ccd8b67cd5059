import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CelError } from '#engine/cel/index.ts'
import { evaluation } from '#engine/cel/offload.ts'
import { offloadFor } from '#engine/contract/client-key.ts'
import { identityOf } from '#engine/contract/identity.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { OffloadPool } from './offload.ts'
import { RUNAWAY } from './runaway.fixture.ts'

test('a large body is looked through in another thread, with the same result', async (t) => {
  const pool = new OffloadPool(import.meta.resolve('#engine/process/jobs.ts'))
  t.after(() => pool.close())
  const rule = 'json(request.body).items.all(i, i >= 0) && jwt.sub == "alice"'
  const all = evaluation(rule, 'request', 'bool', (name, job, client) => pool.run(name, job, client))
  const ex = fakeExchange({ method: 'POST' })
  identityOf(ex).jwt = { sub: 'alice' }
  ex.requestBytes = Buffer.from(JSON.stringify({ items: Array.from({ length: 60_000 }, (_, i) => i) }))
  const waiting = all.run(ex)
  assert.ok(waiting instanceof Promise)
  assert.equal(await waiting, true)
  ex.requestBytes = Buffer.from(`${'['.repeat(600_000)}`)
  assert.ok((await all.run(ex)) instanceof CelError)
})

test('jobs beyond the queue are refused, and queued jobs are done', async (t) => {
  const pool = new OffloadPool(import.meta.resolve('#engine/process/jobs.ts'))
  t.after(() => pool.close())
  const all = evaluation('json(request.body).all(i, i >= 0)', 'request', 'bool', (name, job, client) =>
    pool.run(name, job, client)
  )
  const ex = fakeExchange({ method: 'POST' })
  ex.requestBytes = Buffer.from(JSON.stringify(Array.from({ length: 60_000 }, (_, i) => i)))
  const results = await Promise.all(Array.from({ length: 200 }, () => all.run(ex)))
  const done = results.filter((result) => result === true).length
  const refused = results.filter((result) => result instanceof CelError).length
  assert.equal(done + refused, 200)
  assert.ok(done >= 128 && refused > 0, `${done} done, ${refused} refused`)
})

test('a closed pool gives up what is under way, and starts nothing', async () => {
  const pool = new OffloadPool(import.meta.resolve('#engine/process/jobs.ts'))
  // Cost 14: seconds, if it were waited for.
  const hash = `$2y$14$${'a'.repeat(53)}`
  const job = pool.run('password', { hash, password: 'x' })
  const rejection = assert.rejects(job)
  await pool.close()
  await rejection
  await assert.rejects(pool.run('password', { hash, password: 'x' }), /closed/)
})

test('a job that fails rejects, and the next one is done', async (t) => {
  const pool = new OffloadPool(import.meta.resolve('#engine/process/jobs.ts'))
  t.after(() => pool.close())
  await assert.rejects(pool.run('password', { hash: '$5$rounds', password: 'x' }))
  await assert.rejects(pool.run('nothing', null))
  const sha = { hash: '{SHA}nU4eI71bcnBGqeO0t9tXvY1u5oQ=', password: 'pass' }
  assert.equal(await pool.run('password', sha), true)
})

test('a job that never ends holds up its class alone, and is ended with its thread', async (t) => {
  const lost: string[] = []
  const entry = import.meta.resolve('./runaway.fixture.ts')
  const pool = new OffloadPool(entry, { jobMsMax: 5_000, lost: (lane, why) => lost.push(`${lane} ${why}`) })
  t.after(() => pool.close())
  const sha = { hash: '{SHA}nU4eI71bcnBGqeO0t9tXvY1u5oQ=', password: 'pass' }
  const others = async (): Promise<void> => {
    assert.equal(await pool.run('password', sha), true)
    assert.equal(await pool.run('guard', null), 'guarded')
  }
  // Their threads run before the endless one does: against its bound stand two hops then, not two starts.
  await others()
  const ended: string[] = []
  const endless = assert
    .rejects(pool.run('cel', { source: RUNAWAY }), /longer than 5000 ms/)
    .then(() => ended.push('it'))
  const next = pool.run('cel', { source: 'another' }).then((answer) => ended.push(String(answer)))
  await others()
  assert.deepEqual(ended, [], 'they did not wait for it')
  await Promise.all([endless, next])
  assert.deepEqual(ended, ['it', 'done'])
  assert.deepEqual(lost, ['expressions late'])
})

test('an expression that fills the line has its turns, and makes room for others', async (t) => {
  const lost: string[] = []
  const entry = import.meta.resolve('./runaway.fixture.ts')
  const pool = new OffloadPool(entry, { lost: (lane, why) => lost.push(`${lane} ${why}`) })
  t.after(() => pool.close())
  const order: string[] = []
  const ask = (source: string) =>
    pool.run('cel', { source }).then(
      () => order.push(source),
      () => order.push(`${source} refused`)
    )
  const many = Array.from({ length: 200 }, () => ask('greedy'))
  const few = Array.from({ length: 3 }, () => ask('modest'))
  await Promise.all([...many, ...few])
  assert.equal(order.filter((one) => one === 'modest').length, 3)
  assert.ok(order.filter((one) => one !== 'greedy refused').indexOf('modest') <= 2, 'one of each in turn')
  assert.equal(lost.length, 200 + 3 - 129)
})

test('a client that fills the line of an expression, or of all the jobs of a kind, is one of many', async (t) => {
  const entry = import.meta.resolve('./runaway.fixture.ts')
  for (const job of ['cel', 'guard']) {
    const pool = new OffloadPool(entry)
    t.after(() => pool.close())
    const order: string[] = []
    const ask = (client: string) =>
      pool.run(job, { source: 'json(request.body).size() > 0' }, client).then(
        () => order.push(client),
        () => order.push(`${client} refused`)
      )
    const many = Array.from({ length: 200 }, () => ask('192.0.2.1'))
    const few = ['192.0.2.2', '192.0.2.3', '192.0.2.2'].map(ask)
    await Promise.all([...many, ...few])
    const done = order.filter((one) => !one.endsWith('refused'))
    assert.deepEqual(done.slice(0, 6), ['192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.1', '192.0.2.2'])
    assert.equal(done.length, 129)
  }
})

test('expressions and bodies name the client whose turn they take', async () => {
  const requests: unknown[] = []
  const run = (name: string, _job: unknown, client?: string) => {
    requests.push([name, client])
    return Promise.resolve({ value: true })
  }
  const ex = fakeExchange({ method: 'POST' })
  ex.requestBytes = Buffer.alloc(4 * 1024 * 1024, '[')
  await evaluation('json(request.body).all(i, i >= 0)', 'request', 'bool', run).run(ex)
  await offloadFor(ex, { run }).run('large', {})
  assert.deepEqual(requests, [
    ['cel', '192.0.2.1'],
    ['large', '192.0.2.1']
  ])
})
