/**
 * `npm run conformance -- istio`: istiod, built with Go, in a cluster that is a real API server and what plays the rest
 * (cluster/), and a Gateway with `istio`. Its data plane has to get a certificate of istiod, to be known by it at
 * workloads of the mesh, and to renew it, also from an authority that gives less than it is asked for.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { request } from 'undici'
import { KINDS } from '#engine/kubernetes/objects/object.ts'
import { goProgram } from '#scripts/services/go-program.ts'
import type { Cluster } from './cluster/cluster.ts'
import type { Image } from './cluster/container-process.ts'
import { isReady, POD, type Pod, SERVICE_ACCOUNT } from './cluster/kinds.ts'
import { installController } from './controller.ts'
import { imagesWith } from './images.ts'
import {
  DEMO,
  GATEWAY,
  GATEWAY_ACCOUNT,
  ISTIO,
  ISTIO_NAMESPACE,
  istiod,
  NAMESPACE,
  type Placed
} from './istio/objects.ts'
import type { Seen } from './istio/workload.ts'
import type { Judged } from './judge.ts'
import { eventually } from './scale/waits.ts'
import { inSuiteCluster } from './suite-cluster.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const FOLDER = join(ROOT, 'dist', 'istio')
const PROGRAM = 'istio.io/istio/pilot/cmd/pilot-discovery'
/** After Istio 1.30: releases are no versions of the module. */
const VERSION = 'v0.0.0-20260827124520-eed52ebb66ad'
const IDENTITY = `spiffe://cluster.local/ns/${NAMESPACE}/sa/${GATEWAY_ACCOUNT}`
const HAS_CERTIFICATE = `this process is ${IDENTITY} in the mesh until`
/** Below what data planes ask for, and short enough to see a renewal. */
const SHORT = { MAX_WORKLOAD_CERT_TTL: '2m', DEFAULT_WORKLOAD_CERT_TTL: '1m' }

/** False: something is not as it should be. */
export function runIstio(print: (line: string) => void): Promise<boolean> {
  const pilot = goProgram(PROGRAM, VERSION)
  const workload = [
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    join(import.meta.dirname, 'istio', 'workload.ts')
  ]
  const others = imagesWith('')
  const own: Readonly<Record<string, Image>> = { istiod: { entrypoint: [pilot] }, workload: { entrypoint: workload } }
  const imageOf = (name: string) => own[name] ?? others(name)
  return inSuiteCluster({ folder: FOLDER, imageOf }, async (cluster) => {
    const judged = await cases(cluster)
    for (const { name, why } of judged) print(`istio: ${name}: ${why ?? 'ok'}`)
    const failed = judged.filter(({ why }) => why !== null).length
    print(`istio ${VERSION}: ${judged.length - failed} passed, ${failed} failed`)
    return failed === 0
  })
}

async function cases(cluster: Cluster): Promise<readonly Judged[]> {
  const { client } = cluster
  await installController(client)
  await make(cluster, [...ISTIO, istiod(), ...DEMO])
  const address = await eventually('the address of the Gateway', async () => {
    const found = (await client.get(KINDS.Gateway, NAMESPACE, GATEWAY)) as GatewayStatus | null
    return found?.status?.addresses?.[0]?.value
  })
  await eventually('workloads', () => (readyPods(cluster, NAMESPACE).length === 4 ? true : undefined))
  const ask = (path: string) => answerOf(`http://${address}${path}`)
  await eventually('the certificate', () => (certificates(cluster) > 0 ? true : undefined))
  const judged: Judged[] = []
  const judge = (name: string, found: string, wanted: RegExp) =>
    judged.push({ name, why: wanted.test(found) ? null : `${found} instead of ${wanted}` })
  const known = new RegExp(`^200 {"client":"${IDENTITY}"`)
  judge('a workload of the mesh knows the data plane by its account', await ask('/shop'), known)
  judge('one that takes another account alone does not answer', await ask('/vault'), /^50[23] /)
  judge('a pod outside of the mesh is asked without a certificate', await ask('/plain'), /^200 {"client":"",/)
  const before = await ask('/shop')
  // The authority is another process now, with the root of before, which is in its Secret.
  await client.apply(istiod()[0], istiod(SHORT)[1], { fieldManager: 'conformance' })
  await restartPlane(cluster)
  /** An answer behind a certificate of another serial number. */
  const next = (before: string) =>
    eventually('a certificate at the workload', async () => {
      const found = await ask('/shop')
      return known.test(found) && serialOf(found) !== serialOf(before) ? found : undefined
    })
  const short = await next(before)
  judge('an authority that gives less gives what it likes', short, known)
  judge('a certificate is renewed', await next(short), known)
  return judged
}

async function make({ client }: Cluster, objects: readonly Placed[]): Promise<void> {
  for (const [kind, object] of objects) {
    await client.apply(kind, object, { fieldManager: 'conformance' })
    if (kind !== KINDS.Namespace) continue
    // Without it a namespace has no pods.
    await eventually(
      'an account',
      async () => (await client.get(SERVICE_ACCOUNT, object.metadata.name, 'default')) ?? undefined
    )
  }
}

const readyPods = ({ objects }: Cluster, namespace: string): readonly Pod[] =>
  objects.list<Pod>(POD, namespace).filter((pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined)

const planes = (cluster: Cluster): readonly Pod[] =>
  cluster.objects.list<Pod>(POD, NAMESPACE).filter(({ spec }) => spec.serviceAccountName === GATEWAY_ACCOUNT)

/** That data planes have got, by their logs. */
const certificates = (cluster: Cluster): number =>
  planes(cluster).reduce(
    (sum, { metadata: { name } }) => sum + logged(cluster, name).split(HAS_CERTIFICATE).length - 1,
    0
  )

function logged({ kubelet }: Cluster, pod: string): string {
  try {
    return readFileSync(kubelet.logOf(NAMESPACE, pod), 'utf8')
  } catch {
    // It has written nothing yet.
    return ''
  }
}

/** The next one asks for a certificate at its start. */
async function restartPlane(cluster: Cluster): Promise<void> {
  const isShort = ({ spec }: Pod) => spec.containers[0]?.env?.some(({ name }) => name in SHORT) === true
  await eventually('istiod', () => {
    const pods = readyPods(cluster, ISTIO_NAMESPACE)
    return pods.length === 1 && pods.every(isShort) ? true : undefined
  })
  for (const { metadata } of planes(cluster)) {
    await cluster.client.ask({ method: 'DELETE', path: `/api/v1/namespaces/${NAMESPACE}/pods/${metadata.name}` })
  }
}

const serialOf = (answer: string): string =>
  answer.startsWith('200 ') ? (JSON.parse(answer.slice(4)) as Seen).serial : ''

/** "200 TEXT" */
async function answerOf(url: string): Promise<string> {
  try {
    const { statusCode, body } = await request(url)
    return `${statusCode} ${await body.text()}`
  } catch (error) {
    return `none: ${(error as Error).message}`
  }
}

interface GatewayStatus {
  readonly status?: { readonly addresses?: readonly { readonly value: string }[] }
}
