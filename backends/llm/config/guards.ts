/** Prompt guards (docs/specification.md#prompt-guards). */

import type { AiGuard, AiGuards, AiRejection, AiRouteType } from '#backends/llm/config/snapshot.ts'
import { isOperation, operationKind } from '#backends/llm/routes/operations.ts'
import type { Report } from '#engine/contract/backend-config.ts'
import type { DocumentSources } from '#engine/contract/policy.ts'
import { BUILTIN_NAMES } from '#engine/kit/scan/builtins.ts'
import { atLeastOne, oneOf, someOf } from '#engine/schema/choice.ts'
import { positiveDuration } from '#engine/schema/duration.ts'
import { fieldName, regexSource } from '#engine/schema/http.ts'
import { realKeys, withNeutralNames } from '#engine/schema/names.ts'
import { target } from '#engine/schema/net.ts'
import type { Placed } from '#engine/schema/placed.ts'
import { ENTRIES_MAX, list, whole, z } from '#engine/schema/schema.ts'
import { backendRef } from '#engine/schema/service-ref.ts'
import { filledIn, inResources, onlyInFiles } from '#engine/schema/spelling.ts'
import { CLOUD_SERVICES, cloudGuards, cloudGuardsOfAnswers, translateCloudGuard } from './cloud-guards.ts'
import { checkGuardServices } from './guard-services.ts'
import { moderation, moderationService, translateModeration } from './moderation.ts'

/** docs/specification.md#prompt-guards. */
const GUARDS_MAX = 8
const MESSAGE_MAX = 16_384
const TIMEOUT_MS = 10_000

const REJECTED = {
  request: 'The request was rejected due to inappropriate content',
  response: 'The response was rejected due to inappropriate content'
} as const

const answer = () =>
  atLeastOne({
    message: z.string().min(1).max(MESSAGE_MAX).optional(),
    statusCode: whole(200, 599).optional().describe('Default 403.')
  })

const regex = () =>
  z
    .strictObject({
      builtins: list(z.enum(BUILTIN_NAMES), 1, BUILTIN_NAMES.length).optional(),
      matches: list(regexSource(), 1, ENTRIES_MAX).optional().describe('Expressions in RE2 syntax.'),
      action: filledIn(z.enum(['Mask', 'Reject']), 'Mask')
        .optional()
        .describe('Of requests; answers are always masked. Default Mask.')
    })
    .check(someOf(['builtins', 'matches']))

const failing = {
  failureMode: z
    .enum(['FailClosed', 'FailOpen'])
    .optional()
    .describe('What happens when it cannot be asked. Default FailClosed: 503.'),
  timeout: positiveDuration('must be longer than nothing: no answer comes in no time')
    .optional()
    .describe('Default 10s.')
}

const headerMatch = () =>
  inResources(
    z.strictObject({
      name: fieldName(),
      value: oneOf({ exact: z.string().max(4096).optional(), regex: regexSource().optional() })
    }),
    'HttpHeaderMatch'
  )

const webhook = () =>
  oneOf(
    {
      backendRef: backendRef().optional().describe('A backend, with its own backend policies.'),
      backend: onlyInFiles(
        z
          .strictObject({ host: target().refine(({ unixPath }) => unixPath === null, 'must not be a unix socket') })
          .optional()
      ).describe('Where it is, without TLS: "host:port".')
    },
    {
      forwardHeaderMatches: list(headerMatch(), 1, ENTRIES_MAX)
        .optional()
        .describe("The client's header fields that are sent along."),
      ...failing
    }
  )

const requestGuard = () =>
  oneOf(
    withNeutralNames({
      regex: regex().optional(),
      webhook: webhook().optional(),
      openAIModeration: moderation(failing).optional(),
      ...cloudGuards(failing)
    }),
    { response: answer().optional().describe('What the client gets when it is rejected.') }
  )

const responseGuard = () =>
  oneOf(
    { regex: regex().optional(), webhook: webhook().optional(), ...cloudGuardsOfAnswers(failing) },
    { response: answer().optional().describe('What the client gets when it is rejected.') }
  )

export const promptGuard = () =>
  atLeastOne({
    request: list(requestGuard(), 1, GUARDS_MAX).optional().describe('Over what clients ask, in this order.'),
    response: list(responseGuard(), 1, GUARDS_MAX).optional().describe('Over what models answer, in this order.')
  })

export type FileGuards = z.output<ReturnType<typeof promptGuard>>
type FileGuard = NonNullable<FileGuards['request']>[number]

/** Its content is unknown. */
const isUnguarded = (type: AiRouteType): boolean =>
  type === 'Passthrough' || (isOperation(type) && operationKind(type).guarded('completions') === null)

/** The first route where guards would stand and see nothing, or null. */
export function unguardedRoute(routes: Readonly<Record<string, AiRouteType>>): readonly [string, string] | null {
  return Object.entries(routes).find(([, type]) => isUnguarded(type)) ?? null
}

/** Throws a FieldError for a reference of a guard (checkServices has said where). */
export function translateGuards(file: FileGuards | undefined, sources: DocumentSources): AiGuards {
  return {
    request: (file?.request ?? []).map((guard) => translate(guard, REJECTED.request, sources)),
    // The action is for requests; matches in answers are always masked (docs/specification.md#prompt-guards).
    response: (file?.response ?? []).map((guard) => masking(translate(guard, REJECTED.response, sources)))
  }
}

function masking(guard: AiGuard): AiGuard {
  return guard.kind === 'regex' ? { ...guard, action: 'mask' } : guard
}

function translate(file: FileGuard, message: string, sources: DocumentSources): AiGuard {
  const { regex: rules, webhook: hook, openAIModeration: moderated, ...clouds } = realKeys(file)
  const reply: AiRejection = { status: file.response?.statusCode ?? 403, message: file.response?.message ?? message }
  if (rules !== undefined) {
    return {
      kind: 'regex',
      rules: { builtins: rules.builtins ?? [], patterns: rules.matches ?? [] },
      action: rules.action === 'Reject' ? 'reject' : 'mask',
      reply
    }
  }
  const cloud = clouds.bedrockGuardrails ?? clouds.azureContentSafety ?? clouds.googleModelArmor
  const { failureMode, timeout } = (hook ?? moderated ?? cloud)!
  const common = { failOpen: failureMode === 'FailOpen', timeoutMs: timeout ?? TIMEOUT_MS, reply }
  if (hook !== undefined) {
    const forward = (hook.forwardHeaderMatches ?? []).map(({ name, value }) => ({
      name,
      value: value.regex === undefined ? { exact: value.exact ?? '' } : { regex: value.regex }
    }))
    const named = hook.backendRef
    const server =
      named === undefined
        ? originOf('http', hook.backend!.host)
        : { name: named.name, at: ['webhook', 'backendRef', 'name'] }
    return { kind: 'webhook', server, forward, ...common }
  }
  const server =
    moderated === undefined ? translateCloudGuard(clouds, sources) : translateModeration(moderated, sources)
  return { ...server!, ...common }
}

/** What guards refer to. `guards`: what stands under promptGuard. */
export function checkServices(guards: Placed, sources: DocumentSources, report: Report): void {
  checkGuardServices({ openAIModeration: moderationService, ...CLOUD_SERVICES }, guards, sources, report)
}

function originOf(scheme: string, { host: name, port: at }: { readonly host: string; readonly port: number }): string {
  return `${scheme}://${name.includes(':') ? `[${name}]` : name}:${at}`
}
