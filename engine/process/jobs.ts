/**
 * What a thread of the offload pool starts from (workers/offload.ts): the second composition root, which joins the jobs
 * of the engine with those of the backends.
 */
import { jobs } from '#backends/jobs.ts'
import { setRunMs } from '#engine/cel/walk.ts'
import { jsonOfYaml } from '#engine/standalone/converted.ts'
import { YAML_JOB } from '#engine/standalone/yaml-job.ts'
import { runnerOf } from '#engine/workers/jobs.ts'

/** Here an expression holds up nobody but others of its kind: what it may take for a body of many megabytes. */
setRunMs(3_000)

export default runnerOf({ ...jobs, [YAML_JOB]: (yaml) => jsonOfYaml(yaml as string) })
