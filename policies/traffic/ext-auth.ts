/**
 * spec.traffic.extAuth: a service decides who may pass, over gRPC as Envoy asks (envoy.service.auth.v3) or over HTTP
 * (docs/specification.md#traffic-policies). Without its answer a request is refused, unless the configuration says
 * otherwise.
 */
import type { Value } from '#engine/cel/index.ts'
import { bodiesOf, type Evaluation, evaluation } from '#engine/cel/offload.ts'
import { collectRequest, LATER_AGAIN } from '#engine/contract/body.ts'
import { type Exchange, readAs, STEP_REQUEST } from '#engine/contract/exchange.ts'
import { CONTINUE, type Hook, STOP, type Verdict } from '#engine/contract/filter.ts'
import { hold, letGo } from '#engine/contract/held-bytes.ts'
import type { CompileContext, Compiled, Policy } from '#engine/contract/policy.ts'
import { refuse } from '#engine/contract/refuse.ts'
import { PendingCheck, VerdictCache } from './ext-auth/cache.ts'
import { type CheckSender, grpcCheckSender } from './ext-auth/grpc.ts'
import { httpCheckSender } from './ext-auth/http.ts'
import { lifetimeMs } from './ext-auth/lifetime.ts'
import { aliasSchema, type CacheConfig, type Expressions, type ExtAuthConfig, schema } from './ext-auth/schema.ts'
import { type KeyedCheckSender, singleFlight } from './ext-auth/single-flight.ts'
import { applyFailure, applyVerdict, type Decision, type Failed, writeResponseFields } from './ext-auth/verdict.ts'

// --- build time ---

interface Plan {
  readonly sendCheck: CheckSender
  readonly config: ExtAuthConfig
  readonly when: Evaluation | null
  /** Null: each request is checked. */
  readonly caching: { readonly cache: VerdictCache; readonly sendCheck: KeyedCheckSender } | null
  /** Of verdicts in the cache, where an expression says it. */
  readonly lifetime: Evaluation | null
  readonly wallNow: () => number
  readonly maxBufferBytes: number
}

function boundsOf({ lifetime, entriesMax }: CacheConfig) {
  return { lifetimeMs: 'ms' in lifetime ? lifetime.ms : Number.POSITIVE_INFINITY, entriesMax }
}

function compile(config: ExtAuthConfig, context: CompileContext): Compiled {
  const evaluated = (source: string) => evaluation(source, 'request', 'any', context.offload.run)
  const maybe = (source: string | null) => (source === null ? null : evaluated(source))
  const named = (sources: Expressions) =>
    Object.entries(sources).map(([name, source]) => ({ name, value: evaluated(source) }))
  const { check, forwardBody, when, cache } = config
  const keys = (cache?.keys ?? []).map(evaluated)
  const sendCheck =
    check.kind === 'grpc'
      ? grpcCheckSender(check, config, check.requestMetadata === null ? null : named(check.requestMetadata), context)
      : httpCheckSender(
          check,
          config,
          {
            method: maybe(check.method),
            path: maybe(check.path),
            authority: maybe(check.authority),
            body: maybe(check.body),
            redirect: maybe(check.redirect),
            added: named(check.addRequestHeaders)
          },
          context
        )
  const condition = when === null ? null : evaluation(when, 'request', 'bool', context.offload.run)
  const { now, wallNow } = context.time
  const verdicts = cache === null ? null : new VerdictCache(keys, boundsOf(cache), now)
  const onRequest = authorize({
    sendCheck,
    config,
    when: condition,
    caching: verdicts === null ? null : { cache: verdicts, sendCheck: singleFlight(sendCheck, verdicts) },
    lifetime: cache !== null && 'expression' in cache.lifetime ? evaluated(cache.lifetime.expression) : null,
    wallNow,
    maxBufferBytes: context.maxBufferBytes
  })
  const onResponse = check.kind === 'grpc' ? { onResponse: writeResponseFields } : {}
  // The condition comes before the body, unless it reads that.
  const buffers = forwardBody === null || condition === null ? {} : { buffers: bodiesOf([condition.program]) }
  return { filter: { onRequest, ...onResponse, ...buffers } }
}

// --- request time ---

function authorize(plan: Plan): Hook {
  const { when, config, maxBufferBytes } = plan
  const ask = asking(plan)
  const hook = config.forwardBody === null ? ask : withBody(config.forwardBody.bytesMax, maxBufferBytes, ask)
  return when === null ? hook : (ex) => (needsCheck(ex, when) ? hook(ex) : CONTINUE)
}

/** Waits for the body, of which no more is read than the service may be sent. */
function withBody(bytesMax: number, maxBufferBytes: number, ask: Hook): Hook {
  const collect = collectRequest(Math.min(bytesMax, maxBufferBytes))
  const code = bytesMax <= maxBufferBytes ? 'EXT_AUTH_BODY' : 'BODY_NOT_BUFFERED'
  const collected = (ex: Exchange, verdict: Verdict): Verdict | Promise<Verdict> => {
    if (verdict === CONTINUE) return ex.step === STEP_REQUEST ? ask(ex) : STOP
    return ex.error === 'BODY_NOT_BUFFERED' ? refuse(ex, code) : verdict
  }
  return (ex) => {
    // Another policy may have kept more of it.
    if ((ex.requestBytes?.length ?? 0) > bytesMax) return refuse(ex, 'EXT_AUTH_BODY')
    const verdict = collect(ex)
    return typeof verdict === 'number' ? collected(ex, verdict) : verdict.then((late) => collected(ex, late))
  }
}

function asking(plan: Plan): Hook {
  const { config, caching } = plan
  const { forwardBody, statusOnError, check } = config
  // A message of gRPC has a copy of the body.
  const copiesBody = forwardBody !== null && check.kind === 'grpc'
  return (ex) => {
    const key = caching === null ? null : caching.cache.keyOf(ex)
    const known = key === null ? null : caching!.cache.get(key)
    if (known !== null && !(known instanceof PendingCheck)) return applyVerdict(ex, known)
    const copied = copiesBody ? (ex.requestBytes?.length ?? 0) : 0
    // Clients fill the memory, so a service that may be away does not make this pass.
    if (!hold(ex, copied)) return refuse(ex, 'BUFFERS_FULL', LATER_AGAIN)
    // The one promise of a call.
    return new Promise<Verdict>((resolve) => {
      const done = (decision: Decision | Failed) => {
        letGo(ex, copied)
        resolve(decided(ex, decision, statusOnError))
        return decisionToKeep(ex, decision, plan)
      }
      if (key === null) plan.sendCheck(ex, done)
      else caching!.sendCheck(ex, key, done)
    })
  }
}

function decided(ex: Exchange, decision: Decision | Failed, statusOnError: number | null): Verdict {
  // The client has gone or a timeout has answered: that answer is not to be changed.
  if (ex.step !== STEP_REQUEST) return STOP
  return 'kind' in decision ? applyFailure(ex, decision, statusOnError) : applyVerdict(ex, decision.verdict)
}

/** With the lifetime that the policy says; null: there is none. */
function decisionToKeep(ex: Exchange, decision: Decision | Failed, { lifetime, wallNow }: Plan): Decision | null {
  if ('kind' in decision) return null
  if (lifetime === null) return decision
  // It reads what the verdict has changed, so there is none for an exchange that is over.
  if (ex.step !== STEP_REQUEST) return null
  return shortened(decision, lifetimeMs(lifetime.program.run(ex) as Value, wallNow()))
}

function shortened(decision: Decision, ms: number): Decision {
  return { ...decision, lifetimeMs: Math.min(decision.lifetimeMs ?? ms, ms) }
}

/** So it does where the condition fails, or holds for one of the ways in which the path can be read. */
function needsCheck(ex: Exchange, { program }: Evaluation): boolean {
  const { readings } = ex
  if (readings === null) return program.run(ex) !== false
  return readings.some((path) => program.run(readAs(ex, path)) !== false)
}

function expressions({ check, cache, when }: ExtAuthConfig): string[] {
  const own =
    check.kind === 'grpc'
      ? Object.values(check.requestMetadata ?? {})
      : [
          check.method,
          check.path,
          check.authority,
          check.body,
          check.redirect,
          ...Object.values(check.addRequestHeaders)
        ]
  const lifetime = cache !== null && 'expression' in cache.lifetime ? cache.lifetime.expression : null
  return [...own, ...(cache?.keys ?? []), lifetime, when].filter((source) => source !== null)
}

export const extAuth: Policy = {
  name: 'extAuth',
  section: 'traffic',
  schema,
  aliases: [{ name: 'extAuthz', schema: aliasSchema }],
  expressions,
  // RFC 6761 section 6.4: a name that no server has.
  closed: { host: 'closed.invalid:1', grpc: {} },
  compile
}
