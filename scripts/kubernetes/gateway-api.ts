/**
 * `npm run conformance -- gateway-api`: the official conformance suite of the Gateway API against `weir controller` and
 * the data planes that it provisions, in a cluster that is a real API server and what plays the rest (cluster/).
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
import { imagesWith } from './images.ts'
import { fetchPrograms } from './programs.ts'
import { suitePrograms } from './suite-programs.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const FOLDER = join(ROOT, 'dist', 'gateway-api')
const PROFILES = ['GATEWAY-HTTP', 'GATEWAY-GRPC', 'GATEWAY-TLS']
const USABLE_ADDRESS = `${BALANCER_PREFIX}10`
/** For documentation (RFC 5737): no load balancer has it. */
const UNUSABLE_ADDRESS = '192.0.2.1'

export interface GatewayApiOptions {
  /** One test alone; empty: all of the profiles. */
  readonly only: string
  /** Path of the report; null: none is written. */
  readonly report: string | null
}

/** False: a test has failed. */
export async function runGatewayApi(print: (line: string) => void, options: GatewayApiOptions): Promise<boolean> {
  const programs = suitePrograms()
  if (!isInside) {
    execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', join(ROOT, 'scripts', 'build.ts')])
    rmSync(FOLDER, { recursive: true, force: true })
    mkdirSync(FOLDER, { recursive: true })
    fetchPrograms()
    return (await runInside()) === 0
  }
  const cluster = await startCluster({
    startApiServer,
    imageOf: imagesWith(programs.echo),
    logs: join(FOLDER, 'logs')
  })
  try {
    await installController(cluster.client)
    const { passed, skipped, failed } = await runSuite({
      ...cluster.apiServer,
      ...options,
      program: programs.suite,
      profiles: PROFILES,
      folder: FOLDER,
      version: `v${VERSION}`,
      gatewayClass: GATEWAY_CLASS,
      usableAddress: USABLE_ADDRESS,
      unusableAddress: UNUSABLE_ADDRESS,
      print
    })
    print(`gateway-api: ${passed.length} passed, ${failed.length} failed, ${skipped.length} skipped`)
    if (failed.length > 0) print(`gateway-api: failed: ${failed.join(', ')}; see ${FOLDER}`)
    return failed.length === 0
  } finally {
    await cluster.stop()
  }
}
