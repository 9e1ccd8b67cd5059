/**
 * spec.traffic.rateLimit: at most so many requests, or tokens of LLM answers, per period; for all callers together or
 * for each by itself. Limits of this process come first, since they cost nothing; then those of a service.
 */
import { bodiesOf } from '#engine/cel/offload.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE, type Hook, type Verdict } from '#engine/contract/filter.ts'
import type { CompileContext, Compiled, Policy } from '#engine/contract/policy.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { deferred, list, type z } from '#engine/schema/schema.ts'
import { writeQuota } from '#policies/shared/quota.ts'
import { globalExpressions, globalLimit, globalLimits, remoteLimit, writeAnswer } from './rate-limit/global.ts'
import { fillLimit, localLimit, localLimits } from './rate-limit/local.ts'

const LIMITS_MAX = 16

const schema = deferred(() =>
  atLeastOne({ local: list(localLimit(), 1, LIMITS_MAX).optional(), global: globalLimit().optional() })
)

function compile({ local, global }: z.output<typeof schema>, context: CompileContext): Compiled {
  const limits = [
    ...(local === undefined ? [] : [localLimits(local, context)]),
    ...(global === undefined ? [] : [globalLimits(global, context)])
  ]
  const programs = limits.flatMap(({ expressions }) => expressions.map(({ program }) => program))
  const buffers = programs.some(({ needs }) => needs.anyBody) ? { buffers: bodiesOf(programs) } : {}
  const [first, second] = limits.map(({ admit }) => admit)
  return {
    filter: {
      onRequest: second === undefined ? first! : both(first!, second),
      onResponse: global === undefined ? writeLocal : writeBoth,
      ...buffers
    }
  }
}

function both(first: Hook, second: Hook): Hook {
  return (ex) => {
    const verdict = first(ex)
    if (typeof verdict === 'number') return verdict === CONTINUE ? second(ex) : verdict
    return verdict.then((late) => (late === CONTINUE ? second(ex) : late))
  }
}

function writeLocal(ex: Exchange): Verdict {
  writeQuota(ex)
  return CONTINUE
}

function writeBoth(ex: Exchange): Verdict {
  writeQuota(ex)
  writeAnswer(ex)
  return CONTINUE
}

export const rateLimit: Policy = {
  name: 'rateLimit',
  section: 'traffic',
  schema,
  aliases: [
    { name: 'localRateLimit', wrap: 'local', schema: deferred(() => list(fillLimit(), 1, LIMITS_MAX)) },
    { name: 'remoteRateLimit', wrap: 'global', schema: deferred(() => remoteLimit()) }
  ],
  usesAttachment: true,
  expressions: ({ local = [], global }: z.output<typeof schema>) => [
    ...local.flatMap(({ caller }) => caller ?? []),
    ...(global === undefined ? [] : globalExpressions(global))
  ],
  compile
}
