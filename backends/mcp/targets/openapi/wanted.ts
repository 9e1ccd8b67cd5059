/** Which operations become tools (`operations` of a target): by operationId, tag, or method and path. */

import { nearestWord } from '#engine/kit/nearest.ts'
import type { McpOpenApiTarget } from './config.ts'
import type { Node } from './document.ts'

/** Of a list with many mistakes the first are compared with all operations: there may be thousands of them. */
const HINTS_MAX = 16
const LISTED_MAX = 8

type Matches = (one: Named) => boolean

interface Pattern {
  readonly text: string
  readonly matches: Matches
}

/** An entry that no operation has matched. */
export interface Idle {
  /** In the target: "operations.include[0]". */
  readonly where: string
  readonly message: string
}

export interface Named {
  readonly path: string
  readonly method: string
  readonly given: Node
}

/** What `operations` of a target says. */
export class Wanted {
  readonly #include: readonly Pattern[]
  readonly #exclude: readonly Pattern[]

  constructor({ operations }: Pick<McpOpenApiTarget, 'operations'>) {
    const patterns = (texts: readonly string[] = []) => texts.map((text) => ({ text, matches: patternOf(text) }))
    this.#include = patterns(operations?.include)
    this.#exclude = patterns(operations?.exclude)
  }

  has(one: Named): boolean {
    const matches = (pattern: Pattern): boolean => pattern.matches(one)
    return (this.#include.length === 0 || this.#include.some(matches)) && !this.#exclude.some(matches)
  }

  /** The entries that match none of `all`, with what may have been meant. */
  idle(all: readonly Named[]): Idle[] {
    const of = (key: string, patterns: readonly Pattern[]): (Idle & { text: string })[] =>
      patterns.flatMap(({ text, matches }, i) => {
        if (all.some(matches)) return []
        return [{ where: `operations.${key}[${i}]`, text, message: `${JSON.stringify(text)} matches no operation` }]
      })
    return [...of('include', this.#include), ...of('exclude', this.#exclude)].map(({ where, text, message }, i) => {
      return { where, message: i < HINTS_MAX ? message + hintOf(text, all) : message }
    })
  }
}

export const EVERYTHING = new Wanted({})

function hintOf(text: string, all: readonly Named[]): string {
  const [, , path] = METHOD_AND_PATH.exec(text) ?? []
  const known = [...new Set(all.flatMap((one) => namesOf(text, one)))]
  const near = known.find((one) => path !== undefined && one.endsWith(` ${path}`)) ?? nearestWord(text, known)
  if (near !== null) return `: did you mean ${JSON.stringify(near)}?`
  return known.length === 0 || known.length > LISTED_MAX ? '' : `: there are ${known.join(', ')}`
}

/** The names of an operation of the kind that `text` is. */
function namesOf(text: string, { path, method, given }: Named): string[] {
  if (text.startsWith('tag:')) return tagsOf(given).map((tag) => `tag:${tag}`)
  const isName = typeof given.operationId === 'string' && !/[\s/]/.test(text)
  return [isName ? (given.operationId as string) : `${method.toUpperCase()} ${path}`]
}

function tagsOf({ tags }: Node): string[] {
  return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : []
}

const METHOD_AND_PATH = /^(\*|[A-Za-z]+) (\/.*)$/

/** "tag:issues", "GET /repos/*", "* /user", or an operationId; "*" stands for anything. */
function patternOf(text: string): Matches {
  if (text.startsWith('tag:')) {
    const matches = starred(text.slice('tag:'.length))
    return ({ given }) => tagsOf(given).some(matches)
  }
  const [, method, path] = METHOD_AND_PATH.exec(text) ?? []
  if (method === undefined) {
    const matches = starred(text)
    return ({ given }) => typeof given.operationId === 'string' && matches(given.operationId)
  }
  const matches = starred(path!)
  return (one) => (method === '*' || method.toLowerCase() === one.method) && matches(one.path)
}

/** Linear in the text for each star: the first place that fits is taken, but for the last. */
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
