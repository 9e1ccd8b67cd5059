/**
 * Source 1, the configuration file: text -> Snapshot, or every mistake that it has, each with its
 * place in the file. Pure: what it needs of the world (environment, processors) is passed in.
 */
import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { Policy } from '#engine/contract/policy.ts'
import { share } from '#engine/ir/share.ts'
import { checkNames, checkPolicies } from './check-policies.ts'
import { checkFile } from './checks.ts'
import type { Environment } from './expand.ts'
import { validate } from './explain.ts'
import { fileSchema } from './file.ts'
import { policyKeys } from './file-policies.ts'
import { readOverrides } from './file-process.ts'
import { type ConfigError, formatPath, type Problem, parsePath } from './problems.ts'
import { readSource, type Source } from './source.ts'
import { type SnapshotDraft, translate } from './translate.ts'
import { objectOf, type Raw } from './walk.ts'
import { warningsOf } from './warnings.ts'

export { type ConfigError, formatErrors } from './problems.ts'
export type { SnapshotDraft } from './translate.ts'

export interface LoadOptions {
  /** Named in messages. */
  readonly file: string
  /** Variables for $NAME in the file, and those that win over its `config`. */
  readonly env: Environment
  /** The registry. */
  readonly policies: readonly Policy[]
  /** Processors of the machine, of which workerThreads may be a share. */
  readonly processors?: number
  /** The configuration in force: its unchanged parts become parts of the new one (share.ts). */
  readonly before?: SnapshotDraft | null
  /** Finds what shows only when a Runtime is built; asked when all else is in order. Paths are the Snapshot's. */
  readonly check?: (draft: SnapshotDraft) => readonly { readonly path: string; readonly message: string }[]
}

export type LoadResult =
  | { readonly ok: true; readonly snapshot: SnapshotDraft; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly errors: readonly ConfigError[] }

/** Never throws, whatever the text is. Errors come in the order of the file. */
export function loadConfig(text: string, options: LoadOptions): LoadResult {
  const source = readSource(text, options.env)
  const place = (offset: number) => ({ file: options.file, ...source.position(offset) })
  const fail = (problems: readonly Problem[]): LoadResult => ({
    ok: false,
    errors: problems
      .toSorted((a, b) => a.offset - b.offset)
      .map(({ path, offset, message, hint }) => ({
        ...place(offset),
        path: formatPath(path),
        message,
        ...(hint === undefined ? {} : { hint })
      }))
  })
  if (source.broken) return fail(source.problems)
  if (source.value === null && source.problems.length === 0) {
    return fail([
      { path: [], offset: 0, message: 'the file is empty', hint: 'a small one: binds: [{ port: 3000, ... }]' }
    ])
  }

  const raw = objectOf(source.value)
  const problems = [...source.problems]
  const env = readOverrides(options.env, source, problems)
  const schema = fileSchema(options.policies)
  const outcome = validate(schema.file, source.value, source)
  if ('problems' in outcome) problems.push(...outcome.problems)
  problems.push(...checkFile(raw, source, env), ...checkNames(raw, source, options.policies))
  const refused = () => checkPolicies(raw, source, options.policies, schema.policies)
  if (problems.length > 0 || 'problems' in outcome) return fail([...problems, ...refused()])

  const fresh = translate(outcome.value, {
    keys: policyKeys(options.policies),
    env,
    processors: options.processors ?? availableParallelism()
  })
  const snapshot = share(options.before, fresh)
  const late = options.check?.(snapshot)
  // A Runtime that could be built has compiled every policy. One that could not says less of the place.
  const early = late?.length === 0 ? [] : refused()
  if (early.length > 0) return fail(early)
  if (late !== undefined && late.length > 0) return fail(late.map((problem) => placed(problem, source)))
  return { ok: true, snapshot, warnings: collectWarnings(raw, source, options.file) }
}

/** A problem of the Snapshot, where it stands in the file. */
function placed({ path: text, message }: { readonly path: string; readonly message: string }, source: Source): Problem {
  const path = parsePath(text)
  return { path, offset: source.locate(path, 'key'), message }
}

function collectWarnings(raw: Raw, source: Source, file: string): string[] {
  return warningsOf(raw, source).map(({ offset, path, message }) => {
    const { line, column } = source.position(offset)
    return `${file}:${line}:${column}: ${path.length === 0 ? '' : `${formatPath(path)}: `}${message}`
  })
}

/** First 12 hex digits of the SHA-256 of the text: tells people which file is in force. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
