/** What a worker asks of the offload pool: whether a password is the one of a slow hash. */

/** The job's name in the pool. */
export const PASSWORD_JOB = 'password'

/** `hash` has passed hashProblem (htpasswd.ts); `password`: its bytes as latin1 text. The result is a boolean. */
export interface PasswordJob {
  readonly hash: string
  readonly password: string
}
