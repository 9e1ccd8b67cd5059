/** config.state: servers by their URL, and mistakes that show nothing of it. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { reveal } from '#engine/kit/secret.ts'
import { stateSchema, translateState } from './state.ts'

const spec = (input: object) => translateState(stateSchema.parse(input)).server!
const wrong = (input: object): string => {
  const { success, error } = stateSchema.safeParse(input)
  equal(success, false)
  return error!.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')
}

test('servers by their URL', () => {
  const { password, ...redis } = spec({ url: 'redis://weir:p%40ss@state.internal/3' })
  equal(reveal(password!), 'p@ss')
  deepEqual(redis, {
    ...{ kind: 'redis', host: 'state.internal', port: 6379, database: '3', isTls: false, username: 'weir' },
    ...{ root: null, prefix: 'weir', isOpen: false, timeoutMs: 1_000 }
  })
  const rows = [
    ['redis://h', 'redis', 6379, '0', false],
    ['rediss://h:1/2', 'redis', 1, '2', true],
    ['valkey://h', 'redis', 6379, '0', false],
    ['valkeys://h', 'redis', 6379, '0', true],
    ['postgres://h/weir', 'postgres', 5432, 'weir', false],
    ['postgresql://h/we%20ir?sslmode=verify-full', 'postgres', 5432, 'we ir', true],
    ['postgres://h/weir?sslmode=disable', 'postgres', 5432, 'weir', false]
  ] as const
  for (const [url, ...expected] of rows) {
    const { kind, port, database, isTls } = spec({ url })
    deepEqual([kind, port, database, isTls], expected)
  }
  equal(spec({ url: 'redis://[::1]:1/' }).host, '::1')
  equal(spec({ url: 'redis://h', path: 'a', failureMode: 'open' }).isOpen, true)
})

test('what is wrong is said without the URL, which may have a password', () => {
  const secret = 'hunter2'
  const rows: readonly (readonly [object, RegExp])[] = [
    [{}, /needs a path, a url or both/],
    [{ url: `http://u:${secret}@h` }, /^url: must be the URL of a server: redis:/],
    [{ url: secret }, /^url: must be the URL of a server/],
    [{ url: `redis://u:${secret}@h/one` }, /^url: must have the number of a database as its path/],
    [{ url: `redis://u:${secret}@h?x=1` }, /^url: must have no query/],
    [{ url: `redis+sentinel://u:${secret}@h:26379/primary` }, /^url: is that of a Sentinel, which is not asked/],
    [{ url: `valkeys-sentinel://:${secret}@h:26379` }, /^url: is that of a Sentinel/],
    [{ url: `postgres://u:${secret}@h` }, /^url: must have the name of a database as its path/],
    [{ url: `postgres://u:${secret}@h/d?sslmode=require` }, /^url: may say sslmode=disable .* or sslmode=verify-full/],
    [{ url: `postgres://u:${secret}@h/d?ssl=1` }, /^url: may have sslmode as its query, and nothing else/],
    [{ url: `redis://:${secret}@h`, password: 'other' }, /^password: stands in url already/],
    [{ path: 'a', prefix: 'b' }, /^prefix: is of the server of url, and there is none/],
    [{ url: 'redis://h', failureMode: 'open' }, /^failureMode: open needs path/],
    [{ url: 'redis://h', prefix: 'A' }, /^prefix: must be a small letter/],
    [{ url: 'redis://h', timeout: '11s' }, /^timeout: must be at most 10s/]
  ]
  for (const [input, expected] of rows) {
    const message = wrong(input)
    ok(expected.test(message), message)
    ok(!message.includes(secret), message)
  }
})
