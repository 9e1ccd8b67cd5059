/** Of the job in the offload pool: apart from what it runs, which its threads load only when it comes. */
export const GUARD_JOB = 'guard'
