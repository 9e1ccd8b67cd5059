/**
 * The project rules that a program can check (docs/README.md names the others). Each finding says what
 * to do instead. Rules about text are tables below; rules about the whole tree are functions.
 */
import { posix } from 'node:path'
import { type Finding, isDevelopment, isTest, listFiles, ROOT, readText, reportAndExit, TOP_FOLDERS } from './files.ts'
import { importsOf, resolveImport } from './imports.ts'
import { checkLinks, checkMentions, Tree } from './mentions.ts'
import { functionsOf, lineOf, type Scan, scan } from './scan.ts'
import { checkNames, checkProse } from './words.ts'

const LINE_COLUMNS_MAX = 120
const FUNCTION_LINES_MAX = 70
const FILE_LINES_MAX = 400
/** Tests tell the same story many times over; even so. */
const TEST_LINES_MAX = 600

/** What lies at the top of the repository; a new folder is a decision, not an accident. */

/** Folders whose files are found by listing the folder, not by an import. */
const LISTED_FOLDERS = ['fuzz/targets/', 'bench/micro/']
/** What browsers begin with (scripts/ui/bundle.ts). */
const BROWSER_ENTRIES = ['engine/ui/main.tsx', 'engine/ui/early.ts']

interface Ban {
  readonly pattern: RegExp
  /** Where the rule holds. */
  readonly where: (path: string) => boolean
  /** What to write instead. */
  readonly instead: string
  /** Looked for in comments instead of code. */
  readonly inComments?: true
}

const everywhere = (): boolean => true
const prints = /^(?:engine\/process\/cli\.ts|fuzz\/main\.ts|scripts\/.*|bench\/.*)$/

const BANS: readonly Ban[] = [
  {
    pattern: /\bconsole\.\w+/g,
    where: (path) => !prints.test(path),
    instead: 'console is for command lines: log through engine/telemetry, print from engine/process/cli.ts'
  },
  {
    pattern: /(?<![.\w])setTimeout\(|\bsetTimeout as \w+/g,
    // The load generator measures time: its tests need servers that stall.
    where: (path) => isTest(path) && !path.startsWith('bench/load/generator/'),
    instead: 'tests wait for events, not for time: await once(...), or drive the clock of engine/testing'
  },
  {
    // Codes and counts of up to three digits are something else.
    pattern: /\btimeout: (?:\d{1,3}_\d{3}|\d{4,})\b/g,
    where: isTest,
    instead: 'no test knows how fast the machine is: the time limit is that of scripts/test.ts'
  },
  { pattern: /\bas any\b|<any>/g, where: everywhere, instead: 'no any: narrow from unknown, or name the type' },
  {
    pattern: /@ts-(?:ignore|nocheck|expect-error)\b/g,
    where: everywhere,
    inComments: true,
    instead: 'the type checker is not silenced: fix the type'
  },
  {
    pattern: /\.(?:skip|only|todo)\(|\b(?:skip|only|todo): (?:true|['"`])/g,
    where: isTest,
    instead: 'every test runs, always: fix it or delete it'
  },
  {
    pattern: /\bcatch\s*(?:\([^)]*\)\s*)?\{\s*\}|\.catch\(\(\w*\)\s*=>\s*\{\s*\}\)/g,
    where: everywhere,
    instead: 'empty catch: handle the error, or say in a comment inside why nothing is to be done'
  },
  {
    pattern: /\bMath\.random\b/g,
    where: (path) => !path.startsWith('engine/kit/'),
    instead: 'chance comes from engine/kit (seeded, repeatable); secrets come from node:crypto'
  },
  {
    pattern: /\bAtomics\b/g,
    where: (path) =>
      !/^(?:bench\/|engine\/(?:workers\/(?:shared|armed-traces|bucket-table)(?:\.test)?|kit\/(?:claim|shared-rows)|accounts\/books(?:\.test)?)\.ts$)/.test(
        path
      ),
    instead:
      'memory shared between threads has its homes: engine/workers/shared.ts, armed-traces.ts, bucket-table.ts, engine/kit/claim.ts, shared-rows.ts, engine/accounts/books.ts'
  },
  {
    pattern: /\b(?:TODO|FIXME|XXX|HACK)\b/g,
    where: everywhere,
    inComments: true,
    instead: 'leftover marker: do it now, or open an issue'
  }
]

/** What a hook on the hot path must not do without a comment beside it that gives the reason. */
const HOOK_BANS: readonly { readonly pattern: RegExp; readonly what: string }[] = [
  { pattern: /\bawait\b/g, what: 'await (return a promise only where it truly waits)' },
  { pattern: /\bJSON\.parse\b/g, what: 'JSON.parse (parse at build time, or take the field by offset)' },
  { pattern: /\.\.\.(?=[\w$([{])/g, what: 'spread (name the fields, or loop)' },
  { pattern: /\bnew RegExp\b/g, what: 'regex construction (compile it at build time)' }
]

/** Names that gather everything and say nothing. */
const HEAP_NAME = /^(?:utils?|helpers?|common|types|misc)\.(?:test\.)?(?:ts|mjs)$/
/** Home folders and working directories: paths that exist on one machine only. */
const MACHINE_PATH = /(?<![\w.\-/}*])\/(?:home|Users|root|work)\/[\w.-]+/g

/** All breaches of the project rules below `root`. */
export function checkTidy(root: string): Finding[] {
  const findings: Finding[] = []
  const files = listFiles(root)
  const tree = new Tree(files, (path) => readText(root, path))
  for (const file of files) {
    if (file.startsWith('fuzz/corpus/') || file.includes('/testdata/')) continue
    if (/\.(?:tsx?|mjs)$/.test(file)) findings.push(...checkCode(file, readText(root, file), tree))
    else if (file.endsWith('.md')) findings.push(...checkMarkdown(file, readText(root, file), tree))
    else if (file.endsWith('package-lock.json')) findings.push(...checkLock(file, readText(root, file)))
    if (!/\.(?:png|ico|wasm)$/.test(file)) findings.push(...checkPaths(file, readText(root, file)))
  }
  findings.push(...checkTopFolders(files), ...checkDeadFiles(root, files))
  return findings
}

// --- one file of code ---

function checkCode(file: string, source: string, tree: Tree): Finding[] {
  const scanned = scan(source)
  const findings = [
    ...checkShape(file, source, scanned),
    ...checkBans(file, source, scanned),
    ...checkMentions(file, scanned.comments, tree),
    ...checkNames(file, scanned.code),
    ...checkProse(file, scanned.comments)
  ]
  if (file.startsWith('policies/') && !isTest(file)) findings.push(...checkHooks(file, source, scanned))
  const name = posix.basename(file)
  if (HEAP_NAME.test(name))
    findings.push({ file, line: 0, message: `${name} says nothing: name the thing that is inside` })
  return findings
}

function checkShape(file: string, source: string, { code }: Scan): Finding[] {
  const findings: Finding[] = []
  const lines = source.split('\n')
  const codeLines = code.split('\n')
  lines.forEach((text, i) => {
    // One long string stays whole, so that it can be searched for.
    const written = codeLines[i]!.replace(/ {2,}/g, ' ')
    if (text.length <= LINE_COLUMNS_MAX || (written.trim() !== '' && written.length <= LINE_COLUMNS_MAX)) return
    findings.push({ file, line: i + 1, message: `line of ${text.length} columns; the limit is ${LINE_COLUMNS_MAX}` })
  })
  const count = source.endsWith('\n') ? lines.length - 1 : lines.length
  const limit = isTest(file) ? TEST_LINES_MAX : FILE_LINES_MAX
  if (count > limit) {
    findings.push({
      file,
      line: 0,
      message: `file of ${count} lines; the limit is ${limit}: split it by what it answers`
    })
  }
  for (const { name, start, bodyEnd } of functionsOf(code)) {
    const line = lineOf(source, start)
    const length = lineOf(source, bodyEnd) - line + 1
    // A describe block is a chapter of tests; each test in it has the limit of its own.
    if (length <= FUNCTION_LINES_MAX || /^\s*(?:describe|suite)\(/.test(lines[line - 1]!)) continue
    const title = name === '' ? 'function' : `function ${name}`
    findings.push({ file, line, message: `${title} of ${length} lines; the limit is ${FUNCTION_LINES_MAX}` })
  }
  return findings
}

function checkBans(file: string, source: string, { code, comments }: Scan): Finding[] {
  const findings: Finding[] = []
  for (const { pattern, where, instead, inComments } of BANS) {
    if (!where(file)) continue
    for (const match of (inComments ? comments : code).matchAll(pattern)) {
      // A catch that holds a comment is not empty.
      if (match[0].includes('{') && comments.slice(match.index, match.index + match[0].length).trim() !== '') continue
      findings.push({ file, line: lineOf(source, match.index), message: `${match[0].split('\n')[0]}: ${instead}` })
    }
  }
  return findings
}

function checkHooks(file: string, source: string, { code, comments }: Scan): Finding[] {
  const findings: Finding[] = []
  const commentLines = comments.split('\n').map((text) => text.trim() !== '')
  for (const { name, bodyStart, bodyEnd } of functionsOf(code)) {
    if (!/^on[A-Z]/.test(name)) continue
    for (const { pattern, what } of HOOK_BANS) {
      for (const match of code.slice(bodyStart, bodyEnd).matchAll(pattern)) {
        const line = lineOf(source, bodyStart + match.index)
        if (commentLines[line - 1] || commentLines[line - 2]) continue
        findings.push({ file, line, message: `${name} runs per request: no ${what} without a comment that says why` })
      }
    }
  }
  return findings
}

// --- pages ---

function checkMarkdown(file: string, source: string, tree: Tree): Finding[] {
  const findings: Finding[] = []
  const prose = blankFences(source)
  const titles = [...prose.matchAll(/^# .+$/gm)]
  if (titles.length !== 1)
    findings.push({ file, line: 1, message: `a page has one title ("# ..."); this one has ${titles.length}` })
  const text = prose.replace(/`[^`\n]*`/g, blank)
  for (const marker of text.matchAll(/\b(?:TODO|FIXME|XXX)\b/g)) {
    findings.push({ file, line: lineOf(source, marker.index), message: 'leftover marker: write it, or open an issue' })
  }
  findings.push(...checkLinks(file, prose, tree), ...checkMentions(file, prose, tree), ...checkProse(file, text))
  return findings
}

/** The text with fenced code as blanks: its contents are examples. */
function blankFences(source: string): string {
  return source.replace(/^```[\s\S]*?^```/gm, blank)
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ')
}

function checkLock(file: string, source: string): Finding[] {
  const resolved = /"resolved": "https?:/.exec(source)
  if (resolved === null) return []
  const message = 'the lock file names a registry: npm install --omit-lockfile-registry-resolved (as in .npmrc)'
  return [{ file, line: lineOf(source, resolved.index), message }]
}

function checkPaths(file: string, source: string): Finding[] {
  return [...source.matchAll(MACHINE_PATH)].map((match) => ({
    file,
    line: lineOf(source, match.index),
    message: `${match[0]} exists on one machine only: use a path relative to the file, or os.tmpdir()`
  }))
}

// --- the whole tree ---

function checkTopFolders(files: readonly string[]): Finding[] {
  const present = new Set(files.filter((file) => file.includes('/')).map((file) => file.split('/')[0]!))
  const findings: Finding[] = []
  for (const folder of present) {
    if (TOP_FOLDERS.includes(folder)) continue
    findings.push({
      file: folder,
      line: 0,
      message: `unknown folder at the top; the repository has ${TOP_FOLDERS.join(', ')}`
    })
  }
  for (const folder of TOP_FOLDERS) {
    if (!present.has(folder))
      findings.push({ file: folder, line: 0, message: 'missing: the repository has this folder' })
  }
  return findings
}

/** Code that nothing leads to: what ships must be reached from a program, the rest at least from a test. */
function checkDeadFiles(root: string, files: readonly string[]): Finding[] {
  // Declarations of packages that have no types are not imported: the type checker reads them all.
  const sources = files.filter((file) => /(?<!\.d)\.(?:tsx?|mjs)$/.test(file) && !file.includes('/testdata/'))
  const named = files.includes('package.json') ? readText(root, 'package.json') : ''
  const programs = sources.filter(
    (file) =>
      named.includes(file) || BROWSER_ENTRIES.includes(file) || LISTED_FOLDERS.some((folder) => file.startsWith(folder))
  )
  const shipped = reach(
    root,
    programs.filter((file) => !isTest(file)),
    sources
  )
  const developed = reach(root, [...shipped, ...sources.filter(isTest)], sources)
  const findings: Finding[] = []
  for (const file of sources) {
    if ((isDevelopment(file) ? developed : shipped).has(file)) continue
    findings.push({
      file,
      line: 0,
      message: 'nothing leads here from the programs in package.json: import it, or delete it'
    })
  }
  return findings
}

/** All of `sources` that `entries` import, directly or not, themselves included. */
function reach(root: string, entries: readonly string[], sources: readonly string[]): Set<string> {
  const known = new Set(sources)
  const reached = new Set(entries)
  for (const file of reached) {
    for (const { specifier } of importsOf(readText(root, file))) {
      const target = resolveImport(file, specifier)
      if (target !== null && known.has(target)) reached.add(target)
    }
  }
  return reached
}

if (import.meta.main) reportAndExit('tidy', checkTidy(ROOT))
