/** What a thread of a pool starts from in tests: jobs of which one never ends. */
import type { CelJob } from '#engine/cel/offload.ts'
import { runnerOf } from './jobs.ts'

export const RUNAWAY = 'endless'

export default runnerOf({
  cel: (argument) => {
    while ((argument as CelJob).source === RUNAWAY);
    return 'done'
  },
  guard: () => 'guarded'
})
