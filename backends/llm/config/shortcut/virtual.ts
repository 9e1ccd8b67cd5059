/** The file's `llm.virtualModels`: names that stand for other models, and what decides which of them is asked. */
import { type FileRankingFields, RANKINGS, type RankingName, rankingFields } from '#backends/llm/config/ranking.ts'
import { shadow } from '#backends/llm/config/shadow.ts'
import { ERROR_CLASSES, type ErrorClass } from '#backends/llm/config/snapshot.ts'
import { REQUEST_HEAD_ROOTS } from '#engine/cel/exchange.ts'
import { expression } from '#engine/cel/expression.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { list, shortString, whole, z } from '#engine/schema/schema.ts'
import { serving } from './serving.ts'

const TARGETS_MAX = 32
const FALLBACKS_MAX = 8
const WEIGHT_MAX = 1_000_000
const PRIORITY_MAX = 1_000_000

const served = () => shortString().describe('A name that one of llm.models serves.')

const targets = <S extends Record<string, z.ZodOptional>>(more: S) =>
  list(z.strictObject({ model: served(), ...more }), 1, TARGETS_MAX)

const prioritised = () =>
  targets({
    priority: whole(0, PRIORITY_MAX).optional().describe('Lower is asked first; equal ones share. Default 0.')
  })

const weighted = () => targets({ weight: whole(0, WEIGHT_MAX).optional().describe('Default 1.') })

const conditional = () =>
  targets({
    when: expression(REQUEST_HEAD_ROOTS, 'bool').optional().describe('Of the request without its body. Default: true.')
  }).superRefine((all, context) => {
    all.slice(0, -1).forEach(({ when }, i) => {
      const message = 'is needed: behind a target that is always taken no other one is'
      if (when === undefined) context.addIssue({ code: 'custom', path: [i, 'when'], message })
    })
  })

const ranked = (kind: RankingName, what: string) =>
  z
    .strictObject({ targets: prioritised(), ...rankingFields[kind]() })
    .optional()
    .describe(what)

const fallbacks = () =>
  list(
    z.strictObject({
      on: list(z.enum(ERROR_CLASSES), 1, ERROR_CLASSES.length).describe('What has gone wrong.'),
      models: list(served(), 1, TARGETS_MAX).describe('Asked then, in this order.')
    }),
    1,
    FALLBACKS_MAX
  ).superRefine((all, context) => {
    const seen = new Set<ErrorClass>()
    all.forEach(({ on }, i) => {
      on.forEach((error, at) => {
        const path = [i, 'on', at]
        if (seen.has(error)) context.addIssue({ code: 'custom', path, message: `there is already a list for ${error}` })
        seen.add(error)
      })
    })
  })

/** Of a model itself: the short form of a virtual model that asks it first. */
export const ownFallbacks = () => list(served(), 1, TARGETS_MAX - 1)

export const virtualModel = () =>
  z.strictObject({
    name: shortString()
      .regex(/^[^*]+$/, 'cannot have a star')
      .describe("The client's name of the model."),
    routing: oneOf({
      failover: z.strictObject({ targets: prioritised() }).optional(),
      weighted: z
        .strictObject({
          targets: weighted().refine((all) => all.some(({ weight = 1 }) => weight > 0), 'every weight is 0')
        })
        .optional(),
      conditional: z
        .strictObject({ targets: conditional() })
        .optional()
        .describe('The first one whose `when` is true.'),
      canary: z
        .strictObject({
          model: served().describe('For all others, and for those that the new one fails.'),
          to: served().describe('The new one.'),
          percent: whole(0, 100).describe('Of the requests, to the new one.'),
          key: expression(REQUEST_HEAD_ROOTS)
            .optional()
            .describe('Requests with one key go the same way. Default: each is drawn.')
        })
        .optional()
        .describe('A share of the requests tries a new model.'),
      cost: ranked('cost', 'The cheapest by its price.'),
      latency: ranked('latency', 'The first to begin its answers.'),
      leastBusy: ranked('leastBusy', 'The one with the fewest calls under way.'),
      consistentHash: ranked('consistentHash', 'The same one for the same key.')
    }),
    fallbacks: fallbacks().optional().describe('Models for one kind of error each.'),
    shadow: shadow({ model: served() }).optional()
  })

interface Target {
  readonly model: string
  readonly priority?: number | undefined
  readonly weight?: number | undefined
  readonly when?: string | undefined
}

interface FileTargets {
  readonly targets: readonly Target[]
}

export interface LlmVirtual {
  readonly name: string
  readonly routing: {
    readonly failover?: FileTargets | undefined
    readonly weighted?: FileTargets | undefined
    readonly conditional?: FileTargets | undefined
    readonly canary?:
      | { readonly model: string; readonly to: string; readonly percent: number; readonly key?: string | undefined }
      | undefined
  } & { readonly [kind in RankingName]?: (FileTargets & FileRankingFields) | undefined }
  readonly fallbacks?: readonly { readonly on: readonly ErrorClass[]; readonly models: readonly string[] }[] | undefined
  readonly shadow?: { readonly model: string; readonly percent: number } | undefined
}

type Report = (at: readonly (string | number)[], message: string) => void

const LISTS = ['failover', 'weighted', 'conditional', ...RANKINGS] as const

/** Of a model: what nothing serves, itself, and a pattern, of which nobody can say what to ask instead. */
export function checkOwnFallbacks(
  { name, fallbacks = [] }: { readonly name: string; readonly fallbacks?: readonly string[] | undefined },
  models: readonly { readonly name: string }[],
  at: readonly (string | number)[],
  report: Report
): void {
  if (fallbacks.length > 0 && name.includes('*')) report([...at, 'fallbacks'], 'is for a name without a star')
  fallbacks.forEach((model, i) => {
    const place = [...at, 'fallbacks', i]
    if (model === name || fallbacks.indexOf(model) < i) report(place, `"${model}" is asked before already`)
    else checkServed(model, models, place, report)
  })
}

function checkServed(
  model: string,
  models: readonly { readonly name: string }[],
  place: readonly (string | number)[],
  report: Report
): void {
  if (model.includes('*')) report(place, 'must be the name of a model, without a star')
  else if (serving(models, model) === undefined) report(place, `no model of llm.models serves "${model}"`)
}

/** Names of models that nothing serves. `at`: where the virtual model stands. */
export function checkTargets(
  { routing, fallbacks = [], shadow: copies }: LlmVirtual,
  models: readonly { readonly name: string }[],
  at: readonly (string | number)[],
  report: Report
): void {
  const check = (model: string, path: readonly (string | number)[]): void => {
    checkServed(model, models, [...at, ...path], report)
  }
  for (const kind of LISTS) {
    const all = routing[kind]?.targets ?? []
    all.forEach(({ model }, i) => {
      check(model, ['routing', kind, 'targets', i, 'model'])
    })
  }
  if (routing.canary !== undefined) {
    check(routing.canary.model, ['routing', 'canary', 'model'])
    check(routing.canary.to, ['routing', 'canary', 'to'])
  }
  if (copies !== undefined) check(copies.model, ['shadow', 'model'])
  fallbacks.forEach(({ models: names }, i) => {
    names.forEach((model, j) => {
      check(model, ['fallbacks', i, 'models', j])
    })
  })
}
