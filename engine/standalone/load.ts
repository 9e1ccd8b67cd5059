/**
 * Source 1, the configuration file: text -> Snapshot, or every mistake that it has, each with its
 * place in the file. Pure: what it needs of the world (environment, processors, files) is passed in.
 */

import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import type { Expanded } from '#engine/ir/expanded.ts'
import { type PlaceEntry, Places } from '#engine/ir/places.ts'
import { memoryLimit } from '#engine/kit/memory-limit.ts'
import { withoutKeys } from '#engine/kit/sensitive.ts'
import { objectOf } from '#engine/schema/placed.ts'
import { nearest } from '#engine/schema/suggest.ts'
import { type CompileOptions, compileConfig, distinct } from '#engine/source/compile.ts'
import { kindsOf } from '#engine/source/kinds.ts'
import { configSchema } from '#engine/source/schema.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import type { Finding } from '#engine/source/tree.ts'
import { FileSources, type ReadFile } from './file-sources.ts'
import { type ConfigError, formatPath, type Problem } from './problems.ts'
import { readSource, type Source } from './source.ts'

export type { SnapshotDraft } from '#engine/source/translate.ts'
export { type ConfigError, formatErrors } from './problems.ts'

/** `env`: variables for $NAME in the file, too. The number of processors and the memory are the machine's. */
export interface LoadOptions extends Omit<CompileOptions, 'sources' | 'processors' | 'memoryBytes'> {
  /** Named in messages. */
  readonly file: string
  readonly processors?: number
  readonly memoryBytes?: number
  /** Folder where relative paths in the file begin; the working directory when left out. */
  readonly folder?: string
  /** Text of the file at an absolute path; throws an Error. Default: reads it from the disk. */
  readonly readFile?: (path: string) => string
  /** Text at a URL that the file refers to; throws an Error that says why there is none. */
  readonly readUrl?: (url: string) => string
  /** Whose file it is, when it is not weir's. `value`: what is read of it. Default: nobody looks. */
  readonly foreign?: ForeignFiles
  /** Values of a document in YAML that the file refers to. Default: reads it here. */
  readonly readYaml?: (text: string) => unknown
}

/** What knows the files of other gateways. */
export interface ForeignFiles {
  recognise(
    text: string,
    value: unknown
  ): (Pick<Finding, 'message' | 'hint'> & { readonly at: Finding['path'] | number }) | null
  /** Findings about what only another gateway has, as one. */
  gathered(findings: readonly Finding[]): readonly Finding[]
}

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
      /** Where its parts stand in the file. Made when it is asked for: what is only validated needs none. */
      readonly places: () => Places
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
const NEITHER = 'this is neither a configuration of weir nor a manifest of Kubernetes'
const SMALL_CONFIGURATION = 'a configuration has a key such as binds, llm or mcp'
const RESOURCES = 'each document of a manifest has apiVersion and kind'

function loadWith(text: string, options: LoadOptions, sources: FileSources): LoadOutcome {
  const source = readSource(text, options.env)
  const placed = (finding: Finding): Problem => ({ ...finding, offset: source.locate(finding.path, finding.at) })
  const fail = (findings: readonly Finding[]): LoadOutcome => ({
    ok: false,
    errors: distinct([...source.problems, ...findings.map(placed)])
      .toSorted((a, b) => a.offset - b.offset)
      .map(({ path, offset, message, hint = variableHint(source, offset) }) => ({
        ...{ file: options.file, ...source.position(offset) },
        path: formatPath(path),
        message: withoutKeys(message),
        ...(hint === undefined ? {} : { hint: withoutKeys(hint) })
      }))
  })
  const foreign = options.foreign?.recognise(text, source.broken ? undefined : source.value) ?? null
  if (foreign !== null) {
    const { at, message, hint } = foreign
    const place = source.position(typeof at === 'number' ? at : source.locate(at, 'key'))
    return {
      ok: false,
      errors: [{ file: options.file, ...place, path: '', message, ...(hint === undefined ? {} : { hint }) }]
    }
  }
  if (source.broken) return fail([])
  const isSound = source.problems.length === 0
  if (source.value === null && isSound) {
    return fail([{ path: [], message: 'the file is empty', at: 'key', hint: SMALL_FILE }])
  }
  if (isSound && !isConfiguration(source.value, options)) {
    return fail([{ path: [], message: NEITHER, at: 'key', hint: `${SMALL_CONFIGURATION}; ${RESOURCES}` }])
  }
  const placeOf = (path: Finding['path']) => `line ${source.position(source.locate(path, 'value')).line}`
  const words = { noun: 'file', top: 'at the top of the file', placeOf }
  const compiled = compileConfig(
    { value: source.value, isSound, words },
    {
      ...options,
      sources,
      processors: options.processors ?? availableParallelism(),
      memoryBytes: options.memoryBytes ?? memoryLimit()
    }
  )
  if ('findings' in compiled) {
    const inOrder = compiled.findings.toSorted((a, b) => placed(a).offset - placed(b).offset)
    return fail(options.foreign?.gathered(inOrder) ?? inOrder)
  }
  const doubts = [...source.warnings.map((one) => ({ ...one, path: [] })), ...compiled.warnings.map(placed)]
  const warnings = distinct(doubts).map((doubt) => warningText(doubt, source, options.file))
  const place = (path: Finding['path']): string => {
    const { line, column } = source.position(source.locate(path, 'key'))
    return `${options.file}:${line}:${column}`
  }
  const places = () => Places.of(compiled.snapshotOrigins().map(([at, path]): PlaceEntry => [at, place(path)]))
  return { ok: true, snapshot: compiled.snapshot, warnings, expanded: [...source.expanded.values()], places }
}

/** Whether an object has a key of a configuration, or one that may be meant for one, as a mark of YAML may be. */
function isConfiguration(value: unknown, { policies, backends }: LoadOptions): boolean {
  const keys = Object.keys(objectOf(value))
  const known = Object.keys(configSchema(policies, kindsOf(backends)).config.shape)
  return keys.length === 0 || keys.some((key) => nearest(key, known) !== null || !/^\w/.test(key))
}

/** The file does not show the value that is wrong. */
function variableHint(source: Source, offset: number): string | undefined {
  const variables = source.expanded.get(offset)?.variables ?? []
  if (variables.length === 0) return undefined
  return `here stands the value of ${[...new Set(variables.map(({ written }) => written))].join(' and ')}`
}

function warningText({ offset, path, message }: Problem, source: Source, file: string): string {
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
