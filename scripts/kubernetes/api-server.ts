/** The API server of a cluster that is played: with the CRDs of the Gateway API and of weir. */
import { readFileSync } from 'node:fs'
import { backends } from '#backends/index.ts'
import { CRDS_FOLDER } from '#engine/kubernetes/crds/files.ts'
import { resourcesOf } from '#engine/kubernetes/resources/index.ts'
import { policies } from '#policies/index.ts'
import type { ApiServer } from './cluster/cluster.ts'
import { install } from './install.ts'
import { gatewayApiCrds } from './programs.ts'
import { startKubernetes } from './servers.ts'

/** `more`: texts of further CRDs. */
export async function startApiServer(address: string, more: readonly string[] = []): Promise<ApiServer> {
  const servers = await startKubernetes(address)
  const client = servers.clientOf('admin')
  const files = resourcesOf(policies, backends).map(({ plural }) => new URL(`${plural}.yaml`, CRDS_FOLDER))
  await install(client, [...gatewayApiCrds(), ...more, ...files.map((file) => readFileSync(file, 'utf8'))])
  return { origin: servers.origin, ca: servers.ca, token: servers.tokenOf('admin'), stop: () => servers.stop() }
}
