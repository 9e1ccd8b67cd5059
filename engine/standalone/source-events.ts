/**
 * The fast path for configuration files without unusual YAML: js-yaml's events become
 * values in one pass, eight times as fast as a document tree. It judges nothing: where there is a mistake,
 * or something that YAML parsers understand differently, source-document.ts reads the text from its
 * beginning and says what there is to say. Both give the same values and places for what both read.
 */
import {
  type AliasEvent,
  COLLECTION_STYLE,
  EVENT_ID,
  type Event,
  getScalarValue,
  type MappingEvent,
  parseEvents,
  SCALAR_STYLE,
  type ScalarEvent,
  type SequenceEvent
} from 'js-yaml'
import type { Expanded } from '#engine/ir/expanded.ts'
import type { Path } from '#engine/schema/placed.ts'
import { type Environment, expand, expandedOf, fill, plainValue, type References } from './expand.ts'
import { ALIASED_VALUES_MAX, DEPTH_MAX, type Source, TEXT_LENGTH_MAX } from './source-shape.ts'

const SPACE = 32
const DASH = 45
const LINE_FEED = 10

type Collection = SequenceEvent | MappingEvent
type Node = Collection | ScalarEvent | AliasEvent

/** Thrown to leave the fast path. */
const ODD = Symbol('odd')

/** Implicit keys end within 1,024 characters (YAML 1.2.2, 7.4.2 and 8.2.2), which js-yaml does not check. */
const KEY_LENGTH_MAX = 1000

/** Null when the text is odd. `references`: those of the text. */
export function readEvents(text: string, references: References, env: Environment): Source | null {
  if (text.length > TEXT_LENGTH_MAX || ODD_TEXT.test(text)) return null
  if (TAB_INDENT.test(text) && !JSON_BEGIN.test(text)) return null
  const events = eventsOf(references.masked)
  if (events === null) return null
  try {
    return new Reader(text, events, references, env).run()
  } catch (error) {
    if (error === ODD) return null
    throw error
  }
}

/**
 * What is seldom written and understood differently by parsers, some of it against YAML 1.2.2 (in brackets):
 * no UTF-8; a carriage return alone (5.4); directives, ends of documents and text behind a document's marker
 * (9.2); keys that "?" introduces (8.2.2; in "a ? b : c" it introduces none); lines that begin with ":" (7.4.2:
 * js-yaml takes "{ a # b\n:c }"); line breaks escaped in quotes, for which js-yaml drops empty lines (7.3.1); white
 * space at the end, which it takes for a line of a block (8.1.1.2).
 */
const ODD_TEXT = new RegExp(
  [
    '\\ufffd',
    '\\r(?!\\n)',
    '^(?: *%|\\.\\.\\.|--- *[^\\s]| +(?:---|\\.\\.\\.)\\s)',
    '(?:^[ \\t]*(?:[-?:][ \\t]+|[&!][^\\s]*[ \\t]+)*|[,[{]\\s*)\\?\\s',
    '^[ \\t]*:',
    '\\\\\\r?\\n',
    '[ \\t]$(?![^])'
  ].join('|'),
  'm'
)
/** Tabs cannot indent (6.1), but for js-yaml they can where they separate as well; JSON may have them. */
const TAB_INDENT = /^[ -]*\t/m
const JSON_BEGIN = /^\ufeff?[{[]/

/** Null when the text is not YAML, or not to js-yaml. */
function eventsOf(masked: string): Event[] | null {
  try {
    return parseEvents(masked, { maxDepth: DEPTH_MAX })
  } catch {
    // Its message is not used: the other parser gives better ones, and more than one.
    return null
  }
}

class Reader {
  readonly #text: string
  readonly #masked: string
  readonly #events: readonly Event[]
  readonly #references: References
  readonly #env: Environment
  /** Of a list: the offset of each entry. Of a map: name, offset of the key, offset of the value, name, ... */
  readonly #places = new Map<object, readonly (string | number)[]>()
  /** What each anchor stands for; 'open' while the anchored value itself is being read. */
  readonly #anchors = new Map<string, { readonly value: unknown; readonly size: number } | 'open'>()
  readonly #expanded = new Map<number, Expanded>()
  /** Of the next event. */
  #next = 0
  /** Offset behind the last scalar, anchor or alias. */
  #behind = 0
  /** Offset of the node that #read has read; -1 when it is empty and has no place of its own. */
  #offset = -1
  #values = 0
  #aliased = 0

  constructor(text: string, events: readonly Event[], references: References, env: Environment) {
    this.#text = text
    this.#masked = references.masked
    this.#events = events
    this.#references = references
    this.#env = env
  }

  run(): Source {
    const [document] = this.#events
    const root = this.#events[1]?.type
    // One document; an empty one has a message of its own, and any other is a map.
    if (document?.type !== EVENT_ID.DOCUMENT || (root !== EVENT_ID.MAPPING && root !== EVENT_ID.SEQUENCE)) throw ODD
    this.#next = 1
    const value = this.#read(0)
    if (this.#next !== this.#events.length - 1) throw ODD
    const places = this.#places
    let lines: number[] | null = null
    return {
      value,
      problems: [],
      broken: false,
      warnings: [],
      locate: (path, what) => locate(places, value, path, what),
      position: (offset) => {
        lines ??= lineStarts(this.#text)
        return positionIn(lines, offset)
      },
      expanded: this.#expanded
    }
  }

  // --- values ---

  #read(depth: number): unknown {
    const event = this.#events[this.#next++] as Node
    this.#values++
    if (event.type === EVENT_ID.ALIAS) return this.#alias(event)
    if (event.tagStart >= 0 || depth > DEPTH_MAX) throw ODD
    if (event.anchorStart < 0) return this.#readPlain(event, depth)
    const anchor = this.#text.slice(event.anchorStart, event.anchorEnd)
    // Others are allowed, and taken for mistakes often enough that the other parser warns of some.
    if (!/^[\w.-]+$/.test(anchor) || !/[\s,\]}]/.test(this.#text.charAt(event.anchorEnd))) throw ODD
    this.#behind = event.anchorEnd
    const before = this.#values
    this.#anchors.set(anchor, 'open')
    const value = this.#readPlain(event, depth)
    this.#anchors.set(anchor, { value, size: this.#values - before + 1 })
    return value
  }

  #readPlain(event: Collection | ScalarEvent, depth: number): unknown {
    if (event.type === EVENT_ID.SCALAR) return this.#scalar(event)
    const value = event.type === EVENT_ID.MAPPING ? this.#map(event, depth) : this.#list(event, depth)
    // The event that ends it.
    this.#next++
    this.#offset = event.start
    return value
  }

  #list({ style }: SequenceEvent, depth: number): unknown[] {
    const out: unknown[] = []
    const places: number[] = []
    for (;;) {
      const event = this.#events[this.#next]!
      if (event.type === EVENT_ID.POP) break
      out.push(this.#read(depth + 1))
      // js-yaml does not say where an empty entry stands.
      if (this.#offset < 0) throw ODD
      const { anchorStart } = event as Node
      const start = anchorStart < 0 ? this.#offset : anchorStart - 1
      // js-yaml also takes what stands behind an entry of several lines for an entry: "- {\n}- b".
      if (style === COLLECTION_STYLE.BLOCK && out.length > 1 && !this.#isEntry(start)) throw ODD
      places.push(this.#offset)
    }
    this.#places.set(out, places)
    return out
  }

  #map({ style }: MappingEvent, depth: number): Record<string, unknown> {
    const out: Record<string, unknown> = {}
    const places: (string | number)[] = []
    for (;;) {
      const event = this.#events[this.#next]!
      if (event.type === EVENT_ID.POP) break
      const name = this.#key(event as Node, depth)
      // A key that is given twice, too.
      if (name === '__proto__' || Object.hasOwn(out, name)) throw ODD
      const key = this.#offset
      // js-yaml also takes what stands behind an entry of a list for a key: "a:\n- {} b: 1".
      if (style === COLLECTION_STYLE.BLOCK && places.length > 0 && !this.#isFirstOnLine(key)) throw ODD
      out[name] = this.#read(depth + 1)
      places.push(name, key, this.#offset < 0 ? key : this.#offset)
    }
    this.#places.set(out, places)
    return out
  }

  #key(event: Node, depth: number): string {
    // Anchors of keys stand for nothing in either way of reading.
    if (event.type !== EVENT_ID.SCALAR || event.tagStart >= 0 || event.anchorStart >= 0) throw ODD
    if (event.valueStart < 0 || event.valueEnd - event.valueStart > KEY_LENGTH_MAX) throw ODD
    this.#next++
    const name = getScalarValue(this.#masked, event)
    this.#offset = this.#begin(event)
    // The key by which JSON files name their schema for editors; not a variable.
    if (depth === 0 && /^["']?\$schema\b/.test(this.#text.slice(this.#offset, this.#offset + 9))) return '$schema'
    return this.#expand(event, name)
  }

  #scalar(event: ScalarEvent): unknown {
    if (event.valueStart < 0) {
      this.#offset = -1
      return null
    }
    const masked = getScalarValue(this.#masked, event)
    this.#offset = this.#begin(event)
    const text = this.#expand(event, masked)
    if (event.style !== SCALAR_STYLE.PLAIN) return text
    // A variable's value is read as what stands in the file, except for the infinities.
    return text === masked ? wordValue(text) : plainValue(text)
  }

  /** Offset where the scalar begins: at its quote, or at the header of a block. Moves on behind it. */
  #begin(event: ScalarEvent): number {
    const { style, valueStart, valueEnd } = event
    if (style === SCALAR_STYLE.PLAIN) {
      this.#behind = valueEnd
      return valueStart
    }
    if (style === SCALAR_STYLE.SINGLE_QUOTED || style === SCALAR_STYLE.DOUBLE_QUOTED) {
      this.#behind = valueEnd + 1
      return valueStart - 1
    }
    // Between the last scalar and a header are indicators, white space and comments.
    HEADER.lastIndex = this.#behind
    HEADER.test(this.#masked)
    const header = HEADER.lastIndex - 1
    // A digit counts the block's indentation from that of its parent, of which there are several opinions.
    if (header < 0 || header >= valueStart || /^.[-+]?[0-9]/.test(this.#masked.slice(header, header + 3))) throw ODD
    this.#behind = valueEnd
    return header
  }

  /** Whether a dash introduces what begins at `start`, at the start of a line or behind other dashes. */
  #isEntry(start: number): boolean {
    let at = start - 1
    while (/[ \r\n]/.test(this.#text.charAt(at))) at--
    if (this.#text.charCodeAt(at) !== DASH) return false
    while (this.#text.charCodeAt(at) === SPACE || this.#text.charCodeAt(at) === DASH) at--
    return this.#text.charCodeAt(at) === LINE_FEED
  }

  #isFirstOnLine(offset: number): boolean {
    let at = offset - 1
    while (this.#text.charCodeAt(at) === SPACE) at--
    return this.#text.charCodeAt(at) === LINE_FEED
  }

  #alias({ anchorStart, anchorEnd }: AliasEvent): unknown {
    const anchored = this.#anchors.get(this.#text.slice(anchorStart, anchorEnd))
    if (anchored === undefined || anchored === 'open') throw ODD
    this.#behind = anchorEnd
    this.#offset = anchorStart - 1
    this.#aliased += anchored.size
    this.#values += anchored.size
    if (this.#aliased > ALIASED_VALUES_MAX) throw ODD
    return anchored.value
  }

  /** The scalar's text with its references replaced. */
  #expand(event: ScalarEvent, masked: string): string {
    if (this.#references.count === 0) return masked
    const references = this.#references.within(event.valueStart, event.valueEnd)
    if (references.length === 0) return masked
    const parts: string[] = []
    for (const { text } of references) {
      const expansion = expand(text, this.#env)
      if ('problem' in expansion) throw ODD
      parts.push(expansion.value)
    }
    const value = fill(masked, parts)
    this.#expanded.set(this.#offset, expandedOf(masked, value, references, parts))
    return value
  }
}

const HEADER = /(?:[\s:?,\]}-]|#[^\n]*)*[|>]/y

/** The value of an unquoted scalar (YAML 1.2.2, 10.3.2). */
function wordValue(text: string): unknown {
  // Most are words, which their first letter tells.
  if (!/^[-+.~0-9nNtTfF]/.test(text)) return text
  const value = plainValue(text)
  if (typeof value !== 'string' || !/^(?:[-+]?\.(?:inf|Inf|INF)|\.nan|\.NaN|\.NAN)$/.test(text)) return value
  if (text.endsWith('n') || text.endsWith('N')) return Number.NaN
  return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
}

// --- places ---

type Places = ReadonlyMap<object, readonly (string | number)[]>

function locate(all: Places, root: unknown, path: Path, what: 'key' | 'value'): number {
  let container = root
  let key = 0
  let value = 0
  for (const step of path) {
    const places = all.get(container as object)
    if (places === undefined) return key
    // A key that is missing is missing from the value around it, which begins at that value's key.
    if (Array.isArray(container)) {
      const offset = typeof step === 'number' ? places[step] : undefined
      if (typeof offset !== 'number') return key
      key = value = offset
    } else {
      const at = indexOfName(places, step)
      if (at < 0) return key
      key = places[at + 1] as number
      value = places[at + 2] as number
    }
    container = (container as Record<PropertyKey, unknown>)[step]
  }
  return what === 'key' ? key : value
}

function indexOfName(places: readonly (string | number)[], name: PropertyKey): number {
  for (let i = 0; i < places.length; i += 3) if (places[i] === name) return i
  return -1
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

function positionIn(starts: readonly number[], offset: number): { line: number; column: number } {
  let low = 0
  let high = starts.length
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (starts[middle]! <= offset) low = middle
    else high = middle
  }
  return { line: low + 1, column: offset - starts[low]! + 1 }
}
