/**
 * The configuration file -> a Snapshot, or every mistake in it: each with file, line, column, the
 * path of the value, what is allowed there, and what was probably meant.
 */
import { createHash } from 'node:crypto'
import type { Problem } from '#engine/contract/config-error.ts'
import type { Policy } from '#engine/contract/policy.ts'
import { nearest } from '#engine/kit/near.ts'
import type { z } from '#engine/schema/schema.ts'
import { ConfigDocument, type Env, type Path } from './document.ts'
import { fileSchema } from './file.ts'
import { type JsonSchema, jsonSchemaOf, keysAt } from './json-schema.ts'
import { comesLater, UNHONOURED } from './later.ts'
import { checkReferences } from './references.ts'
import { type SnapshotDraft, translate } from './translate.ts'

export type { SnapshotDraft } from './translate.ts'

export interface ConfigError {
  readonly file: string
  /** From 1. */
  readonly line: number
  readonly column: number
  /** binds[0].listeners[1].hostname; '' for the text as a whole. */
  readonly path: string
  readonly message: string
}

export type LoadResult =
  | { readonly ok: true; readonly snapshot: SnapshotDraft }
  | { readonly ok: false; readonly errors: readonly ConfigError[] }

export interface LoadOptions {
  /** Named in errors. */
  readonly file: string
  /** For $VAR in the text and for the overrides of `config`. */
  readonly env: Env
  readonly policies: readonly Policy[]
  /** Finds what shows only when the parts come together; run when everything else is in order. */
  readonly check?: (draft: SnapshotDraft) => readonly Problem[]
}

/** Never throws for anything that `text` may hold. */
export function loadConfig(text: string, options: LoadOptions): LoadResult {
  const { file, policies, env } = options
  const document = new ConfigDocument(text, env)
  if (document.errors.length > 0) {
    return { ok: false, errors: document.errors.map((error) => ({ file, path: '', ...error })) }
  }
  if (document.data === null || typeof document.data !== 'object') {
    const message = 'the configuration is empty; it needs at least binds'
    return { ok: false, errors: [{ file, line: 1, column: 1, path: '', message }] }
  }
  const schema = schemaFor(policies)
  const parsed = schema.safeParse(document.data)
  const context: Context = { data: document.data, jsonSchema: () => jsonSchemaOf(schema) }
  const found = [
    ...(parsed.error?.issues ?? []).flatMap((issue) => explain(issue, context, [])),
    ...checkReferences(document.data).map((finding) => ({ ...finding, key: null }))
  ]
  if (!parsed.success || found.length > 0) {
    const errors = found.map(({ path, key, message }): ConfigError => {
      const position = key === null ? document.locate(path) : document.locateKey(path, key)
      return { file, ...position, path: show(key === null ? path : [...path, key]), message }
    })
    return { ok: false, errors: errors.sort((a, b) => a.line - b.line || a.column - b.column) }
  }
  const snapshot = translate(parsed.data, policies, env)
  const problems = options.check?.(snapshot) ?? []
  if (problems.length === 0) return { ok: true, snapshot }
  return {
    ok: false,
    errors: problems.map(({ path, message }) => ({ file, ...document.locate(stepsOf(path)), path, message }))
  }
}

/** First 12 hex digits of the SHA-256 of the text: names a configuration in logs and at the admin port. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}

/** One line per mistake: file:line:column: path: message. */
export function formatErrors(errors: readonly ConfigError[]): string {
  return errors
    .map(
      ({ file, line, column, path, message }) =>
        `${file}:${line}:${column}: ${path === '' ? '' : `${path}: `}${message}`
    )
    .join('\n')
}

// --- from the schema library's issues to sentences ---

interface Found {
  readonly path: Path
  /** A key of the object at `path` that should not be there, or null. */
  readonly key: string | null
  readonly message: string
}

/** What explaining an issue needs. */
interface Context {
  readonly data: unknown
  /** Made only when a key is unknown: valid files do not pay for it. */
  readonly jsonSchema: () => JsonSchema
}

/** Schemas by registry: building one takes longer than using it. */
const schemas = new WeakMap<readonly Policy[], ReturnType<typeof fileSchema>>()

function schemaFor(policies: readonly Policy[]): ReturnType<typeof fileSchema> {
  let schema = schemas.get(policies)
  if (schema === undefined) {
    schema = fileSchema(policies)
    schemas.set(policies, schema)
  }
  return schema
}

function explain(issue: z.core.$ZodIssue, context: Context, base: Path): Found[] {
  const path: Path = [...base, ...(issue.path as (string | number)[])]
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path, key, message: unknownKey(path, key, context) }))
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const nearest = [...issue.errors].sort((a, b) => a.length - b.length || depth(b) - depth(a))[0] ?? []
    const isShapeless = nearest.every(({ code, path: inner }) => code === 'invalid_type' && inner.length === 0)
    if (!isShapeless) return nearest.flatMap((inner) => explain(inner, context, path))
    return [{ path, key: null, message: issue.message }]
  }
  return [{ path, key: null, message: sentence(issue, valueAt(context.data, path)) }]
}

function depth(issues: readonly z.core.$ZodIssue[]): number {
  return Math.max(0, ...issues.map(({ path }) => path.length))
}

function unknownKey(path: Path, key: string, context: Context): string {
  if (comesLater(path, key)) {
    const what = path.at(-1) === 'policies' ? 'policy ' : ''
    return `${what}'${key}' is not in this version of weir`
  }
  if (UNHONOURED[key] !== undefined && String(path.at(-1)).startsWith('keepalive')) return UNHONOURED[key]
  const allowed = keysAt(context.jsonSchema(), path)
  const near = nearest(key, allowed)
  if (near !== null) return `unknown key '${key}'; did you mean '${near}'?`
  return `unknown key '${key}'; allowed here: ${allowed.join(', ')}`
}

function sentence(issue: z.core.$ZodIssue, value: unknown): string {
  // A schema's own words are better than any made from the code alone.
  if (!/^(?:Invalid |Too )/.test(issue.message)) return issue.message
  switch (issue.code) {
    case 'invalid_type':
      if (value === undefined) return `is required (${article(issue.expected)})`
      return `expected ${article(issue.expected)}, got ${describe(value)}`
    case 'invalid_value': {
      const near = typeof value === 'string' ? nearest(value, issue.values.map(String)) : null
      const hint = near === null ? '' : `; did you mean '${near}'?`
      return `expected one of ${issue.values.join(', ')}, got ${describe(value)}${hint}`
    }
    case 'too_small':
      return `must ${bound(issue.origin, 'at least', Number(issue.minimum))}`
    case 'too_big':
      return `must ${bound(issue.origin, 'at most', Number(issue.maximum))}`
    default:
      return issue.message
  }
}

function bound(origin: string, which: string, limit: number): string {
  if (origin === 'string') return `have ${which} ${limit} characters`
  if (origin === 'array' || origin === 'set') return `have ${which} ${limit} entries`
  return `be ${which} ${limit}`
}

function article(type: string): string {
  if (type === 'int' || type === 'number') return 'a whole number'
  if (type === 'array') return 'a list'
  if (type === 'object' || type === 'record') return 'an object'
  if (type === 'boolean') return 'true or false'
  return `a ${type}`
}

function describe(value: unknown): string {
  if (value === null) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}

function valueAt(data: unknown, path: Path): unknown {
  let value = data
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Record<string | number, unknown>)[step]
  }
  return value
}

/** "binds[0].port" -> ['binds', 0, 'port']. */
function stepsOf(path: string): Path {
  return [...path.matchAll(/([^.[\]]+)|\[([0-9]+)\]/g)].map(([, key, index]) => key ?? Number(index))
}

function show(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`
    return text === '' ? step : `${text}.${step}`
  }, '')
}
