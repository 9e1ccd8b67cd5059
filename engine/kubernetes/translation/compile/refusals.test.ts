/** What compiling refuses: the object that is wrong says so, what it was to guard is closed, and the rest runs. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import {
  CLASS,
  conditionTexts,
  draftOf,
  gateway,
  http,
  httpRoute,
  OPTIONS,
  object,
  parentTexts,
  policy,
  rule,
  secret,
  service,
  statusOf,
  target,
  translate
} from '#engine/kubernetes/translation/cluster.fixture.ts'
import { type Translation, Translator } from '#engine/kubernetes/translation/index.ts'
import type { Raw } from '#engine/schema/placed.ts'
import { selfSigned } from '#engine/testing/certificates.ts'

const EDGE = gateway('edge', [http('a', 80), http('b', 81)])
const at = (section: string): Raw => ({ name: 'edge', sectionName: section })
const ROUTES = [
  service('shop'),
  httpRoute('one', at('a'), [rule('/one', 'shop'), rule('/other', 'shop')]),
  httpRoute('two', at('b'), [rule('/two', 'shop')])
]
/** Wrong in a way that only compiling finds. */
const WRONG = { basicAuthentication: { secretRef: { name: 'users' } } }
const USERS = secret('users', { '.htaccess': 'no-colon-in-this-line' })

/** "listener/route/rule: kinds of its backends". */
function routesOf(translation: Translation): string[] {
  const { binds, backends } = draftOf(translation)
  return binds.flatMap((bind) =>
    bind.listeners.flatMap(({ name, routes }) =>
      routes.map((one) => {
        const kinds = one.backends.map(({ backend }) => backends[backend]!.kind)
        return `${name}/${one.name}/${one.rule}: ${kinds.join()}`
      })
    )
  )
}

const OPEN = ['a/demo.one/rule0: static', 'a/demo.one/rule1: static', 'b/demo.two/rule0: static']

type Place = (translation: Translation) => object

/** Above routes the policy stays, in a form that lets nobody in; rules of routes answer 500. */
const TARGETS: readonly (readonly [name: string, target: Raw, closed: readonly number[], guarded?: Place])[] = [
  ['a Gateway', target('Gateway', 'edge'), [], (translation) => draftOf(translation).gateway.policies],
  [
    'a listener',
    target('Gateway', 'edge', { sectionName: 'a' }),
    [],
    (translation) => draftOf(translation).binds[0]!.listeners[0]!.policies
  ],
  ['a route', target('HTTPRoute', 'one'), [0, 1]],
  ['a rule', target('HTTPRoute', 'one', { sectionName: 'rule1' }), [1]]
]

describe('a GatewayPolicy that cannot be carried out', () => {
  for (const [name, of, closed, guarded] of TARGETS) {
    it(`closes ${name}, and nothing else`, () => {
      const rules = [rule('/one', 'shop'), { name: 'rule1', ...rule('/other', 'shop') }]
      const translation = translate(
        EDGE,
        ...ROUTES.filter((one) => one.metadata.name !== 'one'),
        httpRoute('one', at('a'), rules),
        USERS,
        policy('wrong', { targetRefs: [of], traffic: WRONG })
      )
      const expected = OPEN.map((text, i) => (closed.includes(i) ? text.replace('static', 'invalid') : text))
      deepEqual(routesOf(translation).sort(), expected)
      if (guarded !== undefined) ok('basicAuthentication' in guarded(translation))
      const [ancestor] = statusOf(translation, 'GatewayPolicy', 'wrong').ancestors ?? []
      equal(conditionTexts(ancestor)[0], 'Accepted=False Invalid')
      const { message } = ancestor!.conditions![0]!
      ok(message.startsWith('spec.traffic.basicAuthentication'), message)
      for (const route of ['one', 'two']) {
        const [parent] = statusOf(translation, 'HTTPRoute', route).parents!
        equal(conditionTexts(parent)[0], 'Accepted=True Accepted')
      }
    })
  }
})

describe('a GatewayBackend', () => {
  const backend = (name: string, spec: Raw) => object('GatewayBackend', name, { spec })
  const to = (name: string) => ({ backendRefs: [{ group: 'weir.dev', kind: 'GatewayBackend', name }] })
  const authorities = object('ConfigMap', 'ca', { data: { 'ca.crt': 'this is no certificate' } })
  const wrong = { static: { host: 'x.example', port: 443 }, policies: { tls: { caCertificateRefs: [{ name: 'ca' }] } } }

  it('that is wrong answers 500 where it is referred to, and spoils no other', () => {
    const translation = translate(
      EDGE,
      authorities,
      backend('good', { static: { host: 'y.example', port: 80 } }),
      backend('wrong', wrong),
      httpRoute('shop', at('a'), [to('good'), to('wrong')])
    )
    deepEqual(routesOf(translation), ['a/demo.shop/rule0: static', 'a/demo.shop/rule1: invalid'])
    equal(conditionTexts(statusOf(translation, 'GatewayBackend', 'wrong'))[0], 'Accepted=False Invalid')
    equal(conditionTexts(statusOf(translation, 'GatewayBackend', 'good'))[0], 'Accepted=True Accepted')
  })

  it('is judged though no route leads to it', () => {
    const translation = translate(EDGE, authorities, backend('wrong', wrong))
    equal(conditionTexts(statusOf(translation, 'GatewayBackend', 'wrong'))[0], 'Accepted=False Invalid')
  })
})

/** API servers take 10,000 levels; V8's stack ends before. */
function nested(levels: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < levels; i++) value = { in: value }
  return value
}

test('a value that is nested too deep refuses its object, and stops nothing else', () => {
  const overrides = [{ field: 'metadata', value: nested(9000) }]
  const spec = { ai: { provider: { openai: { model: 'm' } } }, policies: { ai: { overrides } } }
  const translation = translate(EDGE, object('GatewayBackend', 'deep', { spec }), ...ROUTES)
  const [accepted] = statusOf(translation, 'GatewayBackend', 'deep').conditions!
  ok(accepted!.message.endsWith('is nested more than 100 levels deep'), accepted!.message)
  equal(parentTexts(translation, 'one')[0], 'Accepted=True Accepted')
})

describe('rawConfig of GatewayParameters', () => {
  const withParameters = (rawConfig: Raw) => {
    const parametersRef = { group: 'weir.dev', kind: 'GatewayParameters', name: 'own' }
    const parameters = object('GatewayParameters', 'own', { spec: { rawConfig } })
    return translate(gateway('edge', [http('a', 80)], { infrastructure: { parametersRef } }), parameters, ...ROUTES)
  }

  it('stands below what resources say', () => {
    const translation = withParameters({
      config: { logging: { level: 'debug' } },
      policies: { timeouts: { request: '3s' } },
      binds: [
        { port: 9000, listeners: [{ name: 'raw', routes: [{ name: 'raw', backends: [{ host: '10.0.0.1:80' }] }] }] },
        { port: 80, listeners: [{ name: 'a', hostname: 'not.this' }] }
      ]
    })
    const { binds, process, gateway: own } = draftOf(translation)
    equal(process.logging.level, 'debug')
    ok('timeouts' in own.policies)
    deepEqual(
      binds.map(({ port, listeners }) => [
        port,
        listeners.map(({ hostname, routes }) => `${hostname} ${routes.length}`)
      ]),
      [
        [80, ['* 2']],
        [9000, ['* 1']]
      ]
    )
  })

  it('that is wrong refuses the Gateway, not its routes', () => {
    const translation = withParameters({ binds: [{ port: 'many' }] })
    const status = statusOf(translation, 'Gateway', 'edge')
    equal(conditionTexts(status)[0], 'Accepted=False InvalidParameters')
    ok(status.conditions![0]!.message.startsWith('GatewayParameters demo/own: spec.rawConfig.binds[0]'))
    const [parent] = statusOf(translation, 'HTTPRoute', 'one').parents!
    equal(conditionTexts(parent)[0], 'Accepted=True Accepted')
  })

  it('reads no files', () => {
    const listener = { protocol: 'HTTPS', tls: { cert: '/etc/ssl/cert.pem', key: '/etc/ssl/key.pem' } }
    const translation = withParameters({ binds: [{ port: 9000, listeners: [listener] }] })
    const [accepted] = statusOf(translation, 'Gateway', 'edge').conditions!
    equal(accepted!.reason, 'InvalidParameters')
    ok(accepted!.message.includes('a controller reads no files'), accepted!.message)
  })

  it('is not walked through when it is nested deeper than anybody writes', () => {
    const [accepted] = statusOf(withParameters({ policies: nested(9000) as Raw }), 'Gateway', 'edge').conditions!
    equal(accepted!.message, 'GatewayParameters demo/own: spec.rawConfig: is nested more than 100 levels deep')
  })

  it('has as many fields and entries as can be compiled at once', () => {
    const servers = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `s${i}`, host: 's:80' }))
    const acceptedOf = (rawConfig: Raw) => statusOf(withParameters(rawConfig), 'Gateway', 'edge').conditions![0]!
    equal(acceptedOf({ backends: servers(9_999), policies: {} }).status, 'True')
    equal(
      acceptedOf({ backends: servers(9_999), policies: { timeouts: { request: '1s' } } }).message,
      'GatewayParameters demo/own: spec.rawConfig: has 30001 fields and entries, and 30000 is the limit: ' +
        'make resources of them'
    )
  })

  it('reads what is in its namespace, and of no other', () => {
    const translationWith = (file: string) =>
      withParameters({ secrets: [{ name: 'raw', entries: { token: { file } } }] })
    for (const foreign of [
      '/Secret/other/keys/token',
      '/Secret/demo/keys/token:/Secret/other/keys/token',
      ' /Secret/other/keys/token'
    ]) {
      const [accepted] = statusOf(translationWith(foreign), 'Gateway', 'edge').conditions!
      const at = 'GatewayParameters demo/own: spec.rawConfig.secrets[0].entries.token.file'
      equal(accepted!.reason, 'InvalidParameters')
      ok(accepted!.message.startsWith(`${at}: names a file of another namespace`), accepted!.message)
    }
    const [accepted] = statusOf(translationWith('/Secret/demo/keys/token'), 'Gateway', 'edge').conditions!
    ok(accepted!.message.includes('there is no Secret demo/keys'), accepted!.message)
  })
})

describe('certificates', () => {
  const pairs = [selfSigned(['a.example']), selfSigned(['a.example'])] as const
  const tls = (i: 0 | 1) => secret('tls', { 'tls.crt': pairs[i].cert, 'tls.key': pairs[i].key })
  const https = { name: 'a', port: 443, protocol: 'HTTPS', tls: { certificateRefs: [{ name: 'tls' }] } }

  it('are exchanged without compiling a route', () => {
    const routes = [service('shop'), httpRoute('one', at('a'), [rule('/', 'shop')])]
    const store = ObjectStore.of([CLASS, gateway('edge', [https]), tls(0), ...routes])
    const translator = new Translator(OPTIONS)
    const before = draftOf(translator.update(store, null)).binds[0]!.listeners[0]!
    const count = translator.compilations
    const next = tls(1)
    store.set(next)
    const after = draftOf(translator.update(store, [keyOf(next)])).binds[0]!.listeners[0]!
    equal(after.tls!.cert, pairs[1].cert)
    equal(after.routes, before.routes)
    equal(translator.compilations, count + 1)
  })

  it('of the Gateway are shown to Services with a BackendTLSPolicy, and to no others', () => {
    const backend = { clientCertificateRef: { name: 'tls' } }
    const validation = { hostname: 'a.example', caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'ca' }] }
    const secured: KubernetesObject = object('BackendTLSPolicy', 'tls', {
      spec: { targetRefs: [{ group: '', kind: 'Service', name: 'safe' }], validation }
    })
    const translation = translate(
      gateway('edge', [http('a', 80)], { tls: { backend } }),
      ...[tls(0), object('ConfigMap', 'ca', { data: { 'ca.crt': pairs[0].cert } }), secured],
      ...[service('safe'), service('open')],
      httpRoute('one', at('a'), [rule('/safe', 'safe'), rule('/open', 'open')])
    )
    const { backends } = draftOf(translation)
    ok(JSON.stringify(backends['demo.safe_80']).includes('BEGIN CERTIFICATE'))
    ok(JSON.stringify(backends).includes(JSON.stringify(pairs[0].cert).slice(1, -1)))
    ok(!JSON.stringify(backends['demo.open_80']).includes('tls'))
    equal(conditionTexts(statusOf(translation, 'Gateway', 'edge')).at(-1), 'ResolvedRefs=True ResolvedRefs')
  })
})
