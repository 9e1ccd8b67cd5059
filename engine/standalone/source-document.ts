/**
 * The thorough way to read a configuration file: the text becomes a document tree that knows every place
 * and names every mistake of syntax. Whatever source-events.ts will not judge is judged here.
 */
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, type Scalar, type YAMLMap } from 'yaml'
import type { Expanded } from '#engine/ir/expanded.ts'
import type { Path } from '#engine/schema/placed.ts'
import { UNREADABLE } from '#engine/source/validate.ts'
import { type Environment, expand, expandedOf, fill, plainValue, type References } from './expand.ts'
import type { Problem } from './problems.ts'
import { ALIASED_VALUES_MAX, DEPTH_MAX, type Source, TEXT_LENGTH_MAX } from './source-shape.ts'
import { syntaxProblems } from './source-syntax.ts'

const TAGS = /^tag:yaml\.org,2002:(?:str|int|float|bool|null|map|seq)$/

/** Offsets of a key (an entry of a list: of the value) and of its value. */
interface Place {
  readonly key: number
  readonly value: number
}

/** Never throws, whatever the text is. `references`: those of the text. */
export function readDocument(text: string, references: References, env: Environment): Source {
  return new Reader(text, references, env).run()
}

class Reader {
  readonly #text: string
  readonly #env: Environment
  readonly #references: References
  readonly #problems: Problem[] = []
  readonly #places = new WeakMap<object, Map<PropertyKey, Place>>()
  /** What each anchor stands for; 'open' while the anchored value itself is being read. */
  readonly #anchors = new Map<string, { readonly value: unknown; readonly size: number } | 'open'>()
  readonly #expanded = new Map<number, Expanded>()
  readonly #lines = new LineCounter()
  #values = 0
  #aliased = 0

  constructor(text: string, references: References, env: Environment) {
    this.#text = text
    this.#env = env
    this.#references = references
  }

  run(): Source {
    const lines = this.#lines
    const finish = (value: unknown, broken: boolean, warnings: Source['warnings']): Source => ({
      value,
      problems: this.#problems,
      broken,
      warnings,
      locate: (path, what) => this.#locate(value, path, what),
      position: (offset) => positionOf(lines, offset),
      expanded: this.#expanded
    })
    if (this.#text.length > TEXT_LENGTH_MAX) {
      this.#report([], 0, `is larger than ${TEXT_LENGTH_MAX} characters`)
      return finish(null, true, [])
    }
    // What reading a file as UTF-8 puts where the bytes are none: carried on, it would be served to clients.
    const odd = this.#text.indexOf('\uFFFD')
    if (odd >= 0) {
      this.#countLines(odd, lines)
      this.#report([], odd, 'is not UTF-8 text', 'save the file as UTF-8, without odd bytes')
      return finish(null, true, [])
    }
    const document = this.#parse(lines)
    if (document === null) return finish(null, true, [])
    const warnings = document.warnings.map(({ pos, message }) => ({ offset: pos[0], message }))
    const value = document.contents === null ? null : this.#read(document.contents, [])
    const broken = document.errors.length > 0 || this.#aliased > ALIASED_VALUES_MAX
    return finish(value, broken, warnings)
  }

  /** What the parser does otherwise. */
  #countLines(end: number, lines: LineCounter): void {
    lines.addNewLine(0)
    for (const { index } of this.#text.slice(0, end).matchAll(/\n/g)) lines.addNewLine(index + 1)
  }

  #parse(lines: LineCounter) {
    try {
      const document = parseDocument(this.#references.masked, {
        lineCounter: lines,
        prettyErrors: false,
        // Its check compares all pairs of keys; ours is linear.
        uniqueKeys: false,
        logLevel: 'error'
      })
      this.#problems.push(...syntaxProblems(this.#references.masked, document.errors))
      return document
    } catch (error) {
      this.#report([], 0, `cannot be read as YAML: ${(error as Error).message}`)
      return null
    }
  }

  // --- values ---

  #read(node: unknown, path: Path): unknown {
    this.#values++
    if (this.#aliased > ALIASED_VALUES_MAX) return UNREADABLE
    if (isAlias(node)) return this.#alias(node.source, offsetOf(node), path)
    if (!isScalar(node) && !isMap(node) && !isSeq(node)) return null
    if (node.tag !== undefined && !TAGS.test(node.tag)) {
      const isLocal = node.tag.startsWith('!')
      const hint = isLocal ? 'to mean a text that begins with "!", put all of it in quotes' : undefined
      const offset = isLocal ? this.#text.lastIndexOf(node.tag, offsetOf(node)) : offsetOf(node)
      this.#report(path, Math.max(0, offset), `the tag ${node.tag} is not supported`, hint)
      return UNREADABLE
    }
    if (path.length > DEPTH_MAX) {
      this.#report(path, offsetOf(node), `is nested deeper than ${DEPTH_MAX} levels`)
      return UNREADABLE
    }
    if (node.anchor === undefined) return this.#readPlain(node, path)
    const before = this.#values
    this.#anchors.set(node.anchor, 'open')
    const value = this.#readPlain(node, path)
    this.#anchors.set(node.anchor, { value, size: this.#values - before + 1 })
    return value
  }

  #readPlain(node: Node, path: Path): unknown {
    if (isScalar(node)) return this.#scalar(node, path)
    if (isMap(node)) return this.#map(node, path)
    const out: unknown[] = []
    const places = new Map<PropertyKey, Place>()
    this.#places.set(out, places)
    if (!isSeq(node)) return out
    node.items.forEach((item, i) => {
      const offset = offsetOf(item)
      places.set(i, { key: offset, value: offset })
      out.push(this.#read(item, [...path, i]))
    })
    return out
  }

  #map(node: YAMLMap, path: Path): Record<string, unknown> {
    const out: Record<string, unknown> = {}
    const places = new Map<PropertyKey, Place>()
    this.#places.set(out, places)
    for (const pair of node.items) {
      const name = this.#key(pair.key, path)
      if (name === null) continue
      const at = [...path, name]
      const key = offsetOf(pair.key)
      const first = places.get(name)
      if (first !== undefined || name === '__proto__') {
        if (first === undefined) this.#report(at, key, 'is not allowed as a key')
        else
          this.#report(at, key, 'is given twice', `the first is in line ${this.#lineOf(first.key)}: keep one of them`)
        continue
      }
      const value = isEmpty(pair.value) ? key : offsetOf(pair.value)
      places.set(name, { key, value })
      out[name] = this.#read(pair.value, at)
    }
    return out
  }

  #key(node: unknown, path: Path): string | null {
    if (!isScalar(node) || (node.value === null && !node.source)) {
      this.#report(
        path,
        isScalar(node) || isAlias(node) || isMap(node) || isSeq(node) ? offsetOf(node) : 0,
        'a key must be a plain word'
      )
      return null
    }
    // The key by which JSON files name their schema for editors; not a variable.
    if (path.length === 0 && /^["']?\$schema\b/.test(this.#text.slice(offsetOf(node), offsetOf(node) + 9)))
      return '$schema'
    const name = typeof node.value === 'string' ? node.value : String(node.source)
    const text = this.#expand(node, name, path) ?? name
    return text === UNREADABLE ? null : text
  }

  #scalar(node: Scalar, path: Path): unknown {
    const { value } = node
    if (typeof value !== 'string') return value
    const text = this.#expand(node, value, path)
    if (text === null) return value
    if (text === UNREADABLE) return text
    return node.type === 'PLAIN' && node.tag === undefined ? plainValue(text) : text
  }

  #alias(name: string, offset: number, path: Path): unknown {
    const anchored = this.#anchors.get(name)
    if (anchored === undefined) this.#unknownAlias(name, offset, path)
    else if (anchored === 'open') this.#report(path, offset, `the alias "${name}" stands inside of what it repeats`)
    if (anchored === undefined || anchored === 'open') return UNREADABLE
    this.#aliased += anchored.size
    this.#values += anchored.size
    if (this.#aliased > ALIASED_VALUES_MAX) {
      this.#report(path, offset, `aliases add more than ${ALIASED_VALUES_MAX} values`)
    }
    return anchored.value
  }

  /** Most are no aliases: a host such as *.example.com, or a star alone. */
  #unknownAlias(name: string, offset: number, path: Path): void {
    const hint = `to mean a text that begins with "*", put it in quotes: "*${name}"`
    if (/^(?:[.-].*)?$/.test(name)) this.#report(path, offset, 'without quotes, * begins an alias of YAML', hint)
    else this.#report(path, offset, `there is no anchor "${name}" above this alias`, hint)
  }

  /** The scalar's text with its references replaced; null when it has none. */
  #expand(node: Scalar, masked: string, path: Path): string | typeof UNREADABLE | null {
    const [start, end] = node.range ?? [0, 0]
    // The first line of a block scalar is its header, which may end in a comment.
    const header = node.type?.startsWith('BLOCK') === true ? this.#text.indexOf('\n', start) : start
    const references = this.#references.within(header < 0 ? end : header, end)
    if (references.length === 0) return null
    const parts: string[] = []
    for (const { text, start } of references) {
      const expansion = expand(text, this.#env)
      if ('value' in expansion) parts.push(expansion.value)
      else this.#report(path, start, expansion.problem, expansion.hint)
    }
    if (parts.length < references.length) return UNREADABLE
    const value = fill(masked, parts)
    this.#expanded.set(start, expandedOf(masked, value, references, parts))
    return value
  }

  // --- places ---

  #lineOf(offset: number): number {
    return positionOf(this.#lines, offset).line
  }

  #report(path: Path, offset: number, message: string, hint?: string): void {
    this.#problems.push({ path, offset, message, hint })
  }

  #locate(root: unknown, path: Path, what: 'key' | 'value'): number {
    let container = root
    let place: Place | undefined
    for (const [i, key] of path.entries()) {
      const places = isObject(container) ? this.#places.get(container) : undefined
      const next = places?.get(key)
      // A key that is missing is missing from the value around it, which begins at that value's key.
      if (next === undefined) return place?.key ?? 0
      place = next
      if (i < path.length - 1) container = (container as Record<PropertyKey, unknown>)[key]
    }
    return place?.[what] ?? 0
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function offsetOf(node: unknown): number {
  return (node as Partial<Node> | null)?.range?.[0] ?? 0
}

/** Whether a value was left out ("key:"), so that it has no place of its own. */
function isEmpty(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null && !node.source)
}

function positionOf(lines: LineCounter, offset: number): { line: number; column: number } {
  if (lines.lineStarts.length === 0) return { line: 1, column: 1 }
  const { line, col } = lines.linePos(offset)
  return { line: Math.max(1, line), column: Math.max(1, col) }
}
