/** An official suite against the controller and the data planes that it provisions, in a cluster of its own. */
import { VERSION } from '#engine/contract/version.ts'
import type { Cluster } from '#scripts/kubernetes/cluster/cluster.ts'
import { BALANCER_PREFIX } from '#scripts/kubernetes/cluster/network.ts'
import { GATEWAY_CLASS, installController } from '#scripts/kubernetes/controller.ts'
import { runSuite, type SuiteOptions } from './suite.ts'

const USABLE_ADDRESS = `${BALANCER_PREFIX}10`
/** For documentation (RFC 5737): no load balancer has it. */
const UNUSABLE_ADDRESS = '192.0.2.1'

/** What the command line says of it. */
export interface OfficialOptions {
  /** One test alone; empty: all of the profiles. */
  readonly only: string
  /** Path of the report; null: none is written. */
  readonly report: string | null
}

export interface OfficialSuite
  extends OfficialOptions,
    Pick<SuiteOptions, 'program' | 'profiles' | 'folder' | 'print'> {
  /** Begins each line that is printed. */
  readonly title: string
}

/** False: a test has failed. */
export async function judgedBySuite(cluster: Cluster, { title, ...suite }: OfficialSuite): Promise<boolean> {
  await installController(cluster.client)
  const { passed, skipped, failed } = await runSuite({
    ...cluster.apiServer,
    ...suite,
    version: `v${VERSION}`,
    gatewayClass: GATEWAY_CLASS,
    usableAddress: USABLE_ADDRESS,
    unusableAddress: UNUSABLE_ADDRESS
  })
  suite.print(`${title}: ${passed.length} passed, ${failed.length} failed, ${skipped.length} skipped`)
  if (failed.length > 0) suite.print(`${title}: failed: ${failed.join(', ')}; see ${suite.folder}`)
  return failed.length === 0
}
