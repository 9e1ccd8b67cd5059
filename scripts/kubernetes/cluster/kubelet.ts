/** Plays kubelet: runs the Pods of the one node, and says in their status how they are. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { type Environment, environmentOf, filesOf } from './container.ts'
import { ContainerProcess, type Image, type Security } from './container-process.ts'
import { type Container, POD, type Pod, type VolumeSource } from './kinds.ts'
import { NODE } from './kubelet-server.ts'
import { HOST_ADDRESS, type PodNetwork } from './network.ts'
import { type ClusterObjects, WorkQueue } from './objects.ts'

const PROBE_MS = 200
const RESTART_MS = 1_000
const GRACE_SECONDS = 30
/** Of its lifetime, after which a token is renewed. */
const TOKEN_RENEWAL = 0.8

export interface KubeletOptions {
  readonly objects: ClusterObjects
  readonly network: PodNetwork
  /** Null: no such image is known. */
  readonly imageOf: (name: string) => Image | null
  /** On a file system that is not the root. */
  readonly folder: string
  /** Where the output of containers goes. */
  readonly logs: string
  /** Like those that every Pod has. */
  readonly environment: Environment
  readonly hosts: string
}

interface Running {
  readonly container: ContainerProcess
  readonly environment: Environment
  readonly address: string
  readonly ended: AbortController
  isReady: boolean
  restarts: number
}

export class Kubelet {
  readonly #options: KubeletOptions
  readonly #running = new Map<ObjectKey, Running>()
  readonly #queue = new WorkQueue<ObjectKey>((key) => this.#reconcile(key))
  #started = 0

  constructor(options: KubeletOptions) {
    this.#options = options
    mkdirSync(options.logs, { recursive: true })
    options.objects.onChange((key) => {
      if (key.startsWith('Pod/')) this.#queue.add(key)
    })
  }

  logOf(namespace: string, pod: string): string {
    return join(this.#options.logs, `${namespace}_${pod}.log`)
  }

  /** Of the Pod's namespaces; undefined: it does not run. */
  pidOf(pod: Pod): number | undefined {
    return this.#running.get(`Pod/${pod.metadata.namespace}/${pod.metadata.name}`)?.container.pid
  }

  stop(): void {
    this.#queue.stop()
    for (const { container, ended } of this.#running.values()) {
      ended.abort()
      container.signal('SIGKILL')
    }
  }

  async #reconcile(key: ObjectKey): Promise<void> {
    const [, namespace = '', name = ''] = key.split('/')
    const pod = this.#options.objects.get<Pod>(POD, namespace, name)
    const running = this.#running.get(key)
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) {
      if (running !== undefined) await this.#end(key, running, pod)
      if (pod !== undefined) await this.#remove(pod)
      return
    }
    if (running?.container.hasEnded === true) {
      this.#running.delete(key)
      this.#options.network.detach(running.container.pid)
      console.error(`cluster: ${key} has ended and is started again`)
      await this.#report(pod, { ...running, isReady: false })
      await after(RESTART_MS)
      return this.#start(key, pod, running.restarts + 1)
    }
    if (running === undefined && pod.spec.nodeName === NODE) await this.#start(key, pod, 0)
  }

  async #start(key: ObjectKey, pod: Pod, restarts: number): Promise<void> {
    const { network, imageOf, folder, hosts, objects } = this.#options
    const [spec, ...others] = pod.spec.containers
    // They share a file system here, so that the volumes of one are there for all.
    if (spec === undefined || others.some((other) => other.image !== spec.image))
      throw new Error('containers of one image are all that is played here')
    const image = imageOf(spec.image)
    if (image === null) throw new Error(`no image ${spec.image} is known`)
    const volumes = await this.#volumes(pod, spec)
    const { namespace, name } = pod.metadata
    const container = await ContainerProcess.prepare({
      folder: join(folder, `${++this.#started}`),
      image,
      mounts: (spec.volumeMounts ?? []).map(({ name: volume, mountPath: path }) => ({ volume, path })),
      sharedFiles: [hosts],
      security: securityOf(pod, spec),
      log: this.logOf(namespace!, name)
    })
    const address = await network.attach(container.pid)
    const environment = {
      PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: '/',
      HOSTNAME: name,
      ...this.#options.environment,
      ...(await environmentOf(objects.client, pod, spec, address))
    }
    const running: Running = { container, environment, address, ended: new AbortController(), isReady: false, restarts }
    this.#running.set(key, running)
    void container.exited.then(() => this.#queue.add(key))
    for (const [volume, { files, expiresInSeconds }] of volumes) {
      container.writeVolume(volume, files)
      if (expiresInSeconds !== null) void this.#renew(pod, running, volume, expiresInSeconds)
    }
    const commands = await Promise.all(
      others.map(async (other) => {
        const own = await environmentOf(objects.client, pod, other, address)
        const variables = Object.entries(own).map(([key, value]) => `${key}=${value}`)
        return ['env', ...variables, ...commandOf(other, image, { ...environment, ...own })]
      })
    )
    container.run(together([commandOf(spec, image, environment), ...commands]), environment)
    await this.#report(pod, running)
    void this.#probe(pod, running)
  }

  async #volumes(pod: Pod, { volumeMounts = [] }: Container) {
    const mounted = new Set(volumeMounts.map(({ name }) => name))
    const volumes = (pod.spec.volumes ?? []).filter(({ name }) => mounted.has(name))
    const client = this.#options.objects.client
    return Promise.all(volumes.map(async (volume) => [volume.name, await filesOf(client, pod, volume)] as const))
  }

  async #renew(pod: Pod, { container, ended }: Running, volume: string, seconds: number): Promise<void> {
    const { signal } = ended
    const source = pod.spec.volumes!.find(({ name }) => name === volume) as VolumeSource
    for (;;) {
      const isOver = await after(seconds * 1000 * TOKEN_RENEWAL, false, { signal, ref: false }).catch(() => true)
      if (isOver) return
      container.writeVolume(volume, (await filesOf(this.#options.objects.client, pod, source)).files)
    }
  }

  /** Until it is ready; one that is not any more is taken out by nobody here. */
  async #probe(pod: Pod, running: Running): Promise<void> {
    const urls = pod.spec.containers.flatMap((spec) => probeUrl(spec, running.address) ?? [])
    while (!running.ended.signal.aborted && !running.container.hasEnded) {
      const answers = urls.map((url) =>
        fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
          ({ ok }) => ok,
          // Nobody listens yet.
          () => false
        )
      )
      if ((await Promise.all(answers)).every((isReady) => isReady)) break
      await after(PROBE_MS)
    }
    if (running.ended.signal.aborted || running.container.hasEnded) return
    running.isReady = true
    await this.#report(pod, running)
  }

  async #end(key: ObjectKey, running: Running, pod: Pod | undefined): Promise<void> {
    const { container, environment, ended } = running
    ended.abort()
    const grace = pod === undefined ? 0 : (pod.spec.terminationGracePeriodSeconds ?? GRACE_SECONDS)
    const late = after(grace * 1000, undefined, { ref: false })
    const { exec, sleep } = pod?.spec.containers[0]?.lifecycle?.preStop ?? {}
    if (exec !== undefined) await Promise.race([container.exec(exec.command, environment), late])
    if (sleep !== undefined) await Promise.race([after(sleep.seconds * 1000), container.exited, late])
    container.signal('SIGTERM')
    await Promise.race([container.exited, late])
    container.signal('SIGKILL')
    await container.exited
    this.#options.network.detach(container.pid)
    this.#running.delete(key)
  }

  async #remove({ metadata: { namespace, name } }: Pod): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}?gracePeriodSeconds=0`
    await ignoreMissing(this.#options.objects.client.ask({ method: 'DELETE', path }))
  }

  async #report(pod: Pod, { address, isReady, restarts }: Running): Promise<void> {
    const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
    const condition = (type: string, isTrue: boolean) => ({
      type,
      status: isTrue ? 'True' : 'False',
      lastTransitionTime: now
    })
    const [{ name, image }] = pod.spec.containers as [Container]
    const state = { running: { startedAt: now } }
    const container = { name, image, imageID: '', ready: isReady, started: true, restartCount: restarts, state }
    const status = {
      phase: 'Running',
      podIP: address,
      podIPs: [{ ip: address }],
      hostIP: HOST_ADDRESS,
      startTime: now,
      conditions: [
        condition('PodScheduled', true),
        condition('Initialized', true),
        condition('ContainersReady', isReady),
        condition('Ready', isReady)
      ],
      containerStatuses: [container]
    }
    const { namespace, name: podName } = pod.metadata
    const metadata = { namespace: namespace!, name: podName }
    await ignoreMissing(this.#options.objects.client.patchStatus(POD, { metadata }, status))
  }
}

function securityOf(
  { spec: { securityContext: ofPod = {} } }: Pod,
  { securityContext: own = {} }: Container
): Security {
  const { fsGroup: group = 0, sysctls = [] } = ofPod
  return {
    user: own.runAsUser ?? ofPod.runAsUser ?? null,
    group,
    isReadOnly: own.readOnlyRootFilesystem === true,
    sysctls: sysctls.map(({ name, value }) => `${name}=${value}`)
  }
}

function commandOf({ command, args = [] }: Container, { entrypoint }: Image, environment: Environment) {
  const words = [...(command ?? entrypoint), ...args]
  return words.map((word) => word.replace(/\$\((\w+)\)/g, (whole, name: string) => environment[name] ?? whole))
}

/** Programs of one Pod, which share its file system here, too. When one of them ends all do. */
function together(commands: readonly (readonly string[])[]): readonly string[] {
  const [only] = commands
  if (commands.length === 1) return only!
  const quoted = commands.map((words) => words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' '))
  return ['bash', '-c', `trap 'kill 0' EXIT; ${quoted.map((command) => `${command} &`).join(' ')} wait -n`]
}

function probeUrl({ readinessProbe, ports = [] }: Container, address: string): string | null {
  const probe = readinessProbe?.httpGet
  if (probe === undefined) return null
  const port =
    typeof probe.port === 'number' ? probe.port : ports.find(({ name }) => name === probe.port)?.containerPort
  return `http://${address}:${port}${probe.path ?? '/'}`
}

async function ignoreMissing(answer: Promise<unknown>): Promise<void> {
  try {
    await answer
  } catch (error) {
    if (!('isNotFound' in (error as Error)) || !(error as { isNotFound: boolean }).isNotFound) throw error
  }
}
