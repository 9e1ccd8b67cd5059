/**
 * spec.traffic.authorization: who may do what, as CEL expressions. Rules of all levels hold together; an
 * expression that fails allows nothing (docs/specification.md#authorization).
 */

import { REQUEST_ROOTS } from '#engine/cel/exchange.ts'
import { expression } from '#engine/cel/expression.ts'
import { bodiesOf, type Evaluation, evaluation, showEvaluation } from '#engine/cel/offload.ts'
import { type Detail, placeOf } from '#engine/contract/detail.ts'
import { type Exchange, readAs } from '#engine/contract/exchange.ts'
import { CONTINUE, type Hook } from '#engine/contract/filter.ts'
import type { CompileContext, Compiled, Policy } from '#engine/contract/policy.ts'
import { refuse } from '#engine/contract/refuse.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { ONLY_FILES } from '#engine/schema/rule.ts'
import { deferred, ENTRIES_MAX, list, says, z } from '#engine/schema/schema.ts'
import { filledIn, onlyInFiles } from '#engine/schema/spelling.ts'
import { sound } from '#engine/schema/together.ts'

type Action = 'Allow' | 'Deny' | 'Require'

/** It matches when one of its expressions is true (docs/specification.md#authorization). */
interface Rule {
  readonly action: Action
  readonly expressions: readonly string[]
  /** In the form of the resource, where one rule has all of them. */
  readonly isAlternatives?: true
}

const condition = () => expression(REQUEST_ROOTS, 'bool')

/** One of the file's rules: an expression that allows, or one with the action that it is for. */
const ruleSchema = () =>
  z.union(
    [
      condition(),
      oneOf({ allow: condition().optional(), deny: condition().optional(), require: condition().optional() })
    ],
    { error: says('must be an expression, or an object with one of allow, deny, require') }
  )

const schema = deferred(() =>
  oneOf(
    {
      policy: z.strictObject({ matchExpressions: list(condition(), 1, ENTRIES_MAX) }).optional(),
      rules: onlyInFiles(list(ruleSchema(), 1, ENTRIES_MAX).optional())
    },
    { action: filledIn(z.enum(['Allow', 'Deny', 'Require']), 'Allow').optional() }
  )
    .refine(({ action, rules }) => action === undefined || rules === undefined, {
      when: sound(),
      path: ['action'],
      error: 'belongs to policy: each of the rules says its own',
      params: ONLY_FILES
    })
    .transform(({ policy, action = 'Allow', rules }): readonly Rule[] =>
      rules === undefined
        ? [{ action, expressions: policy!.matchExpressions, isAlternatives: true }]
        : rules.map(ruleOf)
    )
)

function ruleOf(input: z.output<ReturnType<typeof ruleSchema>>): Rule {
  if (typeof input === 'string') return { action: 'Allow', expressions: [input] }
  if (input.deny !== undefined) return { action: 'Deny', expressions: [input.deny] }
  if (input.require !== undefined) return { action: 'Require', expressions: [input.require] }
  return { action: 'Allow', expressions: [input.allow!] }
}

// --- build time ---

function compile(levels: readonly (readonly Rule[])[], { offload }: CompileContext): Compiled {
  const rules = levels.flatMap((level, l) => level.map((rule, i) => ({ rule, level: l, index: i })))
  const of = (action: Action) => rules.filter(({ rule }) => rule.action === action)
  const evaluations = ({ rule, level, index }: (typeof rules)[number]) =>
    rule.expressions.map((source, e): PlacedEvaluation => {
      const run = evaluation(source, 'request', 'bool', (name, job, client) => offload.run(name, job, client))
      const at = rule.isAlternatives === true ? `policy.matchExpressions[${e}]` : `rules[${index}]`
      return { ...run, level, at }
    })
  const denies = of('Deny').flatMap(evaluations)
  const requires = of('Require').map(evaluations)
  const allows = of('Allow').flatMap(evaluations)
  const compiled: CompiledRules = {
    denies: { all: denies, why: denies.map((one) => why('this rule denies it, or fails', [one])) },
    requires: { all: requires, why: requires.map((some) => why('this rule must hold and does not', some)) },
    allows: { all: allows, why: why('no rule allows it', allows) }
  }
  const all = [...denies, ...requires.flat(), ...allows]
  const decided = (detail: Detail | null, ex: Exchange) =>
    detail === null ? CONTINUE : refuse(ex, 'FORBIDDEN', null, detail)
  if (all.some((one) => one.mayWait)) {
    const later = async (ex: Exchange) => decided(await refusalLater(ex, compiled), ex)
    const onRequest: Hook = (ex) =>
      all.some((one) => one.waits(ex)) ? later(ex) : decided(refusalAsRead(ex, compiled), ex)
    return { filter: { onRequest, buffers: bodiesOf(all.map(({ program }) => program)) } }
  }
  return { filter: { onRequest: (ex) => decided(refusalAsRead(ex, compiled), ex) } }
}

/** `at`: its place in the policy, which stands at `level` of the places that have it. */
interface PlacedEvaluation extends Evaluation {
  readonly level: number
  readonly at: string
}

/** `why`: the detail of a refusal by it, made once. */
interface CompiledRules {
  readonly denies: { readonly all: readonly Evaluation[]; readonly why: readonly Detail[] }
  readonly requires: { readonly all: readonly (readonly Evaluation[])[]; readonly why: readonly Detail[] }
  readonly allows: { readonly all: readonly Evaluation[]; readonly why: Detail }
}

/** Of many rules that do not allow, so many are shown. */
const SHOWN_MAX = 3

function why(what: string, rules: readonly PlacedEvaluation[]): Detail {
  return (ex) => {
    // As with the run: of a path that can be read in several ways it is asked about each.
    const reading = ex.readings === null ? ex : readAs(ex, ex.readings[0]!)
    const shown = rules.slice(0, SHOWN_MAX).map((rule) => {
      const place = placeOf(ex, 'authorization', `.${rule.at}`, rule.level)
      return `${place}: ${showEvaluation(rule, reading)}`
    })
    const rest = rules.length - shown.length
    return `${what}: ${shown.join(', ')}${rest > 0 ? `, and ${rest} more` : ''}`
  }
}

// --- request time ---

/**
 * Null: it may pass. A path that can be read in several ways has to pass in each: denied by one, or not allowed in one,
 * is denied.
 */
function refusalAsRead(ex: Exchange, rules: CompiledRules): Detail | null {
  const { readings } = ex
  if (readings === null) return refusal(ex, rules)
  for (let i = 0; i < readings.length; i++) {
    const found = refusal(readAs(ex, readings[i]!), rules)
    if (found !== null) return found
  }
  return null
}

function refusal(ex: Exchange, { denies, requires, allows }: CompiledRules): Detail | null {
  for (let i = 0; i < denies.all.length; i++) if (denies.all[i]!.run(ex) !== false) return denies.why[i]!
  for (let i = 0; i < requires.all.length; i++) if (!isOneTrue(requires.all[i]!, ex)) return requires.why[i]!
  return allows.all.length === 0 || isOneTrue(allows.all, ex) ? null : allows.why
}

/** An expression that fails, or gives no boolean, is not true. */
function isOneTrue(rules: readonly Evaluation[], ex: Exchange): boolean {
  for (let i = 0; i < rules.length; i++) if (rules[i]!.run(ex) === true) return true
  return false
}

/** As refusalAsRead, for rules that read a body: one that is large for its expression runs in another thread. */
async function refusalLater(ex: Exchange, rules: CompiledRules): Promise<Detail | null> {
  for (const path of ex.readings ?? [ex.originalPath]) {
    const found = await oneRefusalLater(readAs(ex, path), rules)
    if (found !== null) return found
  }
  return null
}

async function oneRefusalLater(ex: Exchange, { denies, requires, allows }: CompiledRules): Promise<Detail | null> {
  for (const [i, rule] of denies.all.entries()) if ((await rule.run(ex)) !== false) return denies.why[i]!
  for (const [i, some] of requires.all.entries()) if (!(await isOneTrueLater(some, ex))) return requires.why[i]!
  return allows.all.length === 0 || (await isOneTrueLater(allows.all, ex)) ? null : allows.why
}

async function isOneTrueLater(rules: readonly Evaluation[], ex: Exchange): Promise<boolean> {
  for (const rule of rules) if ((await rule.run(ex)) === true) return true
  return false
}

export const authorization: Policy = {
  name: 'authorization',
  section: 'traffic',
  schema,
  aliases: [],
  accumulates: true,
  closed: { rules: [{ deny: 'true' }] },
  expressions: (rules: readonly Rule[]) => rules.flatMap(({ expressions }) => expressions),
  compile
}
