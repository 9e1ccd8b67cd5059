/** The specification's tables of the frontend, row by row, as spec-tables.test.ts. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { CIPHER_SUITES } from '#engine/socket/cipher-suites.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import {
  cel,
  FRONTEND,
  letters,
  NAME_LONG,
  NO_DURATION,
  names,
  type Table,
  times,
  walk
} from '#engine/testing/spec-table.ts'

const http = (fields: object) => ({ http: fields })
const tls = (fields: object) => ({ tls: fields })
const keepalive = (fields: object) => ({ tcp: { keepalive: fields } })
const add = (...added: readonly unknown[]) => ({ accessLog: { attributes: { add: added } } })
const tracing = (fields: object) => ({ tracing: { host: 'localhost:4318', ...fields } })
const remove = (removed: unknown) => ({ accessLog: { attributes: { remove: removed } } })
const attribute = (name: string, expression = 'request.method') => ({ name, expression })
const WINDOW = 'must be a whole number from 1 to 2147483647'
const BYTES = 'must be a whole number from 1 to 9007199254740991'

const ROWS: Table = {
  'FrontendTCP: at least keepalive': [
    [keepalive({ time: '180s' })],
    [
      [{ tcp: {} }, 'tcp: must have at least one of keepalive, idleTimeout'],
      [{ tcp: { keepalive: {}, keepalives: {} } }, 'tcp: must have exactly one of keepalives, keepalive']
    ]
  ],
  'Keepalive: time Duration; what Node cannot set is refused by name': [
    [keepalive({ time: '1s' })],
    [
      [keepalive({ time: 180 }), `tcp.keepalive.time: ${NO_DURATION}`],
      [keepalive({ retries: 9 }), "tcp.keepalive.retries: frontend setting 'retries' is not in this version of weir"],
      [keepalive({ interval: '180s' }), "tcp.keepalive.interval: frontend setting 'interval' is not in this version"]
    ]
  ],
  'FrontendHTTP: at least one of its fields': [[], [[http({}), 'http: must have at least one of maxBufferSize, ']]],
  'FrontendHTTP.maxBufferSize: min 1': [
    [http({ maxBufferSize: 1 })],
    [
      [http({ maxBufferSize: 0 }), `http.maxBufferSize: ${BYTES}`],
      [http({ maxBufferSize: 1.5 }), `http.maxBufferSize: ${BYTES}`]
    ]
  ],
  'FrontendHTTP.http1MaxHeaders: 1..4096': [
    [http({ http1MaxHeaders: 1 }), http({ http1MaxHeaders: 4096 })],
    [
      [http({ http1MaxHeaders: 0 }), 'http.http1MaxHeaders: must be a whole number from 1 to 4096'],
      [http({ http1MaxHeaders: 4097 }), 'http.http1MaxHeaders: must be a whole number from 1 to 4096']
    ]
  ],
  'FrontendHTTP.http1IdleTimeout: Duration': [
    [http({ http1IdleTimeout: '1ms' }), http({ http1IdleTimeout: '10m' })],
    [[http({ http1IdleTimeout: 600 }), `http.http1IdleTimeout: ${NO_DURATION}`]]
  ],
  'FrontendHTTP.http2WindowSize, http2ConnectionWindowSize: min 1': [
    [http({ http2WindowSize: 1 }), http({ http2ConnectionWindowSize: 2_147_483_647 })],
    ['http2WindowSize', 'http2ConnectionWindowSize'].flatMap((key) =>
      [0, 2_147_483_648].map((size) => [http({ [key]: size }), `http.${key}: ${WINDOW}`] as const)
    )
  ],
  'FrontendHTTP.http2FrameSize: 16384..1677215': [
    [http({ http2FrameSize: 16_384 }), http({ http2FrameSize: 1_677_215 })],
    [16_383, 1_677_216].map(
      (size) =>
        [http({ http2FrameSize: size }), 'http.http2FrameSize: must be a whole number from 16384 to 1677215'] as const
    )
  ],
  'FrontendHTTP.http2KeepaliveInterval, http2KeepaliveTimeout: Duration': [
    [http({ http2KeepaliveInterval: '10s' }), http({ http2KeepaliveTimeout: '1s' })],
    [
      [http({ http2KeepaliveInterval: 10 }), `http.http2KeepaliveInterval: ${NO_DURATION}`],
      [http({ http2KeepaliveTimeout: '0s' }), 'http.http2KeepaliveTimeout: must be longer than 0']
    ]
  ],
  'FrontendTLS: handshakeTimeout Duration, versions 1.2 and 1.3': [
    [
      tls({ handshakeTimeout: '15s' }),
      tls({ minProtocolVersion: '1.3' }),
      tls({ maxProtocolVersion: 1.2 }),
      tls({ minProtocolVersion: '1.2', maxProtocolVersion: '1.3' })
    ],
    [
      [tls({}), 'tls: must have at least one of handshakeTimeout'],
      [tls({ handshakeTimeout: 15 }), `tls.handshakeTimeout: ${NO_DURATION}`],
      [tls({ maxProtocolVersion: '1.4' }), 'tls.maxProtocolVersion: must be 1.2 or 1.3'],
      [tls({ handshakeTimeout: '0s' }), 'tls.handshakeTimeout: must be longer than 0'],
      [tls({ minProtocolVersion: '1.1' }), 'tls.minProtocolVersion: must be 1.2 or 1.3'],
      [
        tls({ minProtocolVersion: '1.3', maxProtocolVersion: '1.2' }),
        'tls.minProtocolVersion: the lowest version (1.3) is above the highest one (1.2)'
      ]
    ]
  ],
  'FrontendTLS.alpnProtocols: 1..16': [
    [
      tls({ alpnProtocols: ['http/1.1'] }),
      tls({ alpnProtocols: ['h2', 'http/1.1'] }),
      tls({ alpnProtocols: times(16, () => 'h2') })
    ],
    [
      [tls({ alpnProtocols: [] }), 'tls.alpnProtocols: must have 1 to 16 entries'],
      [tls({ alpnProtocols: times(17, () => 'h2') }), 'tls.alpnProtocols: must have 1 to 16 entries'],
      [tls({ alpnProtocols: ['imap'] }), 'tls.alpnProtocols[0]: weir does not speak "imap" behind TLS']
    ]
  ],
  'FrontendTLS.cipherSuites: nine names': [
    [tls({ cipherSuites: CIPHER_SUITES })],
    [
      [tls({ cipherSuites: [] }), 'tls.cipherSuites: must have 1 to 9 entries'],
      [tls({ cipherSuites: ['TLS_RSA_WITH_AES_128_CBC_SHA'] }), 'tls.cipherSuites[0]: must be one of'],
      [
        tls({ cipherSuites: ['TLS13_AES_128_GCM_SHA256'], maxProtocolVersion: '1.2' }),
        'tls.cipherSuites: none of the cipher suites is for a version that is spoken (1.2)'
      ]
    ]
  ],
  'Tracing.backendRef: required; a file may name the server itself': [
    [
      { tracing: { backendRef: { name: 'otlp' } } },
      { tracing: { backendRef: { name: 'otlp', kind: 'GatewayBackend', group: 'weir.dev' } } },
      { tracing: { host: 'localhost:4317' } }
    ],
    [
      [{ tracing: {} }, 'tracing: must have exactly one of backendRef, backend, host'],
      [{ tracing: { host: 'localhost:4317', backend: 'otlp' } }, 'tracing: must have exactly one of']
    ]
  ],
  'Tracing.protocol: HTTP, GRPC': [
    [tracing({ protocol: 'HTTP' }), tracing({ protocol: 'GRPC' })],
    [[tracing({ protocol: 'UDP' }), 'tracing.protocol: must be one of']]
  ],
  'Tracing.randomSampling, clientSampling: float 0.0-1.0 or boolean': [
    ['0.5', 'true', 'request.path == "/x" ? 0.1 : 1.0', 0.5, true].flatMap((share) => [
      tracing({ randomSampling: share }),
      tracing({ clientSampling: share })
    ]),
    [
      [tracing({ randomSampling: '"text"' }), 'tracing.randomSampling: must be a boolean or a number from 0.0 to 1.0'],
      [tracing({ randomSampling: 2 }), 'tracing.randomSampling: must be a boolean or a number from 0.0 to 1.0'],
      [tracing({ clientSampling: 'request.body == ""' }), 'tracing.clientSampling: is decided before a body is read'],
      [tracing({ clientSampling: '1 +' }), 'tracing.clientSampling: expression 1:4']
    ]
  ],
  'Tracing.resources: ResourceAdd, name ShortString and expression CELExpression': [
    [tracing({ resources: [{ name: 'a', expression: 'env.podName' }] }), tracing({ resources: { a: '"b"' } })],
    [
      [tracing({ resources: [{ name: 'a' }] }), 'tracing.resources[0].expression: is required'],
      [
        tracing({ resources: [{ name: 'a', expression: 'request.path' }] }),
        'tracing.resources[0].expression: expression 1:1'
      ]
    ]
  ],
  'Tracing.attributes: a map of expressions, or add and remove; the shape says which': [
    [tracing({ attributes: { a: '1', add: '2' } }), tracing({ attributes: { add: [{ name: 'a', expression: '1' }] } })],
    [
      [tracing({ attributes: { a: 5 } }), 'tracing.attributes.a: must be a text, not 5: put it in quotes'],
      [tracing({ attributes: { add: { a: '1' } } }), 'tracing.attributes.add: must be a list of { name, expression }'],
      [
        tracing({ attributes: [{ name: 'a', expression: '1' }] }),
        'tracing.attributes: must be an object: put the list'
      ],
      [tracing({ attributes: 'a' }), 'tracing.attributes: must be an object of names with expressions'],
      [tracing({ attributes: { remove: 'a' } }), 'tracing.attributes.remove: must be a list, not a text'],
      [tracing({ resources: 5 }), 'tracing.resources: must be an object of names with expressions']
    ]
  ],
  'AccessLog.filter: CELExpression': [
    [{ accessLog: { filter: 'true' } }, { accessLog: {} }],
    [
      [{ accessLog: { filter: '' } }, 'accessLog.filter: must not be empty'],
      [{ accessLog: { filter: '1' } }, 'accessLog.filter: expression 1:1'],
      [{ accessLog: { filter: `${cel(16_385)}` } }, 'accessLog.filter: must have at most 16384 characters']
    ]
  ],
  'LogTracingAttributes: at least one of remove, add': [
    [],
    [[{ accessLog: { attributes: {} } }, 'accessLog.attributes: must have at least one of add, remove']]
  ],
  'LogTracingAttributes.remove: TinyString list, 1..32': [
    [remove(['http.method']), remove(names(32)), remove([letters(64)])],
    [
      [remove([]), 'accessLog.attributes.remove: must have 1 to 32 entries'],
      [remove(names(33)), 'accessLog.attributes.remove: must have 1 to 32 entries'],
      [remove(['']), 'accessLog.attributes.remove[0]: must not be empty'],
      [remove([letters(65)]), 'accessLog.attributes.remove[0]: must have at most 64 characters']
    ]
  ],
  'LogTracingAttributes.add: min 1; name ShortString, expression CELExpression, both required': [
    [
      add(attribute(letters(256))),
      add(attribute('a', cel(16_384))),
      add(...names(1024).map((name) => attribute(name)))
    ],
    [
      [add(), 'accessLog.attributes.add: must have 1 to 4096 entries'],
      [add({ expression: '1' }), 'accessLog.attributes.add[0].name: is required'],
      [add({ name: 'a' }), 'accessLog.attributes.add[0].expression: is required'],
      [add(attribute('')), 'accessLog.attributes.add[0].name: must not be empty'],
      [add(attribute(letters(257))), `accessLog.attributes.add[0].name: ${NAME_LONG}`],
      [add(attribute('a', '')), 'accessLog.attributes.add[0].expression: must not be empty'],
      [add(attribute('a', cel(16_385))), 'accessLog.attributes.add[0].expression: must have at most 16384 characters'],
      [{ accessLog: { add: { [letters(257)]: '1' } } }, `accessLog.add.${letters(257)}: ${NAME_LONG}`]
    ]
  ]
}

walk(ROWS, FRONTEND)

test('Frontend: defaults (2.6, section 8)', () => {
  const loaded = loadConfig('{ "binds": [] }', { file: 'f', env: {}, policies: [], backends, processors: 1 })
  assert.ok(loaded.ok)
  const { http, http2, tls, tcp } = loaded.snapshot.frontend
  assert.equal(http.maxBufferBytes, 2 * 1024 * 1024)
  assert.equal(http.headersMax, 100)
  assert.equal(http.idleTimeoutMs, 10 * 60_000)
  assert.equal(http2.frameBytesMax, 16 * 1024)
  assert.equal(tcp.keepalive.timeMs, 180_000)
  assert.equal(tls.handshakeTimeoutMs, 15_000)
  assert.deepEqual(tls.alpn, ['h2', 'http/1.1'])
  assert.deepEqual([tls.minVersion, tls.maxVersion], ['1.2', '1.3'])
})
