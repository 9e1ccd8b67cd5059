/** Every match and filter of an HTTPRoute, compiled to a Snapshot. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { compiled, object, service } from '#engine/kubernetes/testing/compiled.ts'

const REFS = [{ name: 'shop', port: 80 }]
const SHOP = 'demo.shop_80'
const httpRoute = (...rules: readonly object[]) => object('HTTPRoute', 'r', { spec: { rules } })

/** The compiled routes, and what was wrong. */
function routesOf(rules: readonly object[], more: readonly ReturnType<typeof service>[] = []) {
  const { snapshot, faults } = compiled(httpRoute(...rules), [service('shop'), ...more])
  return { routes: snapshot.binds[0]!.listeners[0]!.routes, snapshot, faults }
}

const EVERYTHING = { path: { prefix: '/' }, headers: [], query: [] }

const MATCHES: readonly (readonly [title: string, match: object, compiled: object])[] = [
  ['nothing', {}, EVERYTHING],
  ['a path by default', { path: { value: '/a' } }, { ...EVERYTHING, path: { prefix: '/a' } }],
  ['an exact path', { path: { type: 'Exact', value: '/a' } }, { ...EVERYTHING, path: { exact: '/a' } }],
  [
    'a prefix with a final slash',
    { path: { type: 'PathPrefix', value: '/a/' } },
    { ...EVERYTHING, path: { prefix: '/a/' } }
  ],
  [
    'an expression',
    { path: { type: 'RegularExpression', value: '/a[0-9]+' } },
    { ...EVERYTHING, path: { regex: '/a[0-9]+' } }
  ],
  ['a method', { method: 'PATCH' }, { ...EVERYTHING, method: 'PATCH' }],
  [
    'headers, of equal names the first',
    {
      headers: [
        { name: 'Version', value: 'two' },
        { type: 'RegularExpression', name: 'color', value: 'blu.' },
        { name: 'VERSION', value: 'three' }
      ]
    },
    {
      ...EVERYTHING,
      headers: [
        { name: 'version', value: { exact: 'two' } },
        { name: 'color', value: { regex: 'blu.' } }
      ]
    }
  ],
  [
    'query parameters, whose names have a case',
    {
      queryParams: [
        { name: 'animal', value: 'whale' },
        { name: 'ANIMAL', type: 'RegularExpression', value: 'W.*' },
        { name: 'animal', value: 'dog' }
      ]
    },
    {
      ...EVERYTHING,
      query: [
        { name: 'animal', value: { exact: 'whale' } },
        { name: 'ANIMAL', value: { regex: 'W.*' } }
      ]
    }
  ]
]

for (const [title, match, expected] of MATCHES) {
  test(`a match of ${title}`, () => {
    const { routes, faults } = routesOf([{ matches: [match], backendRefs: REFS }])
    deepEqual(routes[0]!.matches, [expected])
    deepEqual(faults, [])
  })
}

const modifier = (field: string) => ({
  type: `${field[0]!.toUpperCase()}${field.slice(1)}`,
  [field]: {
    set: [
      { name: 'X-A', value: '1' },
      { name: 'x-a', value: '2' }
    ],
    add: [{ name: 'x-b', value: '3' }],
    remove: ['x-c']
  }
})
const MODIFIED = { set: [{ name: 'x-a', value: '1' }], add: [{ name: 'x-b', value: '3' }], remove: ['x-c'] }
const mirror = (name: string, rest: object = {}) => ({
  type: 'RequestMirror',
  requestMirror: { backendRef: { name, port: 80 }, ...rest }
})

const FILTERS: readonly (readonly [title: string, filters: readonly object[], policies: object])[] = [
  ['request headers', [modifier('requestHeaderModifier')], { headerModifiers: { request: MODIFIED } }],
  ['response headers', [modifier('responseHeaderModifier')], { headerModifiers: { response: MODIFIED } }],
  [
    'both sides',
    [modifier('responseHeaderModifier'), modifier('requestHeaderModifier')],
    { headerModifiers: { request: MODIFIED, response: MODIFIED } }
  ],
  ['no headers at all', [{ type: 'RequestHeaderModifier', requestHeaderModifier: { set: [] } }], {}],
  [
    'another host and path',
    [
      {
        type: 'URLRewrite',
        urlRewrite: { hostname: 'b.example', path: { type: 'ReplaceFullPath', replaceFullPath: '/one' } }
      }
    ],
    { urlRewrite: { authority: { full: 'b.example' }, path: { full: '/one' } } }
  ],
  [
    'another prefix',
    [{ type: 'URLRewrite', urlRewrite: { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/' } } }],
    { urlRewrite: { path: { prefix: '/' } } }
  ],
  [
    'mirrors',
    [
      mirror('shop'),
      mirror('b', { percent: 35 }),
      mirror('b', { fraction: { numerator: 25, denominator: 50 } }),
      mirror('b', { fraction: { numerator: 25 } })
    ],
    {
      requestMirror: [
        { backend: SHOP, share: 1 },
        { backend: 'demo.b_80', share: 0.35 },
        { backend: 'demo.b_80', share: 0.5 },
        { backend: 'demo.b_80', share: 0.25 }
      ]
    }
  ],
  [
    'CORS',
    [
      {
        type: 'CORS',
        cors: {
          allowOrigins: ['https://www.foo.com', 'https://*.bar.com', 'http://*'],
          allowMethods: ['GET', '*'],
          allowHeaders: ['X-A'],
          exposeHeaders: ['x-b'],
          allowCredentials: true,
          maxAge: 2147483647
        }
      }
    ],
    {
      cors: {
        allowOrigins: ['https://www.foo.com', 'https://*.bar.com', 'http://*'],
        allowMethods: ['GET', '*'],
        allowHeaders: ['x-a'],
        exposeHeaders: ['x-b'],
        allowCredentials: true,
        maxAge: 31536000
      }
    }
  ]
]

for (const [title, filters, policies] of FILTERS) {
  test(`filters of ${title}`, () => {
    const { routes, faults } = routesOf([{ filters, backendRefs: REFS }], [service('b')])
    deepEqual(routes[0]!.policies, policies)
    deepEqual(faults, [])
  })

  test(`filters of ${title}, at one backend`, () => {
    const { routes, faults } = routesOf([{ backendRefs: [{ ...REFS[0]!, filters }] }], [service('b')])
    deepEqual(routes[0]!.backends[0]!.policies, policies)
    deepEqual(faults, [])
  })
}

const REDIRECTS: readonly (readonly [redirect: object, policy: object])[] = [
  [{}, { status: 302 }],
  [
    { statusCode: 308, scheme: 'https' },
    { status: 308, scheme: 'https' }
  ],
  [
    { hostname: 'b.example', port: 8443 },
    { hostname: 'b.example', port: 8443, status: 302 }
  ],
  [
    { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/new' }, statusCode: 303 },
    { path: { prefix: '/new' }, status: 303 }
  ],
  [{ path: { type: 'ReplaceFullPath', replaceFullPath: '/all' } }, { path: { full: '/all' }, status: 302 }]
]

test('a redirect needs no backend', () => {
  for (const [requestRedirect, policy] of REDIRECTS) {
    const { routes, faults } = routesOf([{ filters: [{ type: 'RequestRedirect', requestRedirect }] }])
    deepEqual(routes[0]!.policies, { requestRedirect: policy })
    deepEqual([routes[0]!.backends, faults], [[], []])
  }
})

test('timeouts of the request and of one attempt', () => {
  const { routes } = routesOf([
    { timeouts: { request: '1h10m', backendRequest: '500ms' }, backendRefs: REFS },
    { timeouts: { request: '0s' }, backendRefs: REFS }
  ])
  deepEqual(
    routes.map(({ policies }) => policies.timeouts),
    [{ request: 4_200_000, backendRequest: 500 }, { request: 0 }]
  )
})

test('rules have their names, and none has that of another', () => {
  const { routes } = routesOf([{ backendRefs: REFS }, { name: 'rule0', backendRefs: REFS }, { backendRefs: REFS }])
  deepEqual(
    routes.map(({ name, rule }) => `${name} ${rule}`),
    ['demo.r rule0_', 'demo.r rule0', 'demo.r rule2']
  )
})

test('backends with weights and filters of their own', () => {
  const filters = [modifier('requestHeaderModifier')]
  const backendRefs = [{ ...REFS[0]!, weight: 70, filters }, { name: 'b', port: 80, weight: 0 }, REFS[0]!]
  const { routes, faults } = routesOf([{ backendRefs }], [service('b')])
  deepEqual(routes[0]!.backends, [
    { backend: SHOP, weight: 70, policies: { headerModifiers: { request: MODIFIED } } },
    { backend: 'demo.b_80', weight: 0, policies: {} },
    { backend: SHOP, weight: 1, policies: {} }
  ])
  deepEqual(faults, [])
})

const extension = { type: 'ExtensionRef', extensionRef: { group: 'x.example', kind: 'Filter', name: 'a' } }
const rewrite = { type: 'URLRewrite', urlRewrite: { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/' } } }
const redirect = { type: 'RequestRedirect', requestRedirect: {} }

const REFUSED: readonly (readonly [title: string, rule: object, backend: string | null, fault: string])[] = [
  [
    'an extension',
    { filters: [extension], backendRefs: REFS },
    'HTTPRoute_invalid_UnsupportedFilter',
    'Accepted UnsupportedValue spec.rules[0].filters[0]: x.example/Filter is no filter: use a GatewayPolicy with this route as its target'
  ],
  [
    'a type of filter that is not known',
    { filters: [{ type: 'ExternalAuth' }], backendRefs: REFS },
    'HTTPRoute_invalid_UnsupportedFilter',
    'Accepted UnsupportedValue spec.rules[0].filters[0]: ExternalAuth is no filter that is known here'
  ],
  [
    'a redirect beside a rewrite',
    { filters: [rewrite, redirect] },
    'HTTPRoute_invalid_UnsupportedFilter',
    'Accepted IncompatibleFilters spec.rules[0].filters[1]: a request is redirected or rewritten, not both: keep one of the filters'
  ],
  [
    'a filter that is there twice',
    { filters: [rewrite, rewrite], backendRefs: REFS },
    'HTTPRoute_invalid_UnsupportedFilter',
    'Accepted IncompatibleFilters spec.rules[0].filters[1]: there is another URLRewrite already: put them together'
  ],
  [
    'a prefix that no match has',
    { matches: [{ path: { type: 'Exact', value: '/a' } }], filters: [rewrite], backendRefs: REFS },
    'HTTPRoute_invalid_UnsupportedFilter',
    'Accepted UnsupportedValue spec.rules[0].matches[0].path.type: replacePrefixMatch in a filter of the rule needs matches of type PathPrefix'
  ],
  [
    'CORS for nobody',
    { filters: [{ type: 'CORS', cors: {} }], backendRefs: REFS },
    'HTTPRoute_invalid_UnsupportedFilter',
    'Accepted UnsupportedValue spec.rules[0].filters[0].cors: cors has no allowOrigins: say which sites may read answers'
  ],
  [
    'an expression that is none',
    { matches: [{ path: { type: 'RegularExpression', value: '(' } }], backendRefs: REFS },
    null,
    'Accepted UnsupportedValue spec.rules[0].matches[0].path.value: must be a percent-encoded path that begins with "/", or an RE2 expression with type RegularExpression'
  ],
  [
    'an expression that takes long to compile',
    { matches: [{ headers: [{ type: 'RegularExpression', name: 'x', value: '(a{1000}){5}' }] }], backendRefs: REFS },
    null,
    'Accepted UnsupportedValue spec.rules[0].matches: have expressions of 5016 steps; a rule may have 5000'
  ],
  [
    'a status that is no redirect',
    { filters: [{ type: 'RequestRedirect', requestRedirect: { statusCode: 304 } }] },
    null,
    'Accepted UnsupportedValue spec.rules[0].filters[0].requestRedirect.statusCode: must be one of 301, 302, 303, 307, 308'
  ]
]

for (const [title, rule, backend, fault] of REFUSED) {
  test(`a rule with ${title} alone is refused`, () => {
    const { routes, faults } = routesOf([rule, { backendRefs: REFS }])
    deepEqual(faults, [fault])
    const rules = backend === null ? [SHOP] : [`demo.r_${backend}`, SHOP]
    deepEqual(
      routes.map(({ backends }) => backends[0]!.backend),
      rules
    )
  })
}

test('a mirror to nowhere is left out, and its fault is told', () => {
  const { routes, faults } = routesOf([{ filters: [mirror('x')], backendRefs: REFS }])
  deepEqual(routes[0]!.policies, {})
  deepEqual(faults, [
    'ResolvedRefs BackendNotFound spec.rules[0].filters[0].requestMirror.backendRef.name: there is no Service demo/x'
  ])
})

test('a rule without backends, and one whose backends get nothing, answers 500', () => {
  for (const rule of [{}, { backendRefs: [] }, { backendRefs: [{ ...REFS[0]!, weight: 0 }] }]) {
    const { routes, snapshot, faults } = routesOf([rule])
    const name = 'demo.r_HTTPRoute_invalid_NoBackendRefs'
    deepEqual(routes[0]!.backends, [{ backend: name, weight: 1, policies: {} }])
    deepEqual(snapshot.backends[name], {
      kind: 'invalid',
      reference: 'HTTPRoute demo/r',
      reason: 'NoBackendRefs',
      unread: null,
      policies: {}
    })
    deepEqual(faults, [])
  }
})

test('a route without rules is refused as a whole', () => {
  const { faults } = compiled(object('HTTPRoute', 'r', { spec: { rules: 'none' } }), [])
  equal(faults.length, 1)
})
