/** Policies of connections to backends (docs/specification.md#backend-connections). */
import { accepts, backend, chars, refuses, type Table, times } from './case.ts'

const SECRET = { name: 'credentials' }

const tls = (fields: object) => backend({ tls: fields })
const auth = (fields: object) => backend({ auth: fields })
const health = (fields: object) => backend({ health: fields })

export const backendPolicies: Table = {
  accepted: accepts('GatewayPolicy', [
    [
      'connections',
      backend({
        tcp: { keepalive: { time: '60s' }, connectTimeout: '5s', proxyProtocol: 'v2' },
        tls: {
          mtlsCertificateRef: [{ name: 'own' }],
          caCertificateRefs: [{ name: 'authorities' }],
          sni: 'server.example',
          verifySubjectAltNames: ['spiffe://domain/path'],
          alpnProtocols: ['h2']
        },
        http: { version: 'HTTP2', requestTimeout: '10s' },
        loadBalancing: { policy: 'ConsistentHash', hash: 'request.headers["x-user"]', hashBalanceFactor: 150 },
        circuitBreaker: { maxConnections: 10, maxPendingRequests: 10, maxRequests: 10, maxRetries: 1 },
        health: {
          active: {
            http: { path: '/healthz', method: 'GET', host: 'a', expectedStatuses: [200, '300-399'] },
            interval: '10s',
            timeout: '1s',
            healthyThreshold: 1,
            unhealthyThreshold: 3,
            port: 8080
          },
          ejection: {
            consecutive5xx: 5,
            connectFailures: 5,
            latency: { factor: 1.5, threshold: '1s', minRequests: 10 },
            unhealthyCondition: 'response.code == 500',
            baseTime: '30s',
            maxTime: '5m',
            maxEjectedPercent: 10
          },
          panicThreshold: 50
        }
      })
    ],
    ['checks over gRPC', health({ active: { grpc: { service: 'a' } } })],
    ['checks of connections', health({ active: { tcp: {} } })],
    ['a server that is not verified', tls({ insecureSkipVerify: 'Hostname' })],
    ['TLS by its defaults', tls({})],
    ['a key', auth({ key: 'secret', location: { header: { name: 'x-api-key', prefix: 'Key ' } } })],
    ['a key of a secret', auth({ secretRef: SECRET })],
    ["the client's token", auth({ passthrough: {} })],
    ['AWS', auth({ aws: { secretRef: SECRET, region: 'eu-west-1', service: 'execute-api' } })],
    ['AWS by its neutral name', auth({ cloudD: { secretRef: SECRET } })],
    ['Google', auth({ gcp: { type: 'IdToken', audience: 'https://a.example' } })],
    ['Google by its neutral name', auth({ cloudC: { type: 'AccessToken' } })]
  ]),
  refused: refuses('GatewayPolicy', [
    ['no policy', backend({}), 'backend', 'must have at least one of'],
    [
      'TCP without a field',
      backend({ tcp: {} }),
      'backend.tcp',
      'must have at least one of connectTimeout, keepalive, proxyProtocol'
    ],
    [
      'no time to connect',
      backend({ tcp: { connectTimeout: '0s' } }),
      'backend.tcp.connectTimeout',
      'must be longer than 0'
    ],
    [
      'HTTP without a field',
      backend({ http: {} }),
      'backend.http',
      'must have at least one of version, requestTimeout'
    ],
    ['HTTP/3', backend({ http: { version: 'HTTP3' } }), 'backend.http.version', 'supported values: "HTTP1", "HTTP2"'],
    [
      'names of a server that is not verified',
      tls({ insecureSkipVerify: 'All', verifySubjectAltNames: ['a'] }),
      'backend.tls',
      'must have at most one of verifySubjectAltNames, insecureSkipVerify'
    ],
    [
      'authorities that nobody asks',
      tls({ insecureSkipVerify: 'All', caCertificateRefs: [SECRET] }),
      'backend.tls.caCertificateRefs',
      'is never looked at'
    ],
    [
      'a way to skip that is not known',
      tls({ insecureSkipVerify: 'Some' }),
      'backend.tls.insecureSkipVerify',
      'supported values: "All", "Hostname"'
    ],
    [
      'two certificates',
      tls({ mtlsCertificateRef: [SECRET, { name: 'b' }] }),
      'backend.tls.mtlsCertificateRef',
      'must have at most 1 item'
    ],
    [
      'two sets of authorities',
      tls({ caCertificateRefs: [SECRET, { name: 'b' }] }),
      'backend.tls.caCertificateRefs',
      'must have at most 1 item'
    ],
    ['SNI in capitals', tls({ sni: 'Server' }), 'backend.tls.sni', 'should match'],
    ['SNI that is too long', tls({ sni: chars(254) }), 'backend.tls.sni', 'may not be more than 253'],
    ['SNI of an address', tls({ sni: '10.0.0.1' }), 'backend.tls.sni', 'SNI has no addresses'],
    [
      'no names',
      tls({ verifySubjectAltNames: [] }),
      'backend.tls.verifySubjectAltNames',
      'should have at least 1 items'
    ],
    [
      'too many names',
      tls({ verifySubjectAltNames: times(17, (i) => `a${i}`) }),
      'backend.tls.verifySubjectAltNames',
      'must have at most 16 items'
    ],
    ['no protocols', tls({ alpnProtocols: [] }), 'backend.tls.alpnProtocols', 'should have at least 1 items'],
    [
      'too many protocols',
      tls({ alpnProtocols: times(17, (i) => `a${i}`) }),
      'backend.tls.alpnProtocols',
      'must have at most 16 items'
    ],
    [
      'a protocol that is too long',
      tls({ alpnProtocols: [chars(65)] }),
      'backend.tls.alpnProtocols[0]',
      'may not be more than 64'
    ],
    ['paths of files', tls({ root: '/ca.pem' }), 'backend.tls.root', 'unknown field'],
    ['no credential', auth({}), 'backend.auth', 'must have exactly one of key, secretRef, passthrough, aws, gcp'],
    [
      'two credentials',
      auth({ key: 'a', secretRef: SECRET }),
      'backend.auth',
      'must have exactly one of key, secretRef, passthrough, aws, gcp'
    ],
    [
      'two credentials, one by its neutral name',
      auth({ aws: {}, cloudD: {} }),
      'backend.auth',
      'must have exactly one of key, secretRef, passthrough, aws, gcp'
    ],
    ['a key that is too long', auth({ key: chars(2049) }), 'backend.auth.key', 'may not be more than 2048'],
    [
      'an audience of an access token',
      auth({ gcp: { type: 'AccessToken', audience: 'a' } }),
      'backend.auth.gcp.audience',
      'is only used with type IdToken'
    ],
    [
      'a token that is not known',
      auth({ gcp: { type: 'Token' } }),
      'backend.auth.gcp.type',
      'supported values: "AccessToken", "IdToken"'
    ],
    [
      'a place for no key',
      auth({ passthrough: {}, location: { header: { name: 'a' } } }),
      'backend.auth.location',
      'is only used with key or secretRef'
    ],
    [
      'a hash of nothing',
      backend({ loadBalancing: { policy: 'ConsistentHash' } }),
      'backend.loadBalancing.policy',
      'needs hash beside it'
    ],
    [
      'a hash for another policy',
      backend({ loadBalancing: { policy: 'Random', hash: '1' } }),
      'backend.loadBalancing.hash',
      'is for the policy ConsistentHash'
    ],
    [
      'limits of nothing',
      backend({ circuitBreaker: {} }),
      'backend.circuitBreaker',
      'must have at least one of maxConnections'
    ],
    [
      'two checks',
      health({ active: { tcp: {}, http: {} } }),
      'backend.health.active',
      'must have exactly one of http, grpc, tcp'
    ],
    [
      'checks that are too frequent',
      health({ active: { tcp: {}, interval: '10ms' } }),
      'backend.health.active.interval',
      'must be at least 100ms'
    ],
    ['panic alone', health({ panicThreshold: 10 }), 'backend.health.panicThreshold', 'does nothing by itself']
  ])
}
