/**
 * `npm run conformance -- kubernetes-scale`: one Gateway with thousands of routes, Services and endpoints, in a cluster
 * that is a real API server and what plays the rest (cluster/). From the change of a route to the answer by it, while
 * others change all the time; memory; and requests while everything comes and goes, of which none may fail.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { request } from 'undici'
import { pathOf } from '#engine/kubernetes/client/client.ts'
import { KINDS } from '#engine/kubernetes/objects/object.ts'
import { selfSigned } from '#engine/testing/certificates.ts'
import type { Cluster } from './cluster/cluster.ts'
import { isReady, POD, type Pod, SERVICE_ACCOUNT } from './cluster/kinds.ts'
import { NODE } from './cluster/kubelet-server.ts'
import { CONTROLLER_NAMESPACE, GATEWAY_CLASS, installController } from './controller.ts'
import { imagesWith } from './images.ts'
import { inParallel, measureRoute, patch, quantile, steadily } from './scale/changes.ts'
import { processesOf, secondsOf } from './scale/cpu.ts'
import { SteadyLoad } from './scale/load.ts'
import * as objects from './scale/objects.ts'
import { eventually } from './scale/waits.ts'
import { inSuiteCluster } from './suite-cluster.ts'
import { suitePrograms } from './suite-programs.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const FOLDER = join(ROOT, 'dist', 'kubernetes-scale')
const SIZES: objects.Sizes = { routes: 5_000, services: 1_000, endpointsPerService: 20 }
/** Requests that the API server is given at a time. */
const WIDTH = 16
/** The first is for comparison: there the API server has time left. One change of `measured` is measured. */
const RATES = [
  { perSecond: 8, changes: 480, measured: 3 },
  { perSecond: 50, changes: 1_500, measured: 10 }
] as const
type Rate = (typeof RATES)[number]
/** Of endpoints. */
const CHANGES_PER_SECOND = 50
/** No change before it has this number. */
const LAST_VERSION = 1_000_000
/** Those that the load asks: none of them is measured. */
const LOADED_ROUTES = 200
const METRICS_PORT = 15_020
/** To look at the statuses of all routes is work for the API server. */
const STATUSES_PAUSE_MS = 5_000

interface Bounds {
  readonly medianMs: number
  readonly p99Ms: number
  readonly controllerMiB: number
  readonly dataPlaneMiB: number
}

const BOUNDS: Bounds = { medianMs: 50, p99Ms: 250, controllerMiB: 600, dataPlaneMiB: 300 }

/** False: a bound is broken, or a request has failed. */
export function runScale(print: (line: string) => void): Promise<boolean> {
  const { echo } = suitePrograms()
  const cluster = { folder: FOLDER, imageOf: imagesWith(echo) }
  return inSuiteCluster(cluster, (running) => measure(running, print))
}

async function measure(cluster: Cluster, print: (line: string) => void): Promise<boolean> {
  const { client } = cluster
  await installController(client)
  const metadata = { name: objects.NAMESPACE }
  await client.create(KINDS.Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata })
  await startBackends(cluster)
  await client.create(KINDS.Secret, objects.secret(selfSigned(['*.example.com'])))
  await client.create(KINDS.GatewayParameters, objects.parameters)
  await client.create(KINDS.Gateway, objects.gateway(GATEWAY_CLASS))
  const address = await gatewayAddress(cluster)
  const origin = `http://${address}`
  const begun = performance.now()
  await createObjects(cluster)
  print(
    `scale: ${SIZES.routes} routes, ${SIZES.services} Services, ${SIZES.services * SIZES.endpointsPerService} endpoints`
  )
  await eventually('the routes', async () => {
    const { statusCode, body } = await request(origin, { headers: { host: objects.hostOf(SIZES.routes - 1) } })
    await body.dump()
    return statusCode === 200 ? true : undefined
  })
  print(`scale: all are made and served after ${Math.round((performance.now() - begun) / 1000)} s`)
  await eventually('the statuses', () => areStatusesWritten(cluster), STATUSES_PAUSE_MS)
  print(`scale: all statuses are written after ${Math.round((performance.now() - begun) / 1000)} s`)
  const load = new SteadyLoad(origin, LOADED_ROUTES)
  let last = { median: Number.NaN, p99: Number.NaN }
  let version = 0
  for (const rate of RATES) {
    const programs = programsOf(cluster)
    const before = programs.map(({ pids }) => sum(pids.map(secondsOf)))
    const started = performance.now()
    const times = await changeRoutes(cluster, origin, rate, version)
    version += rate.changes
    const seconds = (performance.now() - started) / 1000
    const shares = programs.map(({ name, pids }, i) => {
      const share = (sum(pids.map(secondsOf)) - before[i]!) / seconds
      return `${name} ${Math.round(100 * share)} %`
    })
    last = { median: quantile(times, 0.5), p99: quantile(times, 0.99) }
    const [median, p99] = [last.median.toFixed(1), last.p99.toFixed(1)]
    print(`scale: route changes, ${rate.perSecond} a second: median ${median} ms, p99 ${p99} ms of ${times.length}`)
    print(`scale: of one processor: ${shares.join(', ')}`)
  }
  const { median, p99 } = last
  const memory = {
    controller: memoryOf(cluster, CONTROLLER_NAMESPACE),
    dataPlane: memoryOf(cluster, objects.NAMESPACE)
  }
  await keepMetrics(cluster, CONTROLLER_NAMESPACE)
  await changeEndpoints(cluster)
  await changeCertificates(cluster)
  const outage = await changeController(cluster, origin)
  await load.stop()
  print(`scale: controller ${memory.controller} MiB, data plane ${memory.dataPlane} MiB`)
  print(`scale: a change ${Math.round(outage)} ms after the controller was ended and came back`)
  print(`scale: ${load.sent} requests, ${load.failures.length} failed`)
  for (const failure of load.failures.slice(0, 10)) print(`  ${failure}`)
  return (
    load.failures.length === 0 &&
    median <= BOUNDS.medianMs &&
    p99 <= BOUNDS.p99Ms &&
    memory.controller <= BOUNDS.controllerMiB &&
    memory.dataPlane <= BOUNDS.dataPlaneMiB
  )
}

/** One Pod that has all the addresses of all endpoints. */
async function startBackends({ client, objects: seen, kubelet, network }: Cluster): Promise<void> {
  const metadata = { name: 'backends', namespace: objects.NAMESPACE }
  const containers = [{ name: 'backends', image: 'weir.dev/echo-basic:conformance' }]
  // Without its ServiceAccount a namespace has no Pods.
  await eventually(
    'a ServiceAccount',
    async () => (await client.get(SERVICE_ACCOUNT, objects.NAMESPACE, 'default')) ?? undefined
  )
  await client.create(POD, { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName: NODE, containers } })
  const pod = await eventually('the backends', () => {
    const found = seen.get<Pod>(POD, objects.NAMESPACE, 'backends')
    return found !== undefined && isReady(found) ? found : undefined
  })
  await network.route(`${objects.BACKEND_PREFIX}.0.0/16`, kubelet.pidOf(pod)!, pod.status!.podIP!)
}

function gatewayAddress({ client }: Cluster): Promise<string> {
  return eventually('the address of the Gateway', async () => {
    const found = (await client.get(KINDS.Gateway, objects.NAMESPACE, objects.GATEWAY)) as GatewayStatus | null
    const isProgrammed = found?.status?.conditions?.some(
      ({ type, status }) => type === 'Programmed' && status === 'True'
    )
    return isProgrammed === true ? found?.status?.addresses?.[0]?.value : undefined
  })
}

interface GatewayStatus {
  readonly status?: {
    readonly addresses?: readonly { readonly value: string }[]
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

async function createObjects({ client }: Cluster): Promise<void> {
  const { services, endpointsPerService, routes } = SIZES
  await inParallel(services, WIDTH, (number) => client.create(KINDS.Service, objects.service(number)))
  await inParallel(services, WIDTH, (number) =>
    client.create(KINDS.EndpointSlice, objects.slice(number, endpointsPerService, SIZES))
  )
  await inParallel(routes, WIDTH, (number) => client.create(KINDS.HTTPRoute, objects.route(number, 0, SIZES)))
}

/** Whether each route has a status: while they are written, changes wait behind them at the API server. */
async function areStatusesWritten({ client }: Cluster): Promise<true | undefined> {
  const path = `${pathOf(KINDS.HTTPRoute, objects.NAMESPACE)}?limit=500`
  let next = ''
  do {
    const { items, metadata } = (await client.ask({ method: 'GET', path: `${path}${next}` })) as RouteList
    if (items.some(({ status }) => status?.parents?.[0]?.conditions === undefined)) return undefined
    next = metadata.continue === undefined || metadata.continue === '' ? '' : `&continue=${metadata.continue}`
  } while (next !== '')
  return true
}

interface RouteList {
  readonly items: readonly { readonly status?: { readonly parents?: readonly { readonly conditions?: unknown }[] } }[]
  readonly metadata: { readonly continue?: string }
}

/** All that share the processors of this machine. */
function programsOf({ objects: seen, kubelet }: Cluster) {
  const pods = (namespace: string) =>
    seen
      .list<Pod>(POD, namespace)
      .flatMap((pod) => (pod.metadata.name === 'backends' ? [] : (kubelet.pidOf(pod) ?? [])))
  return [
    { name: 'API server', pids: processesOf('kube-apiserver') },
    { name: 'etcd', pids: processesOf('etcd') },
    { name: 'controller', pids: pods(CONTROLLER_NAMESPACE) },
    { name: 'data plane', pids: pods(objects.NAMESPACE) },
    { name: 'those that ask', pids: [process.pid] }
  ]
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** Routes that the load does not ask change, each of them once at a time. `first`: number of versions before. */
async function changeRoutes(
  { client }: Cluster,
  origin: string,
  { perSecond, changes, measured }: Rate,
  first: number
): Promise<readonly number[]> {
  const times: number[] = []
  await steadily(perSecond, changes, async (number) => {
    const route = LOADED_ROUTES + ((first + number) % (SIZES.routes - LOADED_ROUTES))
    const version = first + number + 1
    if (number % measured === 0) times.push(await measureRoute(client, origin, route, version, SIZES.services))
    else {
      const spec = { rules: objects.rulesOf(route, version, SIZES.services) }
      await patch(client, KINDS.HTTPRoute, `route-${route}`, { spec })
    }
  })
  return times
}

/** Those that the load uses go, but for one, and come back. */
async function changeEndpoints({ client }: Cluster): Promise<void> {
  await steadily(CHANGES_PER_SECOND, 2 * LOADED_ROUTES, async (number) => {
    const count = number < LOADED_ROUTES ? 1 : SIZES.endpointsPerService
    const { endpoints } = objects.slice(number % LOADED_ROUTES, count, SIZES)
    await patch(client, KINDS.EndpointSlice, `service-${number % LOADED_ROUTES}`, { endpoints })
  })
}

async function changeCertificates({ client }: Cluster): Promise<void> {
  await steadily(2, 10, async () => {
    const { data } = objects.secret(selfSigned(['*.example.com']))
    await patch(client, KINDS.Secret, objects.SECRET, { data })
  })
}

/** Its Pod is deleted, and another one comes. Milliseconds until a change is served again. */
async function changeController({ client, objects: seen }: Cluster, origin: string): Promise<number> {
  for (const { metadata } of seen.list<Pod>(POD, CONTROLLER_NAMESPACE))
    await client.delete(POD, CONTROLLER_NAMESPACE, metadata.name)
  return measureRoute(client, origin, LOADED_ROUTES, LAST_VERSION, SIZES.services)
}

/** Where the time went. */
async function keepMetrics({ objects: seen }: Cluster, namespace: string): Promise<void> {
  for (const { metadata, status } of seen.list<Pod>(POD, namespace)) {
    const { body } = await request(`http://${status?.podIP}:${METRICS_PORT}/metrics`)
    writeFileSync(join(FOLDER, `${metadata.name}.metrics`), await body.text())
  }
}

/** MiB that the processes of ready Pods have in memory: the most of them. */
function memoryOf({ objects: seen, kubelet }: Cluster, namespace: string): number {
  const pods = seen.list<Pod>(POD, namespace).filter((pod) => isReady(pod) && pod.metadata.name !== 'backends')
  const sizes = pods.map((pod) => {
    const [, kib = 'NaN'] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${kubelet.pidOf(pod)}/status`, 'utf8')) ?? []
    return Math.round(Number(kib) / 1024)
  })
  return Math.max(...sizes)
}
