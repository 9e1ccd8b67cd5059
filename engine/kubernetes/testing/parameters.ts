/** GatewayParameters: how data planes are provisioned. */
import { accepts, chars, entries, refuses, type Table, times } from './case.ts'

const OVERLAY = {
  metadata: { labels: { a: 'b' }, annotations: { 'example.com/a': 'b' } },
  spec: { replicas: 3, any: null }
}

export const parameters: Table = {
  accepted: accepts('GatewayParameters', [
    [
      'all of it',
      {
        logging: { level: 'info,upstream=debug', format: 'json' },
        rawConfig: { config: { logging: { level: 'debug' } } },
        image: {
          registry: 'registry.example',
          repository: 'weir',
          tag: 'v1',
          digest: 'sha256:0',
          pullPolicy: 'Always'
        },
        env: [
          { name: 'A', value: '$(B)' },
          { name: 'B', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } }
        ],
        resources: {
          limits: { cpu: 2, memory: '256Mi' },
          requests: { cpu: '500m' },
          claims: [{ name: 'a', request: 'b' }]
        },
        shutdown: { min: 0, max: 31_536_000 },
        istio: { caAddress: 'https://istiod.istio-system:15012', trustDomain: 'cluster.local' },
        deployment: OVERLAY,
        service: OVERLAY,
        serviceAccount: OVERLAY,
        podDisruptionBudget: OVERLAY,
        horizontalPodAutoscaler: OVERLAY
      }
    ],
    ['none of it', {}],
    ['logging has no defaults here', { logging: {} }]
  ]),
  refused: refuses('GatewayParameters', [
    [
      'a format that is not known',
      { logging: { format: 'xml' } },
      'logging.format',
      'supported values: "json", "text"'
    ],
    ['a configuration that is a text', { rawConfig: 'binds: []' }, 'rawConfig', 'must be of type object'],
    [
      'a policy of pulling that is not known',
      { image: { pullPolicy: 'Sometimes' } },
      'image.pullPolicy',
      'Unsupported value'
    ],
    ['a tag that is a number', { image: { tag: 1 } }, 'image.tag', 'must be of type string'],
    ['a variable without a name', { env: [{ value: 'a' }] }, 'env[0].name', 'Required'],
    ['a variable twice', { env: times(2, () => ({ name: 'A', value: 'a' })) }, 'env[1]', 'Duplicate value'],
    [
      'a variable of two values',
      { env: [{ name: 'A', value: 'a', valueFrom: {} }] },
      'env[0]',
      'must have at most one of value, valueFrom'
    ],
    ['shutdown without min', { shutdown: { max: 1 } }, 'shutdown.min', 'Required'],
    ['shutdown without max', { shutdown: { min: 1 } }, 'shutdown.max', 'Required'],
    ['less than no time', { shutdown: { min: -1, max: 1 } }, 'shutdown.min', 'greater than or equal to 0'],
    ['more than a year', { shutdown: { min: 1, max: 31_536_001 } }, 'shutdown.max', 'less than or equal to 31536000'],
    ['more than max', { shutdown: { min: 2, max: 1 } }, 'shutdown.min', 'must not be more than max'],
    [
      'a trust domain that is too long',
      { istio: { trustDomain: chars(257) } },
      'istio.trustDomain',
      'may not be more than 256'
    ],
    [
      'an authority that is asked in clear text',
      { istio: { caAddress: 'http://istiod:15012' } },
      'istio.caAddress',
      'should match'
    ],
    ['a trust domain with capitals', { istio: { trustDomain: 'Cluster.local' } }, 'istio.trustDomain', 'should match'],
    [
      'too many labels',
      { deployment: { metadata: { labels: entries(65, 'a') } } },
      'deployment.metadata.labels',
      'must have at most 64 items'
    ],
    [
      'a label that is a number',
      { service: { metadata: { labels: { a: 1 } } } },
      'service.metadata.labels.a',
      'must be of type string'
    ],
    ['an overlay of nothing known', { deployment: { status: {} } }, 'deployment.status', 'unknown field']
  ])
}
