import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { doorsOf, healthOf, modelsOf, namesOf } from './models.ts'

const provider = { name: 'p', type: 'openai', model: null, host: 'api.example', port: 443, formats: ['completions'] }
const route = (name: string, prefix: string, backend: string) => ({
  ...{ name, matches: [{ path: { prefix } }], backends: [{ backend }] }
})
const answer = {
  ...{ hash: '', version: 1, acceptedAt: '' },
  snapshot: {
    backends: {
      chat: { kind: 'ai', groups: [[provider], [{ ...provider, name: 'q', model: 'own' }]] },
      'llm/models': {
        kind: 'models',
        models: [
          { name: 'gpt', backend: { kind: 'ai', groups: [[provider]] } },
          { name: 'x-*', backend: { kind: 'ai', groups: [[provider]] } }
        ]
      },
      shop: { kind: 'static' }
    },
    binds: [
      {
        port: 8080,
        listeners: [
          {
            ...{ name: 'a', hostname: '*', protocol: 'HTTP' },
            routes: [
              route('r', '/team/v1/chat', 'chat'),
              route('s', '/', 'shop'),
              route('t', '/', 'llm/models'),
              route('u', '/ai/', 'chat')
            ]
          },
          { name: 'b', hostname: '*.ai.example', protocol: 'HTTPS', routes: [route('r', '/v1', 'chat')] }
        ]
      }
    ]
  }
}

test('models are those of all backends that speak to providers', () => {
  deepEqual(
    modelsOf(answer).map(({ name, backend, provider: of }) => [name, backend, of]),
    [
      [null, 'chat', 'p'],
      ['own', 'chat', 'q'],
      ['gpt', 'llm/models', 'p'],
      ['x-*', 'llm/models', 'p']
    ]
  )
  deepEqual(namesOf(modelsOf(answer)), ['gpt', 'own'])
})

test('doors are routes to them, with what stands in front of the paths of the formats', () => {
  deepEqual(
    doorsOf(answer).map(({ url }) => url),
    ['http://localhost:8080/team', 'http://localhost:8080', 'http://localhost:8080/ai', 'https://any.ai.example:8080']
  )
})

test('health is that of the addresses', () => {
  const [model] = modelsOf(answer)
  const address = { address: '1.2.3.4:443', host: '', weight: 1, reason: 'gone', forMs: 0, requests: 0 }
  const backends = (state: 'healthy' | 'ejected', destination = 'api.example:443') => ({
    backends: [{ destination, addresses: [{ ...address, state }] }]
  })
  deepEqual(healthOf(model!, backends('healthy')), { isWell: true, why: '' })
  deepEqual(healthOf(model!, backends('ejected')), { isWell: false, why: 'gone' })
  equal(healthOf(model!, backends('ejected', 'other:1')), null)
})
