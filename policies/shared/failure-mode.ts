/** What a policy does with requests when the service that it asks cannot be asked. */

import { whole, z } from '#engine/schema/schema.ts'
import { inResources } from '#engine/schema/spelling.ts'

export const failureMode = () =>
  inResources(
    z.union(
      [
        z.enum(['FailClosed', 'FailOpen', 'deny', 'allow', 'failClosed', 'failOpen']),
        z.strictObject({ denyWithStatus: whole(400, 599) })
      ],
      {
        error: 'must be FailClosed (or deny), FailOpen (or allow), or { denyWithStatus: 400 to 599 }'
      }
    ),
    z.enum(['FailClosed', 'FailOpen'])
  )
    .optional()
    .describe('What happens when the service cannot be asked. Default FailClosed.')

export type FailureMode = z.output<ReturnType<typeof failureMode>>

/** Status of the refusal, `refused` where the configuration names none; null: the request passes. */
export function statusOf<T>(mode: FailureMode, refused: T): number | T | null {
  if (typeof mode === 'object') return mode.denyWithStatus
  return mode === 'FailOpen' || mode === 'failOpen' || mode === 'allow' ? null : refused
}
