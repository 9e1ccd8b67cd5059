/**
 * `npm run conformance -- inference-pool`: the official suite of the Gateway API Inference Extension with its endpoint
 * picker, against `weir controller` and its data planes, in a cluster like that of the suite of the Gateway API.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { VERSION } from '#engine/contract/version.ts'
import { startApiServer } from './api-server.ts'
import { startCluster } from './cluster/cluster.ts'
import { isInside, runInside } from './cluster/namespaces.ts'
import { BALANCER_PREFIX } from './cluster/network.ts'
import { GATEWAY_CLASS, installController } from './controller.ts'
import { runSuite } from './gateway-api/suite.ts'
import type { GatewayApiOptions } from './gateway-api.ts'
import { imagesWith } from './images.ts'
import { EXTENSION_VERSION, inferencePoolCrds, inferencePoolPrograms } from './inference-pool-programs.ts'
import { fetchPrograms } from './programs.ts'
import { suitePrograms } from './suite-programs.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const FOLDER = join(ROOT, 'dist', 'inference-pool')

/** False: a test has failed. */
export async function runInferencePool(print: (line: string) => void, options: GatewayApiOptions): Promise<boolean> {
  const { suite, picker } = inferencePoolPrograms()
  const { echo } = suitePrograms()
  const crds = inferencePoolCrds()
  if (!isInside) {
    execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', join(ROOT, 'scripts', 'build.ts')])
    rmSync(FOLDER, { recursive: true, force: true })
    mkdirSync(FOLDER, { recursive: true })
    fetchPrograms()
    return (await runInside()) === 0
  }
  const cluster = await startCluster({
    startApiServer: (address) => startApiServer(address, crds),
    imageOf: imagesWith(echo, [[/\/lwepp[:@]/, { entrypoint: [picker] }]]),
    logs: join(FOLDER, 'logs')
  })
  try {
    await installController(cluster.client)
    const { passed, skipped, failed } = await runSuite({
      ...cluster.apiServer,
      ...options,
      program: suite,
      profiles: ['Gateway'],
      folder: FOLDER,
      version: `v${VERSION}`,
      gatewayClass: GATEWAY_CLASS,
      usableAddress: `${BALANCER_PREFIX}10`,
      unusableAddress: '192.0.2.1',
      print
    })
    const counts = `${passed.length} passed, ${failed.length} failed, ${skipped.length} skipped`
    print(`inference-pool: ${EXTENSION_VERSION} of the extension: ${counts}`)
    if (failed.length > 0) print(`inference-pool: failed: ${failed.join(', ')}; see ${FOLDER}`)
    return failed.length === 0
  } finally {
    await cluster.stop()
  }
}
