import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hints, load, mistakes, withRoute } from './testing/fakes.ts'

const kept = (more: string) =>
  `llm: { models: [{ name: m, provider: openai, params: { apiKey: k } }], cache: { ttl: 1h, ${more} } }`
const like = (more: string) => kept(`semantic: { embeddings: m, ${more} }`)
const QDRANT = 'qdrant: { url: "http://q", collection: c }'
const config = (text: string) => `config: { ${text} }\nbinds: []`
const http = (text: string) => `frontendPolicies: { http: { ${text} } }\nbinds: []`
const tcp = (text: string) => `frontendPolicies: { tcp: { keepalives: { ${text} } } }\nbinds: []`
const bind = (text: string) => `binds: [{ listeners: [{}], ${text} }]`
const listener = (text: string) => `binds: [{ port: 80, listeners: [{ ${text} }] }]`
const match = (text: string) => withRoute(`matches: [{ ${text} }]`)
const host = (text: string) => withRoute(`backends: [{ host: ${text} }]`)
const adminTokens = (...digits: string[]) =>
  `{ tokens: [${digits.map((digit) => `{ name: ${digit}, hash: "sha256:${digit.repeat(64)}", role: see }`).join(', ')}] }`
const letters = (count: number) => 'a'.repeat(count)
const many = (count: number, entry: string) => `[${Array.from({ length: count }, () => entry).join(', ')}]`

/** Files at the edge of a limit: the first list is accepted, every file of the second has one mistake. */
const LIMITS: Record<string, [accepted: string[], refused: string[]]> = {
  'ports: 1..65535': [
    [bind('port: 1'), bind('port: 65535'), 'backends: [{ name: a, static: { host: b, port: 65535 } }]'],
    [
      bind('port: 0'),
      bind('port: 65536'),
      bind('port: 80.5'),
      bind('port: "80"'),
      bind('port:'),
      host('"a:0"'),
      host('"a:65536"')
    ]
  ],
  'header fields: 1..4096': [
    [http('http1MaxHeaders: 1'), http('http1MaxHeaders: 4096')],
    [http('http1MaxHeaders: 0'), http('http1MaxHeaders: 4097')]
  ],
  'buffered body: from 1 byte': [[http('maxBufferSize: 1')], [http('maxBufferSize: 0'), http('maxBufferSize: -1')]],
  'TCP keepalive: off, or from 1s; what Node cannot set is refused': [
    [tcp('time: 0s'), tcp('time: 1s')],
    [tcp('time: 500ms'), tcp('retries: 9'), tcp('interval: 180s')]
  ],
  'head and target sizes': [
    [http('maxHeaderSize: 61440'), http('maxHeaderSize: 1024, maxUriSize: 1024'), http('maxUriSize: 49152')],
    [
      http('maxHeaderSize: 61441'),
      http('maxHeaderSize: 1023, maxUriSize: 1'),
      http('maxHeaderSize: 1024'),
      http('maxUriSize: 49153')
    ]
  ],
  'shutdown: up to 31536000 s': [
    [config('connectionTerminationDeadline: 31536000s')],
    [
      config('connectionTerminationDeadline: 31536001s'),
      config('connectionMinTerminationDeadline: 2s, connectionTerminationDeadline: 1s')
    ]
  ],
  durations: [
    [http('http1IdleTimeout: 1h30m'), http('bodyTimeout: 1ns')],
    [
      http('http1IdleTimeout: -1s'),
      http('http1IdleTimeout: 5'),
      http('http1IdleTimeout: 5 s'),
      http('http1IdleTimeout: 0s'),
      config('backend: { connectTimeout: 0 }')
    ]
  ],
  'state: a path or a server; what is of a server needs one': [
    [
      config('state: { path: a }'),
      config('state: { url: "redis://h/0" }'),
      config('state: { url: "postgres://h/d", path: a, failureMode: open, timeout: 10s, prefix: a_1 }')
    ],
    [
      config('state: {}'),
      config('state: { path: a, failureMode: closed }'),
      config('state: { url: "redis://h/0", failureMode: open }'),
      config('state: { url: "redis://h/0", timeout: 10001ms }'),
      config('state: { url: "redis://h/0", timeout: 0s }'),
      config('state: { url: "redis://h/0", prefix: 1a }'),
      config('state: { url: "redis://h/0" }, spendLog: {}')
    ]
  ],
  'like questions: a key of 16 characters, a cosine, a model of the file, one service': [
    [
      like(`threshold: 0.5, key: ${letters(16)}, timeout: 10s, qdrant: { url: "https://q.test/p", collection: c }`),
      like(
        `threshold: 1, key: ${letters(1024)}, ttl: 1s, qdrant: { url: "http://q:6333", collection: ${letters(128)} }`
      )
    ],
    [
      like(`threshold: 0.49, key: ${letters(16)}, ${QDRANT}`),
      like(`threshold: 1.01, key: ${letters(16)}, ${QDRANT}`),
      like(`threshold: 0.9, key: ${letters(15)}, ${QDRANT}`),
      like(`threshold: 0.9, ${QDRANT}`),
      like(`threshold: 0.9, key: ${letters(16)}, timeout: 11s, ${QDRANT}`),
      like(`threshold: 0.9, key: ${letters(16)}, qdrant: { url: "http://q", collection: "a/b" }`),
      like(`threshold: 0.9, key: ${letters(16)}, qdrant: { collection: c }`),
      kept(`semantic: { embeddings: none, threshold: 0.9, key: ${letters(16)}, ${QDRANT} }`),
      kept(`key: request.path, semantic: { embeddings: m, threshold: 0.9, key: ${letters(16)}, ${QDRANT} }`),
      withRoute(`backends: [{ ai: { provider: { openAI: {} }, cache: { ttl: 1h, semantic: {} } } }]`)
    ]
  ],
  'kept answers at a server: Redis or Valkey, and what is of it': [
    [kept('url: "redis://h/1", timeout: 10s'), kept('url: "rediss://u:p@h"')],
    [
      kept('url: "postgres://h/d"'),
      kept('timeout: 1s'),
      kept('url: "redis://h", timeout: 11s'),
      kept('url: "redis://u:p@h", password: q')
    ]
  ],
  'spend log: a path of its own or that of state, ages above 0, 16 MiB at least': [
    [
      config('spendLog: { path: a }'),
      config('state: { path: a }, spendLog: {}'),
      config('spendLog: { path: a, maxBytes: 16777216, recordsMaxAge: 1h, sumsMaxAge: 1h }')
    ],
    [
      config('spendLog: {}'),
      config('spendLog: { path: "" }'),
      config('spendLog: { path: a, maxBytes: 16777215 }'),
      config('spendLog: { path: a, recordsMaxAge: 0s }'),
      config('spendLog: { path: a, sumsMaxAge: 0s }')
    ]
  ],
  'prompts in the spend log: 256 bytes to 256 KiB': [
    [
      config('spendLog: { path: a, prompts: {} }'),
      config('spendLog: { path: a, prompts: { maxBytes: 256, traces: true } }'),
      config('spendLog: { path: a, prompts: { maxBytes: 262144, traces: false } }')
    ],
    [
      config('spendLog: { path: a, prompts: true }'),
      config('spendLog: { path: a, prompts: { maxBytes: 255 } }'),
      config('spendLog: { path: a, prompts: { maxBytes: 262145 } }'),
      config('spendLog: { path: a, prompts: { traces: 1 } }')
    ]
  ],
  'worker threads: a number or a share': [
    [config('workerThreads: 1'), config('workerThreads: 100%'), config('workerThreads: 1%')],
    [
      config('workerThreads: 0'),
      config('workerThreads: 1025'),
      config('workerThreads: 0%'),
      config('workerThreads: 101%'),
      config('workerThreads: many')
    ]
  ],
  addresses: [
    [
      config(`adminAddr: "[::]:1", admin: ${adminTokens('a')}`),
      config('adminAddr: 127.0.0.1:0'),
      config('adminAddr: unix:/a'),
      config('adminAddr: off')
    ],
    [
      config('adminAddr: 15000'),
      config('adminAddr: ":1"'),
      config('adminAddr: "a:65536"'),
      config('adminAddr: unix:a'),
      config(`adminAddr: unix:/${letters(107)}`),
      config('adminAddr: "::1:80"')
    ]
  ],
  'tokens of the admin port: 1..64, each with a name and a hash of its own': [
    [config(`admin: ${adminTokens('a')}`), config(`admin: ${adminTokens('a', 'b')}`)],
    [
      config('admin: {}'),
      config('admin: { tokens: [] }'),
      config(`admin: ${adminTokens('g')}`),
      config(`admin: ${adminTokens('a', 'a')}`),
      config(`admin: ${adminTokens('a').replace('see', 'all')}`),
      config(`admin: ${adminTokens('a').replace('name: a', 'name: "a:b"')}`),
      config(`admin: { tokens: ${many(65, `{ name: a, hash: "sha256:${letters(64)}", role: see }`)} }`)
    ]
  ],
  'log levels': [
    [config('logging: { level: off }'), config('logging: { level: "info,a::b=trace" }')],
    [config('logging: { level: loud }'), config('logging: { level: [] }'), config('logging: { format: xml }')]
  ],
  'names: 1..640 letters, digits and "-_."': [
    [listener(`name: ${letters(640)}`), listener('name: a.b-c_d')],
    [
      listener(`name: ${letters(641)}`),
      listener('name: ""'),
      listener('name: a/b'),
      listener('name: __proto__'),
      'backends: [{ dynamic: {} }]'
    ]
  ],
  'host names': [
    ['*', '*.a', 'a-b.c_d', '"[::1]"', letters(253)].map((text) =>
      listener(`hostname: ${text.startsWith('*') ? `"${text}"` : text}`)
    ),
    ['"a:80"', '"*a.b"', 'a.*.b', '"a..b"', '""', '"[::g]"', '"http://a"', 'a.', letters(256)].map((text) =>
      listener(`hostname: ${text}`)
    )
  ],
  paths: [
    [
      match('path: { exact: / }'),
      match('path: { pathPrefix: "/a%20b/" }'),
      match(`path: { exact: /${letters(1023)} }`)
    ],
    [
      match('path: { exact: a }'),
      match('path: { exact: "/a b" }'),
      match('path: { pathPrefix: "/a?b" }'),
      match('path: { exact: /ä }'),
      match(`path: { exact: /${letters(1024)} }`)
    ]
  ],
  'expressions: RE2': [
    [match('path: { regex: "(a+)+$" }')],
    ['(?=a)', '\\\\1', '[', '(?<=a)b', 'a{1001}'].map((text) => match(`path: { regex: "${text}" }`))
  ],
  'header names': [
    [
      match('headers: [{ name: "x-a!#$$%", value: { exact: "" } }]'),
      match('headers: [{ name: ":path", value: { exact: a } }]')
    ],
    ['a b', '":b"', '""', letters(257), 'ä'].map((name) => match(`headers: [{ name: ${name}, value: { exact: b } }]`))
  ],
  'values: exactly one of exact and regex': [
    [match('query: [{ name: a, value: { regex: b } }]')],
    [
      match('query: [{ name: a, value: {} }]'),
      match('query: [{ name: a, value: { exact: b, regex: b } }]'),
      match('query: [{ name: a }]'),
      match('query: [{ name: a, value: { exact: 1 } }]')
    ]
  ],
  'header matches: up to 64': [
    [match(`headers: ${many(64, '{ name: a, value: { exact: b } }')}`)],
    [match(`headers: ${many(65, '{ name: a, value: { exact: b } }')}`)]
  ],
  'weights: 0..1000000, not all 0': [
    [withRoute('backends: [{ host: "a:1", weight: 1000000 }, { host: "a:1", weight: 0 }]'), withRoute('backends: []')],
    [
      withRoute('backends: [{ host: "a:1", weight: -1 }]'),
      withRoute('backends: [{ host: "a:1", weight: 1000001 }]'),
      withRoute('backends: [{ host: "a:1", weight: 0 }]')
    ]
  ],
  destinations: [
    [host('"a:1"'), host('10.0.0.1:80'), host('"[::1]:80"'), host('unix:/a')],
    [host('a'), host('"http://a:1"'), host('"::1:80"'), host('unix:a'), host('"a b:1"'), host('80')]
  ],
  'one kind of backend': [
    [withRoute('backends: [{ dynamic: { allowAddresses: [10.0.0.0/8, "::1"] } }]')],
    [
      withRoute('backends: [{}]'),
      withRoute('backends: [{ host: "a:1", dynamic: {} }]'),
      withRoute('backends: [{ dynamic: { allowAddresses: [10.0.0.0/33] } }]'),
      withRoute('backends: [{ dynamic: { allowAddresses: [a] } }]')
    ]
  ],
  'frontend groups have something in them': [[], ['frontendPolicies: { http: {} }', 'frontendPolicies: { tcp: {} }']],
  'both spellings of keepalive': [
    ['frontendPolicies: { tcp: { keepalive: {} } }'],
    ['frontendPolicies: { tcp: { keepalive: {}, keepalives: {} } }']
  ]
}

for (const [name, [accepted, refused]] of Object.entries(LIMITS)) {
  test(name, () => {
    for (const text of accepted) assert.equal(load(text, {}).ok, true, text)
    for (const text of refused)
      assert.equal(mistakes(text).length, 1, `${text.slice(0, 120)}\n${mistakes(text).join('\n')}`)
  })
}

test('settings of other gateways are refused by name', () => {
  const names: [file: string, message: RegExp][] = [
    ...['gateways', 'routes', 'tcpRoutes', 'ui', 'services', 'workloads', 'routeGroups'].map(
      (key): [string, RegExp] => [`${key}: []`, new RegExp(`: top-level key '${key}' is not in this version of weir$`)]
    ),
    ...['HBONE', 'hbone'].map((protocol): [string, RegExp] => [
      listener(`protocol: ${protocol}`),
      new RegExp(`: protocol ${protocol.toUpperCase()} is not in this version of weir; HTTP, HTTPS, TLS and TCP are$`)
    ]),
    ...['service', 'aws', 'internal', 'routeGroup'].map((kind): [string, RegExp] => [
      withRoute(`backends: [{ ${kind}: {} }]`),
      new RegExp(`: backend kind '${kind}' is not in this version of weir$`)
    ]),
    [http('http2MaxHeaderSize: 1'), /: frontend setting 'http2MaxHeaderSize' is not in this version/],
    ...['networkAuthorization', 'connect'].map((key): [string, RegExp] => [
      `frontendPolicies: { ${key}: {} }`,
      new RegExp(`: frontend policy '${key}' is not in this version`)
    ]),
    [config('trustDomain: a'), /: setting 'trustDomain' is not in this version/],
    [withRoute('backends: [{ dynamic: { target: x } }]'), /setting 'target' is not in this version/]
  ]
  for (const [file, message] of names) {
    const all = mistakes(file)
    assert.equal(all.length, 1, `${file}: ${all.join('\n')}`)
    assert.match(all[0]!, message)
  }
})

test('refused keys are never suggested', () => {
  assert.deepEqual(hints('gatewayz: 1\nbackend: []'), [
    'allowed: $schema, config, binds, frontendPolicies, policies, llm, mcp, secrets, keys, teams, organisations, backends',
    'did you mean "backends"? allowed: $schema, config, binds, frontendPolicies, policies, llm, mcp, secrets, keys, teams, organisations, backends'
  ])
})
