/**
 * Gateway API HTTPRequestMirrorFilter, and requestMirror of the file: copies of requests, bodies included, for
 * another backend. What it answers is dropped. How copies are made: engine/lifecycle/mirrors.ts.
 */
import type { MirrorPlan } from '#engine/contract/mirror.ts'
import type { Compiled, Policy } from '#engine/contract/policy.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { target } from '#engine/schema/net.ts'
import { deferred, fullName, list, says, whole, z } from '#engine/schema/schema.ts'
import { backendRef } from '#engine/schema/service-ref.ts'
import { sound } from '#engine/schema/together.ts'

/** Gateway API: any positive number; a share needs no finer one. */
const DENOMINATOR_MAX = 1_000_000
const DENOMINATOR_DEFAULT = 100

const destination = oneOf({
  host: target().optional().describe('"host:port", "[address]:port" or "unix:/path".'),
  backend: fullName().optional().describe('Name of one of the backends at the top of the file.')
})

const fraction = z
  .strictObject({
    numerator: whole(0, DENOMINATOR_MAX),
    denominator: whole(1, DENOMINATOR_MAX).optional().describe('Default 100.')
  })
  .refine(({ numerator, denominator = DENOMINATOR_DEFAULT }) => numerator <= denominator, {
    when: sound('numerator', 'denominator'),
    path: ['numerator'],
    error: 'must not be more than the denominator'
  })

const PERCENTAGE_EXPECTED = 'must be a number from 0 to 1: 0.1 is every tenth request'
const percentage = () => {
  const error = says(PERCENTAGE_EXPECTED)
  return z.number({ error }).min(0, { error }).max(1, { error })
}

const MIRRORS_MAX = 16

const mirror = oneOf(
  {
    backend: destination.optional().describe('Where copies go, as in a route.'),
    backendRef: backendRef().optional().describe('Where copies go, as in the Gateway API.')
  },
  {
    percentage: percentage().optional().describe('Share of the requests, from 0 to 1. Default 1.'),
    percent: whole(0, 100).optional().describe('The same in percent, as in the Gateway API.'),
    fraction: fraction.optional().describe('The same as a fraction, as in the Gateway API.')
  }
)
  .refine((input) => [input.percentage, input.percent, input.fraction].filter((one) => one !== undefined).length <= 1, {
    when: sound(),
    error: 'must have at most one of percentage, percent, fraction'
  })
  .transform(
    ({ backend, backendRef, percentage, percent, fraction }): MirrorPlan => ({
      backend: backendRef?.name ?? backend!.backend ?? inline(backend!.host!),
      share: percentage ?? (percent !== undefined ? percent / 100 : shareOf(fraction))
    })
  )

const schema = deferred(() =>
  z
    .union([mirror, list(mirror, 1, MIRRORS_MAX)])
    .transform((input): readonly MirrorPlan[] => (Array.isArray(input) ? input : [input]))
)

function inline({ host, port, unixPath }: z.output<ReturnType<typeof target>>) {
  return { kind: 'static', host, port, unixPath, policies: {} }
}

function shareOf(part: z.output<typeof fraction> | undefined): number {
  return part === undefined ? 1 : part.numerator / (part.denominator ?? DENOMINATOR_DEFAULT)
}

// --- build time ---

function compile(mirrors: readonly MirrorPlan[]): Compiled {
  return { mirrors }
}

export const requestMirror: Policy = {
  name: 'requestMirror',
  section: 'traffic',
  schema,
  aliases: [],
  inResources: 'route filter',
  atReferences: true,
  compile
}
