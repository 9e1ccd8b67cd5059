/** What policies are for (docs/specification.md#attachment-and-merging). */
import { accepts, chars, frontend, GATEWAY, refuses, SERVICE, type Table, times, traffic } from './case.ts'

const GROUP = 'gateway.networking.k8s.io'
const { port: _, ...SERVICE_REF } = SERVICE
const BACKEND = { group: 'weir.dev', kind: 'GatewayBackend', name: 'models' }
const ROUTE = { group: GROUP, kind: 'HTTPRoute', name: 'shop' }
const HOST = { hostRewrite: 'Auto' }
const POST: readonly string[] = ['traffic.phase: "PostRouting"']
const KINDS = 'must be Gateway, ListenerSet, HTTPRoute, GRPCRoute, TLSRoute, TCPRoute of'

export const targets: Table = {
  accepted: accepts('GatewayPolicy', [
    [
      'a policy for requests at each kind',
      {
        targetRefs: [
          { ...GATEWAY, sectionName: 'https' },
          { group: GROUP, kind: 'ListenerSet', name: 'more', sectionName: 'one' },
          { ...ROUTE, sectionName: 'rule-1' },
          ...['GRPCRoute', 'TLSRoute', 'TCPRoute'].map((kind) => ({ group: GROUP, kind, name: 'other' }))
        ],
        traffic: HOST
      },
      POST
    ],
    [
      'a policy for backends, at a port and at a provider',
      {
        targetRefs: [
          { ...SERVICE_REF, sectionName: '8080' },
          { ...BACKEND, sectionName: 'primary' }
        ],
        backend: { http: { version: 'HTTP1' } }
      }
    ],
    [
      'targets by their labels',
      {
        targetSelectors: [{ group: GROUP, kind: 'HTTPRoute', matchLabels: { team: 'shop' }, sectionName: 'rule-1' }],
        traffic: HOST
      },
      POST
    ],
    ['ahead of routing', traffic({ phase: 'PreRouting', cors: { allowOrigins: ['https://a.example'] } })],
    ['without policies', { targetRefs: [GATEWAY] }]
  ]),
  refused: refuses('GatewayPolicy', [
    ['no target', { traffic: HOST }, '', 'must have exactly one of targetRefs, targetSelectors'],
    [
      'targets in both ways',
      { targetRefs: [ROUTE], targetSelectors: [{ group: GROUP, kind: 'HTTPRoute', matchLabels: { a: 'b' } }] },
      '',
      'must have exactly one of targetRefs, targetSelectors'
    ],
    ['an empty list of targets', { targetRefs: [] }, 'targetRefs', 'should have at least 1 items'],
    [
      'too many targets',
      { targetRefs: times(17, (i) => ({ ...ROUTE, name: `r${i}` })) },
      'targetRefs',
      'must have at most 16 items'
    ],
    [
      'too many selectors',
      { targetSelectors: times(17, (i) => ({ group: GROUP, kind: 'HTTPRoute', matchLabels: { i: `${i}` } })) },
      'targetSelectors',
      'must have at most 16 items'
    ],
    ['a target without a name', { targetRefs: [{ group: GROUP, kind: 'Gateway' }] }, 'targetRefs[0].name', 'Required'],
    ['a target without a kind', { targetRefs: [{ group: GROUP, name: 'a' }] }, 'targetRefs[0].kind', 'Required'],
    [
      'a selector without labels',
      { targetSelectors: [{ group: GROUP, kind: 'Gateway' }] },
      'targetSelectors[0].matchLabels',
      'Required'
    ],
    ['a kind that is no target', { targetRefs: [{ group: '', kind: 'Pod', name: 'a' }] }, 'targetRefs[0].kind', KINDS],
    ['a kind of another group', { targetRefs: [{ ...GATEWAY, group: 'weir.dev' }] }, 'targetRefs[0].kind', KINDS],
    [
      'a selector of a kind that is no target',
      { targetSelectors: [{ group: '', kind: 'Pod', matchLabels: { a: 'b' } }] },
      'targetSelectors[0].kind',
      KINDS
    ],
    [
      'a section name that is too long',
      { targetRefs: [{ ...GATEWAY, sectionName: chars(254) }], traffic: HOST },
      'targetRefs[0].sectionName',
      'may not be more than 253'
    ],
    [
      'a section that no name can be',
      { targetRefs: [{ ...GATEWAY, sectionName: 'a b' }], traffic: HOST },
      'targetRefs[0].sectionName',
      'should match'
    ],
    [
      'connections of clients at a route',
      { ...frontend({ http: { http1MaxHeaders: 5 } }), targetRefs: [ROUTE] },
      'frontend',
      'each target must be a Gateway, without sectionName'
    ],
    [
      'connections of clients at a listener',
      { ...frontend({ http: { http1MaxHeaders: 5 } }), targetRefs: [{ ...GATEWAY, sectionName: 'https' }] },
      'frontend',
      'each target must be a Gateway, without sectionName'
    ],
    [
      'requests at a Service',
      { ...traffic(HOST), targetRefs: [SERVICE_REF] },
      'traffic',
      'each target must be a Gateway, a ListenerSet or a route'
    ],
    [
      'requests at a backend',
      { ...traffic(HOST), targetRefs: [BACKEND] },
      'traffic',
      'each target must be a Gateway, a ListenerSet or a route'
    ],
    [
      'ahead of routing at a route',
      { ...traffic({ phase: 'PreRouting', ...HOST }), targetRefs: [GATEWAY, ROUTE] },
      'traffic',
      'each target must be a Gateway or a ListenerSet'
    ],
    ['a phase that is not known', traffic({ phase: 'Routing' }), 'traffic.phase', 'Unsupported value']
  ])
}
