import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Exchange } from '#engine/contract/exchange.ts'
import { identityOf } from '#engine/contract/identity.ts'
import { type ExchangeOptions, fakeExchange } from '#engine/testing/exchange.ts'
import { BEARER, credentialAt, type Location, location, SEVERAL } from './credential.ts'

type Headers = ExchangeOptions['headers']

/** What is found, and the exchange after it was taken. */
function look(at: Location, headers: Headers, target = '/'): [found: string | typeof SEVERAL | null, ex: Exchange] {
  const ex = fakeExchange({ headers: headers ?? [], target })
  const credential = credentialAt(at)
  const found = credential.find(ex)
  if (typeof found === 'string') credential.take(ex, found)
  return [found, ex]
}

const find = (at: Location, headers: Headers, target?: string) => look(at, headers, target)[0]

test('the Authorization header, whatever the case of its scheme', () => {
  for (const value of ['Bearer abc', 'bearer abc', 'BEARER   abc', 'Bearer abc ']) {
    const [found, ex] = look(BEARER, [
      ['a', '1'],
      ['AuthoRization', value],
      ['b', '2']
    ])
    assert.equal(found, 'abc', value)
    assert.equal(ex.request.lines(), 'a: 1\r\nb: 2\r\n')
    assert.deepEqual(identityOf(ex).credentials, ['authorization', value.trim()])
  }
})

test('only the blanks of HTTP are blanks', () => {
  assert.equal(find(BEARER, [['authorization', 'Bearer  \xa0abc']]), '\xa0abc')
  assert.equal(find({ kind: 'cookie', name: 'k' }, [['cookie', 'a; k=b\xa0; \xa0k=c']]), 'b\xa0')
})

test('nothing, or something of another kind, is no credential and stays', () => {
  for (const value of ['', 'Basic abc', 'Bearer', 'Bearer ', 'Bearerabc', 'abc']) {
    const [found, ex] = look(BEARER, [['authorization', value]])
    assert.deepEqual(
      [found, ex.request.count, ex.request.dropped(0), identityOf(ex).credentials],
      [null, 1, false, null],
      value
    )
  }
  assert.equal(find(BEARER, []), null)
})

test('several headers are several credentials, even when one is of another kind', () => {
  assert.equal(
    find(BEARER, [
      ['authorization', 'Bearer a'],
      ['Authorization', 'Bearer a']
    ]),
    SEVERAL
  )
  assert.equal(
    find(BEARER, [
      ['authorization', 'Basic a'],
      ['Authorization', 'Bearer a']
    ]),
    SEVERAL
  )
})

test('a header of its own, with and without a prefix', () => {
  assert.equal(find({ kind: 'header', name: 'x-token', prefix: '' }, [['X-Token', 'abc']]), 'abc')
  assert.equal(find({ kind: 'header', name: 'x-token', prefix: 'jwt=' }, [['X-Token', 'JWT=abc']]), 'abc')
  assert.equal(find({ kind: 'header', name: 'x-token', prefix: 'jwt=' }, [['X-Token', 'abc']]), null)
})

test('a header that an earlier policy has set', () => {
  const ex = fakeExchange()
  ex.request.append('Authorization', 'Bearer abc')
  const credential = credentialAt(BEARER)
  assert.equal(credential.find(ex), 'abc')
  credential.take(ex, 'abc')
  assert.equal(ex.request.lines(), '')
})

test('a query parameter by another spelling is the same credential', () => {
  const at: Location = { kind: 'query', name: 'token' }
  const [found, ex] = look(at, [], '/p?a=%25&%74oke%6E=a%2Eb&token2=c')
  assert.deepEqual([found, ex.query], ['a.b', '?a=%25&token2=c'])
  assert.equal(find(at, [], '/p?token=a&%74oken=b'), SEVERAL)
  assert.equal(find(at, [], '/p?%54oken=b'), null)
})

test('a query parameter: the others stay as they are', () => {
  const at: Location = { kind: 'query', name: 'token' }
  const [found, ex] = look(at, [], '/p?a=1&token=a%2Eb&b=%20')
  assert.deepEqual(
    [found, ex.query, identityOf(ex).credentials],
    ['a.b', '?a=1&b=%20', ['authorization', 'Bearer a.b']]
  )
  assert.equal(look(at, [], '/p?token=x')[1].query, '')
  assert.equal(find(at, [], '/p?token=%zz'), '%zz')
  for (const none of ['/p', '/p?a=token', '/p?token', '/p?token=', '/p?mytoken=x'])
    assert.equal(find(at, [], none), null)
  assert.equal(find(at, [], '/p?token=a&token=b'), SEVERAL)
})

test('a query parameter is decoded to bytes; what is no escape stands for itself', () => {
  const at: Location = { kind: 'query', name: 'key' }
  assert.equal(find(at, [], '/?key=%C3%A9%20+%'), '\xc3\xa9 +%')
})

test('a cookie: the others stay as they are', () => {
  const at: Location = { kind: 'cookie', name: 'jwt' }
  const [found, ex] = look(at, [
    ['Cookie', 'z=0'],
    ['Cookie', 'a=1,2; jwt="x.y";b=2 ; ; d'],
    ['Cookie', 'c=3']
  ])
  assert.deepEqual([found, ex.request.lines()], ['x.y', 'cookie: z=0\r\ncookie: a=1,2;b=2 ; ; d\r\ncookie: c=3\r\n'])
  assert.equal(look(at, [['Cookie', 'jwt=x']])[1].request.lines(), '')
  assert.equal(look(at, [['Cookie', 'jwt=x; b=2']])[1].request.lines(), 'cookie: b=2\r\n')
  assert.equal(look(at, [['Cookie', 'b=2; jwt=x']])[1].request.lines(), 'cookie: b=2\r\n')
  for (const none of [[], [['Cookie', 'a=jwt=']], [['Cookie', 'jwt=']], [['Cookie', 'xjwt=1']]] as Headers[]) {
    assert.equal(find(at, none), null)
  }
  assert.equal(find(at, [['Cookie', 'jwt=a; jwt=b']]), SEVERAL)
  const split = [
    ['Cookie', 'jwt=a'],
    ['Cookie', 'jwt=b']
  ] as const
  assert.equal(find(at, split), SEVERAL)
})

test('a second credential is added to the first', () => {
  const [, ex] = look(BEARER, [
    ['authorization', 'Bearer a'],
    ['x-key', 'b']
  ])
  const key = credentialAt({ kind: 'header', name: 'x-key', prefix: '' })
  key.take(ex, 'b')
  assert.deepEqual(identityOf(ex).credentials, ['authorization', 'Bearer a', 'x-key', 'b'])
})

test('the schema: one place, with a sensible name', () => {
  const problems = (value: unknown) =>
    location()
      .safeParse(value)
      .error?.issues.map((issue) => issue.message) ?? []
  assert.deepEqual(location().parse({ header: { name: 'X-Token', prefix: 'JWT ' } }), {
    kind: 'header',
    name: 'x-token',
    prefix: 'JWT '
  })
  assert.deepEqual(location().parse({ queryParameter: { name: 't' } }), { kind: 'query', name: 't' })
  assert.deepEqual(location().parse({ cookie: { name: 't' } }), { kind: 'cookie', name: 't' })
  assert.match(problems({})[0]!, /exactly one of header, queryParameter, cookie/)
  assert.match(problems({ cookie: { name: 'a' }, header: { name: 'b' } })[0]!, /not header and cookie/)
  assert.match(problems({ header: { name: ':path' } })[0]!, /pseudo/)
  assert.match(problems({ header: { name: 'a', prefix: 'a  ' } })[0]!, /one space at the end/)
  assert.match(problems({ cookie: { name: 'a b' } })[0]!, /without spaces/)
  assert.equal(problems({ queryParameter: { name: '' } }).length > 0, true)
})
