/**
 * Pods of a mesh, by address: who is there, and has to be spoken to over mutual TLS. The label is the one by which the
 * control plane of Istio tells sidecars the same. It is the pod that says which account it runs as, and nothing else
 * does, so pods are read whole, and three fields of them are kept.
 */
import type { Time } from '#engine/contract/time.ts'
import type { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import { Reflector } from '#engine/kubernetes/client/reflector.ts'
import type { KindName, KubernetesObject, ObjectKey, ObjectKind } from '#engine/kubernetes/objects/object.ts'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import { objectOf, text } from '#engine/schema/placed.ts'

/** No kind of the translation, which never reads one. */
export const POD: ObjectKind = { kind: 'Pod', apiVersion: 'v1', plural: 'pods', isNamespaced: true }

const OF_MESH = 'security.istio.io/tlsMode=istio'
/** They keep their address when they are done, and another pod may have it by then. */
const DONE: readonly unknown[] = ['Succeeded', 'Failed']

export interface MeshWorkloadsOptions {
  readonly client: KubernetesClient
  /** The only one that is watched; absent: all. */
  readonly namespace?: string | undefined
  readonly time: Time
  readonly log: (level: 'debug' | 'info' | 'warn', message: string) => void
  /** Workloads have come, gone, or are others at these addresses. */
  readonly onChange: (addresses: ReadonlySet<string>) => void
  /** All are known now. */
  readonly onKnown: () => void
}

/** A pod as it is kept. */
interface Workload extends KubernetesObject {
  /** "ns/shop/sa/cart". */
  readonly identity: string
  readonly addresses: readonly string[]
}

export class MeshWorkloads {
  readonly #options: MeshWorkloadsOptions
  readonly #store = new ObjectStore()
  /** By address. Of two pods the one that came last has it. */
  readonly #at = new Map<string, Map<ObjectKey, string>>()
  readonly #addressesOf = new Map<ObjectKey, readonly string[]>()
  #reflector: Reflector | null = null
  #isKnown = false

  constructor(options: MeshWorkloadsOptions) {
    this.#options = options
  }

  /** Some Gateway is of a mesh: from now on pods are read. */
  want(): void {
    if (this.#reflector !== null) return
    const { client, namespace, time, log, onKnown } = this.#options
    this.#reflector = new Reflector({
      client,
      kind: POD,
      scope: { labelSelector: OF_MESH, ...(namespace === undefined ? {} : { namespace }) },
      store: this.#store,
      keep: workloadOf,
      onChange: (keys) => this.#take(keys),
      log,
      time
    })
    this.#reflector.start()
    void this.#reflector.synced.then(() => {
      this.#isKnown = true
      onKnown()
    })
  }

  async stop(): Promise<void> {
    await this.#reflector?.stop()
  }

  /** Until it is true nobody can say of an address that it takes clear text. */
  get isKnown(): boolean {
    return this.#isKnown
  }

  /** Undefined: no workload of a mesh is there. */
  readonly identityAt = (address: string): string | undefined => {
    const workloads = this.#at.get(address)
    return workloads === undefined ? undefined : [...workloads.values()].at(-1)
  }

  #take(keys: readonly ObjectKey[]): void {
    const touched = new Set<string>()
    for (const key of keys) {
      const [, namespace = '', name = ''] = key.split('/')
      const pod = this.#store.get(POD.kind as KindName, namespace, name) as Workload | undefined
      for (const address of this.#addressesOf.get(key) ?? []) this.#forget(address, key, touched)
      this.#addressesOf.delete(key)
      if (pod === undefined) continue
      this.#addressesOf.set(key, pod.addresses)
      for (const address of pod.addresses) {
        const workloads = this.#at.get(address) ?? new Map<ObjectKey, string>()
        this.#at.set(address, workloads.set(key, pod.identity))
        touched.add(address)
      }
    }
    if (this.#isKnown) this.#options.onChange(touched)
  }

  #forget(address: string, key: ObjectKey, touched: Set<string>): void {
    const workloads = this.#at.get(address)
    workloads?.delete(key)
    if (workloads?.size === 0) this.#at.delete(address)
    touched.add(address)
  }
}

/** Null: nobody is there, or a server of the node itself, which has no sidecar. */
function workloadOf({ apiVersion, kind, metadata, spec, status }: KubernetesObject): Workload | null {
  const { name, namespace = '', resourceVersion } = metadata
  const { serviceAccountName, hostNetwork } = objectOf(spec)
  const { phase, podIP, podIPs } = objectOf(status)
  if (hostNetwork === true || DONE.includes(phase)) return null
  const others = Array.isArray(podIPs) ? podIPs.map((one) => text(objectOf(one).ip)) : []
  const addresses = [...new Set([text(podIP), ...others])].filter((one) => one !== undefined && one !== '') as string[]
  if (addresses.length === 0) return null
  const version = resourceVersion === undefined ? {} : { resourceVersion }
  const identity = `ns/${namespace}/sa/${text(serviceAccountName) ?? 'default'}`
  const lowered = addresses.map((address) => address.toLowerCase())
  return { apiVersion, kind, metadata: { name, namespace, ...version }, identity, addresses: lowered }
}
