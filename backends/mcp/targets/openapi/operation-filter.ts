/** Which operations become tools (`operations` of a target): by operationId, tag, or method and path. */

import { nearestWord } from '#engine/kit/nearest.ts'
import type { McpOpenApiTarget } from './config.ts'
import type { Node } from './document.ts'

/** Only this many unmatched patterns get a suggestion: each is compared with all operations, perhaps thousands. */
const HINTS_MAX = 16
const LISTED_MAX = 8

type Matches = (one: OperationEntry) => boolean

interface Pattern {
  readonly text: string
  readonly matches: Matches
}

/** A pattern that matches no operation. */
export interface UnmatchedPattern {
  /** Path in the target: "operations.include[0]". */
  readonly where: string
  readonly message: string
}

export interface OperationEntry {
  readonly path: string
  readonly method: string
  readonly operation: Node
}

/** The patterns of `operations` of a target. */
export class OperationFilter {
  readonly #include: readonly Pattern[]
  readonly #exclude: readonly Pattern[]

  constructor({ operations }: Pick<McpOpenApiTarget, 'operations'>) {
    const patterns = (texts: readonly string[] = []) => texts.map((text) => ({ text, matches: patternOf(text) }))
    this.#include = patterns(operations?.include)
    this.#exclude = patterns(operations?.exclude)
  }

  has(one: OperationEntry): boolean {
    const matches = (pattern: Pattern): boolean => pattern.matches(one)
    return (this.#include.length === 0 || this.#include.some(matches)) && !this.#exclude.some(matches)
  }

  /** The patterns that match none of `all`, with suggestions. */
  unmatched(all: readonly OperationEntry[]): UnmatchedPattern[] {
    const of = (key: string, patterns: readonly Pattern[]): (UnmatchedPattern & { text: string })[] =>
      patterns.flatMap(({ text, matches }, i) => {
        if (all.some(matches)) return []
        return [{ where: `operations.${key}[${i}]`, text, message: `${JSON.stringify(text)} matches no operation` }]
      })
    return [...of('include', this.#include), ...of('exclude', this.#exclude)].map(({ where, text, message }, i) => {
      return { where, message: i < HINTS_MAX ? message + hintOf(text, all) : message }
    })
  }
}

export const ALL_OPERATIONS = new OperationFilter({})

function hintOf(text: string, all: readonly OperationEntry[]): string {
  const [, , path] = METHOD_AND_PATH.exec(text) ?? []
  const known = [...new Set(all.flatMap((one) => namesOf(text, one)))]
  const near = known.find((one) => path !== undefined && one.endsWith(` ${path}`)) ?? nearestWord(text, known)
  if (near !== null) return `: did you mean ${JSON.stringify(near)}?`
  return known.length === 0 || known.length > LISTED_MAX ? '' : `: there are ${known.join(', ')}`
}

/** The names of an operation in the form that the pattern `text` has. */
function namesOf(text: string, { path, method, operation }: OperationEntry): string[] {
  if (text.startsWith('tag:')) return tagsOf(operation).map((tag) => `tag:${tag}`)
  const isName = typeof operation.operationId === 'string' && !/[\s/]/.test(text)
  return [isName ? (operation.operationId as string) : `${method.toUpperCase()} ${path}`]
}

function tagsOf({ tags }: Node): string[] {
  return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : []
}

const METHOD_AND_PATH = /^(\*|[A-Za-z]+) (\/.*)$/

/** "tag:issues", "GET /repos/*", "* /user", or an operationId; "*" matches any text. */
function patternOf(text: string): Matches {
  if (text.startsWith('tag:')) {
    const matches = starred(text.slice('tag:'.length))
    return ({ operation }) => tagsOf(operation).some(matches)
  }
  const [, method, path] = METHOD_AND_PATH.exec(text) ?? []
  if (method === undefined) {
    const matches = starred(text)
    return ({ operation }) => typeof operation.operationId === 'string' && matches(operation.operationId)
  }
  const matches = starred(path!)
  return (one) => (method === '*' || method.toLowerCase() === one.method) && matches(one.path)
}

/** Linear in the text for each star: every piece but the last matches at its first occurrence. */
function starred(pattern: string): (text: string) => boolean {
  const [head, ...rest] = pattern.split('*')
  const tail = rest.pop()
  if (tail === undefined) return (text) => text === pattern
  return (text) => {
    if (!text.startsWith(head!)) return false
    let at = head!.length
    for (const piece of rest) {
      const found = text.indexOf(piece, at)
      if (found < 0) return false
      at = found + piece.length
    }
    return text.length - tail.length >= at && text.endsWith(tail)
  }
}
