/** What comments and pages point at (files by path or name, pages and their headings) must be in the repository. */
import { posix } from 'node:path'
import type { Finding } from './files.ts'
import { lineOf } from './scan.ts'

/** A path below one of our folders ('engine/{cel,kit}/', 'scripts/tidy.ts'), and perhaps a heading ('#leaf-types'). */
const PATH =
  /(?<![\w./<-])#?((?:engine|policies|backends|bench|fuzz|scripts|docs)\/(?:[\w.{},*<>-]+\/)*(?:[\w.{},*<>-]*[\w}*>])?)(#[\w-]+)?/g
/** A file of code by its name alone. */
const NAME = /(?<![\w./}{,*<>#-])[a-z][\w-]*(?:\.\w+)?\.ts\b/g
/** ... and by the folders before it, which may begin anywhere ('plan/attempts.ts'). */
const PARTIAL_PATH =
  /(?<![\w./}{,*<>#-])(?!(?:engine|policies|backends|bench|fuzz|scripts|docs|dist)\/)(?:[a-z][\w-]*\/)+[a-z][\w.-]*\.ts\b/g
const LINK = /\]\(([^)\s#]*)(#[^)\s]+)?\)/g
/** Papers that lie elsewhere. */
const ELSEWHERE = new RegExp(
  [
    '\\b[Ss]pec,? (?:section )?\\d',
    '\\b[Ss]pec section',
    '\\bDESIGN(?:\\.md\\b| section)',
    '\\breference[ /][\\w-]+\\.md',
    '\\breference: the same'
  ].join('|'),
  'g'
)

/** The files below a root, as they are spoken of. */
export class Tree {
  readonly #paths = new Set(['.'])
  readonly #names = new Set<string>()
  readonly #folders = new Set<string>()
  /** Each file by the ends of its path. */
  readonly #ends = new Set<string>()
  readonly #read: (path: string) => string
  readonly #anchors = new Map<string, ReadonlySet<string>>()

  /** `read`: the text of a file. */
  constructor(files: readonly string[], read: (path: string) => string) {
    this.#read = read
    for (const file of files) {
      this.#names.add(posix.basename(file))
      for (let path = file; path !== '.'; path = posix.dirname(path)) {
        this.#paths.add(path)
        if (path !== file) this.#folders.add(posix.basename(path))
      }
      for (let at = file.indexOf('/'); at > 0; at = file.indexOf('/', at + 1)) this.#ends.add(file.slice(at + 1))
    }
  }

  /** `path` may lack '.ts', and may end with a slash. */
  has(path: string): boolean {
    const bare = path.replace(/\/$/, '')
    return this.#paths.has(bare) || this.#paths.has(`${bare}.ts`)
  }

  /** Whether `path`, which begins anywhere, leads to a file. One whose first folder is none of ours lies elsewhere. */
  mayMention(path: string): boolean {
    return this.#ends.has(path) || !this.#folders.has(path.slice(0, path.indexOf('/')))
  }

  hasName(name: string): boolean {
    return this.#names.has(name)
  }

  /** `anchor`: with its '#', as GitHub makes it of a heading of `page`. */
  hasAnchor(page: string, anchor: string): boolean {
    let anchors = this.#anchors.get(page)
    if (anchors === undefined) {
      const titles = [...this.#read(page).matchAll(/^#+ (.+)$/gm)]
      anchors = new Set(
        titles.map(
          ([, title]) =>
            `#${title!
              .toLowerCase()
              .replace(/[^\w -]/g, '')
              .replaceAll(' ', '-')}`
        )
      )
      this.#anchors.set(page, anchors)
    }
    return anchors.has(anchor)
  }
}

/** `text`: the comments of a file of code, or a page, with everything else as blanks. */
export function checkMentions(file: string, text: string, tree: Tree): Finding[] {
  const findings: Finding[] = []
  const found = (at: number, message: string): void => {
    findings.push({ file, line: lineOf(text, at), message })
  }
  for (const { 0: words, index } of text.matchAll(ELSEWHERE))
    found(index, `'${words}' is not in the repository: cite docs/specification.md, or write it down in docs/`)
  for (const { 1: written, 2: anchor, index } of text.matchAll(PATH)) {
    for (const path of alternatives(written!)) {
      if (/[*<>]/.test(path)) continue
      if (!tree.has(path)) found(index, `there is no ${path}`)
      else if (anchor !== undefined && !tree.hasAnchor(path, anchor)) found(index, `${path} has no heading ${anchor}`)
    }
  }
  for (const { 0: name, index } of text.matchAll(NAME))
    if (!tree.hasName(name)) found(index, `no file is called ${name}`)
  for (const { 0: path, index } of text.matchAll(PARTIAL_PATH))
    if (!tree.mayMention(path)) found(index, `no path ends with ${path}`)
  return findings
}

/** Links of a page within the repository. */
export function checkLinks(file: string, prose: string, tree: Tree): Finding[] {
  const findings: Finding[] = []
  for (const { 1: target, 2: anchor, index } of prose.matchAll(LINK)) {
    if (/^[a-z]+:/.test(target!)) continue
    const path = target === '' ? file : posix.join(posix.dirname(file), target!)
    const isThere = tree.has(path) && (anchor === undefined || !path.endsWith('.md') || tree.hasAnchor(path, anchor))
    if (!isThere) findings.push({ file, line: lineOf(prose, index), message: `broken link: ${target}${anchor ?? ''}` })
  }
  return findings
}

/** 'a/{b,c}.ts' -> 'a/b.ts', 'a/c.ts'. */
function alternatives(path: string): string[] {
  const braces = /\{([^}]*)\}/.exec(path)
  if (braces === null) return [path]
  const [before, after] = [path.slice(0, braces.index), path.slice(braces.index + braces[0].length)]
  return braces[1]!.split(',').flatMap((part) => alternatives(`${before}${part}${after}`))
}
