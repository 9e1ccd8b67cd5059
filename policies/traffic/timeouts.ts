/** spec.traffic.timeouts: how long the whole exchange, and one attempt of it, may take. "0s" is no limit. */
import type { Compiled, Policy } from '#engine/contract/policy.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { duration } from '#engine/schema/duration.ts'
import { deferred, type z } from '#engine/schema/schema.ts'

const schema = deferred(() =>
  atLeastOne({
    request: duration().optional(),
    backendRequest: duration().optional()
  })
)

/** The standalone file's spelling. */
const alias = atLeastOne({
  requestTimeout: duration().optional(),
  backendRequestTimeout: duration().optional()
}).transform(
  ({ requestTimeout, backendRequestTimeout }): z.output<typeof schema> => ({
    request: requestTimeout,
    backendRequest: backendRequestTimeout
  })
)

// --- build time ---

function compile({ request, backendRequest }: z.output<typeof schema>): Compiled {
  return {
    settings: {
      ...(request === undefined ? {} : { requestTimeoutMs: request }),
      ...(backendRequest === undefined ? {} : { backendTimeoutMs: backendRequest })
    }
  }
}

function warnings({ request, backendRequest }: z.output<typeof schema>): string[] {
  // 0 is no limit.
  if (request === undefined || backendRequest === undefined || request === 0 || backendRequest <= request) return []
  return ['backendRequest is longer than request, so it never ends an attempt: the whole exchange ends before']
}

export const timeouts: Policy = {
  name: 'timeouts',
  section: 'traffic',
  schema,
  aliases: [{ name: 'timeout', schema: alias }],
  warnings,
  compile
}
