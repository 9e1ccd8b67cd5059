/**
 * The cluster of one suite: the bundle is built, and the program begins again in namespaces of its own, where a real
 * API server and what plays the rest (cluster/) are started.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { startApiServer } from './api-server.ts'
import { type Cluster, type ClusterOptions, startCluster } from './cluster/cluster.ts'
import { isInside, runInside } from './cluster/namespaces.ts'
import { fetchPrograms } from './programs.ts'

const ROOT = join(import.meta.dirname, '..', '..')

export interface SuiteCluster {
  /** What the run leaves, with the output of containers in "logs". Emptied ahead of it. */
  readonly folder: string
  readonly imageOf: ClusterOptions['imageOf']
  /** Default: with the CRDs of the Gateway API alone. */
  readonly startApiServer?: ClusterOptions['startApiServer']
}

/**
 * What `run` says; outside of the namespaces, whether the program has ended well inside. Further programs have to be
 * built or fetched ahead of this call: inside there is no way out. Needs root.
 */
export async function inSuiteCluster(
  { folder, imageOf, startApiServer: start = startApiServer }: SuiteCluster,
  run: (cluster: Cluster) => Promise<boolean>
): Promise<boolean> {
  if (!isInside) {
    execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', join(ROOT, 'scripts', 'build.ts')])
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    fetchPrograms()
    return (await runInside()) === 0
  }
  const cluster = await startCluster({ startApiServer: start, imageOf, logs: join(folder, 'logs') })
  try {
    return await run(cluster)
  } finally {
    await cluster.stop()
  }
}
