import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hints, load, mistakes, withRoute } from '#engine/standalone/testing/fakes.ts'

const binds = (...ports: number[]) => `binds: [${ports.map((port) => `{ port: ${port}, listeners: [{}] }`).join(', ')}]`

test('a port is used once', () => {
  assert.deepEqual(mistakes(binds(80, 81, 80)), [
    '1:79: binds[2].port: port 80 is already the port of the bind in line 1'
  ])
})

test("the process's own ports are not for binds, wherever they come from", () => {
  assert.deepEqual(mistakes(binds(15000, 15020, 15021)), [
    '1:17: binds[0].port: port 15000 is already the port of config.adminAddr (localhost:15000)',
    '1:51: binds[1].port: port 15020 is already the port of config.statsAddr ([::]:15020)',
    '1:85: binds[2].port: port 15021 is already the port of config.readinessAddr ([::]:15021)'
  ])
  assert.equal(load(`config: { adminAddr: "off" }\n${binds(15000)}`, {}).ok, true)
  assert.match(
    mistakes(binds(99), { STATS_ADDR: 'localhost:99' })[0]!,
    /already the port of config.statsAddr \(localhost:99\)/
  )
  assert.deepEqual(mistakes('config: { statsAddr: "a:1", readinessAddr: "b:1" }'), [
    '1:44: config.readinessAddr: port 1 is already the port of config.statsAddr (a:1)'
  ])
  assert.equal(load('config: { statsAddr: "a:0", readinessAddr: "b:0" }', {}).ok, true)
})

test('an admin port that other machines reach needs tokens, wherever its address comes from', () => {
  const refused = (address: string) => [
    `1:22: config.adminAddr: ${address} is reached from other machines, so that config.admin.tokens must say who may`
  ]
  for (const address of ['0.0.0.0:1', '[::]:1', '10.0.0.1:1', '[::ffff:127.0.0.1]:1', 'a:1', '127.0.0.1.example:1'])
    assert.deepEqual(mistakes(`config: { adminAddr: "${address}" }`), refused(address))
  for (const address of ['localhost:1', '127.0.0.1:1', '127.1.2.3:1', '[::1]:1', 'unix:/a', 'off'])
    assert.equal(load(`config: { adminAddr: "${address}" }`, {}).ok, true, address)
  assert.match(mistakes('config: {}', { ADMIN_ADDR: '0.0.0.0:1' })[0]!, /0\.0\.0\.0:1 is reached from other machines/)
  const admin = `{ tokens: [{ name: a, hash: "sha256:${'a'.repeat(64)}", role: see }] }`
  assert.equal(load(`config: { adminAddr: "0.0.0.0:1", admin: ${admin} }`, {}).ok, true)
  const withHosts = (hosts: string) => `config: { admin: ${admin.replace('{', `{ hosts: ${hosts},`)} }`
  assert.equal(load(withHosts('[weir.example]'), {}).ok, true)
  assert.match(mistakes(withHosts('["*.example"]'))[0]!, /hosts\[0\]: must be one name, without a star/)
  assert.match(mistakes(withHosts('["https://a.example"]'))[0]!, /hosts\[0\]: must be a host name without a port/)
})

test('listeners of a bind differ in name and host, routes of a listener in name', () => {
  const text = `binds:
- port: 80
  listeners:
  - { name: a, hostname: x.com }
  - { name: a, hostname: y.com, routes: [{ name: r }, { name: r }, {}, { name: route2 }] }
  - { hostname: X.com }
- port: 81
  listeners: [{ name: a }]`
  assert.deepEqual(mistakes(text), [
    '5:13: binds[0].listeners[1].name: there is already a listener "a" in line 4',
    '5:63: binds[0].listeners[1].routes[1].name: there is already a route "r" in line 5',
    '5:80: binds[0].listeners[1].routes[3].name: there is already a route "route2" in line 5',
    '6:17: binds[0].listeners[2].hostname: there is already a listener for the host "x.com" in line 4'
  ])
})

test('routes of one name are rules of one route, which differ in ruleName', () => {
  const routes = (...all: string[]) => `binds: [{ port: 80, listeners: [{ routes: [${all.join(',\n  ')}] }] }]`
  const rule = (of: string, ruleName: string) => `{ name: ${of}, ruleName: ${ruleName} }`
  assert.equal(load(routes('{ name: a }', rule('a', 'one'), rule('a', 'two'), rule('b', 'one')), {}).ok, true)
  const twice = routes('{ name: a }', rule('a', 'one'), '{ name: a }', rule('a', 'one'))
  assert.deepEqual(mistakes(twice), [
    '3:11: binds[0].listeners[0].routes[2].name: there is already a route "a" in line 1',
    '4:24: binds[0].listeners[0].routes[3].ruleName: there is already a rule of the route "a": "one" in line 2'
  ])
  assert.deepEqual(hints(twice), ['as rules of one route, give each a ruleName', undefined])
})

test('backends are named once, and references name one of them', () => {
  const text = withRoute(
    'backends: [{ backend: cat }, { backend: zebra }, { backend: cart }]',
    'backends: [{ name: cart, dynamic: {} }, { name: cart, dynamic: {} }]'
  )
  assert.deepEqual(mistakes(text), [
    '1:70: binds[0].listeners[0].routes[0].backends[0].backend: there is no backend "cat" at the top of the file',
    '1:88: binds[0].listeners[0].routes[0].backends[1].backend: there is no backend "zebra" at the top of the file',
    '2:49: backends[1].name: there is already a backend "cart" in line 2'
  ])
  assert.deepEqual(hints(text).slice(0, 2), ['did you mean "cart"?', 'there are: cart'])
})

test('a forced uws transport must honour every setting', () => {
  const text = (http: string, tcp = '') =>
    `frontendPolicies: { http: { ${http} }${tcp} }\nbinds: [{ port: 80, listeners: [{}], transport: uws }]`
  const off = ', tcp: { keepalives: { time: 0s } }'
  assert.deepEqual(mistakes(text('maxHeaderSize: 60000')), [
    '2:49: binds[0].transport: uws cannot honour the default frontendPolicies.http.http1IdleTimeout: ' +
      'it closes idle connections after 12s',
    '2:49: binds[0].transport: uws cannot honour the default frontendPolicies.http.http1HeaderTimeout: ' +
      'it waits 12s for a request head',
    '2:49: binds[0].transport: uws cannot honour the default frontendPolicies.http.http1MaxHeaders: ' +
      'it takes at most 98 header fields',
    '2:49: binds[0].transport: uws cannot honour the default frontendPolicies.tcp.keepalives.time: it sends no TCP probes'
  ])
  const good = 'http1IdleTimeout: 12s, http1HeaderTimeout: 12s, http1MaxHeaders: '
  assert.deepEqual(hints(text(`${good}99`, off)), ['set it to 98 or less, or use transport node'])
  assert.equal(load(text(`${good}98`, off), {}).ok, true)
  assert.equal(load(text('bodyTimeout: 1s').replace('uws', 'auto'), {}).ok, true)
})

test('mistakes that take two places are found beside mistakes that take one', () => {
  assert.equal(
    mistakes(`${binds(80, 80)}\nfrontendPolicies: { http: { maxUriSize: 50000, x: 1 } }\nconfig: 5`).length,
    4
  )
})

test('the shortest drain fits into the longest, also into the one that holds when none is given', () => {
  const min = 'connectionMinTerminationDeadline: 10s'
  const message = 'the shortest drain cannot be longer than connectionTerminationDeadline'
  const at = `1:45: config.connectionMinTerminationDeadline: ${message}`
  assert.deepEqual(mistakes(`config: { ${min}, connectionTerminationDeadline: 9s }`), [at])
  assert.deepEqual(mistakes(`config: { ${min} }`), [at])
  assert.deepEqual(hints(`config: { ${min} }`), ['which is 5s when it is not given: give both'])
  assert.equal(load(`config: { ${min} }`, { TERMINATION_GRACE_PERIOD_SECONDS: '30' }).ok, true)
  assert.equal(load(`config: { ${min}, connectionTerminationDeadline: 10s }`, {}).ok, true)
  assert.equal(mistakes(`config: { ${min}, connectionTerminationDeadline: soon }`).length, 1)
})

test('mistakes beyond the first thousand are counted, not described', () => {
  const wrong = Array.from({ length: 1_200 }, (_, i) => `{ name: b${i}, hots: a }`).join(', ')
  const found = mistakes(`backends: [${wrong}]`)
  const last = found.find((text) => text.includes('more places'))
  assert.match(last ?? '', /the first 1000 are told one by one/)
  assert.ok(found.length < 1_100, String(found.length))
})
