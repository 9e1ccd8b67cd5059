/** Objects at a real API server: scripts/kubernetes/provisioning.ts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { PROXY_VARIABLES } from '#engine/process/proxy-options.ts'
import { objectOf, pathText, type Raw, valueAt } from '#engine/schema/placed.ts'
import { isOwnedBy, type Provisioned, type ProvisionInput, provision, refusalFault } from './index.ts'

const OPTIONS = {
  image: 'registry.example/weir:v1',
  controllerAddress: 'weir-controller.weir-system.svc:9443',
  controllerCa: 'PEM',
  tokenAudience: 'weir.dev',
  policies: []
}

const gatewayOf = (spec: Raw = {}, name = 'edge'): KubernetesObject => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name, namespace: 'demo', uid: 'uid-1' },
  spec: { gatewayClassName: 'weir', listeners: [{ name: 'web', port: 80, protocol: 'HTTP' }], ...spec }
})

const CLASS: KubernetesObject = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'GatewayClass',
  metadata: { name: 'weir' }
}

const parametersOf = (name: string, spec: Raw | undefined): KubernetesObject | undefined =>
  spec && { apiVersion: 'weir.dev/v1alpha1', kind: 'GatewayParameters', metadata: { name, namespace: 'demo' }, spec }

const inputOf = (ofClass?: Raw, ofGateway?: Raw, gateway = gatewayOf()): ProvisionInput => ({
  gateway,
  gatewayClass: CLASS,
  classParameters: parametersOf('class', ofClass),
  gatewayParameters: parametersOf('gateway', ofGateway)
})

const provisioned = (...options: Parameters<typeof inputOf>): Provisioned => provision(inputOf(...options), OPTIONS)

const kindOf = ({ objects, faults }: Provisioned, kind: string): KubernetesObject => {
  assert.deepEqual(faults, [])
  const found = objects.find((object) => object.kind === kind)
  assert.ok(found, `there is no ${kind}`)
  return found
}

const container = (made: Provisioned): Raw =>
  objectOf(valueAt(kindOf(made, 'Deployment'), ['spec', 'template', 'spec', 'containers', 0]))

const variables = (made: Provisioned): Readonly<Record<string, unknown>> =>
  Object.fromEntries((container(made).env as Raw[]).map(({ name, value }) => [name, value]))

const ADMIN = 'unix:/tmp/weir-admin.sock'

const fileOf = (made: Provisioned): unknown =>
  JSON.parse(String(valueAt(kindOf(made, 'ConfigMap'), ['data', 'weir.json'])))

const faultsOf = ({ objects, faults }: Provisioned): string[] => {
  assert.deepEqual(objects, [])
  return faults.map(({ reason, place, message }) => `${reason} ${place.key} ${pathText(place.path)}: ${message}`)
}

test('a Gateway has objects of one name, which go with it', () => {
  const made = provisioned()
  const kinds = made.objects.map(({ kind }) => kind)
  assert.deepEqual(kinds, ['ServiceAccount', 'ConfigMap', 'Deployment', 'Service'])
  assert.deepEqual(
    made.absent.map(({ kind }) => kind),
    ['PodDisruptionBudget', 'HorizontalPodAutoscaler']
  )
  for (const object of made.objects) {
    assert.equal(object.metadata.name, 'edge-weir')
    assert.equal(object.metadata.namespace, 'demo')
    assert.equal(object.metadata.labels?.['gateway.networking.k8s.io/gateway-name'], 'edge')
    assert.equal(isOwnedBy(object, gatewayOf()), true)
  }
  assert.equal(isOwnedBy({ ...CLASS, metadata: { name: 'edge-weir' } }, gatewayOf()), false)
})

test('labels and annotations of the infrastructure are on all objects and on pods', () => {
  const made = provisioned({}, {}, gatewayOf({ infrastructure: { labels: { a: 'b' }, annotations: { c: 'd' } } }))
  const template = objectOf(valueAt(kindOf(made, 'Deployment'), ['spec', 'template'])) as Raw & KubernetesObject
  for (const { metadata } of [...made.objects, template]) {
    assert.equal(metadata.labels?.a, 'b')
    assert.equal(metadata.annotations?.c, 'd')
  }
})

test('names that no Service can have are shortened, and stay different', () => {
  const names = [`${'a'.repeat(70)}`, `${'a'.repeat(71)}`, '1st', 'with.dots'].map((name) => {
    const { objects } = provisioned({}, {}, gatewayOf({}, name))
    return objects[0]!.metadata.name
  })
  assert.equal(new Set(names).size, 4)
  for (const name of names) assert.match(name, /^[a-z][-a-z0-9]{0,62}$/)
})

test('a Service has each port of listeners once, those of attached sets too', () => {
  const web = { name: 'web', port: 443, protocol: 'HTTPS' }
  const listenerSets = [
    {
      apiVersion: '',
      kind: 'ListenerSet',
      metadata: { name: 'set', namespace: 'demo' },
      spec: { listeners: [web, web] }
    }
  ]
  const made = provision({ ...inputOf(), listenerSets }, OPTIONS)
  const ports = valueAt(kindOf(made, 'Service'), ['spec', 'ports']) as Raw[]
  assert.deepEqual(
    ports.map(({ name, port, targetPort }) => [name, port, targetPort]),
    [
      ['http-80', 80, 80],
      ['https-443', 443, 443]
    ]
  )
})

test('typed fields of a Gateway win over those of its class, and overlays over both', () => {
  const made = provisioned(
    {
      image: { tag: 'class', digest: 'sha256:1', pullPolicy: 'Always' },
      env: [
        { name: 'A', value: 'class' },
        { name: 'B', value: 'class' }
      ],
      deployment: {
        spec: { template: { spec: { containers: [{ name: 'weir', image: 'overlay', workingDir: '/class' }] } } }
      }
    },
    {
      image: { tag: 'gateway' },
      env: [{ name: 'B', value: 'gateway' }],
      deployment: {
        spec: {
          template: {
            spec: {
              containers: [
                {
                  name: 'weir',
                  workingDir: '/gateway',
                  env: [
                    { name: 'A', value: 'overlay' },
                    { name: 'NODE_NAME', $patch: 'delete' }
                  ]
                }
              ]
            }
          }
        }
      }
    }
  )
  const { image, imagePullPolicy, workingDir } = container(made)
  assert.deepEqual([image, imagePullPolicy, workingDir], ['overlay', 'Always', '/gateway'])
  const { A, B, ...others } = variables(made)
  assert.deepEqual([A, B], ['overlay', 'gateway'])
  assert.equal('NODE_NAME' in others, false)
  const typed = provisioned({ image: { tag: 'class', digest: 'sha256:1' } }, { image: { tag: 'gateway' } })
  assert.equal(container(typed).image, 'registry.example/weir:gateway')
})

test('a variable stands behind those that it refers to', () => {
  const env = [
    { name: 'LAST', value: '$(MIDDLE)' },
    { name: 'MIDDLE', value: '$(POD_NAME)-$(FIRST)' },
    { name: 'LITERAL', value: '$$(LAST)' },
    { name: 'A', value: '$(B)' },
    { name: 'B', value: '$(A)' }
  ]
  const overlay = { spec: { template: { spec: { containers: [{ name: 'weir', env }] } } } }
  const names = Object.keys(variables(provisioned({ env: [{ name: 'FIRST', value: 'a' }], deployment: overlay })))
  const at = (name: string) => names.indexOf(name)
  assert.ok(at('POD_NAME') < at('MIDDLE') && at('FIRST') < at('MIDDLE') && at('MIDDLE') < at('LAST'), names.join())
  assert.ok(at('LITERAL') < at('NODE_NAME'), 'others stay where the merge puts them')
  assert.equal(new Set(names).size, names.length)
})

test('a field with "$patch: delete" is gone, where a merge patch would leave it empty', () => {
  const overlay = {
    spec: { template: { spec: { containers: [{ name: 'weir', readinessProbe: { $patch: 'delete' } }] } } }
  }
  const made = container(provisioned({ deployment: overlay }))
  assert.equal('readinessProbe' in made, false)
  assert.equal('startupProbe' in made, true)
})

test('typed fields win over rawConfig, of which the process gets its own part', () => {
  const made = provisioned(
    { rawConfig: { binds: [], config: { workerThreads: 2, logging: { level: 'warn', format: 'text' } } } },
    { logging: { level: 'DEBUG,request=0' }, rawConfig: { config: { workerThreads: 4 } } }
  )
  const config = { workerThreads: 4, logging: { level: 'debug,request=off', format: 'text' } }
  assert.deepEqual(fileOf(made), { config: { adminAddr: ADMIN, ...config } })
})

test('another file replaces the pods', () => {
  const hash = (raw: Raw) =>
    valueAt(kindOf(provisioned(raw), 'Deployment'), [
      'spec',
      'template',
      'metadata',
      'annotations',
      'weir.dev/config-hash'
    ])
  assert.equal(hash({}), hash({ rawConfig: { binds: [] } }))
  assert.notEqual(hash({}), hash({ rawConfig: { config: { workerThreads: 2 } } }))
})

test('the command line and the variables are those of weir proxy', () => {
  const made = container(provisioned({ istio: {} }))
  assert.deepEqual(made.args, ['proxy', '-f', '/etc/weir/weir.json'])
  const names = (made.env as Raw[]).map(({ name }) => String(name))
  // A mesh of several clusters is joined by hand.
  const needed = PROXY_VARIABLES.filter((name) => name !== 'cluster-id').map((name) =>
    name.toUpperCase().replaceAll('-', '_')
  )
  assert.deepEqual(
    [...needed, 'STATE_KEY'].filter((name) => !names.includes(name)),
    []
  )
})

test('shutdown: the two variables, and what the kubelet grants', () => {
  const deadlines = (raw: Raw) => {
    const made = provisioned(raw)
    const { CONNECTION_MIN_TERMINATION_DEADLINE: min, TERMINATION_GRACE_PERIOD_SECONDS: max } = variables(made)
    const spec = valueAt(kindOf(made, 'Deployment'), ['spec', 'template', 'spec', 'terminationGracePeriodSeconds'])
    assert.equal(String(spec), max)
    return [min, max]
  }
  assert.deepEqual(deadlines({}), ['10s', '60'])
  assert.deepEqual(deadlines({ shutdown: { min: 1, max: 20 } }), ['1s', '20'])
  // The last seconds are for answers.
  assert.deepEqual(deadlines({ shutdown: { min: 30, max: 30 } }), ['25s', '30'])
  const raw = { config: { connectionTerminationDeadline: '2m', connectionMinTerminationDeadline: '3s' } }
  assert.deepEqual(deadlines({ rawConfig: raw }), [undefined, '125'])
  const typed = provisioned({ rawConfig: raw, shutdown: { min: 1, max: 20 } })
  assert.deepEqual(fileOf(typed), { config: { adminAddr: ADMIN } })
})

test('probes and ports follow the addresses of the process', () => {
  const at = (config: Raw) => {
    const { readinessProbe, ports } = container(provisioned({ rawConfig: { config } }))
    return [valueAt(readinessProbe, ['httpGet', 'port']), (ports as Raw[]).map(({ containerPort }) => containerPort)]
  }
  assert.deepEqual(at({}), [15_021, [80, 15_020, 15_021]])
  assert.deepEqual(at({ readinessAddr: '[::]:9000', statsAddr: 'off' }), [9000, [80, 9000]])
  assert.deepEqual(at({ readinessAddr: 'localhost:9000' }), [undefined, [80, 15_020]])
})

test('a budget and an autoscaler are there when some level asks for them', () => {
  const made = provisioned({ podDisruptionBudget: {} }, { horizontalPodAutoscaler: { spec: { maxReplicas: 3 } } })
  assert.deepEqual(made.absent, [])
  const budget = objectOf(kindOf(made, 'PodDisruptionBudget').spec)
  assert.equal(budget.maxUnavailable, 1)
  const counted = provisioned({ podDisruptionBudget: { spec: { minAvailable: 2 } } })
  assert.equal(objectOf(kindOf(counted, 'PodDisruptionBudget').spec).maxUnavailable, undefined)
  const target = valueAt(kindOf(made, 'HorizontalPodAutoscaler'), ['spec', 'scaleTargetRef', 'name'])
  assert.equal(target, kindOf(made, 'Deployment').metadata.name)
})

test('a ServiceAccount has no spec: its overlay has its fields', () => {
  const made = provisioned({ serviceAccount: { spec: { imagePullSecrets: [{ name: 'a' }] } } })
  assert.deepEqual(kindOf(made, 'ServiceAccount').imagePullSecrets, [{ name: 'a' }])
})

/** API servers take 10,000 levels; V8's stack ends before. */
test('values that are nested too deep are refused before anything walks through them', () => {
  let deep: Raw = {}
  for (let i = 0; i < 9000; i++) deep = { in: deep }
  const all: readonly Raw[] = [{ rawConfig: deep }, { env: [{ name: 'A', valueFrom: deep }] }]
  for (const spec of all) {
    for (const fault of faultsOf(provisioned(spec, spec))) assert.match(fault, /is nested more than 100 levels deep/)
  }
})

test('the admin port is a socket, which no backend of a route reaches, unless the file says otherwise', () => {
  const addressOf = (spec?: Raw) => valueAt(objectOf(fileOf(provisioned(spec))), ['config', 'adminAddr'])
  assert.equal(addressOf(), ADMIN)
  assert.equal(addressOf({ rawConfig: { config: { adminAddr: 'off' } } }), 'off')
})

test('with istio a data plane is a workload of the mesh, by the files that agents of Istio have', () => {
  const made = provisioned({ istio: { trustDomain: 'old.test' } }, { istio: { trustDomain: 'mesh.test' } })
  const { CA_ADDRESS, CA_ROOT_CA, CA_AUTH_TOKEN, TRUST_DOMAIN } = variables(made)
  assert.deepEqual(
    [CA_ADDRESS, CA_ROOT_CA, CA_AUTH_TOKEN, TRUST_DOMAIN],
    [
      'https://istiod.istio-system.svc:15012',
      '/var/run/secrets/istio/root-cert.pem',
      '/var/run/secrets/tokens/istio-token',
      'mesh.test'
    ]
  )
  const template = objectOf(valueAt(kindOf(made, 'Deployment'), ['spec', 'template']))
  const labels = objectOf(objectOf(template.metadata).labels)
  assert.deepEqual([labels['sidecar.istio.io/inject'], labels['istio.io/dataplane-mode']], ['false', 'none'])
  const volumes = objectOf(template.spec).volumes as Raw[]
  const [token, roots] = ['istio-token', 'istiod-ca-cert'].map((one) => volumes.find(({ name }) => name === one)!)
  assert.deepEqual(valueAt(token, ['projected', 'sources', 0, 'serviceAccountToken', 'audience']), 'istio-ca')
  assert.deepEqual(roots!.configMap, { name: 'istio-ca-root-cert', optional: true })
  const folders = (container(made).volumeMounts as Raw[]).map(({ mountPath }) => mountPath)
  assert.ok(folders.includes('/var/run/secrets/tokens') && folders.includes('/var/run/secrets/istio'))
  const without = provisioned({})
  assert.equal(variables(without).CA_ADDRESS, undefined)
  const plain = objectOf(valueAt(kindOf(without, 'Deployment'), ['spec', 'template', 'metadata', 'labels']))
  assert.equal(plain['sidecar.istio.io/inject'], undefined)
})

/** Of the class; what its only fault is. */
const REFUSED: readonly (readonly [Raw, RegExp])[] = [
  [{ image: { tag: 1 } }, /demo\/class spec\.image\.tag: must be a text/],
  [{ rawConfig: { config: { workerThread: 1 } } }, /demo\/class spec\.rawConfig\.config\.workerThread: is not a known/],
  [{ logging: { level: 'info,a[b]=warn' } }, /demo\/class spec\.logging\.level: "a\[b\]=warn" filters by span/],
  [{ logging: { level: 'inof' } }, /demo\/class spec\.logging\.level: "inof" must be LEVEL/],
  [{ istio: { caAddress: 'http://istiod:15012' } }, /demo\/class spec\.istio\.caAddress: must be HOST:PORT or https/],
  [{ serviceAccount: { spec: { kind: 'Role' } } }, /demo\/class spec\.serviceAccount\.spec\.kind: is no field/],
  [
    { deployment: { spec: { template: { spec: { volumes: [{ emptyDir: {} }] } } } } },
    /demo\/class spec\.deployment\.spec\.template\.spec\.volumes: must have name/
  ]
]

for (const [spec, says] of REFUSED) {
  test(`refused: ${JSON.stringify(spec)}`, () => {
    const faults = faultsOf(provisioned(spec))
    assert.equal(faults.length, 1)
    assert.match(faults[0]!, says)
    assert.match(faults[0]!, /^InvalidParameters/)
  })
}

test('listeners on ports of the process, and of other protocols, have no port of the Service', () => {
  const portsOf = (listeners: readonly Raw[], raw: Raw = {}) => {
    const { objects, absent } = provisioned({ rawConfig: { config: raw } }, {}, gatewayOf({ listeners }))
    assert.ok(!absent.some(({ kind }) => kind === 'Service'), 'one that is there stays')
    const service = objects.find(({ kind }) => kind === 'Service')
    return service && (valueAt(service, ['spec', 'ports']) as Raw[]).map(({ port }) => port)
  }
  const own = { name: 'own', port: 15_021, protocol: 'HTTP' }
  const udp = { name: 'udp', port: 53, protocol: 'UDP' }
  assert.deepEqual(portsOf([own, udp, { name: 'web', port: 80, protocol: 'HTTP' }]), [80])
  assert.deepEqual(portsOf([own], { readinessAddr: '[::]:9' }), [15_021])
  assert.deepEqual(
    portsOf([
      { name: 'admin', port: 15_000, protocol: 'HTTP' },
      { name: 'web', port: 80, protocol: 'HTTP' }
    ]),
    [80]
  )
  assert.equal(portsOf([own, udp]), undefined)
})

test('the first address that a Gateway asks for is that of the Service', () => {
  const addresses = [
    { type: 'Hostname', value: 'a.example' },
    { value: '' },
    { value: '192.0.2.1' },
    { value: '192.0.2.2' }
  ]
  const service = kindOf(provisioned({}, {}, gatewayOf({ addresses })), 'Service')
  assert.equal(objectOf(service.spec).loadBalancerIP, '192.0.2.1')
})

test('an overlay that is nested too deeply is refused', () => {
  let deep: Raw = {}
  for (let i = 0; i < 50_000; i++) deep = { a: deep }
  assert.match(faultsOf(provisioned({ service: { spec: deep } }))[0]!, /levels deep/)
})

test('what an API server refuses is placed where the parameters say it', () => {
  const input = inputOf(
    { service: { spec: { type: 'Wrong' } }, image: { tag: 'v1' } },
    { service: { spec: { ports: [{ port: 80, nodePort: -1 }] } } }
  )
  const { objects } = provision(input, OPTIONS)
  const placed = (kind: string, field: string, status = 422) => {
    const object = objects.find((one) => one.kind === kind)!
    const fault = refusalFault(input, object, { status, message: 'no', causes: [{ field }] })
    return fault && `${fault.place.key} ${pathText(fault.place.path)}`
  }
  assert.equal(placed('Service', 'spec.type'), 'GatewayParameters/demo/class spec.service.spec.type')
  assert.equal(placed('Service', 'spec.ports[0].nodePort'), 'GatewayParameters/demo/gateway spec.service.spec.ports')
  const image = 'spec.template.spec.containers[0].image'
  assert.equal(placed('Deployment', image), 'GatewayParameters/demo/class spec.image')
  assert.equal(placed('Deployment', 'spec.selector'), 'Gateway/demo/edge spec')
  assert.equal(placed('Service', 'spec.type', 409), null)
})
