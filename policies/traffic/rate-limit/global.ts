/**
 * Limits of a service that many gateways share (docs/specification.md#rate-limits). It is called once for each request,
 * about all descriptors, and charges each with 1. What counts tokens is charged with the rest when the answer is over,
 * and its cost is known.
 */

import { REQUEST_ROOTS } from '#engine/cel/exchange.ts'
import { expression } from '#engine/cel/expression.ts'
import type { Value } from '#engine/cel/index.ts'
import { type Evaluation, evaluation, showEvaluation } from '#engine/cel/offload.ts'
import { addMeters } from '#engine/contract/buckets.ts'
import { placeOf } from '#engine/contract/detail.ts'
import { type Detail, type Exchange, readAsShortest, STEP_REQUEST } from '#engine/contract/exchange.ts'
import { CONTINUE, type Hook, STOP, type Verdict } from '#engine/contract/filter.ts'
import type { CompileContext } from '#engine/contract/policy.ts'
import { refuse, setRefusalStatus } from '#engine/contract/refuse.ts'
import { withRequestIdField } from '#engine/contract/request-id.ts'
import type { GrpcService, ServiceRef } from '#engine/contract/service.ts'
import { Slot } from '#engine/contract/slot.ts'
import { positiveDuration } from '#engine/schema/duration.ts'
import { list, shortString, tinyString, z } from '#engine/schema/schema.ts'
import { namesService, serviceFields, serviceOf } from '#engine/schema/service-ref.ts'
import { filledIn } from '#engine/schema/spelling.ts'
import { failureMode, statusOf } from '#policies/shared/failure-mode.ts'
import { QUOTA, type Quota } from '#policies/shared/quota.ts'
import { textOf, utf8OfOctets } from '#policies/shared/text.ts'
import type { Admission } from './local.ts'
import {
  ANSWER_BYTES_MAX,
  type Descriptor,
  type LimitAnswer,
  limitRequest,
  readAnswer,
  SHOULD_RATE_LIMIT
} from './service.ts'

const ITEMS_MAX = 16
const TIMEOUT_DEFAULT_MS = 1_000
/** Between two lines about charges that failed; a service that is down would write one for every answer. */
const LOG_INTERVAL_MS = 60_000
/** As Envoy and the closest peer answer. */
const STATUS_DEFAULT = 500

export interface GlobalConfig {
  readonly service: ServiceRef
  readonly domain: string
  readonly descriptors: readonly DescriptorConfig[]
  /** Of the refusal when a call fails; null: the request passes. */
  readonly statusOnError: number | null
  readonly timeoutMs: number
}

interface DescriptorConfig {
  readonly entries: readonly { readonly name: string; readonly expression: string }[]
  readonly isTokens: boolean
}

// --- configuration ---

/** `descriptor`: in the spelling of one of the two. */
const limitsBy = <T extends z.ZodType<DescriptorConfig>>(descriptor: T) =>
  z
    .strictObject({
      ...serviceFields,
      domain: shortString().describe('Limits of the service that are meant.'),
      failureMode: failureMode(),
      timeout: positiveDuration('must be longer than 0s').optional().describe('Default 1s.'),
      descriptors: list(descriptor, 1, ITEMS_MAX)
    })
    .check(namesService())
    .transform(
      (input): GlobalConfig => ({
        service: serviceOf(input),
        domain: input.domain,
        descriptors: input.descriptors,
        statusOnError: statusOf(input.failureMode, STATUS_DEFAULT),
        timeoutMs: input.timeout ?? TIMEOUT_DEFAULT_MS
      })
    )

export const globalLimit = () => {
  const entry = z.strictObject({ name: tinyString(), expression: expression(REQUEST_ROOTS) })
  const descriptor = z.strictObject({
    entries: list(entry, 1, ITEMS_MAX),
    unit: filledIn(z.enum(['Requests', 'Tokens']), 'Requests')
      .optional()
      .describe('What is counted. Default Requests.')
  })
  return limitsBy(descriptor.transform(({ entries, unit }) => ({ entries, isTokens: unit === 'Tokens' })))
}

/** As remoteRateLimit of agentgateway's file. */
export const remoteLimit = () => {
  const entry = z
    .strictObject({ key: tinyString(), value: expression(REQUEST_ROOTS) })
    .transform(({ key, value }) => ({ name: key, expression: value }))
  const descriptor = z.strictObject({
    entries: list(entry, 1, ITEMS_MAX),
    type: z.enum(['requests', 'tokens']).optional()
  })
  return limitsBy(descriptor.transform(({ entries, type }) => ({ entries, isTokens: type === 'tokens' })))
}

export function globalExpressions({ descriptors }: GlobalConfig): string[] {
  return descriptors.flatMap(({ entries }) => entries.map(({ expression }) => expression))
}

// --- build time ---

interface CompiledDescriptor {
  readonly entries: readonly { readonly key: string; readonly value: Evaluation }[]
  readonly isTokens: boolean
}

interface Plan {
  readonly client: GrpcService
  readonly config: GlobalConfig
  readonly descriptors: readonly CompiledDescriptor[]
  readonly failed: () => void
  /** Counts tokens that the service did not hear of. */
  readonly lost: (tokens: number, detail: string) => void
}

export function globalLimits(config: GlobalConfig, context: CompileContext): Admission {
  const { services, offload } = context
  const descriptors = config.descriptors.map(({ entries, isTokens }) => ({
    entries: entries.map(({ name, expression }) => ({
      key: name,
      value: evaluation(expression, 'request', 'any', (job, argument, client) => offload.run(job, argument, client))
    })),
    isTokens
  }))
  const plan: Plan = {
    client: services.grpc(config.service),
    config,
    descriptors,
    failed: () => context.failed('rateLimit'),
    lost: lostCharges(context.log, context.time.now)
  }
  const expressions = descriptors.flatMap(({ entries }) => entries.map(({ value }) => value))
  const waiting = expressions.filter(({ mayWait }) => mayWait)
  const admit: Hook = (ex) =>
    waiting.some((value) => value.waits(ex)) ? later(ex, plan) : ask(ex, plan, valuesNow(ex, descriptors))
  return { admit, expressions }
}

/** Logs the first failure at once, then the sum of the following ones once per interval. */
export function lostCharges(log: CompileContext['log'], monotonicNow: () => number): Plan['lost'] {
  let loggedAt = Number.NEGATIVE_INFINITY
  let sum = 0
  return (tokens, detail) => {
    sum += tokens
    const now = monotonicNow()
    if (now - loggedAt < LOG_INTERVAL_MS) return
    loggedAt = now
    log('warn', `rateLimit: ${sum} tokens could not be charged: ${detail}`)
    sum = 0
  }
}

// --- request time ---

type Values = readonly (readonly Value[])[]

function valuesNow(ex: Exchange, descriptors: readonly CompiledDescriptor[]): Values {
  const view = readAsShortest(ex)
  return descriptors.map(({ entries }) => entries.map(({ value }) => value.run(view) as Value))
}

async function later(ex: Exchange, plan: Plan): Promise<Verdict> {
  const view = readAsShortest(ex)
  const values = plan.descriptors.map(({ entries }) => Promise.all(entries.map(({ value }) => value.run(view))))
  return ask(ex, plan, await Promise.all(values))
}

function ask(ex: Exchange, plan: Plan, values: Values): Verdict | Promise<Verdict> {
  const { client, config, descriptors, failed } = plan
  const sent: SentDescriptor[] = []
  const tokens: Descriptor[] = []
  for (let i = 0; i < descriptors.length; i++) {
    const descriptor = descriptorOf(descriptors[i]!, values[i]!, i)
    if (descriptor === null) {
      failed()
      continue
    }
    sent.push(descriptor)
    if (descriptors[i]!.isTokens) tokens.push(descriptor)
  }
  if (sent.length === 0) return CONTINUE
  const options = { path: SHOULD_RATE_LIMIT, metadata: null, timeoutMs: config.timeoutMs, ex } as const
  const message = limitRequest(config.domain, sent, 1)
  // The one promise of a call.
  return new Promise((resolve) => {
    client.unary({ ...options, messageBytesMax: ANSWER_BYTES_MAX }, message, (answer) => {
      resolve(decided(ex, plan, { sent, tokens }, readAnswer(answer, client.name, sent.length, failed)))
    })
  })
}

interface SentDescriptor extends Descriptor {
  /** In the configuration. */
  readonly index: number
}

/** Null: an entry failed, or its value is no JSON. */
function descriptorOf({ entries }: CompiledDescriptor, values: readonly Value[], index: number): SentDescriptor | null {
  const written: { key: string; value: string }[] = []
  for (let i = 0; i < entries.length; i++) {
    const value = textOf(values[i]!)
    if (value === null) return null
    // The bytes that a client sent in a field, as Envoy tells them; a string of protobuf has to be UTF-8.
    written.push({ key: entries[i]!.key, value: utf8OfOctets(value) ?? value })
  }
  return { entries: written, index }
}

interface SentDescriptors {
  readonly sent: readonly SentDescriptor[]
  readonly tokens: readonly Descriptor[]
}

function decided(ex: Exchange, plan: Plan, { sent, tokens }: SentDescriptors, answer: LimitAnswer | string): Verdict {
  // The client has gone or a timeout has answered: that answer is not to be changed.
  if (ex.step !== STEP_REQUEST) return STOP
  if (typeof answer === 'string') return unavailable(ex, answer, plan.config.statusOnError)
  ANSWER.set(ex, answer)
  if (answer.quota !== null) QUOTA.set(ex, tighter(QUOTA.get(ex), answer.quota, answer.isOver))
  if (answer.isOver)
    return over(
      ex,
      answer,
      whyOver(
        plan,
        answer.over.map((i) => sent[i]!.index)
      )
    )
  for (let i = 0; i < answer.requestFields.length; i += 2)
    ex.request.append(answer.requestFields[i]!, answer.requestFields[i + 1]!)
  if (tokens.length > 0) addMeters(ex, [{ limit: settlement(plan, tokens), caller: null }])
  return CONTINUE
}

/** A limit that is used up is the one to tell of. */
function tighter(current: Quota | null, next: Quota, isOver: boolean): Quota {
  return current === null || isOver || next.left <= current.left ? next : current
}

function unavailable(ex: Exchange, detail: string, statusOnError: number | null): Verdict {
  if (statusOnError === null) return CONTINUE
  setRefusalStatus(ex, 'RATE_LIMIT_UNAVAILABLE', statusOnError)
  const why: Detail = (refused) => `${placeOf(refused, 'rateLimit', '.global')}: ${detail}`
  return refuse(ex, 'RATE_LIMIT_UNAVAILABLE', null, why)
}

/** The first descriptor that is over its limit, with what it has read. Null: the service does not say which it is. */
function whyOver({ descriptors }: Plan, [index, ...others]: readonly number[]): Detail | null {
  if (index === undefined) return null
  return (ex) => {
    const view = readAsShortest(ex)
    const values = descriptors[index]!.entries.map(({ key, value }) => `${key} = ${showEvaluation(value, view)}`)
    const more = others.length === 0 ? '' : `, and ${others.length} more`
    return `${placeOf(ex, 'rateLimit', `.global.descriptors[${index}]`)}${more}: ${values.join(', ')}`
  }
}

function over(ex: Exchange, { retryAfterS, body, responseFields }: LimitAnswer, why: Detail | null): Verdict {
  const headers = retryAfterS === null ? null : ['Retry-After', String(retryAfterS)]
  if (body === null) return refuse(ex, 'RATE_LIMITED', headers, why)
  ex.error = 'RATE_LIMITED'
  ex.errorDetail = why
  const at = responseFields.indexOf(CONTENT_TYPE)
  const contentType = at < 0 ? null : responseFields[at + 1]!
  ex.localReply = { status: 429, body, contentType, headers: withRequestIdField(headers ?? [], ex) }
  return STOP
}

const CONTENT_TYPE = 'content-type'

/** Charges the descriptors with what an answer cost beyond the 1 of the request. */
function settlement({ client, config, lost }: Plan, descriptors: readonly Descriptor[]) {
  return {
    charge(_caller: string | null, amount: number): void {
      if (amount <= 1) return
      const options = { path: SHOULD_RATE_LIMIT, metadata: null, timeoutMs: config.timeoutMs, ex: null } as const
      const message = limitRequest(config.domain, descriptors, amount - 1)
      client.unary({ ...options, messageBytesMax: ANSWER_BYTES_MAX }, message, (answer) => {
        const read = readAnswer(answer, client.name, descriptors.length, () => undefined)
        if (typeof read === 'string') lost(amount - 1, read)
      })
    }
  }
}

// --- the answer to the client ---

const ANSWER = new Slot<LimitAnswer>()

/** draft-ietf-httpapi-ratelimit-headers, and what the service wants to be added. */
export function writeAnswer(ex: Exchange): void {
  const { response } = ex
  const answer = ANSWER.get(ex)
  if (answer === null || response === null) return
  if (answer.states !== '' && !response.has('ratelimit') && !response.has('ratelimit-policy')) {
    response.append('RateLimit-Policy', answer.policies)
    response.append('RateLimit', answer.states)
  }
  const { responseFields } = answer
  for (let i = 0; i < responseFields.length; i += 2) {
    // A refusal has it already: it is that of the service's body, or of the gateway's own.
    if (answer.isOver && responseFields[i] === CONTENT_TYPE) continue
    response.append(responseFields[i]!, responseFields[i + 1]!)
  }
}
