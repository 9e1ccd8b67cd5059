/** Words that docs/naming.md replaces by others: in names of code and files, in comments, in pages. */
import { posix } from 'node:path'
import type { Finding } from './files.ts'
import { lineOf } from './scan.ts'

/** One word of a name ('isOpenWing' has three) -> what to write instead. */
const IN_NAMES = new Map([
  ['anybody', 'client, caller'],
  ['asker', 'requester, client'],
  ['crowd', 'connection limiter'],
  ['desk', 'verifier, queue'],
  ['entrance', 'connection setup'],
  ['farewell', 'goaway'],
  ['floor', 'layer'],
  ['gently', 'circuit breaker'],
  ['house', 'repository, setup'],
  ['parcel', 'message'],
  ['pile', 'cache'],
  ['seat', 'worker slot, provider slot, target session'],
  ['seats', 'worker slots, provider slots, target sessions'],
  ['somebody', 'client, caller'],
  ['whoever', 'client, caller'],
  ['wing', 'policies, or backends'],
  ['wings', 'policies and backends'],
  ['workshop', 'services']
])

/** Participles that say what happened to a value, not what it is. */
const PARTICIPLES: ReadonlySet<string> = new Set(['asked', 'given', 'said', 'told'])

/** In comments and pages. */
const IN_PROSE: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  { pattern: /\b(?:house|wings?|floors?)\b/gi, instead: 'layer, module, boundary' },
  { pattern: /\bshort way\b/gi, instead: 'fast path' },
  { pattern: /\bdear(?:er|est)?\b/gi, instead: 'expensive' },
  { pattern: /\bwhoever\b/gi, instead: 'the client, the caller, the reader' },
  { pattern: /\bit has been said\b|\bas rarely as\b/gi, instead: 'a plain sentence with a subject' }
]

/** `code`: the source with comments and the insides of strings as blanks. */
export function checkNames(file: string, code: string): Finding[] {
  const findings: Finding[] = []
  const judge = (name: string, line: number): void => {
    for (const part of name.split(/(?<=[a-z\d])(?=[A-Z])|[^A-Za-z]+/)) {
      const word = part.toLowerCase()
      const instead = PARTICIPLES.has(word) ? 'what the value is: request, answer, option' : IN_NAMES.get(word)
      if (instead !== undefined) findings.push({ file, line, message: `${name}: not '${part}' but ${instead}` })
    }
  }
  judge(posix.basename(file), 0)
  // Members of Math are not ours.
  for (const { 0: name, index } of code.matchAll(/(?<!\bMath\.)[A-Za-z_$][\w$]*/g)) judge(name, lineOf(code, index))
  return findings
}

/** `text`: the comments of a file of code, or a page without its examples, with everything else as blanks. */
export function checkProse(file: string, text: string): Finding[] {
  return IN_PROSE.flatMap(({ pattern, instead }) =>
    [...text.matchAll(pattern)].map(({ 0: word, index }) => ({
      file,
      line: lineOf(text, index),
      message: `not '${word}' but ${instead} (docs/naming.md)`
    }))
  )
}
