/** Which operations become tools (`operations` of a target): by operationId, tag, or method and path. */
import type { McpOpenApiTarget } from '#engine/ir/snapshot.ts'
import type { Node } from './document.ts'

export interface Wanted {
  /** Null: all. */
  readonly include: Patterns | null
  readonly exclude: Patterns | null
}

/** What one of them says. */
type Patterns = (one: Named) => boolean

interface Named {
  readonly path: string
  readonly method: string
  readonly given: Node
}

export const EVERYTHING: Wanted = { include: null, exclude: null }

export function wantedOf({ operations }: McpOpenApiTarget): Wanted {
  if (operations === undefined) return EVERYTHING
  return { include: patternsOf(operations.include), exclude: patternsOf(operations.exclude) }
}

export function isWanted({ include, exclude }: Wanted, one: Named): boolean {
  return (include === null || include(one)) && (exclude === null || !exclude(one))
}

function patternsOf(texts: readonly string[]): Patterns | null {
  if (texts.length === 0) return null
  const all = texts.map(patternOf)
  return (one) => all.some((pattern) => pattern(one))
}

/** "tag:issues", "GET /repos/*", "* /user", or an operationId; "*" stands for anything. */
function patternOf(text: string): Patterns {
  if (text.startsWith('tag:')) {
    const matches = starred(text.slice('tag:'.length))
    return ({ given }) => Array.isArray(given.tags) && given.tags.some((tag) => typeof tag === 'string' && matches(tag))
  }
  const [, method, path] = /^(\*|[A-Za-z]+) (\/.*)$/.exec(text) ?? []
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
