/**
 * spec.traffic.extProc: a service sees and changes requests and responses, as Envoy asks it
 * (envoy.service.ext_proc.v3.ExternalProcessor). It is asked step by step, and the exchange waits for each answer.
 */
import { evaluation } from '#engine/cel/offload.ts'
import { type Exchange, readAs } from '#engine/contract/exchange.ts'
import { CONTINUE, type Hook } from '#engine/contract/filter.ts'
import type { CompileContext, Compiled, Policy } from '#engine/contract/policy.ts'
import { Slot } from '#engine/contract/slot.ts'
import { plainOf } from './ext-proc/message.ts'
import { rulesOf } from './ext-proc/mutation.ts'
import { Observation } from './ext-proc/observation.ts'
import type { Plan } from './ext-proc/plan.ts'
import { Processing } from './ext-proc/processing.ts'
import { type Expressions, type ExtProcConfig, schema } from './ext-proc/schema.ts'

/** What an answer may have besides a body. */
const ANSWER_HEAD_BYTES_MAX = 1024 * 1024

// --- build time ---

function compile(config: ExtProcConfig, context: CompileContext): Compiled {
  const plan = planOf(config, context)
  const condition =
    config.when === null ? null : evaluation(config.when, 'request', 'bool', context.offload.run).program
  // A condition that fails is true; so is one that is true of one way in which the path can be read.
  const applies = (ex: Exchange): boolean => {
    if (condition === null) return true
    if (ex.readings === null) return condition.run(ex) !== false
    return ex.readings.some((path) => condition.run(readAs(ex, path)) !== false)
  }
  const readsRouting = plan.attributes.response.some(({ value }) => value.program.needs.routing)
  return { filter: config.observabilityMode ? observing(plan, applies) : processing(plan, applies), readsRouting }
}

function planOf(config: ExtProcConfig, context: CompileContext): Plan {
  const { services, time, offload, failed, maxBufferBytes, bodies } = context
  const client = services.grpc(config.service)
  const named = (sources: Expressions, phase: 'request' | 'response') =>
    Object.entries(sources).map(([name, source]) => ({ name, value: evaluation(source, phase, 'any', offload.run) }))
  const spaces = Object.entries(config.metadataContext).map(([space, sources]) => ({
    space,
    values: named(sources, 'request')
  }))
  const isLost = () => failed('extProc')
  return {
    conversation: {
      client,
      time,
      messageTimeoutMs: config.messageTimeoutMs,
      maxMessageTimeoutMs: config.maxMessageTimeoutMs,
      messageBytesMax: maxBufferBytes + ANSWER_HEAD_BYTES_MAX,
      ignoresAnswers: config.observabilityMode
    },
    bodies,
    modes: config.modes,
    allowModeOverride: config.allowModeOverride,
    unchangedPasses: config.unchangedPasses,
    statusOnError: config.statusOnError,
    rules: rulesOf(config.rules),
    attributes: {
      request: named(config.requestAttributes, 'request'),
      response: named(config.responseAttributes, 'response')
    },
    metadataOf(ex) {
      if (spaces.length === 0) return undefined
      const filterMetadata = Object.fromEntries(spaces.map(({ space, values }) => [space, plainOf(ex, values, isLost)]))
      return { filterMetadata, typedFilterMetadata: {} }
    },
    bodyBytesMax: maxBufferBytes,
    failed: isLost
  }
}

// --- request time ---

function processing(plan: Plan, applies: (ex: Exchange) => boolean): { onRequest: Hook; onResponse: Hook } {
  const slot = new Slot<Processing>()
  return {
    onRequest(ex) {
      if (!applies(ex)) return CONTINUE
      const own = new Processing(ex, plan)
      slot.set(ex, own)
      return own.request()
    },
    onResponse: (ex) => slot.get(ex)?.response() ?? CONTINUE
  }
}

function observing(plan: Plan, applies: (ex: Exchange) => boolean): { onRequest: Hook; onResponse: Hook } {
  const slot = new Slot<Observation>()
  return {
    onRequest(ex) {
      if (!applies(ex)) return CONTINUE
      const own = new Observation(ex, plan)
      slot.set(ex, own)
      own.request()
      return CONTINUE
    },
    onResponse(ex) {
      slot.get(ex)?.response()
      return CONTINUE
    }
  }
}

function expressions({ requestAttributes, responseAttributes, metadataContext, when }: ExtProcConfig): string[] {
  const all = [requestAttributes, responseAttributes, ...Object.values(metadataContext)]
  return [...all.flatMap((sources) => Object.values(sources)), ...(when === null ? [] : [when])]
}

export const extProc: Policy = {
  name: 'extProc',
  section: 'traffic',
  schema,
  aliases: [],
  // A request may pass two of them, before and behind routing: each has its own stream.
  usesAttachment: true,
  atReferences: 'waits',
  expressions,
  // RFC 6761 section 6.4: a name that no server has.
  closed: { host: 'closed.invalid:1' },
  compile
}
