/**
 * `npm run conformance -- kubernetes`: the CRDs, beside those of the Gateway API, at a real API server. It has to take
 * and to refuse the objects of engine/kubernetes/testing, and to say why. It judges patches and what is provisioned,
 * and `weir controller` carries out GatewayParameters beside it.
 */
import { readFileSync } from 'node:fs'
import { backends } from '#backends/index.ts'
import { CRDS_FOLDER } from '#engine/kubernetes/crds/files.ts'
import { resourcesOf } from '#engine/kubernetes/resources/index.ts'
import type { Kind } from '#engine/kubernetes/testing/case.ts'
import { ACCEPTED, REFUSED } from '#engine/kubernetes/testing/tables.ts'
import { policies } from '#policies/index.ts'
import { controllerCases } from './controller-cases.ts'
import { exchangeCases } from './exchanges.ts'
import { faultCases } from './fault-cases.ts'
import { gatewayApiSchemas, SCHEMAS_FILE } from './gateway-api-schemas.ts'
import { install } from './install.ts'
import { Judge, type Judged } from './judge.ts'
import { mutationCases } from './mutations.ts'
import { parametersCases } from './parameters.ts'
import { patchDefinitionsCase } from './patch-definitions.ts'
import { patchCases } from './patch-differential.ts'
import { tableCases } from './patch-tables.ts'
import { GATEWAY_API_VERSION, gatewayApiCrds, KUBERNETES_VERSION } from './programs.ts'
import { provisioningCases } from './provisioning.ts'
import { startKubernetes } from './servers.ts'
import { statusCases } from './statuses.ts'

/** False: the API server does not do what it should. */
export async function runKubernetes(print: (line: string) => void, hasMisses: boolean): Promise<boolean> {
  const gatewayApi = gatewayApiCrds()
  const servers = await startKubernetes()
  const all: Judged[] = []
  try {
    const client = servers.clientOf('admin')
    const resources = resourcesOf(policies, backends)
    await install(client, gatewayApi)
    await install(
      client,
      resources.map(({ plural }) => readFileSync(new URL(`${plural}.yaml`, CRDS_FOLDER), 'utf8'))
    )
    const judge = new Judge(client, new Map(resources.map(({ kind, plural }) => [kind as Kind, plural])))
    for (const one of ACCEPTED) all.push(await judge.accepted(one))
    for (const one of REFUSED) all.push(await judge.refused(one))
    all.push(...(await mutationCases(client, resources, ACCEPTED)))
    all.push(...(await statusCases(servers)))
    all.push(await patchDefinitionsCase(client), ...tableCases(), ...(await patchCases(client)))
    all.push(...(await provisioningCases(client)), ...(await parametersCases(servers)))
    all.push(manifestSchemas())
    all.push(...(await exchangeCases(servers)))
    all.push(...(await controllerCases(servers)), ...(await faultCases(servers)))
  } finally {
    await servers.stop()
  }
  const failed = all.filter(({ why }) => why !== null)
  print(`kubernetes ${KUBERNETES_VERSION}, Gateway API ${GATEWAY_API_VERSION}:`)
  print(`kubernetes: ${all.length - failed.length} passed, ${failed.length} failed`)
  if (hasMisses) for (const { name, why } of failed) print(`  ${name}: ${why}`)
  return failed.length === 0
}

/** What manifests are checked by where there is no API server. */
function manifestSchemas(): Judged {
  const isFresh = readFileSync(SCHEMAS_FILE, 'utf8') === gatewayApiSchemas()
  const why = isFresh ? null : 'is not what node scripts/kubernetes/gateway-api-schemas.ts writes'
  return { name: 'engine/kubernetes/gateway-api/schemas.json', why }
}
