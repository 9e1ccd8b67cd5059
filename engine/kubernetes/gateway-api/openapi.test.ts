import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validate } from '#engine/source/validate.ts'
import { withDefaults } from './defaults.ts'
import { gatewayApiSpec } from './index.ts'

/** Messages by place; none: the API server would take it. */
function judged(kind: string, spec: object): string[] {
  const { openApi, schema } = gatewayApiSpec(kind)!
  const outcome = validate(schema, withDefaults(openApi, spec))
  return 'value' in outcome ? [] : outcome.findings.map(({ path, message }) => `${path.join('.')}: ${message}`)
}

test('every rule of every kind compiles', () => {
  const kinds = ['BackendTLSPolicy', 'GatewayClass', 'Gateway', 'GRPCRoute', 'HTTPRoute', 'ListenerSet']
  for (const kind of [...kinds, 'ReferenceGrant', 'TCPRoute', 'TLSRoute']) {
    assert.ok(gatewayApiSpec(kind) !== undefined, kind)
  }
  assert.equal(gatewayApiSpec('toString'), undefined)
})

test('defaults are filled in, those of what was filled in too', () => {
  const { openApi } = gatewayApiSpec('HTTPRoute')!
  const filled = withDefaults(openApi, { parentRefs: [{ name: 'edge', namespace: null }], rules: [{}] })
  const parentRefs = [{ name: 'edge', group: 'gateway.networking.k8s.io', kind: 'Gateway' }]
  const matches = [{ path: { type: 'PathPrefix', value: '/' } }]
  assert.deepEqual(filled, { parentRefs, rules: [{ matches }] })
  const rules = [{ backendRefs: [{ name: 'shop', port: 80 }] }]
  const { rules: made } = withDefaults(openApi, { rules }) as { rules: readonly { backendRefs: unknown }[] }
  assert.deepEqual(made[0]?.backendRefs, [{ name: 'shop', port: 80, group: '', kind: 'Service', weight: 1 }])
})

test('what an API server refuses is refused, by types, bounds, patterns and rules', () => {
  assert.deepEqual(judged('HTTPRoute', { hostnames: ['shop.example'], rules: [{ backendRefs: [] }] }), [])
  assert.deepEqual(judged('HTTPRoute', { rulez: [] }), ['rulez: is not a known key'])
  const path = (value: string) => ({ rules: [{ matches: [{ path: { type: 'Exact', value } }] }] })
  assert.deepEqual(judged('HTTPRoute', path('a')), [
    "rules.0.matches.0.path: value must be an absolute path and start with '/' when type one of ['Exact', 'PathPrefix']"
  ])
  assert.deepEqual(judged('HTTPRoute', { rules: [{ backendRefs: [{ name: 'shop' }] }] }), [
    'rules.0.backendRefs.0: Must have port for Service reference'
  ])
  assert.deepEqual(judged('HTTPRoute', { rules: [{ timeouts: { request: '1s', backendRequest: '2s' } }] }), [
    'rules.0.timeouts: backendRequest timeout cannot be longer than request timeout'
  ])
  assert.deepEqual(judged('HTTPRoute', { hostnames: Array(17).fill('a.example') }), [
    'hostnames: must have 0 to 16 entries'
  ])
  const parents = [{ name: 'edge' }, { name: 'edge' }]
  assert.match(judged('HTTPRoute', { parentRefs: parents })[0]!, /^parentRefs: sectionName must be unique/)
  const listener = { name: 'http', port: 80, protocol: 'HTTP', tls: { mode: 'Passthrough' } }
  assert.deepEqual(judged('Gateway', { gatewayClassName: 'weir', listeners: [listener] }), [
    "listeners: tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']"
  ])
  const one = { name: 'http', port: 80, protocol: 'HTTP' }
  assert.match(judged('Gateway', { gatewayClassName: 'weir', listeners: [one, one] }).join('\n'), /same name/)
})
