/**
 * Plays the controllers of endpoints and load balancers, and what leads to Services: EndpointSlices for Services with
 * selectors; addresses of load balancers and of the cluster, which the first Pod that is ready answers for; and names.
 */
import { writeFileSync } from 'node:fs'
import { KINDS, type ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { isReady, POD, type Pod, type Service, type ServicePort, selects } from './kinds.ts'
import type { Kubelet } from './kubelet.ts'
import { BALANCER_PREFIX, type PodNetwork } from './network.ts'
import { type ClusterObjects, WorkQueue } from './objects.ts'

/** Those below are for Gateways that ask for one. */
const FIRST_BALANCER = 20
const FIELD_MANAGER = 'endpoint-controller'

export interface ServiceOptions {
  readonly objects: ClusterObjects
  readonly network: PodNetwork
  readonly kubelet: Kubelet
  /** File with names of Services that all Pods read. */
  readonly hosts: string
}

export class ServiceController {
  readonly #options: ServiceOptions
  readonly #queue = new WorkQueue<ObjectKey>((key) => this.#reconcile(key))
  /** Pods that answer for an address. */
  readonly #holders = new Map<string, number>()
  readonly #names = new Map<ObjectKey, string>()
  /** Addresses by uid. */
  readonly #balancers = new Map<string, string>()

  constructor(options: ServiceOptions) {
    this.#options = options
    const { objects } = options
    objects.onChange((key) => {
      const [kind, namespace = ''] = key.split('/')
      if (kind === 'Service') this.#queue.add(key)
      if (kind !== 'Pod') return
      for (const { metadata } of objects.list<Service>(KINDS.Service, namespace)) {
        this.#queue.add(`Service/${namespace}/${metadata.name}`)
      }
    })
  }

  stop(): void {
    this.#queue.stop()
  }

  async #reconcile(key: ObjectKey): Promise<void> {
    const [, namespace = '', name = ''] = key.split('/')
    const { objects } = this.#options
    const service = objects.get<Service>(KINDS.Service, namespace, name)
    if (service === undefined) {
      this.#name(key, null)
      await objects.client.delete(KINDS.EndpointSlice, namespace, sliceName(name))
      return
    }
    const { selector, clusterIP } = service.spec
    if (selector === undefined) return
    const pods = objects
      .list<Pod>(POD, namespace)
      .filter(({ metadata, status }) => selects(selector, metadata.labels) && status?.podIP !== undefined)
    await this.#slice(service, pods)
    const pod = pods.findLast((one) => isReady(one) && one.metadata.deletionTimestamp === undefined)
    if (service.spec.type === 'LoadBalancer') await this.#balance(service, pod)
    // Nothing here translates ports.
    if (clusterIP === undefined || clusterIP === 'None' || !hasSamePorts(service, pods[0])) return
    this.#name(key, `${clusterIP} ${name}.${namespace}.svc.cluster.local ${name}.${namespace}.svc`)
    if (pod !== undefined) await this.#hold(clusterIP, pod)
  }

  async #slice({ metadata, spec }: Service, pods: readonly Pod[]): Promise<void> {
    const [first] = pods
    const slice = {
      apiVersion: KINDS.EndpointSlice.apiVersion,
      kind: KINDS.EndpointSlice.kind,
      metadata: {
        name: sliceName(metadata.name),
        namespace: metadata.namespace!,
        labels: { 'kubernetes.io/service-name': metadata.name, 'endpointslice.kubernetes.io/managed-by': FIELD_MANAGER }
      },
      addressType: 'IPv4',
      endpoints: pods.map((pod) => endpointOf(pod, spec.publishNotReadyAddresses === true)),
      ports: (spec.ports ?? []).map((port) => ({
        name: port.name ?? '',
        protocol: port.protocol ?? 'TCP',
        port: targetOf(port, first),
        ...(port.appProtocol === undefined ? {} : { appProtocol: port.appProtocol })
      }))
    }
    await this.#options.objects.client.apply(KINDS.EndpointSlice, slice, { fieldManager: FIELD_MANAGER })
  }

  async #balance(service: Service, pod: Pod | undefined): Promise<void> {
    const wanted = service.spec.loadBalancerIP
    const known = service.status?.loadBalancer?.ingress?.[0]?.ip
    if (wanted !== undefined && !wanted.startsWith(BALANCER_PREFIX)) return
    const address = wanted ?? this.#balancerOf(service)
    if (pod !== undefined) await this.#hold(address, pod)
    if (known === address) return
    const { namespace = '', name } = service.metadata
    const status = { loadBalancer: { ingress: [{ ip: address }] } }
    await this.#options.objects.client.patchStatus(KINDS.Service, { metadata: { namespace, name } }, status)
  }

  /** The Service that is known here may be older than what was said of it. */
  #balancerOf({ metadata: { uid = '' } }: Service): string {
    const address = this.#balancers.get(uid) ?? `${BALANCER_PREFIX}${FIRST_BALANCER + this.#balancers.size}`
    this.#balancers.set(uid, address)
    return address
  }

  async #hold(address: string, pod: Pod): Promise<void> {
    const { kubelet, network } = this.#options
    const pid = kubelet.pidOf(pod)
    const holder = this.#holders.get(address) ?? null
    if (pid === undefined || pid === holder) return
    await network.move(address, holder, pid)
    this.#holders.set(address, pid)
  }

  /** Null: it has none any more. */
  #name(key: ObjectKey, line: string | null): void {
    if (this.#names.get(key) === (line ?? undefined)) return
    if (line === null) this.#names.delete(key)
    else this.#names.set(key, line)
    // In place: Pods have mounted this very file.
    writeFileSync(this.#options.hosts, hostsFile(this.#names.values()))
  }
}

export const hostsFile = (lines: Iterable<string>): string => `${['127.0.0.1 localhost', ...lines].join('\n')}\n`

const sliceName = (service: string): string => `${service}-ipv4`

const hasSamePorts = ({ spec: { ports = [] } }: Service, pod: Pod | undefined): boolean =>
  ports.every((port) => targetOf(port, pod) === port.port)

function endpointOf(pod: Pod, areAllReady: boolean) {
  const { name, namespace, uid, deletionTimestamp } = pod.metadata
  const isTerminating = deletionTimestamp !== undefined
  const isServing = isReady(pod)
  return {
    addresses: [pod.status!.podIP!],
    conditions: { ready: areAllReady || (isServing && !isTerminating), serving: isServing, terminating: isTerminating },
    nodeName: pod.spec.nodeName,
    targetRef: { kind: 'Pod', name, namespace, uid }
  }
}

/** A name is that of a port of the container. */
function targetOf({ port, targetPort = port }: ServicePort, pod: Pod | undefined): number {
  if (typeof targetPort === 'number') return targetPort
  const named = pod?.spec.containers.flatMap(({ ports = [] }) => ports).find(({ name }) => name === targetPort)
  return named?.containerPort ?? port
}
