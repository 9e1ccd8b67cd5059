/** Policies of connections of clients (docs/specification.md#frontend-policies). */
import { accepts, chars, frontend, refuses, SERVICE, type Table, times } from './case.ts'

const TRACING = { backendRef: SERVICE }
const BATCH = { scheduleDelay: '1s', exportTimeout: '2s', maxExportBatchBytes: 8192, maxQueueBytes: 65_536 }
const ADD = [{ name: 'tenant', expression: 'request.headers["x-tenant"]' }]
const CIPHERS = [
  'TLS13_AES_256_GCM_SHA384',
  'TLS13_AES_128_GCM_SHA256',
  'TLS13_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256'
]

const HTTP_FIELDS = {
  maxBufferSize: 1,
  http1MaxHeaders: 4096,
  http1IdleTimeout: '10m',
  http1HeaderTimeout: '30s',
  bodyTimeout: '1m',
  sendTimeout: '1m',
  maxHeaderSize: 1024,
  maxUriSize: 1,
  maxRequestBodySize: 0,
  http2WindowSize: 1,
  http2ConnectionWindowSize: 1,
  http2FrameSize: 1_677_215,
  http2KeepaliveInterval: '10s',
  http2KeepaliveTimeout: '20s',
  requestId: { header: 'x-request-id', acceptFromClient: true, sendToBackend: true, sendToClient: true }
}

export const frontends: Table = {
  accepted: accepts('GatewayPolicy', [
    [
      'connections',
      frontend({
        proxyProtocol: { version: 'v2', mode: 'strict' },
        http: HTTP_FIELDS,
        tcp: { keepalive: { time: '60s' }, idleTimeout: '1h' },
        tls: {
          handshakeTimeout: '15s',
          alpnProtocols: ['h2', 'http/1.1'],
          minProtocolVersion: '1.2',
          maxProtocolVersion: '1.3',
          cipherSuites: CIPHERS
        }
      })
    ],
    [
      'records of model calls',
      frontend({
        spendWebhook: {
          ...TRACING,
          path: '/spend?from=edge',
          scheduleDelay: '1s',
          timeout: '5s',
          maxBatchRecords: 1000,
          maxQueueRecords: 1000
        }
      })
    ],
    ['keepalive by its default', frontend({ tcp: { keepalive: {} } }), ['frontend.tcp.keepalive.time: "180s"']],
    [
      'an access log',
      frontend({
        accessLog: {
          filter: 'response.code >= 400',
          attributes: { add: ADD, remove: ['http.method'] },
          otlp: {
            backendRef: { group: 'weir.dev', kind: 'GatewayBackend', name: 'collector', namespace: 'telemetry' },
            protocol: 'GRPC',
            path: '/v1/logs',
            resources: [{ name: 'service.name', expression: '"edge"' }],
            filter: 'true',
            fields: { add: ADD, remove: ['http.method'] },
            batch: BATCH
          }
        }
      })
    ],
    [
      'tracing',
      frontend({
        tracing: {
          backendRef: { name: 'collector', port: 4317 },
          path: '/v1/traces',
          resources: [{ name: 'service.name', expression: '"edge"' }],
          randomSampling: '0.1',
          clientSampling: 'true',
          attributes: { add: ADD, remove: ['url.path'] },
          propagators: ['tracecontext'],
          batch: BATCH
        }
      }),
      [
        'frontend.tracing.backendRef.group: ""',
        'frontend.tracing.backendRef.kind: "Service"',
        'frontend.tracing.protocol: "HTTP"'
      ]
    ],
    [
      'prices',
      frontend({
        prices: {
          currency: 'USD',
          catalogue: true,
          responseHeader: true,
          models: [
            {
              ...{
                provider: 'openai',
                model: 'gpt-*',
                input: '2.5',
                output: '10',
                cacheRead: '0.25',
                cacheReadAudio: '0.3',
                cacheReadImage: '0.25',
                cacheWrite5m: '3'
              },
              ...{ cacheWrite1h: '5', inputAudio: '4', inputImage: '5', reasoning: '10', outputAudio: '8' },
              ...{ outputImage: '9', perMillionCharacters: '15', perRequest: '0.01', perSearch: '0.002' },
              ...{ perImage: '0.04', perSecond: '0.0001', date: '2026-11-01', source: 'https://example.com/prices' },
              longContext: [{ above: 200_000, input: '5' }],
              batch: { percent: 50, input: '1', longContext: [{ above: 200_000, output: '9' }] },
              flex: { percent: 50 },
              priority: { input: '5', output: '20' },
              images: [{ size: '1024x1024', quality: 'high', price: '0.17' }]
            }
          ]
        }
      })
    ],
    [
      'metrics',
      frontend({
        metrics: {
          otlp: {
            backendRef: SERVICE,
            protocol: 'HTTP',
            path: '/v1/metrics',
            resources: [{ name: 'service.name', expression: 'env.podName' }],
            interval: '60s',
            exportTimeout: '10s'
          }
        }
      })
    ]
  ]),
  refused: refuses('GatewayPolicy', [
    ['TCP without a field', frontend({ tcp: {} }), 'frontend.tcp', 'must have at least one of keepalive'],
    [
      'keepalive below its unit',
      frontend({ tcp: { keepalive: { time: '10ms' } } }),
      'frontend.tcp.keepalive.time',
      'must be 0s or at least 1s'
    ],
    [
      'no duration',
      frontend({ tcp: { keepalive: { time: '5 minutes' } } }),
      'frontend.tcp.keepalive.time',
      'should match'
    ],
    ['HTTP without a field', frontend({ http: {} }), 'frontend.http', 'must have at least one of maxBufferSize'],
    [
      'no buffer',
      frontend({ http: { maxBufferSize: 0 } }),
      'frontend.http.maxBufferSize',
      'greater than or equal to 1'
    ],
    [
      'no header',
      frontend({ http: { http1MaxHeaders: 0 } }),
      'frontend.http.http1MaxHeaders',
      'greater than or equal to 1'
    ],
    [
      'too many headers',
      frontend({ http: { http1MaxHeaders: 4097 } }),
      'frontend.http.http1MaxHeaders',
      'less than or equal to 4096'
    ],
    [
      'no window',
      frontend({ http: { http2WindowSize: 0 } }),
      'frontend.http.http2WindowSize',
      'greater than or equal to 1'
    ],
    [
      'no window of a connection',
      frontend({ http: { http2ConnectionWindowSize: 0 } }),
      'frontend.http.http2ConnectionWindowSize',
      'greater than or equal to 1'
    ],
    [
      'small frames',
      frontend({ http: { http2FrameSize: 16_383 } }),
      'frontend.http.http2FrameSize',
      'greater than or equal to 16384'
    ],
    [
      'large frames',
      frontend({ http: { http2FrameSize: 1_677_216 } }),
      'frontend.http.http2FrameSize',
      'less than or equal to 1677215'
    ],
    [
      'no time for idling',
      frontend({ http: { http1IdleTimeout: '0s' } }),
      'frontend.http.http1IdleTimeout',
      'must be longer than 0'
    ],
    ['TLS without a field', frontend({ tls: {} }), 'frontend.tls', 'must have at least one of handshakeTimeout'],
    [
      'TLS 1.1',
      frontend({ tls: { minProtocolVersion: '1.1' } }),
      'frontend.tls.minProtocolVersion',
      'supported values: "1.2", "1.3"'
    ],
    [
      'TLS 1.4',
      frontend({ tls: { maxProtocolVersion: '1.4' } }),
      'frontend.tls.maxProtocolVersion',
      'supported values: "1.2", "1.3"'
    ],
    [
      'a cipher suite of the past',
      frontend({ tls: { cipherSuites: ['TLS_RSA_WITH_RC4_128_MD5'] } }),
      'frontend.tls.cipherSuites[0]',
      'Unsupported value'
    ],
    [
      'no protocols',
      frontend({ tls: { alpnProtocols: [] } }),
      'frontend.tls.alpnProtocols',
      'should have at least 1 items'
    ],
    [
      'too many protocols',
      frontend({ tls: { alpnProtocols: times(17, () => 'h2') } }),
      'frontend.tls.alpnProtocols',
      'must have at most 16 items'
    ],
    [
      'a log with an empty filter',
      frontend({ accessLog: { filter: '' } }),
      'frontend.accessLog.filter',
      'should be at least 1 chars'
    ],
    [
      'a filter that is too long',
      frontend({ accessLog: { filter: chars(16_385) } }),
      'frontend.accessLog.filter',
      'may not be more than 16384'
    ],
    [
      'attributes without a field',
      frontend({ accessLog: { attributes: {} } }),
      'frontend.accessLog.attributes',
      'must have at least one of add, remove'
    ],
    [
      'nothing to remove',
      frontend({ accessLog: { attributes: { remove: [] } } }),
      'frontend.accessLog.attributes.remove',
      'should have at least 1 items'
    ],
    [
      'too much to remove',
      frontend({ accessLog: { attributes: { remove: times(33, (i) => `a${i}`) } } }),
      'frontend.accessLog.attributes.remove',
      'must have at most 32 items'
    ],
    [
      'a removed name that is too long',
      frontend({ accessLog: { attributes: { remove: [chars(65)] } } }),
      'frontend.accessLog.attributes.remove[0]',
      'may not be more than 64'
    ],
    [
      'nothing to add',
      frontend({ accessLog: { attributes: { add: [] } } }),
      'frontend.accessLog.attributes.add',
      'should have at least 1 items'
    ],
    [
      'an attribute without an expression',
      frontend({ accessLog: { attributes: { add: [{ name: 'a' }] } } }),
      'frontend.accessLog.attributes.add[0].expression',
      'Required'
    ],
    [
      'an attribute without a name',
      frontend({ accessLog: { attributes: { add: [{ expression: '1' }] } } }),
      'frontend.accessLog.attributes.add[0].name',
      'Required'
    ],
    [
      'an attribute twice',
      frontend({ accessLog: { attributes: { add: [...ADD, ...ADD] } } }),
      'frontend.accessLog.attributes.add[1]',
      'Duplicate value'
    ],
    [
      'a field of the line that is fixed',
      frontend({ accessLog: { attributes: { add: [{ name: 'time', expression: '1' }] } } }),
      'frontend.accessLog.attributes.add[0].name',
      'cannot be replaced'
    ],
    ['tracing to nowhere', frontend({ tracing: { randomSampling: '1.0' } }), 'frontend.tracing.backendRef', 'Required'],
    [
      'tracing to another kind',
      frontend({ tracing: { backendRef: { kind: 'Pod', name: 'a', port: 1 } } }),
      'frontend.tracing.backendRef.kind',
      'must be Service of the core group (""); GatewayBackend of weir.dev'
    ],
    [
      'a Service without its port',
      frontend({ tracing: { backendRef: { name: 'collector' } } }),
      'frontend.tracing.backendRef.port',
      'is required for a Service'
    ],
    [
      'a port of nobody',
      frontend({ tracing: { backendRef: { name: 'a', port: 65_536 } } }),
      'frontend.tracing.backendRef.port',
      'less than or equal to 65535'
    ],
    [
      'a protocol that is not known',
      frontend({ tracing: { ...TRACING, protocol: 'UDP' } }),
      'frontend.tracing.protocol',
      'supported values: "HTTP", "GRPC"'
    ],
    [
      'a resource without an expression',
      frontend({ tracing: { ...TRACING, resources: [{ name: 'a' }] } }),
      'frontend.tracing.resources[0].expression',
      'Required'
    ],
    [
      'an empty sampling',
      frontend({ tracing: { ...TRACING, randomSampling: '' } }),
      'frontend.tracing.randomSampling',
      'should be at least 1 chars'
    ],
    [
      'an empty sampling of clients',
      frontend({ tracing: { ...TRACING, clientSampling: '' } }),
      'frontend.tracing.clientSampling',
      'should be at least 1 chars'
    ],
    [
      'a queue that is shorter than a batch',
      frontend({ tracing: { ...TRACING, batch: { maxQueueBytes: 8192 } } }),
      'frontend.tracing.batch.maxQueueBytes',
      'must be at least maxExportBatchBytes'
    ],
    [
      'a spelling of files',
      frontend({ tracing: { host: 'collector:4317', backendRef: SERVICE } }),
      'frontend.tracing.host',
      'unknown field'
    ]
  ])
}
