/** Plays what namespaces need: the ServiceAccount and the ConfigMap that each has, and an end. */
import { ApiError } from '#engine/kubernetes/client/api-error.ts'
import { KINDS, type KubernetesObject, type ObjectKey, type ObjectKind } from '#engine/kubernetes/objects/object.ts'
import { AUTOSCALER, BUDGET, DEPLOYMENT, type OwnedMeta, POD, SERVICE_ACCOUNT } from './kinds.ts'
import { type ClusterObjects, WorkQueue } from './objects.ts'

/** What a Gateway may own. */
const OWNED: readonly ObjectKind[] = [
  DEPLOYMENT,
  KINDS.Service,
  SERVICE_ACCOUNT,
  KINDS.ConfigMap,
  KINDS.Secret,
  BUDGET,
  AUTOSCALER
]
const WATCHED: readonly ObjectKind[] = [DEPLOYMENT, KINDS.Service]
const CONTENTS = [...Object.values(KINDS).filter(({ isNamespaced }) => isNamespaced), POD, ...OWNED]

export class NamespaceController {
  readonly #objects: ClusterObjects
  readonly #ca: string
  readonly #namespaces = new WorkQueue<ObjectKey>((key) => this.#reconcile(key))
  readonly #gateways = new WorkQueue<ObjectKey>((key) => this.#collect(key))

  /** `ca`: PEM, of the API server. */
  constructor(objects: ClusterObjects, ca: string) {
    this.#objects = objects
    this.#ca = ca
    objects.onChange((key) => {
      if (key.startsWith('Namespace/')) this.#namespaces.add(key)
      if (key.startsWith('Gateway/')) this.#gatewayChanged(key)
      else this.#ownerOf(key)
    })
  }

  #gatewayChanged(key: ObjectKey): void {
    const [, namespace = '', name = ''] = key.split('/')
    if (this.#objects.get(KINDS.Gateway, namespace, name) === undefined) this.#gateways.add(key)
  }

  /** What was made for a Gateway that has gone meanwhile goes too. */
  #ownerOf(key: ObjectKey): void {
    const [kind, namespace = '', name = ''] = key.split('/')
    const found = WATCHED.find((one) => one.kind === kind)
    const object = found && this.#objects.get(found, namespace, name)
    const owner = (object?.metadata as OwnedMeta | undefined)?.ownerReferences?.find((one) => one.kind === 'Gateway')
    if (owner === undefined || this.#objects.get(KINDS.Gateway, namespace, owner.name) !== undefined) return
    this.#gateways.add(`Gateway/${namespace}/${owner.name}`)
  }

  stop(): void {
    this.#namespaces.stop()
    this.#gateways.stop()
  }

  async #reconcile(key: ObjectKey): Promise<void> {
    const [, , name = ''] = key.split('/')
    const namespace = this.#objects.get(KINDS.Namespace, '', name)
    if (namespace === undefined) return
    if (namespace.metadata.deletionTimestamp !== undefined) return this.#end(name)
    const { client } = this.#objects
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: name } }
    const metadata = { name: 'kube-root-ca.crt', namespace: name }
    const authority = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'ca.crt': this.#ca } }
    await client.apply(SERVICE_ACCOUNT, account, { fieldManager: 'namespaces' })
    await client.apply(KINDS.ConfigMap, authority, { fieldManager: 'namespaces' })
  }

  async #end(name: string): Promise<void> {
    const { client } = this.#objects
    for (const kind of new Set(CONTENTS)) {
      const { items } = await client.list(kind, { namespace: name })
      for (const { metadata } of items) await client.delete(kind, name, metadata.name)
    }
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name }, spec: { finalizers: [] } }
    try {
      await client.ask({ method: 'PUT', path: `/api/v1/namespaces/${name}/finalize`, body })
    } catch (error) {
      if (!(error instanceof ApiError && error.isNotFound)) throw error
    }
  }

  /** Plays the garbage collector for what Gateways own. */
  async #collect(key: ObjectKey): Promise<void> {
    const [, namespace = '', name = ''] = key.split('/')
    const { client } = this.#objects
    // Asked for: what is watched may be older than what was made for the Gateway.
    const uid = (await client.get(KINDS.Gateway, namespace, name))?.metadata.uid
    const isOrphan = ({ metadata }: KubernetesObject) =>
      (metadata as OwnedMeta).ownerReferences?.some(
        (owner) => owner.kind === 'Gateway' && owner.name === name && owner.uid !== uid
      ) === true
    for (const kind of OWNED) {
      const { items } = await client.list(kind, { namespace })
      for (const item of items) if (isOrphan(item)) await client.delete(kind, namespace, item.metadata.name)
    }
  }
}
