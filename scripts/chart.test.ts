/** The chart and the plain manifests, as far as they can be judged without helm (npm run conformance -- helm). */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse, parseAllDocuments } from 'yaml'
import { CLUSTER_RULES, OWN_RULES } from '#engine/kubernetes/controller/rules.ts'
import { CRDS_FOLDER } from '#engine/kubernetes/crds/files.ts'
import { CONTROLLER_NAME } from '#engine/kubernetes/resources/names.ts'
import { MANIFESTS_FILE, ruleFiles } from './gen-manifests.ts'
import { CHART } from './helm.ts'

interface Installed {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules?: unknown
  readonly spec?: { readonly controllerName?: string; readonly template?: { readonly spec: PodSpec } }
}

interface PodSpec {
  readonly securityContext: { readonly runAsNonRoot: boolean }
  readonly containers: readonly {
    readonly image: string
    readonly securityContext: { readonly readOnlyRootFilesystem: boolean; readonly allowPrivilegeEscalation: boolean }
    readonly readinessProbe?: object
    readonly livenessProbe?: object
    readonly resources: { readonly limits?: { readonly memory?: string } }
  }[]
}

const MANIFESTS = parseAllDocuments(readFileSync(MANIFESTS_FILE, 'utf8')).map((one) => one.toJS() as Installed)
const only = (kind: string): Installed => {
  const found = MANIFESTS.filter((object) => object.kind === kind)
  assert.equal(found.length, 1, kind)
  return found[0]!
}

test('the chart has the version of the package', () => {
  const { version, appVersion } = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8'))
  const own = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
  assert.deepEqual([version, appVersion], [own, own])
})

test('the controller may do what its code does, and nothing else', () => {
  for (const [file, text] of ruleFiles()) assert.equal(readFileSync(file, 'utf8'), text, 'npm run manifests')
  assert.deepEqual(only('ClusterRole').rules, CLUSTER_RULES)
  assert.deepEqual(only('Role').rules, OWN_RULES)
})

test('the CRDs of the chart are those of the schemas', () => {
  const folder = fileURLToPath(CRDS_FOLDER)
  const names = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  assert.deepEqual(readdirSync(join(CHART, 'crds')).toSorted(), names.toSorted())
  for (const name of names) assert.equal(realpathSync(join(CHART, 'crds', name)), join(realpathSync(folder), name))
})

test('the controller runs as nobody, writes no file, is probed and bounded', () => {
  const pod = only('Deployment').spec!.template!.spec
  assert.equal(pod.securityContext.runAsNonRoot, true)
  for (const { securityContext, readinessProbe, livenessProbe, resources } of pod.containers) {
    assert.equal(securityContext.readOnlyRootFilesystem, true)
    assert.equal(securityContext.allowPrivilegeEscalation, false)
    assert.ok(readinessProbe !== undefined && livenessProbe !== undefined)
    assert.ok(resources.limits?.memory !== undefined)
  }
})

test('the class is that of the controller, and every namespace is that of the installation', () => {
  assert.equal(only('GatewayClass').spec?.controllerName, CONTROLLER_NAME)
  const { name } = only('Namespace').metadata
  for (const { metadata } of MANIFESTS) assert.ok([undefined, name].includes(metadata.namespace), metadata.name)
})
