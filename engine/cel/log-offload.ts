/**
 * Lines of the access log whose expressions look into a large prompt or answer: filter and fields run as one job in
 * another thread, and the line is written when it is done.
 */
import type { AccessLogPlan, FieldSink } from '#engine/contract/access-log.ts'
import { clientKey } from '#engine/contract/client-key.ts'
import type { ModelContent } from '#engine/contract/model-use.ts'
import type { Facts } from './exchange.ts'
import type { Expression } from './expression.ts'
import { type LogField, writeField } from './log-fields.ts'
import { compiledFor, type PackedFacts, pack, type RunJob, unpack } from './offload.ts'
import { readsContent } from './offload-content.ts'

/** The job's name in the pool. */
export const CEL_LOG_JOB = 'cel-log'

/** No line has room for more characters of one field. */
const FIELD_CHARS_MAX = 4096

export interface CelLogJob {
  /** Null: there is none. */
  readonly filter: string | null
  readonly fields: readonly { readonly name: string; readonly source: string }[]
  readonly facts: PackedFacts
}

type Scalar = string | number | boolean | null

interface Written {
  /** Null: the expression has failed. */
  readonly isWanted: boolean | null
  /** Of each field of the configuration: those that it has become; null: it has no value that can be written. */
  readonly fields: readonly (readonly (readonly [name: string, value: Scalar])[] | null)[]
}

type Known = Pick<AccessLogPlan, 'filter' | 'attributes'>

/** AccessLogPlan.elsewhere. */
export function logElsewhere(
  filter: Expression | null,
  fields: readonly LogField[],
  offload: RunJob
): AccessLogPlan['elsewhere'] {
  const programs = [...fields.map(({ program }) => program), ...(filter === null ? [] : [filter])]
  if (!programs.some(({ needs }) => readsContent(needs))) return null
  const sources = fields.map(({ name, program }) => ({ name, source: program.source }))
  const needs = programs.map((program) => program.needs)
  return (ex) => {
    if (ex.llm?.content?.elsewhere() == null) return null
    // Most lines that a filter leaves out need no other thread for that.
    const isHere = filter !== null && !readsContent(filter.needs)
    if (isHere && filter.run(ex) !== true) return null
    const job = { filter: isHere ? null : (filter?.source ?? null), fields: sources, facts: pack(ex, needs) }
    return offload(CEL_LOG_JOB, job satisfies CelLogJob, clientKey(ex)).then(
      (written) => known(written as Written),
      // Too much is waiting, or the helper died: all of them have failed.
      () => known({ isWanted: isHere || filter === null ? true : null, fields: fields.map(() => null) })
    )
  }
}

function known({ isWanted, fields }: Written): Known {
  return {
    filter: () => isWanted,
    attributes: (_ex, into) => fields.filter((field) => field === null || !addAll(field, into)).length
  }
}

const addAll = (field: readonly (readonly [string, Scalar])[], into: FieldSink) =>
  field.every(([name, value]) => into.add(name, value))

// --- in the helper thread ---

/** What the pool runs under CEL_LOG_JOB. `content`: as of runCelJob. */
export function runCelLogJob({ filter, fields, facts }: CelLogJob, content?: ModelContent): Written {
  const ex = unpack(facts, content)
  const isWanted = filter === null ? true : decided(compiledFor(filter, 'log'), ex)
  if (isWanted !== true) return { isWanted, fields: [] }
  return { isWanted, fields: fields.map(({ name, source }) => fieldsOf(name, compiledFor(source, 'log'), ex)) }
}

function decided(filter: Expression, ex: Facts): boolean | null {
  const value = filter.run(ex)
  return typeof value === 'boolean' ? value : null
}

function fieldsOf(name: string, program: Expression, ex: Facts): (readonly [string, Scalar])[] | null {
  const found: (readonly [string, Scalar])[] = []
  const add = (field: string, value: Scalar): boolean => {
    found.push([field, typeof value === 'string' ? value.slice(0, FIELD_CHARS_MAX) : value])
    return true
  }
  return writeField({ name, program }, ex, { add }) ? found : null
}
