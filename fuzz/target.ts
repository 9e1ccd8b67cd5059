/** What a fuzz target is, and where targets and their inputs lie. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** One parser or decoder under attack: what a file in fuzz/targets/ exports. */
export interface Target {
  /** Also the name of its folder in fuzz/corpus/. */
  readonly name: string
  /** Feeds one input; throws (or rejects) when something is wrong. Keeps nothing between inputs. */
  run(data: Buffer): void | Promise<void>
  /** Words of the input's language, for inputs that get past the first check. */
  readonly dictionary?: readonly string[]
}

/** An input that takes longer is a fault, like a crash: parsing is linear or it is an attack surface. */
export const RUN_MS_MAX = 1000

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
export const CORPUS = join(FOLDER, 'corpus')

/** Files of all targets, sorted. */
export function targetFiles(): string[] {
  const folder = join(FOLDER, 'targets')
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  return files.sort().map((name) => join(folder, name))
}

/** Loads a target from its file. Throws when the file exports none, or one of another name. */
export async function loadTarget(file: string): Promise<Target> {
  const { name, run, dictionary } = (await import(pathToFileURL(file).href)) as Partial<Target>
  if (name !== basename(file, '.ts')) throw new Error(`${file}: must export const name = '${basename(file, '.ts')}'`)
  if (typeof run !== 'function') throw new Error(`${file}: must export function run(data: Buffer)`)
  return { name, run, dictionary: dictionary ?? [] }
}

/** Paths of the kept inputs of a target: hand-written seeds and every crash that was ever found. */
export function corpusFiles(corpus: string, name: string): string[] {
  const folder = join(corpus, name)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .sort()
    .map((file) => join(folder, file))
}

export function readCorpus(corpus: string, name: string): Buffer[] {
  return corpusFiles(corpus, name).map((file) => readFileSync(file))
}
