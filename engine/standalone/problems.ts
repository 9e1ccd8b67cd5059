/** Mistakes in a configuration file: how they are collected, and how people read them. */
import { shownName } from '#engine/kit/sensitive.ts'
import { type Path, pathText } from '#engine/schema/placed.ts'

/** One mistake. Line and column begin at 1 and are those of the file as it was written. */
export interface ConfigError {
  readonly file: string
  readonly line: number
  readonly column: number
  /** As in binds[0].listeners[1].routes[0].matches[0].path.exact; empty for the file as a whole. */
  readonly path: string
  readonly message: string
  /** What is allowed, or what was probably meant. */
  readonly hint?: string
}

/** A mistake whose place is still an offset into the text (UTF-16 units). */
export interface Problem {
  readonly path: Path
  readonly offset: number
  readonly message: string
  readonly hint?: string | undefined
}

/** For people: a secret in the place of a key is cut off. */
export function formatPath(path: Path): string {
  return pathText(path.map((key) => (typeof key === 'number' ? key : shownName(String(key)))))
}

/** `file:line:column: path: message`, one per line, each with its hint on the next line. */
export function formatErrors(errors: readonly ConfigError[]): string {
  return errors.map(formatError).join('\n')
}

function formatError({ file, line, column, path, message, hint }: ConfigError): string {
  const place = `${file}:${line}:${column}: ${path === '' ? '' : `${path}: `}`
  return `${place}${message}${hint === undefined ? '' : `\n    ${hint}`}`
}
