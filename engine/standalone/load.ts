/**
 * Source 1, the configuration file: text -> Snapshot, or every mistake that it has, each with its
 * place in the file. Pure: what it needs of the world (environment, processors, files) is passed in.
 */

import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import type { BackendKind } from '#engine/contract/backend.ts'
import type { Policy } from '#engine/contract/policy.ts'
import type { Expanded } from '#engine/ir/expanded.ts'
import { share } from '#engine/ir/share.ts'
import { memoryLimit } from '#engine/kit/memory-limit.ts'
import { withoutKeys } from '#engine/kit/sensitive.ts'
import { objectOf, parsePath, valueAt } from '#engine/schema/placed.ts'
import { checkBackends } from '#engine/source/backend-policies.ts'
import { kindsOf } from '#engine/source/kinds.ts'
import type { ConfigTree } from '#engine/source/tree.ts'
import { checkNames, checkPolicies } from './check-policies.ts'
import { checkFile } from './checks.ts'
import type { Environment } from './expand.ts'
import { validate } from './explain.ts'
import { fileSchema } from './file.ts'
import { policyKeys } from './file-policies.ts'
import { readOverrides } from './file-process.ts'
import { FileSources, type ReadFile } from './file-sources.ts'
import { policyWarnings } from './policy-warnings.ts'
import { type ConfigError, formatPath, type Problem, pathText } from './problems.ts'
import { checkMatchPaths } from './reach.ts'
import { shadowed } from './shadows.ts'
import { readSource } from './source.ts'
import { type PlacedSource, placeTargeted } from './targets.ts'
import { checkTls, tlsWarnings } from './tls/check.ts'
import { type SnapshotDraft, type Translated, translate } from './translate.ts'
import { treeOf } from './walk.ts'
import { warningsOf } from './warnings.ts'

export { type ConfigError, formatErrors } from './problems.ts'
export type { SnapshotDraft } from './translate.ts'

export interface LoadOptions {
  /** Named in messages. */
  readonly file: string
  /** Variables for $NAME in the file, and those that win over its `config`. */
  readonly env: Environment
  /** The registries. */
  readonly policies: readonly Policy[]
  readonly backends: readonly BackendKind[]
  /** Processors of the machine, of which workerThreads may be a share. */
  readonly processors?: number
  /** Memory of the process, of which buffers get a share. */
  readonly memoryBytes?: number
  /** Folder where relative paths in the file begin; the working directory when left out. */
  readonly folder?: string
  /** Text of the file at an absolute path; throws an Error. Default: reads it from the disk. */
  readonly readFile?: (path: string) => string
  /** Text at a URL that the file refers to; throws an Error that says why there is none. */
  readonly readUrl?: (url: string) => string
  /** Values of a document in YAML that the file refers to. Default: reads it here. */
  readonly readYaml?: (text: string) => unknown
  /** The configuration in force: its unchanged parts become parts of the new one (share.ts). */
  readonly before?: SnapshotDraft | null
  /** What backends make of themselves before they go to workers, with what people should know of it. */
  readonly prepare?: (draft: SnapshotDraft, warn: (problem: LateProblem) => void) => Prepared
  /** Finds what shows only when a Runtime is built; asked when all else is in order. Paths are the Snapshot's. */
  readonly check?: (draft: SnapshotDraft) => readonly LateProblem[]
}

/** Paths of problems are the Snapshot's. */
type Prepared = { readonly draft: SnapshotDraft } | { readonly problems: readonly LateProblem[] }
type LateProblem = { readonly path: string; readonly message: string }

export type LoadResult = LoadOutcome & {
  /** What the configuration refers to, found or not: a change of one of them is a change of the configuration. */
  readonly files: readonly ReadFile[]
  /** The texts of URLs that it refers to, by URL. */
  readonly urls: ReadonlyMap<string, string>
}

type LoadOutcome =
  | {
      readonly ok: true
      readonly snapshot: SnapshotDraft
      readonly warnings: readonly string[]
      /** What of it came from the environment. */
      readonly expanded: readonly Expanded[]
    }
  | { readonly ok: false; readonly errors: readonly ConfigError[] }

/** Never throws, whatever the text is. Errors come in the order of the file. */
export function loadConfig(text: string, options: LoadOptions): LoadResult {
  const sources = new FileSources(resolve(options.folder ?? '.'), options.readFile, options.readUrl, options.readYaml)
  return { ...soundly(text, options, sources), files: sources.files, urls: sources.urls }
}

/** Refuses a file over which weir itself stumbles: a reload must never end what runs. */
function soundly(text: string, options: LoadOptions, sources: FileSources): LoadOutcome {
  try {
    return loadWith(text, options, sources)
  } catch (error) {
    const message = `${FAULT} (${error}): please report it`
    return { ok: false, errors: [{ file: options.file, line: 1, column: 1, path: '', message }] }
  }
}

/** How the message begins that is about weir and not about the file. */
export const FAULT = 'weir cannot read this file, which is a fault of weir'

const SMALL_FILE = 'a small one: binds: [{ port: 3000, ... }]'

function loadWith(text: string, options: LoadOptions, sources: FileSources): LoadOutcome {
  const { policies } = options
  const kinds = kindsOf(options.backends)
  const source = placeTargeted(readSource(text, options.env), kinds, policies)
  const place = (offset: number) => ({ file: options.file, ...source.position(offset) })
  const fail = (problems: readonly Problem[]): LoadOutcome => ({
    ok: false,
    errors: once(problems, source)
      .toSorted((a, b) => a.offset - b.offset)
      .map(({ path, offset, message, hint = variableHint(source, offset) }) => ({
        ...place(offset),
        path: formatPath(path),
        message: withoutKeys(message),
        ...(hint === undefined ? {} : { hint: withoutKeys(hint) })
      }))
  })
  if (source.broken) return fail(source.problems)
  if (source.value === null && source.problems.length === 0) {
    return fail([{ path: [], offset: 0, message: 'the file is empty', hint: SMALL_FILE }])
  }

  const tree = treeOf(objectOf(source.value), kinds)
  const problems = [...source.problems]
  const env = readOverrides(options.env, source, problems)
  const schema = fileSchema(policies, kinds)
  const outcome = validate(schema.file, source.value, source)
  problems.push(...('problems' in outcome ? outcome.problems : []))
  problems.push(...checkFile(tree, kinds, source, env), ...checkNames(tree, source, policies))
  for (const { path, message, at } of checkBackends(tree, kinds, sources))
    problems.push({ path, offset: source.locate(path, at), message })
  problems.push(...checkTls(tree, source, sources), ...checkMatchPaths(tree, source))
  const refused = () => checkPolicies(tree, source, { policies, kinds, schema: schema.policies, sources })
  if (problems.length > 0 || 'problems' in outcome) return fail([...problems, ...refused()])

  const fresh = translated(outcome.value, {
    policies,
    kinds,
    keys: policyKeys(policies),
    sources,
    env,
    processors: options.processors ?? availableParallelism(),
    memoryBytes: options.memoryBytes ?? memoryLimit()
  })
  if (fresh instanceof Error) {
    // A policy cannot be resolved: checkPolicies says it again, with the place.
    const unresolved = refused()
    if (unresolved.length > 0) return fail(unresolved)
    throw fresh
  }
  const { draft, origins } = fresh
  const told: LateProblem[] = []
  const prepared = options.prepare?.(draft, (problem) => told.push(problem)) ?? { draft }
  const at = (problem: LateProblem) => placed(problem, tree, origins, source)
  if ('problems' in prepared) return fail(prepared.problems.map(at))
  const snapshot = share(options.before, prepared.draft)
  const late = options.check?.(snapshot)
  // A Runtime that could be built has compiled every policy. One that could not says less of the place.
  const early = late?.length === 0 ? [] : refused()
  if (early.length > 0) return fail(early)
  if (late !== undefined && late.length > 0) return fail(late.map(at))
  const doubts = [
    ...warningsOf(tree, source, { policies, kinds }),
    ...tlsWarnings(tree, source, sources),
    ...shadowed(snapshot.binds, outcome.value.binds?.length ?? 0, source),
    ...policyWarnings(tree, source, policies, schema.policies),
    ...told.map(at)
  ]
  const warnings = once(doubts, source).map((doubt) => warningText(doubt, source, options.file))
  return { ok: true, snapshot, warnings, expanded: [...source.expanded.values()] }
}

/** The file does not show the value that is wrong. */
function variableHint(source: PlacedSource, offset: number): string | undefined {
  const variables = source.expanded.get(offset)?.variables ?? []
  if (variables.length === 0) return undefined
  return `here stands the value of ${[...new Set(variables.map(({ written }) => written))].join(' and ')}`
}

/** By the paths of the file as it was written. A policy with several targets is checked at each of them. */
function once(problems: readonly Problem[], { originOf }: PlacedSource): Problem[] {
  const seen = new Set<string>()
  return problems.flatMap((problem) => {
    const path = originOf(problem.path)
    const key = `${pathText(path)} ${problem.message}`
    if (seen.has(key)) return []
    seen.add(key)
    return [{ ...problem, path }]
  })
}

/** The Snapshot, or why a reference cannot be resolved. */
function translated(...[file, options]: Parameters<typeof translate>): Translated | Error {
  try {
    return translate(file, options)
  } catch (error) {
    return error as Error
  }
}

/** A problem of the Snapshot, where it stands in the file. */
function placed(
  { path: text, message }: LateProblem,
  { top }: ConfigTree,
  origins: Translated['origins'],
  source: PlacedSource
): Problem {
  // Names of backends may have dots.
  const names = [...origins.keys()].filter((name) => text.startsWith(`backends.${name}.`))
  const name = names.reduce((longest, one) => (one.length > longest.length ? one : longest), '')
  const origin = origins.get(name)
  if (origin?.config.locate !== undefined) {
    const value = { raw: objectOf(valueAt(top.raw, origin.path)), path: origin.path }
    const found = origin.config.locate(value, text.slice(`backends.${name}.`.length))
    if (found !== null) {
      const { path, prefix } = found
      return { path, offset: source.locate(path, 'key'), message: `${prefix}${message}` }
    }
  }
  const path = parsePath(text)
  return { path, offset: source.locate(path, 'key'), message }
}

function warningText({ offset, path, message }: Problem, source: PlacedSource, file: string): string {
  const { line, column } = source.position(offset)
  return `${file}:${line}:${column}: ${path.length === 0 ? '' : `${formatPath(path)}: `}${withoutKeys(message)}`
}

/**
 * First 12 hex digits of the SHA-256 of the text, and of the texts of the files and URLs that it refers to: tells
 * people which file is in force.
 */
export function hashOf(
  text: string,
  files: readonly ReadFile[] = [],
  urls: ReadonlyMap<string, string> = new Map()
): string {
  const sum = createHash('sha256').update(text)
  for (const file of files) sum.update(`\0${file.path}\0${file.text}`)
  for (const [url, fetched] of urls) sum.update(`\0${url}\0${fetched}`)
  return sum.digest('hex').slice(0, 12)
}
