/**
 * A configuration -> the Snapshot, or all that is wrong with it. Every source ends here: it gives plain values (binds,
 * backends, policies: what schema.ts describes), and says where each stands. Pure: what it needs of the world
 * (environment, processors, files) is passed in.
 */
import type { BackendKind } from '#engine/contract/backend.ts'
import type { Documents, Policy } from '#engine/contract/policy.ts'
import { share } from '#engine/ir/share.ts'
import { objectOf, parsePath, pathText, valueAt } from '#engine/schema/placed.ts'
import { accountWarnings, checkAccounts, checkValues, mayHaveKeys } from './accounts.ts'
import { checkBackends } from './backend-policies.ts'
import { checkNames, checkPolicies } from './check-policies.ts'
import { checkTogether } from './checks.ts'
import { kindsOf } from './kinds.ts'
import { policyKeys } from './policies.ts'
import { policyWarnings } from './policy-warnings.ts'
import { readOverrides } from './process.ts'
import { checkMatchPaths } from './reach.ts'
import { configSchema } from './schema.ts'
import { checkSecrets, secretsOf } from './secrets.ts'
import { shadowed } from './shadows.ts'
import { type SnapshotOrigin, snapshotOrigins } from './snapshot-origins.ts'
import { placeTargeted } from './targets.ts'
import { checkTcpBackends } from './tcp-backends.ts'
import { checkTls, tlsWarnings } from './tls/check.ts'
import { type SnapshotDraft, type Translated, translate } from './translate.ts'
import type { ConfigTree, Finding, SourceWords } from './tree.ts'
import { validate } from './validate.ts'
import { treeOf } from './walk.ts'
import { warningsOf } from './warnings.ts'

/** What a source has read. */
export interface Configuration {
  readonly value: unknown
  /** The source has found no mistakes. With mistakes all others are looked for, and nothing is translated. */
  readonly isSound: boolean
  /** It is a part of a configuration: what acts on nothing of it may act on the rest. */
  readonly isPart?: boolean
  /** Made of resources: it may have what nobody writes (BackendConfig.isTranslated). */
  readonly isTranslated?: boolean
  readonly words: SourceWords
}

export interface CompileOptions {
  /** The registries. */
  readonly policies: readonly Policy[]
  readonly backends: readonly BackendKind[]
  /** Files, URLs and documents that policies and backends refer to. */
  readonly sources: Documents
  /** Variables that win over the configuration's `config`. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Processors of the machine, of which workerThreads may be a share. */
  readonly processors: number
  /** Memory of the process, of which buffers get a share. */
  readonly memoryBytes: number
  /** The configuration in force: its unchanged parts become parts of the new one (share.ts). */
  readonly before?: SnapshotDraft | null | undefined
  /** What backends make of themselves before they go to workers, with what people should know of it. */
  readonly prepare?: ((draft: SnapshotDraft, warn: (problem: LateProblem) => void) => Prepared) | undefined
  /** Finds what shows only when a Runtime is built; asked when all else is in order. Paths are the Snapshot's. */
  readonly check?: ((draft: SnapshotDraft) => readonly LateProblem[]) | undefined
}

/** Paths of problems are the Snapshot's. */
type Prepared = { readonly draft: SnapshotDraft } | { readonly problems: readonly LateProblem[] }
type LateProblem = { readonly path: string; readonly message: string }

/** Paths of findings are those of the configuration as the source gave it. */
export type Compiled =
  | {
      readonly snapshot: SnapshotDraft
      readonly warnings: readonly Finding[]
      /** Which part of the configuration each of its parts came from. */
      readonly snapshotOrigins: () => readonly SnapshotOrigin[]
    }
  | { readonly findings: readonly Finding[] }

export function compileConfig(
  { value, isSound, isPart = false, isTranslated = false, words }: Configuration,
  options: CompileOptions
): Compiled {
  const { policies } = options
  const kinds = kindsOf(options.backends, isTranslated)
  const { origins, ...placed } = placeTargeted(value, words, kinds, policies)
  const written = (findings: readonly Finding[]) =>
    distinct(findings.map((one) => ({ ...one, path: origins.of(one.path) })))
  const fail = (findings: readonly Finding[]) => ({ findings: [...placed.findings, ...written(findings)] })

  const placeOf: SourceWords['placeOf'] = (path) => words.placeOf(origins.of(path))
  const tree = treeOf(objectOf(placed.value), kinds, { ...words, placeOf })
  const { secrets } = tree.top.raw
  const { readFile, readLarge, readUrl, readYaml } = options.sources
  const sources = { readFile, readLarge, readUrl, readYaml, secrets: secretsOf(secrets, options.sources) }
  const findings: Finding[] = []
  const env = readOverrides(options.env, findings)
  const schema = configSchema(policies, kinds)
  const outcome = validate(schema.config, placed.value)
  if ('findings' in outcome) findings.push(...outcome.findings)
  findings.push(...checkTogether(tree, kinds, env), ...checkNames(tree, policies))
  findings.push(
    ...checkSecrets(secrets, sources),
    ...checkAccounts(tree),
    ...checkBackends(tree, kinds, sources, isPart),
    ...checkTcpBackends(tree),
    ...checkTls(tree, sources),
    ...checkMatchPaths(tree)
  )
  const refused = () => checkPolicies(tree, { policies, kinds, schema: schema.policies, sources })
  const isClean = isSound && placed.findings.length === 0 && findings.length === 0
  if (!isClean || 'findings' in outcome) return fail([...findings, ...refused()])

  const sameValues = checkValues(outcome.value)
  if (sameValues.length > 0) return fail([...sameValues, ...refused()])
  const fresh = translated(outcome.value, { ...options, sources, kinds, keys: policyKeys(policies), env })
  if (fresh instanceof Error) {
    // A policy cannot be resolved: checkPolicies says it again, with the place.
    const unresolved = refused()
    if (unresolved.length > 0) return fail(unresolved)
    throw fresh
  }
  const { draft, origins: described } = fresh
  const prepareWarnings: LateProblem[] = []
  const prepared = options.prepare?.(draft, (problem) => prepareWarnings.push(problem)) ?? { draft }
  const at = (problem: LateProblem) => inConfiguration(problem, tree, described)
  if ('problems' in prepared) return fail(prepared.problems.map(at))
  const snapshot = share(options.before, prepared.draft)
  const late = options.check?.(snapshot)
  // A Runtime that could be built has compiled every policy. One that could not says less of the place.
  const early = late?.length === 0 ? [] : refused()
  if (early.length > 0) return fail(early)
  if (late !== undefined && late.length > 0) return fail(late.map(at))
  const doubts = [
    ...warningsOf(tree, kinds, policies),
    ...tlsWarnings(tree, sources),
    ...accountWarnings(tree),
    ...(isPart ? [] : shadowed(snapshot.binds, outcome.value.binds?.length ?? 0)),
    ...policyWarnings(tree, policies, schema.policies, { mayHaveKeys: isPart || isTranslated || mayHaveKeys(tree) }),
    ...prepareWarnings.map(at)
  ]
  const parts = () => snapshotOrigins(tree, policyKeys(policies), described)
  return {
    snapshot,
    warnings: written(doubts),
    snapshotOrigins: () => parts().map(([at, path]): SnapshotOrigin => [at, origins.of(path)])
  }
}

/** Without repeated messages of a place: a policy with several targets is checked at each of them. */
export function distinct<T extends Pick<Finding, 'path' | 'message'>>(findings: readonly T[]): T[] {
  const seen = new Set<string>()
  return findings.filter(({ path, message }) => {
    const key = `${pathText(path)} ${message}`
    return !seen.has(key) && seen.add(key)
  })
}

/** The Snapshot, or why a reference cannot be resolved. */
function translated(...[config, options]: Parameters<typeof translate>): Translated | Error {
  try {
    return translate(config, options)
  } catch (error) {
    return error as Error
  }
}

/** A problem of the Snapshot, where it stands in the configuration. */
function inConfiguration(
  { path: text, message }: LateProblem,
  { top }: ConfigTree,
  described: Translated['origins']
): Finding {
  // Names of backends may have dots.
  const names = [...described.keys()].filter((name) => text.startsWith(`backends.${name}.`))
  const name = names.reduce((longest, one) => (one.length > longest.length ? one : longest), '')
  const origin = described.get(name)
  if (origin?.config.locate !== undefined) {
    const value = { raw: objectOf(valueAt(top.raw, origin.path)), path: origin.path }
    const found = origin.config.locate(value, text.slice(`backends.${name}.`.length))
    if (found !== null) return { path: found.path, message: `${found.prefix}${message}`, at: 'key' }
  }
  return { path: parsePath(text), message, at: 'key' }
}
