/** What a source file imports, in every form this repository uses, and which file that is. */
import { posix } from 'node:path'
import { lineOf, scan } from './scan.ts'

export interface Import {
  /** As written: './x.ts', '#engine/...', 'zod', 'node:fs'. */
  readonly specifier: string
  readonly line: number
  /** Named by `new URL('./x.ts', import.meta.url)`: the way to a worker's file or to data. */
  readonly byUrl: boolean
  /** `import type` or `export type`: gone when types are erased. `import { type T }` stays, as `import {}`. */
  readonly typeOnly: boolean
}

/** Code in front of the quote of a specifier. Matched in blanked code, so text in strings cannot match. */
const IMPORT_FORMS = [
  /\bfrom\s*(?=['"])/g,
  /\bimport\s*(?=['"])/g,
  /\bimport\(\s*(?=['"])/g,
  /\brequire(?:\.resolve)?\(\s*(?=['"])/g,
  /\bimport\.meta\.resolve\(\s*(?=['"])/g
]
const URL_FORM = /\bnew URL\(\s*(?=['"][^'"]*['"]\s*,\s*import\.meta\.url)/g
/** What stands between a type-only statement's first word and its `from`. */
const TYPE_FORM = /\b(?:import|export) type (?:[\w$]+|\*(?: as [\w$]+)?|\{[^{}]*\})\s*$/

/** Every import of `source`, types included, by line. */
export function importsOf(source: string): Import[] {
  const { code } = scan(source)
  const found: Import[] = []
  const collect = (form: RegExp, byUrl: boolean): void => {
    for (const match of code.matchAll(form)) {
      const open = match.index + match[0].length
      const close = code.indexOf(code[open]!, open + 1)
      if (close <= open) continue
      const typeOnly = TYPE_FORM.test(code.slice(0, match.index))
      found.push({ specifier: source.slice(open + 1, close), line: lineOf(source, open), byUrl, typeOnly })
    }
  }
  for (const form of IMPORT_FORMS) collect(form, false)
  collect(URL_FORM, true)
  return found.sort((a, b) => a.line - b.line)
}

/** Path of the imported file relative to the root, or null when the specifier names a package. */
export function resolveImport(importer: string, specifier: string): string | null {
  if (specifier.startsWith('#')) return specifier.slice(1)
  if (/^\.{1,2}\//.test(specifier)) return posix.join(posix.dirname(importer), specifier)
  return null
}

/** The package of a bare specifier: 'undici/lib/x' -> 'undici', '@scope/name/x' -> '@scope/name'. */
export function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
