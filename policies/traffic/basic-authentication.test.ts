import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { NO_BUCKETS } from '#engine/contract/buckets.ts'
import { type Exchange, STEP_RECORDED } from '#engine/contract/exchange.ts'
import { CONTINUE, STOP, type Verdict } from '#engine/contract/filter.ts'
import { identityOf } from '#engine/contract/identity.ts'
import { FieldError } from '#engine/contract/policy.ts'
import { NO_SECRETS } from '#engine/contract/secrets.ts'
import { NO_SERVICES, newStateStore } from '#engine/contract/state-store.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { problemsOf } from '#engine/testing/policy.ts'
import { basicAuthentication } from './basic-authentication.ts'

const BCRYPT = '$2y$05$.paP4xFss/eXtuGfkysCpOJn/Zn01JN10qDE.eWa9oSAX6q8Jpk.S'
const SHA = '{SHA}nU4eI71bcnBGqeO0t9tXvY1u5oQ='
const APR1 = '$apr1$I0TjsVGO$K5F3CsqB3jIGQ3EPBCXgr.'

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`

interface Job {
  readonly hash: string
  readonly password: string
}

/** A policy of `config` whose pool says yes to the password "pass", or what `run` says. */
function prepare(config: unknown, run?: (job: Job) => Promise<unknown>) {
  const jobs: Job[] = []
  const offload = {
    run: (_: string, argument: unknown) => {
      jobs.push(argument as Job)
      return run === undefined ? Promise.resolve((argument as Job).password === 'pass') : run(argument as Job)
    }
  }
  const { schema, resolve, compile } = basicAuthentication
  const readFile = (): string => assert.fail('no file is read')
  const state = newStateStore()
  const compiled = (input: unknown) => {
    const resolved = resolve!(schema.parse(input) as never, { readFile, secrets: NO_SECRETS, readYaml: JSON.parse })
    const context = {
      ...NO_SERVICES,
      state,
      offload,
      buckets: NO_BUCKETS,
      maxBufferBytes: 0,
      matches: [],
      attachment: ''
    }
    return compile(resolved as never, context).filter!.onRequest!
  }
  let hook = compiled(config)
  return {
    jobs,
    reload(next: unknown) {
      hook = compiled(next)
    },
    async ask(...values: readonly string[]): Promise<[Verdict, Exchange]> {
      const ex = fakeExchange({ headers: [['a', '1'], ...values.map((value) => ['Authorization', value] as const)] })
      return [await hook(ex), ex]
    },
    now(credentials: string | Exchange): Verdict | Promise<Verdict> {
      return hook(
        typeof credentials === 'string' ? fakeExchange({ headers: [['authorization', credentials]] }) : credentials
      )
    }
  }
}

describe('requests', () => {
  test('a right password: the name is known, the line is gone and state aside', async () => {
    const { ask, jobs } = prepare({ users: [`Zoë:${BCRYPT}`] })
    for (const scheme of ['Basic', 'basic', 'BASIC ']) {
      const value = basic('Zoë:pass').replace('Basic', scheme)
      const [verdict, ex] = await ask(value)
      assert.equal(verdict, CONTINUE)
      assert.deepEqual(identityOf(ex).basicAuth, { username: 'Zoë' })
      assert.deepEqual([ex.request.lines(), identityOf(ex).credentials], ['a: 1\r\n', ['authorization', value]])
    }
    assert.equal(jobs.length, 1, 'then it is remembered')
  })

  test('{SHA} is verified at once', () => {
    const { now, jobs } = prepare({ users: [`a:${SHA}`] })
    assert.deepEqual([now(basic('a:pass')), now(basic('a:Pass')), jobs.length], [CONTINUE, STOP, 0])
  })

  test('wrong credentials get 401 and a challenge, in both modes', async () => {
    for (const mode of ['Strict', 'optional']) {
      const { ask } = prepare({ mode, users: [`a:${BCRYPT}`] })
      for (const value of [basic('a:x'), basic('b:pass'), basic('a'), 'Basic !', basic('a:pass\0')]) {
        const [verdict, ex] = await ask(value)
        assert.deepEqual([verdict, ex.error], [STOP, 'BASIC_INVALID'], value)
        assert.deepEqual(ex.refusalHeaders, ['WWW-Authenticate', 'Basic realm="Restricted", charset="UTF-8"'])
        assert.deepEqual([identityOf(ex).basicAuth, identityOf(ex).credentials], [null, null])
      }
      const [, ex] = await ask(basic('a:pass'), basic('a:pass'))
      assert.equal(ex.error, 'BASIC_REPEATED')
    }
  })

  test('without credentials: Strict refuses, Optional lets pass', async () => {
    const strict = prepare({ users: [`a:${BCRYPT}`], realm: 'Say "x\\y"' })
    for (const values of [[], ['Bearer abc'], ['Basic']]) {
      const [verdict, ex] = await strict.ask(...values)
      assert.deepEqual([verdict, ex.error], [STOP, 'BASIC_MISSING'])
      assert.equal(ex.refusalHeaders![1], 'Basic realm="Say \\"x\\\\y\\"", charset="UTF-8"')
      const [passed, same] = await prepare({ users: [`a:${BCRYPT}`], mode: 'Optional' }).ask(...values)
      assert.deepEqual(
        [passed, identityOf(same).basicAuth, same.request.dropped(values.length)],
        [CONTINUE, null, false]
      )
    }
  })

  test('a pool that refuses is 503, and not a wrong password', async () => {
    const { ask } = prepare({ users: [`a:${BCRYPT}`] }, () => Promise.reject(new Error('full')))
    const [verdict, ex] = await ask(basic('a:pass'))
    assert.deepEqual([verdict, ex.error, ex.refusalHeaders], [STOP, 'BASIC_OVERLOAD', ['Retry-After', '1']])
  })

  test('an exchange that has ended while it waited is left as it is', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const { now } = prepare({ users: [`a:${BCRYPT}`] }, () => promise)
    const ex = fakeExchange({ headers: [['authorization', basic('a:pass')]] })
    const waiting = now(ex)
    ex.step = STEP_RECORDED
    resolve(true)
    assert.equal(await waiting, STOP)
    assert.deepEqual([identityOf(ex).basicAuth, ex.error, ex.request.dropped(0)], [null, null, false])
  })
})

describe('attackers', () => {
  test('a name that is not there costs what one that is there costs', async () => {
    const { ask, jobs } = prepare({ users: [`a:${BCRYPT}`, `b:${APR1}`, `c:${APR1}x`.slice(0, -1)] })
    for (let i = 0; i < 60; i++) {
      const [, ex] = await ask(basic(`user${i}:pass`))
      assert.equal(ex.error, 'BASIC_INVALID', 'even when it is the password of the one that stands in')
    }
    assert.equal(jobs.length, 60, 'nothing is remembered for them')
    assert.deepEqual(new Set(jobs.map(({ hash }) => hash)), new Set([BCRYPT, APR1]))
    jobs.length = 0
    await ask(basic('user1:x'))
    await ask(basic('user1:y'))
    assert.equal(jobs[0]!.hash, jobs[1]!.hash, 'the same one stands in for the same name')
  })

  test('a client that guesses passwords is refused at once, and others are served', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const { now } = prepare({ users: [`a:${BCRYPT}`, `b:${APR1}`] }, (job) =>
      promise.then(() => job.password === 'pass')
    )
    for (const name of ['a', 'nobody']) {
      const guesses = Array.from({ length: 10 }, (_, i) => now(basic(`${name}:${i}`)))
      assert.equal(guesses.filter((guess) => guess === STOP).length, 6, name)
    }
    const honest = [now(basic('b:pass')), now(basic('b:pass'))]
    resolve(true)
    assert.deepEqual(await Promise.all(honest), [CONTINUE, CONTINUE])
  })

  test('a password is forgotten with its hash', async () => {
    const { ask, reload, jobs } = prepare({ users: [`a:${BCRYPT}`] })
    await ask(basic('a:pass'))
    reload({ users: [`a:${BCRYPT}`, `b:${APR1}`] })
    await ask(basic('a:pass'))
    assert.equal(jobs.length, 1, 'it survives a reload that does not concern it')
    reload({ users: [`a:${APR1}`] })
    await ask(basic('a:pass'))
    assert.deepEqual([jobs.length, jobs[1]!.hash], [2, APR1])
    reload({ users: [`b:${BCRYPT}`] })
    assert.equal((await ask(basic('a:pass')))[0], STOP, 'a user who is gone')
  })
})

describe('configuration', () => {
  test('messages of mistakes have their place and show no secret', () => {
    const line = `a:${BCRYPT}`
    const cases: readonly (readonly [object, RegExp])[] = [
      [{}, /^: must have exactly one of users, htpasswd, secretRef$/],
      [{ users: [line], htpasswd: line }, /^: must have exactly one of .*, not users and htpasswd$/],
      [{ users: [] }, /^users: must have 1 to 256 entries$/],
      [{ users: Array.from({ length: 257 }, (_, i) => `u${i}:${SHA}`) }, /^users: must have 1 to 256 entries$/],
      [{ users: [line, 'bob:hunter2'] }, /^users\.1: has none of the known hashes/],
      [{ users: [line, 'hunter2'] }, /^users\.1: must be "user:hash"$/],
      [{ users: [line, `b:${BCRYPT}`, line] }, /^users\.2: is about the same user as line 1$/],
      [{ htpasswd: 'users.htpasswd' }, /^htpasswd: line 1: must be "user:hash"; a file is written \{ file: PATH \}$/],
      [{ users: [''] }, /^users\.0: must be "user:hash"$/],
      [{ users: [line.replace('$05$', '$20$')] }, /^users\.0: has a bcrypt cost of 20; 4 to 14/],
      [{ htpasswd: `# x\n${line}\nb:hunter2\n` }, /^htpasswd: line 3: has none of the known hashes/],
      [{ htpasswd: '# nobody\n' }, /^htpasswd: line 1: there is no user here/],
      [{ htpasswd: { path: 'x' } }, /^htpasswd: must be lines of an htpasswd file, or \{ file: PATH \}/],
      [{ secretRef: {} }, /^secretRef\.name: /],
      [{ users: [line], mode: 'Permissive' }, /^mode: /],
      [{ users: [line], realm: '' }, /^realm: /],
      [{ users: [line], realm: 'a\nb' }, /^realm: must be visible ASCII/],
      [{ users: [line], realm: 'x'.repeat(257) }, /^realm: /]
    ]
    for (const [config, expected] of cases) {
      const problems = problemsOf(basicAuthentication, config)
      assert.match(problems[0] ?? '', expected, JSON.stringify(config))
      assert.doesNotMatch(problems.join(), /hunter2|paP4xFss/)
    }
  })

  test('of many mistakes in a file the first few are reported', () => {
    const [problem] = problemsOf(basicAuthentication, { htpasswd: 'x\n'.repeat(20) })
    assert.match(problem!, /^htpasswd: line 1: .*; line 5: must be "user:hash"; and 15 more$/)
  })

  test('a file is read when the configuration is resolved', () => {
    const { schema, resolve } = basicAuthentication
    const config = schema.parse({ htpasswd: { file: 'users.txt' }, mode: 'Optional', realm: 'x' }) as never
    const read = (text: string) =>
      resolve!(config, {
        readFile: (path) => (path === 'users.txt' ? text : ''),
        secrets: NO_SECRETS,
        readYaml: JSON.parse
      })
    assert.deepEqual(read(`# staff\na:${SHA}\n`), {
      mode: 'Optional',
      realm: 'x',
      users: [{ name: 'a', hash: { $secret: SHA } }]
    })
    const refused = (readFile: () => string, message: RegExp) =>
      assert.throws(
        () => resolve!(config, { readFile, secrets: NO_SECRETS, readYaml: JSON.parse }),
        (error) =>
          error instanceof FieldError && error.path.join('.') === 'htpasswd.file' && message.test(error.message)
      )
    refused(() => 'a:hunter2', /^users\.txt: line 1: has none of the known hashes/)
    refused(() => '', /^users\.txt: line 1: there is no user here/)
    refused(() => {
      throw new Error('there is no such file')
    }, /^there is no such file$/)
  })
})
