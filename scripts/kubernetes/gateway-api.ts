/**
 * `npm run conformance -- gateway-api`: the official conformance suite of the Gateway API against `weir controller` and
 * the data planes that it provisions, in a cluster that is a real API server and what plays the rest (cluster/).
 */
import { join } from 'node:path'
import { judgedBySuite, type OfficialOptions } from './gateway-api/in-cluster.ts'
import { imagesWith } from './images.ts'
import { inSuiteCluster } from './suite-cluster.ts'
import { suitePrograms } from './suite-programs.ts'

const FOLDER = join(import.meta.dirname, '..', '..', 'dist', 'gateway-api')
const PROFILES = ['GATEWAY-HTTP', 'GATEWAY-GRPC', 'GATEWAY-TLS']

/** False: a test has failed. */
export function runGatewayApi(print: (line: string) => void, options: OfficialOptions): Promise<boolean> {
  const { suite, echo } = suitePrograms()
  const judging = { ...options, title: 'gateway-api', program: suite, profiles: PROFILES, folder: FOLDER, print }
  return inSuiteCluster({ folder: FOLDER, imageOf: imagesWith(echo) }, (cluster) => judgedBySuite(cluster, judging))
}
