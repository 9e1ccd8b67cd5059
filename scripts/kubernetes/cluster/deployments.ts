/** Plays the controller of Deployments: Pods of the newest template, then the others end. */
import { createHash } from 'node:crypto'
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { DEPLOYMENT, type Deployment, isReady, POD, type Pod } from './kinds.ts'
import { NODE } from './kubelet-server.ts'
import { type ClusterObjects, WorkQueue } from './objects.ts'

const HASH_LABEL = 'pod-template-hash'

export class DeploymentController {
  readonly #objects: ClusterObjects
  readonly #queue = new WorkQueue<ObjectKey>((key) => this.#reconcile(key))
  #created = 0

  constructor(objects: ClusterObjects) {
    this.#objects = objects
    objects.onChange((key) => {
      if (key.startsWith('Deployment/')) this.#queue.add(key)
      else if (key.startsWith('Pod/')) this.#podChanged(key)
    })
  }

  stop(): void {
    this.#queue.stop()
  }

  /** Its Deployment is in its name. */
  #podChanged(key: ObjectKey): void {
    const [, namespace = '', name = ''] = key.split('/')
    this.#queue.add(`Deployment/${namespace}/${name.replace(/-[0-9a-f]{8}-\d+$/, '')}`)
  }

  async #reconcile(key: ObjectKey): Promise<void> {
    const [, namespace = '', name = ''] = key.split('/')
    const deployment = this.#objects.get<Deployment>(DEPLOYMENT, namespace, name)
    const pods = this.#objects
      .list<Pod>(POD, namespace)
      .filter(
        ({ metadata }) =>
          metadata.deletionTimestamp === undefined &&
          metadata.ownerReferences?.some((owner) => owner.kind === 'Deployment' && owner.name === name) === true
      )
    const isOf = ({ metadata }: Pod) => metadata.ownerReferences?.some(({ uid }) => uid === deployment?.metadata.uid)
    for (const pod of pods) if (isOf(pod) !== true) await this.#delete(pod)
    if (deployment === undefined) return
    const { replicas = 1, template } = deployment.spec
    const hash = createHash('sha256').update(JSON.stringify(template)).digest('hex').slice(0, 8)
    const own = pods.filter((pod) => isOf(pod) === true)
    const newest = own.filter(({ metadata }) => metadata.labels?.[HASH_LABEL] === hash)
    for (let count = newest.length; count < replicas; count++) await this.#create(deployment, hash)
    for (const pod of newest.slice(replicas)) await this.#delete(pod)
    const ready = newest.filter(isReady).length
    if (ready >= replicas) for (const pod of own) if (!newest.includes(pod)) await this.#delete(pod)
    await this.#report(deployment, newest.length, ready)
  }

  async #create({ metadata, spec: { template } }: Deployment, hash: string): Promise<void> {
    const owner = { apiVersion: DEPLOYMENT.apiVersion, kind: DEPLOYMENT.kind, name: metadata.name, uid: metadata.uid! }
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...template.metadata,
        name: `${metadata.name}-${hash}-${++this.#created}`,
        namespace: metadata.namespace!,
        labels: { ...template.metadata?.labels, [HASH_LABEL]: hash },
        ownerReferences: [{ ...owner, controller: true }]
      },
      spec: { ...template.spec, nodeName: NODE }
    }
    await this.#objects.client.create(POD, pod)
    await this.#objects.seen(POD, pod.metadata.namespace, pod.metadata.name)
  }

  async #delete({ metadata: { namespace = '', name } }: Pod): Promise<void> {
    await this.#objects.client.delete(POD, namespace, name)
  }

  async #report(deployment: Deployment, replicas: number, ready: number): Promise<void> {
    const known = deployment.status
    const { namespace = '', name, generation } = deployment.metadata
    if (known?.observedGeneration === generation && (known?.readyReplicas ?? 0) === ready) return
    const isAvailable = ready >= (deployment.spec.replicas ?? 1)
    const status = {
      observedGeneration: generation,
      replicas,
      updatedReplicas: replicas,
      readyReplicas: ready,
      availableReplicas: ready,
      conditions: [{ type: 'Available', status: isAvailable ? 'True' : 'False', reason: 'Pods', message: '' }]
    }
    await this.#objects.client.patchStatus(DEPLOYMENT, { metadata: { namespace, name } }, status)
  }
}
