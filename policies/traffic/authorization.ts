/**
 * spec.traffic.authorization: who may do what, as CEL expressions. Rules of all levels hold together; an
 * expression that fails allows nothing (docs/specification.md#authorization).
 */

import { REQUEST_ROOTS } from '#engine/cel/exchange.ts'
import { expression } from '#engine/cel/expression.ts'
import { bodiesOf, type Evaluation, evaluation } from '#engine/cel/offload.ts'
import { type Exchange, readAs } from '#engine/contract/exchange.ts'
import { CONTINUE, type Hook } from '#engine/contract/filter.ts'
import type { CompileContext, Compiled, Policy } from '#engine/contract/policy.ts'
import { refuse } from '#engine/contract/refuse.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { deferred, ENTRIES_MAX, list, says, z } from '#engine/schema/schema.ts'
import { sound } from '#engine/schema/together.ts'

type Action = 'Allow' | 'Deny' | 'Require'

/** It matches when one of its expressions is true (docs/specification.md#authorization). */
interface Rule {
  readonly action: Action
  readonly expressions: readonly string[]
}

const condition = () => expression(REQUEST_ROOTS, 'bool')

/** One of the file's rules: an expression that allows, or one with the action that it is for. */
const rule = () =>
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
      rules: list(rule(), 1, ENTRIES_MAX).optional()
    },
    { action: z.enum(['Allow', 'Deny', 'Require']).optional() }
  )
    .refine(({ action, rules }) => action === undefined || rules === undefined, {
      when: sound(),
      path: ['action'],
      error: 'belongs to policy: each of the rules says its own'
    })
    .transform(({ policy, action = 'Allow', rules }): readonly Rule[] =>
      rules === undefined ? [{ action, expressions: policy!.matchExpressions }] : rules.map(ruleOf)
    )
)

function ruleOf(given: z.output<ReturnType<typeof rule>>): Rule {
  if (typeof given === 'string') return { action: 'Allow', expressions: [given] }
  if (given.deny !== undefined) return { action: 'Deny', expressions: [given.deny] }
  if (given.require !== undefined) return { action: 'Require', expressions: [given.require] }
  return { action: 'Allow', expressions: [given.allow!] }
}

// --- build time ---

function compile(levels: readonly (readonly Rule[])[], { offload }: CompileContext): Compiled {
  const rules = levels.flat()
  const of = (action: Action) => rules.filter((given) => given.action === action)
  const evaluations = (given: Rule) =>
    given.expressions.map((source) =>
      evaluation(source, 'request', 'bool', (name, job, client) => offload.run(name, job, client))
    )
  const compiled: CompiledRules = {
    denies: of('Deny').flatMap(evaluations),
    requires: of('Require').map(evaluations),
    allows: of('Allow').flatMap(evaluations)
  }
  const all = [...compiled.denies, ...compiled.requires.flat(), ...compiled.allows]
  if (all.some((one) => one.mayWait)) {
    const decided = (passes: boolean, ex: Exchange) => (passes ? CONTINUE : refuse(ex, 'FORBIDDEN'))
    const later = async (ex: Exchange) => decided(await mayPassLater(ex, compiled), ex)
    const onRequest: Hook = (ex) =>
      all.some((one) => one.waits(ex)) ? later(ex) : decided(mayPassAsRead(ex, compiled), ex)
    return { filter: { onRequest, buffers: bodiesOf(all.map(({ program }) => program)) } }
  }
  return { filter: { onRequest: (ex) => (mayPassAsRead(ex, compiled) ? CONTINUE : refuse(ex, 'FORBIDDEN')) } }
}

interface CompiledRules {
  readonly denies: readonly Evaluation[]
  readonly requires: readonly (readonly Evaluation[])[]
  readonly allows: readonly Evaluation[]
}

// --- request time ---

/** A path that can be read in several ways has to pass in each: denied by one, or not allowed in one, is denied. */
function mayPassAsRead(ex: Exchange, rules: CompiledRules): boolean {
  const { readings } = ex
  if (readings === null) return mayPass(ex, rules)
  for (let i = 0; i < readings.length; i++) if (!mayPass(readAs(ex, readings[i]!), rules)) return false
  return true
}

function mayPass(ex: Exchange, { denies, requires, allows }: CompiledRules): boolean {
  for (let i = 0; i < denies.length; i++) if (denies[i]!.run(ex) !== false) return false
  for (let i = 0; i < requires.length; i++) if (!isOneTrue(requires[i]!, ex)) return false
  return allows.length === 0 || isOneTrue(allows, ex)
}

/** An expression that fails, or gives no boolean, is not true. */
function isOneTrue(rules: readonly Evaluation[], ex: Exchange): boolean {
  for (let i = 0; i < rules.length; i++) if (rules[i]!.run(ex) === true) return true
  return false
}

/** As mayPassAsRead, for rules that read a body: one that is large for its expression runs in another thread. */
async function mayPassLater(ex: Exchange, rules: CompiledRules): Promise<boolean> {
  for (const path of ex.readings ?? [ex.originalPath]) {
    if (!(await mayPassOneLater(readAs(ex, path), rules))) return false
  }
  return true
}

async function mayPassOneLater(ex: Exchange, { denies, requires, allows }: CompiledRules): Promise<boolean> {
  for (const rule of denies) if ((await rule.run(ex)) !== false) return false
  for (const alternatives of requires) if (!(await isOneTrueLater(alternatives, ex))) return false
  return allows.length === 0 || (await isOneTrueLater(allows, ex))
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
  expressions: (rules: readonly Rule[]) => rules.flatMap(({ expressions }) => expressions),
  compile
}
