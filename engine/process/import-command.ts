/** `weir import`: the file of another gateway becomes one that loads, and the user is told what is not in it. */
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import type { ForeignFile, Imported, Importer, Settle } from '#engine/contract/importer.ts'
import type { Path, Raw } from '#engine/schema/placed.ts'
import { type LoadOptions, loadConfig } from '#engine/standalone/load.ts'
import { explainUnreadable, readConfig } from '#engine/standalone/read.ts'
import { readPlainSource } from '#engine/standalone/source.ts'
import { writeConfig } from '#engine/standalone/write.ts'
import { EXIT_CONFIG, EXIT_USAGE, type ImportCommand, STDIN } from './cli.ts'
import { leave, plural } from './words.ts'

export interface ImportParts extends Pick<LoadOptions, 'policies' | 'backends' | 'check' | 'prepare'> {
  readonly importers: readonly Importer[]
  /** What loads what is carried: takes out the rest. */
  readonly settled: Settle
  readonly isImportError: (error: unknown) => error is Error
}

/** What is not carried. */
export const EXIT_PARTLY = 2
const FILES_MAX = 64

export function runImport({ from, path, output }: ImportCommand, parts: ImportParts): void {
  const importer = parts.importers.find(({ name }) => name === from)
  if (importer === undefined) {
    leave(EXIT_USAGE, `weir: there is no import of '${from}': ${parts.importers.map(({ name }) => name).join(', ')}\n`)
    return
  }
  const folder = output === null ? process.cwd() : dirname(resolve(output))
  try {
    const { text, notes } = importText(readAll(path, importer, folder), importer, parts, { env: process.env, folder })
    if (output === null) process.stdout.write(text)
    else {
      // It may have secrets that the other file had.
      writeFileSync(output, text, { mode: 0o600 })
      chmodSync(output, 0o600)
    }
    const summary = notes.map(({ place, reason }) => `not carried: ${place}: ${reason}\n`).join('')
    if (notes.length > 0)
      leave(EXIT_PARTLY, `${summary}weir: ${plural(notes.length, 'setting')} of ${path} not carried\n`)
  } catch (error) {
    if (!(error instanceof UnreadableFile) && !parts.isImportError(error)) throw error
    leave(EXIT_CONFIG, `weir: ${(error as Error).message}\n`)
  }
}

class UnreadableFile extends Error {}

interface World {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where relative paths of the output begin. */
  readonly folder: string
}

/** The text of a configuration that loads. Throws an ImportError of importers. */
export function importText(
  files: readonly ForeignFile[],
  importer: Importer,
  { settled, policies, backends, check, prepare }: Omit<ImportParts, 'importers' | 'isImportError'>,
  { env, folder }: World
): { readonly text: string; readonly notes: Imported['notes'] } {
  const loadable = (value: Raw, variables: Readonly<Record<string, string>>) => {
    const text = JSON.stringify(value)
    const options = { policies, backends, ...(check && { check }), ...(prepare && { prepare }) }
    const result = loadConfig(text, { ...options, file: 'import', env: { ...variables, ...env }, folder })
    return result.ok ? [] : result.errors.map(({ path, message }) => ({ path: readPath(path), message }))
  }
  const imported = importer.import(files)
  const own = importer.keepsPlaces(files[0]!.value) ? files[0]! : null
  const { value, comments, notes } = settled(imported, importer, loadable, env, own)
  const head = [
    `Made by weir import ${importer.name} of ${files[0]!.name}.`,
    ...(notes.length === 0 ? ['Everything is carried.'] : ['Not carried:']),
    ...notes.map(({ place, reason }) => `  ${place}: ${reason}`)
  ]
  return { text: writeConfig(value, comments, head), notes }
}

/** Keys and indices of "a[0].b["c d"]". */
export function readPath(text: string): Path {
  return [...text.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|([^.[\]]+)/g)].map(([, index, quoted, word]) => {
    if (index !== undefined) return Number(index)
    return quoted === undefined ? word! : (JSON.parse(quoted) as string)
  })
}

function readAll(path: string, importer: Importer, folder: string): ForeignFile[] {
  const files = new Map<string, ForeignFile>()
  const read = (name: string): void => {
    if (files.has(name)) return
    if (files.size >= FILES_MAX) throw new UnreadableFile(`${path} includes more than ${FILES_MAX} files`)
    const file = readForeign(name, folder)
    files.set(name, file)
    for (const other of importer.includes(file.value)) read(relative('.', resolve(dirname(name), other)))
  }
  read(path)
  return [...files.values()]
}

function readForeign(path: string, folder: string): ForeignFile {
  let text: string
  try {
    text = readConfig(path === STDIN ? 0 : path)
  } catch (error) {
    throw new UnreadableFile(explainUnreadable(path, error as NodeJS.ErrnoException))
  }
  const from = path === STDIN ? '.' : dirname(path)
  return foreignFile(path === STDIN ? 'stdin' : path, text, (other) => pathFrom(folder, other, ['.', from]))
}

/** Other gateways look for files from where they run, or from where their file is. */
function pathFrom(folder: string, path: string, places: readonly string[]): string {
  const found = places.map((place) => resolve(place, path)).find((one) => existsSync(one))
  if (found === undefined || resolve(folder, path) === found) return path
  return path.startsWith('/') ? path : `./${relative(folder, found)}`.replace(/^\.\/(?=\.\.\/)/, '')
}

/** A key that is given twice is read as the other gateways read it. Throws for what is no YAML. */
export function foreignFile(name: string, text: string, pathTo = (path: string): string => path): ForeignFile {
  const { value, broken, problems, locate, position } = readPlainSource(text)
  const [problem] = problems
  if (problem !== undefined && (broken || !isWhole(value))) {
    const { line, column } = position(problem.offset)
    throw new UnreadableFile(`${name}:${line}:${column}: ${problem.message}`)
  }
  const lines = text.split(/\r\n?|\n/)
  const lineOf = (path: Path): number => position(locate(path, 'key')).line
  return { name, value, lineOf, commentsAt: (path) => commentsAt(lines, lineOf(path)), pathTo }
}

/** Whether all of it could be read: aliases of nothing, or of too much, could not. */
function isWhole(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value !== 'symbol'
  return Object.values(value).every(isWhole)
}

const COMMENT_LINES_MAX = 12

/** Right above `line` (from 1), and behind what stands in it. */
function commentsAt(lines: readonly string[], line: number): string[] {
  const above: string[] = []
  for (let i = line - 2; i >= 0 && above.length < COMMENT_LINES_MAX; i--) {
    const [, comment] = /^\s*#+ ?(.*)$/.exec(lines[i]!) ?? []
    if (comment === undefined) break
    above.unshift(comment)
  }
  const [, behind] = /^[^#"']*\s#+ ?(.*)$/.exec(lines[line - 1] ?? '') ?? []
  return behind === undefined ? above : [...above, behind]
}
