/**
 * An expression on values that somebody has written down, for people who try one out (`/api/v1/cel`): it is checked
 * and run as at a place of the configuration, with the same names, types and limits.
 */
import { decodedPath } from '#engine/http/path.ts'
import { parseJson as parsePlain } from '#engine/kit/json.ts'
import { STEPS_MAX } from './cost.ts'
import { LOG_ROOTS, MCP_ROOTS, REQUEST_ROOTS, RESPONSE_ROOTS } from './exchange.ts'
import { CelError, compile, type Needs, type Problem, position, toJson, typeName, type Value } from './index.ts'
import { doubleOf } from './numbers.ts'
import type { Roots, Variable } from './roots.ts'
import type { SamplePlace } from './sample-places.ts'
import { parseDuration, parseTimestamp } from './time.ts'
import { Fields } from './values.ts'

/** Where expressions run, with what may be read there. */
const PLACES = {
  request: REQUEST_ROOTS,
  mcp: MCP_ROOTS,
  response: RESPONSE_ROOTS,
  log: LOG_ROOTS
} as const satisfies Readonly<Record<SamplePlace, Roots<never>>>

export type Sample = Readonly<Record<string, unknown>>

export interface SampleProblem {
  /** Of the sample: its field. Absent: of the expression. */
  readonly field?: string
  readonly message: string
  /** From 1 on; absent with `field`. */
  readonly line?: number
  readonly column?: number
  /** UTF-16 units from the beginning of the expression. */
  readonly offset?: number
  readonly length?: number
}

export interface SampleRead {
  /** As expressions write it: `request.headers["x-team"]`. */
  readonly name: string
  /** Absent: the sample has none. */
  readonly value?: unknown
}

export type SampleResult =
  | { readonly ok: false; readonly problems: readonly SampleProblem[] }
  | {
      readonly ok: true
      /** dyn: only a run can tell. */
      readonly type: string
      /** What is the matter with the run; null: it has a value. */
      readonly error: { readonly code: string; readonly message: string } | null
      /** As JSON: bytes in base64, times as text. Absent behind an error. */
      readonly value?: unknown
      readonly valueType?: string
      readonly reads: readonly SampleRead[]
      /** Steps of about 50 ns. `perElement`: loops inside each other over what the request brings. */
      readonly cost: { readonly steps: number; readonly stepsMax: number; readonly perElement: number }
    }

/** Never throws. */
export function evaluateSample(source: string, place: SamplePlace, sample: Sample): SampleResult {
  const problems: SampleProblem[] = []
  const roots = plainRoots(PLACES[place])
  const context = valuesOf(withUrl(sample), roots, problems)
  const compiled = compile(source, { roots })
  if (!compiled.ok) problems.push(...compiled.problems.map((problem) => placed(source, problem)))
  if (!compiled.ok || problems.length > 0) return { ok: false, problems }
  const { program } = compiled
  const value = program.run(context)
  const { fixed, degree } = program.cost
  return {
    ok: true,
    type: program.type,
    ...outcomeOf(value),
    reads: readsOf(program.needs, roots, context),
    cost: { steps: fixed, stepsMax: STEPS_MAX, perElement: degree }
  }
}

function placed(source: string, { message, offset, length }: Problem): SampleProblem {
  return { message, ...position(source, offset), offset, length }
}

function outcomeOf(value: Value): Pick<SampleResult & { ok: true }, 'error' | 'value' | 'valueType'> {
  if (value instanceof CelError) return { error: { code: value.code, message: value.message } }
  const text = toJson(value)
  if (text instanceof CelError) return { error: { code: text.code, message: text.message } }
  return { error: null, value: parsePlain(String(text)), valueType: typeName(value) }
}

const WORD = /^[A-Za-z_]\w*$/
const READS_MAX = 32

function readsOf({ paths }: Needs, roots: Roots, context: object): SampleRead[] {
  return paths.slice(0, READS_MAX).map((path) => {
    const name = path.reduce((text, part) => `${text}${WORD.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`}`)
    const compiled = compile(name, { roots })
    const value = compiled.ok ? compiled.program.run(context) : null
    const { error, value: plain } = outcomeOf(value)
    return error === null && compiled.ok ? { name, value: plain } : { name }
  })
}

// --- the sample as what readers would give ---

/** The same names and types, read from a sample of plain values. */
function plainRoots(roots: Roots<never>): Roots {
  return Object.fromEntries(Object.entries(roots).map(([name, variable]) => [name, plain(variable as Variable)]))
}

function plain({ type, fields, isOpen, form }: Variable): Variable {
  return {
    type,
    ...(fields === undefined ? {} : { fields: plainRoots(fields as Roots<never>) }),
    ...(isOpen === undefined ? {} : { isOpen }),
    ...(form === undefined ? {} : { form })
  }
}

/** What follows from `request.url` and is not written beside it. */
function withUrl(sample: Sample): Sample {
  const { request } = sample
  if (typeof request !== 'object' || request === null || !('url' in request)) return sample
  const { url, ...rest } = request as { readonly url: unknown }
  if (typeof url !== 'string' || !URL.canParse(url)) return sample
  const { protocol, host, hostname, pathname, search } = new URL(url)
  const parts = {
    ...{ method: 'GET', uri: url, scheme: protocol.slice(0, -1), host, hostname, path: decodedPath(pathname) },
    ...{ rawPath: pathname, pathAndQuery: pathname + search, version: 'HTTP/1.1', headers: {}, body: '' }
  }
  return { ...sample, request: { ...parts, ...rest } }
}

/** Header fields are found in any case. */
class SampleHeaders extends Fields {
  readonly #lines: ReadonlyMap<string, Value>

  constructor(lines: Readonly<Record<string, Value>>) {
    super()
    this.#lines = new Map(Object.entries(lines).map(([name, value]) => [name.toLowerCase(), value]))
  }

  get(key: string): Value | undefined {
    return this.#lines.get(key.toLowerCase())
  }

  keys(): Iterable<string> {
    return this.#lines.keys()
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, Value>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function valuesOf(sample: Sample, roots: Roots, problems: SampleProblem[]): object {
  const found: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(sample)) {
    const variable = Object.hasOwn(roots, name) ? roots[name]! : null
    if (variable === null) problems.push({ field: name, message: `nothing is called ${name} here` })
    else found[name] = readAs(value, variable, name, problems)
  }
  return found
}

function readAs(value: unknown, { type, fields, isOpen }: Variable, at: string, problems: SampleProblem[]): unknown {
  if (value === undefined || value === null) return undefined
  const report = (message: string) => {
    problems.push({ field: at, message })
    return undefined
  }
  if (type === 'timestamp' || type === 'duration') {
    if (typeof value !== 'string') return report(`must be text, as ${type === 'duration' ? '"1.5s"' : 'RFC 3339'}`)
    const time = type === 'duration' ? parseDuration(value) : parseTimestamp(value)
    return time instanceof CelError ? report(time.message) : time
  }
  if (type === 'double') return typeof value === 'number' ? doubleOf(value) : report('must be a number')
  if (type === 'string') return typeof value === 'string' ? value : report('must be text')
  if (type === 'int') return Number.isSafeInteger(value) ? value : report('must be a whole number')
  if (type === 'bool') return typeof value === 'boolean' ? value : report('must be true or false')
  if (type === 'list') return Array.isArray(value) ? value : report('must be a list')
  if (type !== 'map') return value
  if (!isRecord(value)) return report('must be an object')
  if (at.endsWith('.headers')) return new SampleHeaders(value)
  if (fields === undefined) return value
  const found: Record<string, unknown> = isOpen === true ? { ...value } : {}
  for (const [name, inner] of Object.entries(value)) {
    const field = Object.hasOwn(fields, name) ? fields[name]! : null
    if (field !== null) found[name] = readAs(inner, field, `${at}.${name}`, problems)
    else if (isOpen !== true) problems.push({ field: `${at}.${name}`, message: `${at} has no ${name} here` })
  }
  return found
}
