/**
 * `npm run conformance -- inference-pool`: the official suite of the Gateway API Inference Extension with its endpoint
 * picker, against `weir controller` and its data planes, in a cluster like that of the suite of the Gateway API.
 */
import { join } from 'node:path'
import { startApiServer } from './api-server.ts'
import { judgedBySuite, type OfficialOptions } from './gateway-api/in-cluster.ts'
import { imagesWith } from './images.ts'
import { EXTENSION_VERSION, inferencePoolCrds, inferencePoolPrograms } from './inference-pool-programs.ts'
import { inSuiteCluster } from './suite-cluster.ts'
import { suitePrograms } from './suite-programs.ts'

const FOLDER = join(import.meta.dirname, '..', '..', 'dist', 'inference-pool')

/** False: a test has failed. */
export function runInferencePool(print: (line: string) => void, options: OfficialOptions): Promise<boolean> {
  const { suite, picker } = inferencePoolPrograms()
  const { echo } = suitePrograms()
  const crds = inferencePoolCrds()
  const title = `inference-pool ${EXTENSION_VERSION}`
  const judging = { ...options, title, program: suite, profiles: ['Gateway'], folder: FOLDER, print }
  const cluster = {
    folder: FOLDER,
    startApiServer: (address: string) => startApiServer(address, crds),
    imageOf: imagesWith(echo, [[/\/lwepp[:@]/, { entrypoint: [picker] }]])
  }
  return inSuiteCluster(cluster, (running) => judgedBySuite(running, judging))
}
