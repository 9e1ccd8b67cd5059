import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CONTINUE, STOP } from '#engine/contract/filter.ts'
import { identityOf } from '#engine/contract/identity.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { compilePolicy, problemsOf, runRequest } from '#engine/testing/policy.ts'
import { authorization } from './authorization.ts'

/** Whether `rules` let alice pass. */
function passes(...rules: readonly unknown[]): boolean {
  const ex = fakeExchange({ target: '/a', headers: [['x-team', 'blue']] })
  identityOf(ex).jwt = { sub: 'alice', roles: ['dev'] }
  const verdict = runRequest(compilePolicy(authorization, { rules }), ex)
  if (verdict === CONTINUE) return true
  assert.deepEqual([verdict, ex.error], [STOP, 'FORBIDDEN'])
  return false
}

const YES = 'jwt.sub == "alice"'
const NO = 'jwt.sub == "bob"'
const FAILS = 'jwt.missing == "x"'

test('a rule that allows: one true one is enough, none true refuses', () => {
  assert.deepEqual(
    [passes(YES), passes(NO), passes(NO, YES), passes({ allow: NO }, { allow: YES })],
    [true, false, true, true]
  )
})

test('a rule that denies wins over those that allow', () => {
  assert.deepEqual([passes({ deny: YES }, YES), passes({ deny: NO }, YES), passes({ deny: NO })], [false, true, true])
})

test('every rule that requires must be true', () => {
  assert.deepEqual(
    [
      passes({ require: YES }, { require: YES }),
      passes({ require: YES }, { require: NO }, YES),
      passes({ require: YES })
    ],
    [true, false, true]
  )
})

test('an expression that fails never opens a door', () => {
  assert.deepEqual(
    [passes(FAILS), passes({ deny: FAILS }), passes({ require: FAILS }), passes(FAILS, YES)],
    [false, false, false, true]
  )
  // Its type is known when it runs only.
  assert.deepEqual(
    [passes('jwt.roles'), passes({ deny: 'jwt.roles' }), passes({ require: 'jwt.roles' })],
    [false, false, false]
  )
})

test('the form of the resource: expressions of one policy are alternatives', () => {
  const verdict = (action: string | undefined, ...matchExpressions: readonly string[]) => {
    const ex = fakeExchange()
    identityOf(ex).jwt = { sub: 'alice' }
    return runRequest(compilePolicy(authorization, { policy: { matchExpressions }, action }), ex)
  }
  assert.deepEqual(
    [verdict(undefined, NO, YES), verdict('Deny', NO, YES), verdict('Require', NO, YES), verdict('Require', NO)],
    [CONTINUE, STOP, CONTINUE, STOP]
  )
})

test('levels add up', () => {
  const rules = [[{ action: 'Allow', expressions: ['true'] }], [{ action: 'Deny', expressions: [YES] }]]
  const compiled = authorization.compile(rules as never, {} as never)
  const ex = fakeExchange()
  identityOf(ex).jwt = { sub: 'alice' }
  assert.equal(compiled.filter!.onRequest!(ex), STOP)
})

test('only an expression over the body asks for it', () => {
  const buffers = (source: string) => compilePolicy(authorization, { rules: [source] }).filter!.buffers
  assert.deepEqual([buffers(YES), buffers('json(request.body).model == "a"')], [undefined, { request: true }])
})

test('mistakes are named with their place', () => {
  assert.deepEqual(problemsOf(authorization, {}), [': must have exactly one of policy, rules'])
  assert.deepEqual(problemsOf(authorization, { action: 'Deny', rules: ['true'] }), [
    'action: belongs to policy: each of the rules says its own'
  ])
  assert.deepEqual(problemsOf(authorization, { rules: [] }), ['rules: must have 1 to 4096 entries'])
  assert.match(
    problemsOf(authorization, { rules: ['request.pth == "/"'] })[0]!,
    /^rules\.0.*1:9: .*did you mean "path"/s
  )
  assert.match(
    problemsOf(authorization, { rules: [{ deny: '1' }] })[0]!,
    /^rules\.0\.deny: expression 1:1: the result is int/
  )
  assert.match(problemsOf(authorization, { policy: { matchExpressions: [''] } })[0]!, /^policy\.matchExpressions\.0: /)
})
