/** How external processing is configured: the fields of Envoy's filter, in camelCase. */

import { REQUEST_HEAD_ROOTS, RESPONSE_HEAD_ROOTS } from '#engine/cel/exchange.ts'
import { expression } from '#engine/cel/expression.ts'
import type { ServiceRef } from '#engine/contract/service.ts'
import { patternProblem } from '#engine/kit/pattern.ts'
import { positiveDuration } from '#engine/schema/duration.ts'
import { cel, enforcedAs, ONLY_FILES, ONLY_GATEWAY } from '#engine/schema/rule.ts'
import { deferred, longString, map, shortString, z } from '#engine/schema/schema.ts'
import { namesService, serviceFields, serviceOf } from '#engine/schema/service-ref.ts'
import { onlyInFiles } from '#engine/schema/spelling.ts'
import { failureMode, statusOf } from '#policies/shared/failure-mode.ts'

const ENTRIES_MAX = 64
/** Envoy's. */
const MESSAGE_TIMEOUT_DEFAULT_MS = 200

export type BodyMode = 'NONE' | 'STREAMED' | 'BUFFERED' | 'BUFFERED_PARTIAL' | 'FULL_DUPLEX_STREAMED'

export interface SideMode {
  readonly sendsHeaders: boolean
  readonly body: BodyMode
  readonly sendsTrailers: boolean
}

export interface ProcessingModes {
  readonly request: SideMode
  readonly response: SideMode
}

/** Of RE2, for whole names in lower case. */
export interface MutationRulesConfig {
  readonly allowEnvoy?: boolean | undefined
  readonly disallowAll?: boolean | undefined
  readonly disallowSystem?: boolean | undefined
  readonly disallowIsError?: boolean | undefined
  readonly allowExpression?: string | undefined
  readonly disallowExpression?: string | undefined
}

/** Expressions by name. */
export type Expressions = Readonly<Record<string, string>>

export interface ExtProcConfig {
  readonly service: ServiceRef
  readonly modes: ProcessingModes
  readonly allowModeOverride: boolean
  readonly messageTimeoutMs: number
  /** What the service may extend the time for one message to; 0: it may not. */
  readonly maxMessageTimeoutMs: number
  /** Of the answer when the service fails; 'own': that of the error at hand; null: the exchange goes on without it. */
  readonly statusOnError: number | 'own' | null
  readonly rules: MutationRulesConfig
  readonly requestAttributes: Expressions
  readonly responseAttributes: Expressions
  /** By namespace. */
  readonly metadataContext: Readonly<Record<string, Expressions>>
  /** The service is told and nothing waits for it. */
  readonly observabilityMode: boolean
  /** Of bodies that are streamed both ways: what is answered without a body is as it came. */
  readonly unchangedPasses: boolean
  readonly when: string | null
}

const entries = <T extends z.ZodType>(value: T) => map(shortString(), value, 0, ENTRIES_MAX)

const HEADER_MODES = ['DEFAULT', 'SEND', 'SKIP'] as const
const BODY_MODES = ['NONE', 'STREAMED', 'BUFFERED', 'BUFFERED_PARTIAL', 'FULL_DUPLEX_STREAMED'] as const
const BODY_MODES_TEXT = 'NONE, STREAMED, BUFFERED, BUFFERED_PARTIAL or FULL_DUPLEX_STREAMED'

const headerMode = () => z.enum(HEADER_MODES, { error: 'must be SEND, SKIP or DEFAULT' }).optional()
const bodyMode = () =>
  z
    .enum(BODY_MODES, {
      error: ({ input }) =>
        input === 'GRPC' ? `GRPC is not in this version of weir: use ${BODY_MODES_TEXT}` : `must be ${BODY_MODES_TEXT}`
    })
    .optional()

const processingMode = () =>
  z.strictObject({
    requestHeaderMode: headerMode(),
    responseHeaderMode: headerMode(),
    requestBodyMode: bodyMode(),
    responseBodyMode: bodyMode(),
    requestTrailerMode: headerMode(),
    responseTrailerMode: headerMode()
  })

type ModeFields = z.output<ReturnType<typeof processingMode>>

function sideOf(mode: ModeFields, side: 'request' | 'response'): SideMode {
  return {
    sendsHeaders: mode[`${side}HeaderMode`] !== 'SKIP',
    body: mode[`${side}BodyMode`] ?? 'NONE',
    sendsTrailers: mode[`${side}TrailerMode`] === 'SEND'
  }
}

const pattern = () =>
  longString().superRefine((source, context) => {
    const problem = patternProblem(source)
    if (problem !== null) context.addIssue({ code: 'custom', message: problem })
  }, enforcedAs(ONLY_GATEWAY))

// --- the spelling of agentgateway ---

/** What its names mean, however they are capitalized: its file has camelCase, its resources PascalCase. */
const OPTION_BODY_MODES: Readonly<Record<string, BodyMode>> = {
  none: 'NONE',
  buffered: 'BUFFERED',
  bufferedpartial: 'BUFFERED_PARTIAL',
  fullduplexstreamed: 'FULL_DUPLEX_STREAMED'
}

const optionBodyMode = () =>
  shortString()
    .refine(
      (name) => OPTION_BODY_MODES[name.toLowerCase()] !== undefined,
      'must be none, buffered, bufferedPartial or fullDuplexStreamed'
    )
    .transform((name) => OPTION_BODY_MODES[name.toLowerCase()]!)
    .optional()

const isSent = () =>
  shortString()
    .refine((name) => /^(?:send|skip)$/i.test(name), 'must be send or skip')
    .transform((name) => name.toLowerCase() === 'send')
    .optional()

const processingOptions = () =>
  z.strictObject({
    requestHeaderMode: isSent(),
    responseHeaderMode: isSent(),
    requestBodyMode: optionBodyMode(),
    responseBodyMode: optionBodyMode(),
    requestTrailerMode: isSent(),
    responseTrailerMode: isSent(),
    allowModeOverride: z.boolean().optional()
  })

type OptionFields = z.output<ReturnType<typeof processingOptions>>

/** The defaults are those of agentgateway, which sends everything. */
function optionSide(options: OptionFields, side: 'request' | 'response'): SideMode {
  return {
    sendsHeaders: options[`${side}HeaderMode`] ?? true,
    body: options[`${side}BodyMode`] ?? 'FULL_DUPLEX_STREAMED',
    sendsTrailers: options[`${side}TrailerMode`] ?? true
  }
}

const mutationRules = () =>
  z.strictObject({
    allowEnvoy: z.boolean().optional().describe('Fields whose names begin with x-envoy may be changed, too.'),
    disallowAll: z.boolean().optional(),
    disallowSystem: z.boolean().optional().describe(':path and :status may not be changed.'),
    disallowIsError: z.boolean().optional().describe('A change that is not allowed fails the exchange.'),
    allowExpression: pattern().optional().describe('Regular expression for names that may be changed.'),
    disallowExpression: pattern().optional().describe('Regular expression for names that may not.')
  })

const positive = () => positiveDuration('must be longer than 0s')

const OBSERVED = 'must be NONE or STREAMED with observabilityMode: all others wait for the service'

const isObserved = (key: string) =>
  `(!has(self.processingMode.${key}) || self.processingMode.${key} in ['NONE', 'STREAMED'])`

const OBSERVED_IN_RESOURCES = cel(
  `!has(self.observabilityMode) || !self.observabilityMode || !has(self.processingMode) || ${isObserved('requestBodyMode')} && ${isObserved('responseBodyMode')}`,
  { message: `bodies ${OBSERVED}`, field: 'processingMode' }
)

export const schema = deferred(() =>
  z
    .strictObject({
      ...serviceFields,
      processingMode: processingMode().optional().describe('Default: headers of both sides, no bodies, no trailers.'),
      processingOptions: onlyInFiles(processingOptions().optional()).describe(
        'In place of both, as agentgateway spells it.'
      ),
      allowModeOverride: z.boolean().optional().describe('The service may change the mode for one exchange.'),
      messageTimeout: positive().optional().describe('For the answer to one message. Default 200ms.'),
      maxMessageTimeout: positive().optional().describe('Longest time that the service may ask for.'),
      failureMode: failureMode(),
      mutationRules: mutationRules().optional(),
      requestAttributes: entries(expression(REQUEST_HEAD_ROOTS)).optional(),
      responseAttributes: entries(expression(RESPONSE_HEAD_ROOTS)).optional(),
      metadataContext: entries(entries(expression(REQUEST_HEAD_ROOTS))).optional(),
      observabilityMode: z.boolean().optional().describe('The service is told, and nothing waits for its answers.'),
      unchangedPasses: onlyInFiles(z.boolean().optional()).describe(
        'Of bodies that are streamed both ways: pieces that the service answers without a body pass as they came.'
      ),
      when: expression(REQUEST_HEAD_ROOTS, 'bool').optional().describe('Only where it is true.')
    })
    .check(namesService())
    .superRefine(({ processingOptions: options, processingMode: mode, allowModeOverride }, context) => {
      if (options === undefined || (mode === undefined && allowModeOverride === undefined)) return
      const message = 'stands in place of processingMode and allowModeOverride: write one or the other'
      context.addIssue({ code: 'custom', path: ['processingOptions'], message })
    }, enforcedAs(ONLY_FILES))
    .superRefine(({ observabilityMode, processingMode: mode = {}, processingOptions: options }, context) => {
      if (observabilityMode !== true) return
      if (options !== undefined) {
        const message = 'cannot stand beside observabilityMode, for which no body waits: write processingMode'
        context.addIssue({ code: 'custom', path: ['processingOptions'], message })
      }
      for (const key of ['requestBodyMode', 'responseBodyMode'] as const) {
        const body = mode[key] ?? 'NONE'
        if (body === 'NONE' || body === 'STREAMED') continue
        context.addIssue({ code: 'custom', path: ['processingMode', key], message: OBSERVED })
      }
    }, enforcedAs(OBSERVED_IN_RESOURCES))
    .transform((input): ExtProcConfig => {
      const { processingMode: mode = {}, processingOptions: options } = input
      const modeOf = (side: 'request' | 'response') =>
        options === undefined ? sideOf(mode, side) : optionSide(options, side)
      return {
        service: serviceOf(input),
        modes: { request: modeOf('request'), response: modeOf('response') },
        allowModeOverride: options?.allowModeOverride ?? input.allowModeOverride ?? false,
        messageTimeoutMs: input.messageTimeout ?? MESSAGE_TIMEOUT_DEFAULT_MS,
        maxMessageTimeoutMs: input.maxMessageTimeout ?? 0,
        statusOnError: statusOf(input.failureMode, 'own' as const),
        rules: input.mutationRules ?? {},
        requestAttributes: input.requestAttributes ?? {},
        responseAttributes: input.responseAttributes ?? {},
        metadataContext: input.metadataContext ?? {},
        observabilityMode: input.observabilityMode ?? false,
        unchangedPasses: input.unchangedPasses ?? false,
        when: input.when ?? null
      }
    })
)
