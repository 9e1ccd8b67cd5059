/**
 * What is provisioned, at a real API server: every object is taken by server-side apply as it was sent, a second apply
 * changes nothing, and what is refused is traced back to the field of GatewayParameters that it came from.
 */
import type { KubernetesObject, ObjectKey } from '#engine/kubernetes/objects/object.ts'
import {
  type Provisioned,
  type ProvisionInput,
  provision,
  refusalFault
} from '#engine/kubernetes/provisioning/index.ts'
import { type Path, pathText } from '#engine/schema/placed.ts'
import { policies } from '#policies/index.ts'
import type { Answer, ApiClient, ApiObject } from './client.ts'
import type { Judged } from './judge.ts'
import { PROVISIONED, REFUSED_PARAMETERS } from './provisioning-cases.ts'

const PLURALS: Readonly<Record<string, string>> = {
  ServiceAccount: 'serviceaccounts',
  ConfigMap: 'configmaps',
  Deployment: 'deployments',
  Service: 'services',
  PodDisruptionBudget: 'poddisruptionbudgets',
  HorizontalPodAutoscaler: 'horizontalpodautoscalers'
}

const NAMESPACE = 'default'

const OPTIONS = {
  image: 'registry.example/weir:v1',
  controllerAddress: 'weir-controller.weir-system.svc:9443',
  controllerCa: '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n',
  tokenAudience: 'weir.dev',
  policies
} as const

const parameters = (name: string, spec: object | undefined): KubernetesObject | undefined =>
  spec && { apiVersion: 'weir.dev/v1alpha1', kind: 'GatewayParameters', metadata: { name, namespace: NAMESPACE }, spec }

export async function provisioningCases(client: ApiClient): Promise<readonly Judged[]> {
  const judged: Judged[] = []
  const gatewayClass = await made(client, 'gatewayclasses', {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GatewayClass',
    metadata: { name: 'weir' },
    spec: { controllerName: 'weir.dev/gateway-controller' }
  })
  for (const [at, one] of PROVISIONED.entries()) {
    const gateway = await madeGateway(client, one.gatewayName ?? `provisioned-${at}`, one.gateway)
    const input = { gateway, gatewayClass, ...levels(one) }
    const why = await applied(client, provision(input, OPTIONS), one.absent ?? [])
    judged.push({ name: `provisioning: ${one.name}`, why })
  }
  for (const [at, one] of REFUSED_PARAMETERS.entries()) {
    const gateway = await madeGateway(client, `refused-${at}`, {})
    const found = await refusal(client, { gateway, gatewayClass, ...levels(one) })
    const why =
      found.startsWith(one.at) && found.includes(one.says) ? null : `does not say ${one.at}: ${one.says}: ${found}`
    judged.push({ name: `provisioning is refused: ${one.name}`, why })
  }
  judged.push({ name: 'pods keep to the restricted standard', why: await restricted(client, gatewayClass) })
  return judged
}

/** Null: a namespace that enforces the strictest of the Pod Security Standards takes the pods. */
async function restricted(client: ApiClient, gatewayClass: KubernetesObject): Promise<string | null> {
  const namespace = 'restricted'
  const labels = { 'pod-security.kubernetes.io/enforce': namespace }
  await made(client, 'namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } })
  const gateway = await madeGateway(client, 'strict', {}, namespace)
  const { objects } = provision({ gateway, gatewayClass }, OPTIONS)
  const [account, deployment] = ['ServiceAccount', 'Deployment'].map(
    (kind) => objects.find((one) => one.kind === kind)!
  )
  await client.apply(account as ApiObject, 'serviceaccounts')
  const { metadata, spec } = (deployment!.spec as { readonly template: ApiObject }).template
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name: 'strict', namespace }, spec }
  const { status, body } = await client.create(pod, 'pods', '&dryRun=All')
  return status === 201 ? null : `${status} ${body.message}`
}

const levels = (one: { readonly ofClass?: object; readonly ofGateway?: object }) => ({
  classParameters: parameters('of-class', one.ofClass),
  gatewayParameters: parameters('of-gateway', one.ofGateway)
})

async function made(client: ApiClient, plural: string, object: ApiObject): Promise<KubernetesObject> {
  const { status, body } = await client.create(object, plural)
  if (status !== 201) throw new Error(`${object.kind} ${object.metadata.name}: ${status} ${body.message}`)
  return body
}

const madeGateway = (client: ApiClient, name: string, spec: object, namespace = NAMESPACE): Promise<KubernetesObject> =>
  made(client, 'gateways', {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name, namespace },
    spec: { gatewayClassName: 'weir', listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }], ...spec }
  })

function placeText({ key, path }: { readonly key: ObjectKey; readonly path: Path }): string {
  const [kind, namespace, name] = key.split('/')
  return `${kind} ${namespace}/${name}: ${pathText(path)}`
}

/** Null: all is as it should be. */
async function applied(
  client: ApiClient,
  { objects, absent, faults }: Provisioned,
  missing: readonly string[]
): Promise<string | null> {
  if (faults.length > 0) return faults.map(({ message, place }) => `${placeText(place)}: ${message}`).join('; ')
  const gone = absent.map(({ kind }) => kind).join(' ')
  if (gone !== missing.join(' ')) return `absent: ${gone}`
  for (const object of objects) {
    const plural = PLURALS[object.kind]!
    const first = await client.apply(object as ApiObject, plural)
    if (first.status !== 201) return `${object.kind}: ${first.status} ${first.body.message}`
    const other = difference(object, first.body, object.kind)
    if (other !== null) return `read back otherwise: ${other}`
    const second = await client.apply(object as ApiObject, plural)
    const [before, after] = [first, second].map(({ body }) => body.metadata.resourceVersion)
    if (second.status !== 200 || before !== after) return `${object.kind}: a second apply changes ${before} to ${after}`
  }
  return null
}

/** Before anything is asked of an API server, or by its answer. */
async function refusal(client: ApiClient, input: ProvisionInput): Promise<string> {
  const { objects, faults } = provision(input, OPTIONS)
  const [fault] = faults
  if (fault !== undefined) return `${placeText(fault.place)}: ${fault.message}`
  for (const object of objects) {
    const answer = await client.apply(object as ApiObject, PLURALS[object.kind]!)
    if (answer.status < 300) continue
    const found = refusalFault(input, object, refusalOf(answer))
    return found === null
      ? `${answer.status} is no fault: ${answer.body.message}`
      : `${placeText(found.place)}: ${found.message}`
  }
  return 'everything was taken'
}

function refusalOf({ status, body }: Answer) {
  const { causes } = (body.details ?? {}) as { readonly causes?: readonly { field?: string; message?: string }[] }
  return { status, message: body.message ?? '', causes }
}

/** What of `sent` is not in `got`; API servers add defaults, and write quantities in one way ("2", not 2). */
function difference(sent: unknown, got: unknown, path: string): string | null {
  if (Array.isArray(sent)) {
    if (!Array.isArray(got) || got.length !== sent.length) return `${path}: ${JSON.stringify(got)}`
    return sent.map((one, i) => difference(one, got[i], `${path}[${i}]`)).find((one) => one !== null) ?? null
  }
  if (typeof sent !== 'object' || sent === null) {
    return sent === got || String(sent) === got ? null : `${path}: ${JSON.stringify(sent)} is ${JSON.stringify(got)}`
  }
  for (const [key, value] of Object.entries(sent)) {
    const found = difference(value, (got as Record<string, unknown> | undefined)?.[key], `${path}.${key}`)
    // What is empty may be left out.
    if (found !== null && JSON.stringify(value) !== '{}') return found
  }
  return null
}
