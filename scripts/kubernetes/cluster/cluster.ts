/**
 * A cluster on one machine: a real API server with its etcd, and programs that play the rest of it, as far as Gateways
 * need it. For a program that is alone in its network and mount namespaces (namespaces.ts).
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import type { ApiConnection } from '#engine/kubernetes/client/connection.ts'
import { KINDS } from '#engine/kubernetes/objects/object.ts'
import type { Image } from './container-process.ts'
import { DeploymentController } from './deployments.ts'
import { DEPLOYMENT, POD } from './kinds.ts'
import { Kubelet } from './kubelet.ts'
import { startNode } from './kubelet-server.ts'
import { NamespaceController } from './namespace-controller.ts'
import { HOST_ADDRESS, PodNetwork } from './network.ts'
import { ClusterObjects } from './objects.ts'
import { hostsFile, ServiceController } from './services.ts'

export interface ApiServer {
  readonly origin: string
  /** PEM. */
  readonly ca: string
  /** Of one who may do everything. */
  readonly token: string
  stop(): Promise<void>
}

export interface ClusterOptions {
  /** Starts the API server, at this address, with the CRDs. */
  readonly startApiServer: (address: string) => Promise<ApiServer>
  readonly imageOf: (name: string) => Image | null
  /** Where the output of containers goes. */
  readonly logs: string
}

export interface Cluster {
  readonly client: KubernetesClient
  readonly apiServer: ApiServer
  readonly network: PodNetwork
  readonly objects: ClusterObjects
  readonly kubelet: Kubelet
  stop(): Promise<void>
}

export async function startCluster({ startApiServer, imageOf, logs }: ClusterOptions): Promise<Cluster> {
  const { containers: folder, hosts } = scratchFiles()
  const network = await PodNetwork.start()
  const apiServer = await startApiServer(HOST_ADDRESS)
  const client = new KubernetesClient(connectionTo(apiServer))
  const objects = new ClusterObjects(client)
  const { hostname, port } = new URL(apiServer.origin)
  // What kubelets make of the Service "kubernetes".
  const environment = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port }
  const kubelet = new Kubelet({ objects, network, imageOf, folder, logs, environment, hosts })
  const players = [
    kubelet,
    new DeploymentController(objects),
    new ServiceController({ objects, network, kubelet, hosts }),
    new NamespaceController(objects, apiServer.ca)
  ]
  const node = await startNode(client, (namespace, pod) => kubelet.logOf(namespace, pod))
  await objects.watch([KINDS.Namespace, POD, DEPLOYMENT, KINDS.Service, KINDS.Gateway])
  return {
    client,
    apiServer,
    network,
    objects,
    kubelet,
    async stop() {
      await objects.stop()
      for (const player of players) player.stop()
      node.closeAllConnections()
      node.close()
      client.close()
      await apiServer.stop()
    }
  }
}

const HOSTS = '/etc/hosts'

/** In memory: roots of containers cannot lie in what they are laid over. And a file of host names of its own. */
function scratchFiles() {
  const folder = '/dev/shm'
  execFileSync('mount', ['-t', 'tmpfs', 'weir', folder])
  const own = join(folder, 'hosts')
  writeFileSync(own, hostsFile([]))
  execFileSync('mount', ['--bind', own, HOSTS])
  const containers = join(folder, 'containers')
  mkdirSync(containers)
  return { containers, hosts: HOSTS }
}

const connectionTo = ({ origin, ca, token }: ApiServer): ApiConnection => ({
  url: origin,
  namespace: null,
  credentials: { present: () => ({ authorization: `Bearer ${token}`, tls: { ca } }), refused() {} }
})
