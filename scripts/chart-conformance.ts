/**
 * `npm run conformance -- helm`: helm takes the chart and refuses wrong values, an API server takes what it makes of
 * it, and the plain manifests are the same. Needs Go.
 */
import { readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'
import { CRDS_FOLDER } from '#engine/kubernetes/crds/files.ts'
import { MANIFESTS_FILE, plainManifests } from './gen-manifests.ts'
import { CHART, helm, template } from './helm.ts'
import type { ApiClient, ApiObject } from './kubernetes/client.ts'
import { install } from './kubernetes/install.ts'
import type { Judged } from './kubernetes/judge.ts'
import { gatewayApiCrds } from './kubernetes/programs.ts'
import { startKubernetes } from './kubernetes/servers.ts'

const PARAMETERS = { group: 'weir.dev', kind: 'GatewayParameters', name: 'small', namespace: 'weir-system' }

/** Values, and kinds of objects that they add to those of the defaults (-: take away). */
const TAKEN: readonly (readonly [values: readonly string[], kinds: readonly string[]])[] = [
  [[], []],
  [['replicas=3', 'podDisruptionBudget.create=true'], ['PodDisruptionBudget']],
  [
    ['gatewayClass.create=false', 'serviceAccount.create=false'],
    ['-GatewayClass', '-ServiceAccount']
  ],
  [[`image.digest=sha256:${'0a'.repeat(32)}`, 'image.repository=registry.example/weir', 'image.pullPolicy=Always'], []],
  [Object.entries(PARAMETERS).map(([name, value]) => `gatewayClass.parametersRef.${name}=${value}`), []],
  [['env[0].name=A', 'env[0].value=b', 'podLabels.team=a', 'podAnnotations.a=b', 'nodeSelector.disk=ssd'], []],
  [['tolerations[0].operator=Exists', 'priorityClassName=high', 'imagePullSecrets[0].name=registry'], []]
]

/** Values that the schema of values refuses, and what it names. */
const REFUSED: readonly (readonly [value: string, names: string])[] = [
  ['replicas=0', 'replicas'],
  ['replica=2', 'replica'],
  ['image.digest=sha256:1', 'digest'],
  ['logging.format=xml', 'format'],
  ['gatewayClass.name=Weir', 'name'],
  ['clusterDomain=a_b', 'clusterDomain'],
  ['gatewayClass.parametersRef.name=small', 'parametersRef']
]

const PLURALS: Readonly<Record<string, string>> = {
  Namespace: 'namespaces',
  ServiceAccount: 'serviceaccounts',
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  Role: 'roles',
  RoleBinding: 'rolebindings',
  Service: 'services',
  Deployment: 'deployments',
  PodDisruptionBudget: 'poddisruptionbudgets',
  GatewayClass: 'gatewayclasses'
}

/** False: something is not as it should be. */
export async function runHelm(print: (line: string) => void): Promise<boolean> {
  const all: Judged[] = [
    judged('lint', () => void helm('lint', '--strict', CHART)),
    judged('plain manifests', () => isFresh()),
    ...REFUSED.map(([value, names]) => judged(`${value} is refused`, () => isRefused(value, names)))
  ]
  const servers = await startKubernetes()
  try {
    const client = servers.clientOf('admin')
    const own = ['gatewaybackends', 'gatewaypolicies', 'gatewayparameters']
    await install(client, gatewayApiCrds())
    await install(
      client,
      own.map((plural) => readFileSync(new URL(`${plural}.yaml`, CRDS_FOLDER), 'utf8'))
    )
    all.push(await applied(client, 'kubernetes.yaml', objectsIn(readFileSync(MANIFESTS_FILE, 'utf8'))))
    const usual = kindsOf([])
    for (const [values, changes] of TAKEN) {
      const name = values.join(' ') || 'defaults'
      all.push(await applied(client, name, objectsIn(template(values))))
      const missing = changes.filter((kind) =>
        kind.startsWith('-')
          ? !usual.has(kind.slice(1)) || kindsOf(values).has(kind.slice(1))
          : !kindsOf(values).has(kind)
      )
      all.push({ name: `${name}: kinds`, why: missing.length === 0 ? null : `wrong about ${missing.join(', ')}` })
    }
  } finally {
    await servers.stop()
  }
  const failed = all.filter(({ why }) => why !== null)
  print(`helm: ${all.length - failed.length} passed, ${failed.length} failed`)
  for (const { name, why } of failed) print(`  ${name}: ${why}`)
  return failed.length === 0
}

const kindsOf = (values: readonly string[]): ReadonlySet<string> =>
  new Set(objectsIn(template(values)).map(({ kind }) => kind))

function objectsIn(text: string): ApiObject[] {
  return parseAllDocuments(text).flatMap((document) => (document.toJS() as ApiObject | null) ?? [])
}

function judged(name: string, work: () => void): Judged {
  try {
    work()
    return { name, why: null }
  } catch (error) {
    return { name, why: (error as Error).message }
  }
}

function isFresh(): void {
  if (readFileSync(MANIFESTS_FILE, 'utf8') !== plainManifests())
    throw new Error('are older than the chart: npm run manifests')
}

function isRefused(value: string, names: string): void {
  let complaint: string
  try {
    template([value])
    complaint = ''
  } catch (error) {
    complaint = String((error as { readonly stderr?: unknown }).stderr)
  }
  if (!complaint.includes(names))
    throw new Error(complaint === '' ? 'is taken' : `does not name ${names}: ${complaint}`)
}

/** As kubectl does: what a schema does not know is refused. */
async function applied(client: ApiClient, name: string, objects: readonly ApiObject[]): Promise<Judged> {
  for (const object of objects) {
    const plural = PLURALS[object.kind]
    if (plural === undefined) return { name, why: `has a ${object.kind}, which is not expected` }
    const { status, body } = await client.apply(object, plural)
    if (status >= 300) return { name, why: `${object.kind} ${object.metadata.name}: ${status} ${body.message}` }
  }
  return { name, why: null }
}
