/** Of the job in the offload pool: apart from what it runs, which its threads load only when it comes. */
export const LARGE_JOB = 'large'

/** What expressions read of a large request or answer (content-worker.ts). */
export const CONTENT_JOB = 'content'
