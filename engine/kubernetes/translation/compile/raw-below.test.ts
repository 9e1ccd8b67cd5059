/** What a large `rawConfig` costs others, in steps: compilations, and objects that routes do not see. */
import { deepEqual, equal, notEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import {
  CLASS,
  draftOf,
  gateway,
  http,
  httpRoute,
  OPTIONS,
  object,
  rule,
  service,
  statusOf,
  translate
} from '#engine/kubernetes/translation/cluster.fixture.ts'
import { Translator } from '#engine/kubernetes/translation/index.ts'
import type { Raw } from '#engine/schema/placed.ts'
import { belowRoutes, neededBelow } from './raw-below.ts'

const NONE = { origins: [], contents: [], services: [] }
const server = (name: string, more: Raw = {}): Raw => ({ name, host: `${name}:80`, ...more })
const guardedBy = (backend: string): Raw => ({ extAuth: { backend, grpc: {} } })
const namesOf = ({ backends }: Raw) => (backends as readonly Raw[]).map(({ name }) => name)

test('below routes there are the backends that policies name, those that these name, and those of resources', () => {
  const value = {
    binds: [{ port: 1 }],
    policies: [{ extAuth: { backendRef: { name: 'auth' }, grpc: {} } }, { targetRefs: [], ...guardedBy('elsewhere') }],
    backends: [server('other'), server('auth', { policies: guardedBy('keys') }), server('keys')].concat([
      server('elsewhere'),
      server('demo.shop_80'),
      server('demo.gone_80', { policies: guardedBy('other') })
    ])
  }
  const below = belowRoutes({ value, ...NONE })
  deepEqual(Object.keys(below.value), ['policies', 'backends'])
  deepEqual(namesOf(below.value), ['other', 'auth', 'keys', 'demo.shop_80', 'demo.gone_80'])
  deepEqual(namesOf(neededBelow(below, { backends: [{ name: 'demo.shop_80' }] })), ['auth', 'keys', 'demo.shop_80'])
})

const PARAMETERS = { group: 'weir.dev', kind: 'GatewayParameters', name: 'own' }
const EDGE = gateway('edge', [http('a', 80)], { infrastructure: { parametersRef: PARAMETERS } })
const parameters = (rawConfig: Raw, generation = 1) =>
  object('GatewayParameters', 'own', { spec: { rawConfig } }, { generation })
const ROUTES = [service('shop'), httpRoute('one', 'edge', [rule('/one', 'shop')])]

test('a backend of rawConfig that no route needs is compiled with no route', () => {
  let generation = 0
  const store = (rawConfig: Raw) => ObjectStore.of([CLASS, EDGE, parameters(rawConfig, ++generation), ...ROUTES])
  const translator = new Translator(OPTIONS)
  const steps = (rawConfig: Raw) => {
    const before = translator.compilations
    const translation = translator.update(store(rawConfig), ['GatewayParameters/demo/own'])
    return { translation, count: translator.compilations - before }
  }
  const policies = guardedBy('auth')
  translator.update(store({ policies, backends: [server('auth'), server('one')] }), null)
  const { translation, count } = steps({ policies, backends: [server('auth'), server('two')] })
  equal(count, 1)
  ok('two' in draftOf(translation).backends)
  notEqual(steps({ policies, backends: [server('auth', { policies: { http: { version: 'HTTP2' } } })] }).count, 1)
})

test('the place of an entry of rawConfig is the one where it was written', () => {
  const backends = [server('other'), server('demo.shop_80', { policies: { http: { version: 'HTTP9' } } }), server('x')]
  const translation = translate(EDGE, parameters({ backends }), ...ROUTES)
  const [accepted] = statusOf(translation, 'Gateway', 'edge').conditions!
  ok(accepted!.message.startsWith('GatewayParameters demo/own: spec.rawConfig'), accepted!.message)
})

test('of 3,000 mistakes in rawConfig the status tells eight, and what the others cost is not kept', () => {
  const backends = Array.from({ length: 3_000 }, () => server('same'))
  const [accepted] = statusOf(translate(EDGE, parameters({ backends }), ...ROUTES), 'Gateway', 'edge').conditions!
  ok(accepted!.message.endsWith('; and 56 more'), accepted!.message.slice(-100))
})
