/** Attempts: what the author of an object says, and what it must not reach. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import {
  conditionTexts,
  draftOf,
  gateway,
  http,
  httpRoute,
  object,
  policy,
  rule,
  secret,
  service,
  statusOf,
  target,
  translate
} from '#engine/kubernetes/translation/cluster.fixture.ts'
import type { Raw } from '#engine/schema/placed.ts'

/** Objects of the tenant are in "demo". */
const OTHER = { namespace: 'other' }
const EDGE = gateway('edge', [http('web', 80)])
const THEIRS = [
  service('vault', 80, { namespace: 'other' }),
  object('GatewayBackend', 'paid', { spec: { static: { host: 'paid.example', port: 443 } } }, OTHER),
  secret('keys', { Authorization: 'Bearer theirs' }, OTHER)
]
const backend = (spec: Raw) => object('GatewayBackend', 'mine', { spec })
const toMine = httpRoute('mine', 'edge', [
  { backendRefs: [{ group: 'weir.dev', kind: 'GatewayBackend', name: 'mine' }] }
])
const staticAt = (host: string) => backend({ static: { host, port: 80 } })
const alias = (name: string, externalName: string) =>
  object('Service', name, { spec: { type: 'ExternalName', externalName, ports: [{ port: 80 }] } })

interface Attempt {
  readonly what: string
  readonly objects: readonly KubernetesObject[]
  /** Of the GatewayBackend: why it is refused; null: the route is. */
  readonly reason: string | null
}

const HOSTS = [
  ...['vault.other.svc.cluster.local', 'vault.other.svc', 'vault.other', 'VAULT.Other.svc.Cluster.local'],
  ...[
    'vault.other.svc.cluster.local.',
    'pod-0.vault.other.svc.cluster.local',
    'pod-0.vault.other',
    'unknown.other.svc'
  ],
  ...['10-0-0-1.other.pod.cluster.local', '10-0-0-1.other.pod']
]

const moderated = (host: string) => ({
  openAIModeration: { host, model: 'omni', policies: { auth: { key: 'k' } } }
})

const ATTEMPTS: readonly Attempt[] = [
  ...HOSTS.map((host) => ({ what: `static.host: ${host}`, objects: [staticAt(host)], reason: 'RefNotPermitted' })),
  ...['vault.other', 'vault.other.svc.cluster.local'].flatMap((host) => [
    {
      what: `a model provider at ${host}`,
      objects: [backend({ ai: { provider: { custom: { model: 'm' }, host, port: 80 } } })],
      reason: 'RefNotPermitted'
    },
    {
      what: `one of a group at ${host}`,
      objects: [backend({ ai: { groups: [{ providers: [{ name: 'a', custom: { model: 'm' }, host, port: 80 }] }] } })],
      reason: 'RefNotPermitted'
    },
    {
      what: `an MCP target at ${host}`,
      objects: [backend({ mcp: { targets: [{ name: 'a', static: { host, port: 80 } }] } })],
      reason: 'RefNotPermitted'
    },
    {
      what: `an alias of ${host}`,
      objects: [staticAt('alias.demo.svc.cluster.local'), alias('alias', host)],
      reason: 'RefNotPermitted'
    },
    {
      what: `an alias of an alias of ${host}`,
      objects: [staticAt('alias'), alias('alias', 'second.demo.svc.cluster.local'), alias('second', host)],
      reason: 'RefNotPermitted'
    },
    {
      what: `a route to an alias of ${host}`,
      objects: [alias('alias', host), httpRoute('mine', 'edge', [rule('/', 'alias')])],
      reason: null
    }
  ]),
  {
    what: 'aliases in a circle',
    objects: [staticAt('alias'), alias('alias', 'second'), alias('second', 'alias')],
    reason: 'RefNotPermitted'
  },
  {
    what: 'the identity of the data plane, by Google',
    objects: [backend({ static: { host: 'evil.example', port: 443 }, policies: { auth: { gcp: {} } } })],
    reason: 'Invalid'
  },
  {
    what: 'an id token of the data plane',
    objects: [
      backend({
        static: { host: 'evil.example', port: 443 },
        policies: { auth: { gcp: { type: 'IdToken', audience: 'https://theirs.example' } } }
      })
    ],
    reason: 'Invalid'
  },
  {
    what: 'the identity of the data plane, by AWS',
    objects: [
      backend({
        static: { host: 'secretsmanager.eu-west-1.amazonaws.com', port: 443 },
        policies: { auth: { aws: { region: 'eu-west-1' } } }
      })
    ],
    reason: 'Invalid'
  },
  {
    what: 'the identity at a provider of the tenant',
    objects: [backend({ ai: { provider: { bedrock: { region: 'eu-west-1' }, host: 'evil.example', port: 443 } } })],
    reason: 'Invalid'
  },
  {
    what: 'the identity at one of two providers',
    objects: [
      backend({
        ai: {
          groups: [
            {
              providers: [
                { name: 'a', bedrock: { region: 'eu-west-1' } },
                { name: 'b', openai: { model: 'gpt' } }
              ]
            }
          ]
        },
        policies: { auth: { aws: { region: 'eu-west-1' } } }
      })
    ],
    reason: 'Invalid'
  },
  {
    what: 'the identity at an MCP target',
    objects: [
      backend({
        mcp: { targets: [{ name: 'a', static: { host: 'evil.example', port: 443, policies: { auth: { gcp: {} } } } }] }
      })
    ],
    reason: 'Invalid'
  }
]

describe('the author of a GatewayBackend does not reach', () => {
  for (const { what, objects, reason } of ATTEMPTS) {
    it(what, () => {
      const routes = reason === null ? [] : [toMine]
      const translation = translate(EDGE, ...THEIRS, ...objects, ...routes)
      const { backends } = draftOf(translation)
      deepEqual([...new Set(Object.values(backends).map(({ kind }) => kind))], ['invalid'])
      equal(JSON.stringify(backends).includes('vault.other.svc'), false)
      if (reason === null) {
        const [, resolved] = conditionTexts(statusOf(translation, 'HTTPRoute', 'mine').parents?.[0])
        equal(resolved, 'ResolvedRefs=False RefNotPermitted')
        return
      }
      const { conditions = [] } = statusOf(translation, 'GatewayBackend', 'mine')
      ok(conditionTexts({ conditions })[0]!.startsWith('Accepted=False'), conditions[0]!.message)
      ok(
        conditions.some((one) => one.reason === reason && one.message.startsWith('spec.')),
        JSON.stringify(conditions)
      )
    })
  }
})

it('the author of a GatewayBackend does not reach a Service of another namespace by bytes that nobody reads', () => {
  const tcp = { name: 'tcp', port: 5432, protocol: 'TCP' }
  const ref = { group: 'weir.dev', kind: 'GatewayBackend', name: 'mine' }
  const route = object('TCPRoute', 'bytes', {
    spec: { parentRefs: [{ name: 'edge', sectionName: 'tcp' }], rules: [{ backendRefs: [ref] }] }
  })
  const { backends } = draftOf(translate(gateway('edge', [tcp]), ...THEIRS, staticAt('vault.other'), route))
  deepEqual(
    Object.values(backends).map(({ kind }) => kind),
    ['invalid']
  )
})

describe('a GatewayPolicy does not reach', () => {
  const attempts: readonly (readonly [what: string, spec: Raw])[] = [
    ['the identity of the data plane', { backend: { auth: { gcp: {} } } }],
    [
      'a moderation at a Service of another namespace',
      { backend: { ai: { promptGuard: { request: [moderated('vault.other')] } } } }
    ],
    ['a Secret of another namespace', { backend: { auth: { secretRef: { name: 'keys' } } } }],
    [
      'a Service of another namespace by reference',
      { traffic: { extAuth: { backendRef: { name: 'vault', namespace: 'other', port: 80 }, http: {} } } }
    ]
  ]
  for (const [what, spec] of attempts) {
    it(what, () => {
      const mine = policy('mine', { targetRefs: [target('HTTPRoute', 'mine')], ...spec })
      const translation = translate(EDGE, ...THEIRS, staticAt('fine.example'), toMine, mine)
      const [ancestor] = statusOf(translation, 'GatewayPolicy', 'mine').ancestors ?? []
      equal(conditionTexts(ancestor)[0], 'Accepted=False Invalid')
      equal(JSON.stringify(draftOf(translation)).includes('vault.other.svc'), false)
    })
  }
})

describe('the issuer of tokens for MCP servers', () => {
  const trusting = (issuer: string) => {
    const jwks = { backendRef: { name: 'keys', port: 80 }, jwksPath: '/jwks' }
    const authentication = { issuer, audiences: ['shop'], jwks }
    const server = { name: 'a', static: { host: 'mcp.example', port: 443 } }
    return {
      ofTarget: backend({ mcp: { targets: [server] }, policies: { mcp: { authentication } } }),
      ofPolicy: policy('mine', {
        targetRefs: [target('GatewayBackend', 'mine')],
        backend: { mcp: { authentication } }
      }),
      plain: backend({ mcp: { targets: [server] } })
    }
  }
  const keys = service('keys')
  const refusals = (issuer: string) => {
    const { ofTarget, ofPolicy, plain } = trusting(issuer)
    const { conditions = [] } = statusOf(translate(EDGE, ...THEIRS, keys, ofTarget, toMine), 'GatewayBackend', 'mine')
    const [ancestor] = statusOf(translate(EDGE, ...THEIRS, keys, plain, ofPolicy, toMine), 'GatewayPolicy', 'mine')
      .ancestors!
    return [conditions, ancestor?.conditions ?? []].map((all) => all.find(({ status }) => status === 'False')?.message)
  }
  for (const host of [
    'vault.other',
    'VAULT.other.svc:8080',
    'vault.other.svc.cluster.local.',
    'shop',
    'shop.demo.svc'
  ]) {
    it(`is not ${host}`, () => {
      const both = refusals(`http://${host}/realms/a`)
      for (const one of both) ok(/^spec\.(policies|backend)\.mcp\.authentication\.issuer: /.test(one ?? ''), one)
    })
  }
  for (const host of ['id.example', '10.0.0.1:8080', 'shop.demo.svc.cluster.local', '[fd00::1]']) {
    it(`may be ${host}`, () => deepEqual(refusals(`http://${host}`), [undefined, undefined]))
  }
})

describe('what is allowed stays allowed:', () => {
  const kindsOf = (...objects: KubernetesObject[]) => {
    const { backends } = draftOf(translate(EDGE, ...THEIRS, ...objects, toMine))
    return Object.values(backends).map(({ kind }) => kind)
  }
  const grant = (kind: string) =>
    object(
      'ReferenceGrant',
      'grant',
      {
        spec: {
          from: [{ group: kind === 'Service' ? '' : 'weir.dev', kind, namespace: 'demo' }],
          to: [{ group: '', kind: 'Service', name: 'vault' }]
        }
      },
      OTHER
    )
  const identity = object('Namespace', 'demo', {}, { labels: { 'weir.dev/cloud-identity': 'true' } })
  const google = backend({ static: { host: 'own.example', port: 443 }, policies: { auth: { gcp: {} } } })
  const rows: readonly (readonly [what: string, kind: string, objects: KubernetesObject[]])[] = [
    ...HOSTS.slice(0, 7).map(
      (host) => [`${host} with a grant`, 'static', [staticAt(host), grant('GatewayBackend')]] as const
    ),
    ['an alias with a grant', 'static', [staticAt('alias'), alias('alias', 'vault.other.svc'), grant('Service')]],
    ['a name outside', 'static', [staticAt('api.example.com')]],
    ['an address', 'static', [staticAt('10.0.0.1')]],
    ['a Service of its own namespace', 'static', [staticAt('shop'), service('shop')]],
    ['Bedrock with the identity', 'ai', [backend({ ai: { provider: { bedrock: { region: 'eu-west-1' } } } })]],
    ['the identity in a Namespace with the label', 'static', [google, identity]]
  ].map(([what, kind, objects]) => [what, kind, objects] as [string, string, KubernetesObject[]])
  for (const [what, kind, objects] of rows) it(what, () => deepEqual(kindsOf(...objects), [kind]))

  it('short names are those of the namespace of the object, not of the Gateway', () => {
    const { backends } = draftOf(translate(EDGE, staticAt('shop'), toMine))
    ok(JSON.stringify(backends['demo.mine']).includes('"shop.demo.svc.cluster.local"'))
  })
})
