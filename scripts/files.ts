/** The repository's own files, and how a check of them reports what it found. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root of the repository. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url)).replace(/[/\\]$/, '')

/** Made by tools, not written by us (the list of .gitignore, and code that is generated and committed). */
const NOT_OURS = new Set(['.git', 'node_modules', 'dist', '.tmp', 'generated'])

/** The repository has these folders at the top, and no other. */
export const TOP_FOLDERS = ['.ci', 'backends', 'bench', 'docs', 'engine', 'fuzz', 'policies', 'scripts']
/** Our files beside them. */
const AT_THE_TOP = /^(?:\..+|[A-Z]+(?:\.md)?|package(?:-lock)?\.json|tsconfig\.json|biome\.json)$/

/** One breach of a rule. `file` is relative to the root, with forward slashes; line 0: the file as a whole. */
export interface Finding {
  readonly file: string
  readonly line: number
  /** What is wrong and what to do instead. */
  readonly message: string
}

/**
 * Paths of all our files below `root`, relative to it, sorted. Files and folders without code that trying the README's
 * commands leaves at the top are not ours.
 */
export function listFiles(root: string): string[] {
  const found: string[] = []
  const visit = (folder: string): void => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      if (NOT_OURS.has(entry.name)) continue
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) visit(path)
      else if (folder === '' && !AT_THE_TOP.test(entry.name)) continue
      else if (entry.isFile() && !entry.name.endsWith('.log')) found.push(path)
    }
  }
  visit('')
  const topOf = (path: string) => path.split('/')[0]!
  const ours = new Set([...TOP_FOLDERS, ...found.filter((path) => path.endsWith('.ts')).map(topOf)])
  return found.filter((path) => !path.includes('/') || ours.has(topOf(path))).sort()
}

export function readText(root: string, path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts')
}

/** Code that serves development only: it may import anything, and nothing that ships may import it. */
export function isDevelopment(path: string): boolean {
  return (
    isTest(path) ||
    path.endsWith('.fixture.ts') ||
    /^(?:bench|fuzz|scripts)\//.test(path) ||
    path.split('/').slice(0, -1).includes('testing')
  )
}

/** Runs a check over the repository as a program: prints what it found, sets the exit code. */
export function reportAndExit(name: string, findings: readonly Finding[]): void {
  for (const { file, line, message } of findings)
    console.log(line > 0 ? `${file}:${line}: ${message}` : `${file}: ${message}`)
  console.log(findings.length === 0 ? `${name}: clean` : `${name}: ${findings.length} to fix`)
  if (findings.length > 0) process.exitCode = 1
}
