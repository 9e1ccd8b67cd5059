import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '#engine/kubernetes/client/api-error.ts'
import type { KubernetesObject, ObjectKind } from '#engine/kubernetes/objects/object.ts'
import { type ProvisionInput, provision } from '#engine/kubernetes/provisioning/index.ts'
import { ManualTime } from '#engine/testing/manual-time.ts'
import { Provisioner, type Wanted } from './provisioner.ts'

const OPTIONS = { image: 'weir:v1', controllerAddress: 'controller:9443', controllerCa: '', tokenAudience: 'weir.dev' }

const GATEWAY: KubernetesObject = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: 'edge', namespace: 'demo', uid: 'uid-1' },
  spec: { listeners: [{ name: 'web', port: 80, protocol: 'HTTP' }] }
}

function wantedOf(className = 'weir', spec: object = {}): Wanted {
  const input: ProvisionInput = {
    gateway: GATEWAY,
    gatewayClass: { apiVersion: GATEWAY.apiVersion, kind: 'GatewayClass', metadata: { name: className } },
    gatewayParameters: {
      apiVersion: 'weir.dev/v1alpha1',
      kind: 'GatewayParameters',
      metadata: { name: 'own', namespace: 'demo' },
      spec
    }
  }
  return { ...provision(input, { ...OPTIONS, policies: [] }), input }
}

/** An API server: objects by kind and name. */
class Objects {
  readonly known = new Map<string, KubernetesObject>()
  /** Kinds that are refused once, with the status. */
  readonly refused = new Map<string, number>()
  #waiting: (() => void)[] = []

  get keys(): readonly string[] {
    return [...this.known.keys()]
  }

  get = async ({ kind }: ObjectKind, _namespace: string, name: string) => this.known.get(`${kind}/${name}`) ?? null

  apply = async ({ kind }: ObjectKind, object: KubernetesObject) => {
    const status = this.refused.get(kind)
    this.refused.delete(kind)
    if (status !== undefined) throw new ApiError(`${status} no ${kind}`, status)
    this.known.set(`${kind}/${object.metadata.name}`, object)
    for (const wake of this.#waiting.splice(0)) wake()
    return object
  }

  delete = async ({ kind }: ObjectKind, _namespace: string, name: string) => {
    this.known.delete(`${kind}/${name}`)
    for (const wake of this.#waiting.splice(0)) wake()
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }
}

function started(objects: Objects) {
  const refusals: (string | undefined)[] = []
  let wake = () => {}
  const time = new ManualTime()
  const provisioner: Provisioner = new Provisioner({
    client: objects as never,
    time,
    onRefusal: () => {
      refusals.push(provisioner.refusal('demo/edge')?.message)
      wake()
    },
    log: () => {}
  })
  provisioner.lead(true)
  const refusal = () => new Promise<void>((resolve) => (wake = resolve))
  return { provisioner, refusals, refusal, time }
}

const OWN = ['ServiceAccount', 'ConfigMap', 'Deployment', 'Service'].map((kind) => `${kind}/edge-weir`)

test('objects are applied in order, and those under an earlier name go', async () => {
  const objects = new Objects()
  const { provisioner } = started(objects)
  provisioner.want('demo/edge', wantedOf())
  await objects.until(() => objects.keys.length === 4)
  assert.deepEqual(objects.keys, OWN)
  provisioner.want('demo/edge', wantedOf('other'))
  await objects.until(() => objects.keys.length === 4 && !objects.keys.includes('Service/edge-weir'))
  assert.deepEqual(
    objects.keys,
    OWN.map((key) => key.replace('weir', 'other'))
  )
  await provisioner.stop()
})

test('an object of another owner is not taken, and the Gateway says so until it is gone', async () => {
  const objects = new Objects()
  const theirs: KubernetesObject = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'edge-weir', namespace: 'demo' }
  }
  objects.known.set('Service/edge-weir', theirs)
  const { provisioner, refusals, refusal } = started(objects)
  const refused = refusal()
  provisioner.want('demo/edge', wantedOf())
  await refused
  assert.match(refusals[0] ?? '', /already a Service demo\/edge-weir/)
  assert.equal(objects.known.get('Service/edge-weir'), theirs)
  const mended = refusal()
  objects.known.delete('Service/edge-weir')
  provisioner.again('demo/edge')
  await mended
  assert.equal(refusals[1], undefined)
  await provisioner.stop()
})

test('what the API server refuses is a refusal of the Gateway', async () => {
  const objects = new Objects()
  objects.refused.set('Deployment', 422)
  const { provisioner, refusals, refusal } = started(objects)
  const refused = refusal()
  provisioner.want('demo/edge', wantedOf('weir', { deployment: { spec: { replicas: -1 } } }))
  await refused
  assert.match(refusals[0] ?? '', /refuses the Deployment demo\/edge-weir: 422 no Deployment/)
  assert.equal(objects.keys.includes('Deployment/edge-weir'), false)
  await provisioner.stop()
})

test('what the API server cannot do now is tried again', async () => {
  const objects = new Objects()
  objects.refused.set('Deployment', 503)
  const { provisioner, refusals, time } = started(objects)
  provisioner.want('demo/edge', wantedOf())
  await time.passNext(60_000)
  await objects.until(() => objects.keys.length === 4)
  assert.deepEqual(refusals, [])
  await provisioner.stop()
})
