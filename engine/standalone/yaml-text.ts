/** Places in a text of YAML: lines and columns, properties of nodes, scalars. Parts of yaml-parser.ts. */
import { blockText, doubleQuoted, folded, NotRead, singleQuoted } from './yaml-scalars.ts'

export type NodeType = 'plain' | 'quoted' | 'block' | 'alias' | 'map' | 'list' | 'empty'

export interface YamlNode {
  readonly type: NodeType
  /** Offset where it begins: at the quote, the header of a block, the bracket, the first key or dash. */
  readonly start: number
  /** Offsets of a scalar's text as written. */
  readonly from: number
  readonly end: number
  /** Of a scalar; the name of an alias. */
  readonly text: string
  anchor: string | null
  tag: string | null
  /** Of a list; of a map: key, value, key, ... */
  readonly items: readonly YamlNode[]
}

export interface Properties {
  readonly anchor: string | null
  readonly tag: string | null
}

export const NO_PROPERTIES: Properties = { anchor: null, tag: null }
export const NO_ITEMS: readonly YamlNode[] = []
/** Implicit keys end within 1,024 characters (YAML 1.2.2, 7.4.2 and 8.2.2). */
export const KEY_LENGTH_MAX = 1024
/** Values may have 100 levels, and their parser's stack some thousands. */
export const LEVELS_MAX = 400

export const TOO_DEEP = 'is nested too deeply'

export const TAB = 9
export const LINE_FEED = 10
export const RETURN = 13
export const SPACE = 32
export const HASH = 35
export const COMMA = 44
export const DASH = 45
export const COLON = 58
export const QUESTION = 63

/** Characters with which no plain scalar begins (5.3, 7.3.3). */
export const NOT_PLAIN = ',[]{}#&*!|>\'"%@`'

export const isBlank = (code: number): boolean => code === SPACE || code === TAB
/** White space, a line end, or the end of the text. */
export const isGap = (code: number): boolean =>
  code === SPACE || code === LINE_FEED || code === TAB || Number.isNaN(code)
export const isFlowMark = (code: number): boolean =>
  code === COMMA || code === 91 || code === 93 || code === 123 || code === 125

/** Reads lines and scalars of a text. */
export class YamlText {
  protected readonly text: string
  protected readonly warnings: { offset: number; message: string }[] = []
  protected at: number
  /** Column of #at, where it is the first thing on its line; else -1. */
  protected column = -1
  /** Between #column and #at are tabs. */
  protected isTabbed = false
  protected levels = 0

  constructor(text: string) {
    this.text = text
    this.at = text.charCodeAt(0) === 0xfeff ? 1 : 0
  }
  /** Flow collections around. */
  protected flows = 0
  /** What is read is the value of a key in a block. */
  protected isBelowKey = false

  protected refuse(offset = this.at, message?: string): never {
    throw new NotRead(offset, message)
  }

  protected code(offset = this.at): number {
    return this.text.charCodeAt(offset)
  }

  /** Whether the line at hand is "---" or "..." with nothing glued to it. */
  protected isMarker(mark: string): boolean {
    return this.column === 0 && this.text.startsWith(mark, this.at) && isGap(this.afterReturn(this.at + 3))
  }

  protected afterReturn(offset: number): number {
    const code = this.code(offset)
    return code === RETURN && this.code(offset + 1) === LINE_FEED ? LINE_FEED : code
  }

  protected lineEnd(from = this.at): number {
    const end = this.text.indexOf('\n', from)
    return end < 0 ? this.text.length : end
  }

  /** Moves over white space and a comment; whether the line ends there. */
  protected isLineOver(): boolean {
    while (isBlank(this.code())) this.at++
    const code = this.afterReturn(this.at)
    const isComment = code === HASH && (this.column >= 0 || this.at === 0 || isGap(this.code(this.at - 1)))
    return isComment || code === LINE_FEED || this.at >= this.text.length
  }

  /** Behind a value nothing else may stand on its line. */
  protected endLine(): void {
    if (this.column >= 0) return
    if (!this.isLineOver()) this.refuse()
  }

  /** Moves to the next thing in the text, when the line at hand is over; false: there is none. */
  protected nextLine(): boolean {
    if (this.column >= 0) return this.at < this.text.length
    for (;;) {
      const begin = this.at === 0 || this.code(this.at - 1) === LINE_FEED || (this.at === 1 && this.code(0) === 0xfeff)
      let at = this.at
      while (this.code(at) === SPACE) at++
      const indent = at
      while (isBlank(this.code(at))) at++
      const code = this.afterReturn(at)
      if (at >= this.text.length) {
        this.at = at
        return false
      }
      if (code !== LINE_FEED && code !== HASH) {
        if (!begin) this.refuse(at)
        // Tabs do not indent (6.1): before a value that is no collection of a block they are white space.
        this.isTabbed = at > indent
        this.column = indent - this.at
        this.at = at
        return true
      }
      if (code === HASH && !begin && !isBlank(this.code(at - 1))) this.refuse(at)
      const end = this.lineEnd(at)
      this.at = Math.min(end + 1, this.text.length)
      if (end === this.text.length) return false
    }
  }

  protected columnOf(offset: number): number {
    const begin = offset === 0 ? 0 : this.text.lastIndexOf('\n', offset - 1) + 1
    return offset - (begin === 0 && this.code(0) === 0xfeff ? 1 : begin)
  }

  protected node(type: NodeType, start: number, { anchor, tag }: Properties, more: Partial<YamlNode> = {}): YamlNode {
    const { from = start, end = start, text = '', items = NO_ITEMS } = more
    return { type, start, from, end, text, anchor, tag, items }
  }

  protected deeper(): void {
    if (++this.levels > LEVELS_MAX) this.refuse(this.at, TOO_DEEP)
  }

  protected properties(): Properties {
    let { anchor, tag } = NO_PROPERTIES
    for (;;) {
      const mark = this.text[this.at]
      if (mark === '&' && anchor === null) anchor = this.name()
      else if (mark === '!' && tag === null) tag = this.tag()
      else return { anchor, tag }
      if (!isGap(this.afterReturn(this.at)) && !isFlowMark(this.code())) this.refuse()
      if (isFlowMark(this.code()) && this.flows === 0) this.refuse()
      const from = this.at
      while (isBlank(this.code())) this.at++
      const next = this.text[this.at]
      if (next !== '&' && next !== '!') {
        this.at = from
        while (isBlank(this.code())) this.at++
        return { anchor, tag }
      }
    }
  }

  /** Of an anchor or an alias. */
  protected name(): string {
    const from = this.at + 1
    let at = from
    while (!isGap(this.afterReturn(at)) && !isFlowMark(this.code(at))) at++
    const name = this.text.slice(from, at)
    if (name.endsWith(':')) this.refuse(at - 1)
    if (name === '' && this.text[from - 1] === '&') this.refuse()
    this.at = at
    return name
  }

  protected tag(): string {
    const [source] = /^!(?:<[^>\s]*>|(?:[\w\-#;/?:@&=+$.!~*'()]|%[0-9a-fA-F]{2})*)/.exec(
      this.text.slice(this.at, this.at + KEY_LENGTH_MAX)
    )!
    this.at += source.length
    if (source.startsWith('!<')) return source.slice(2, -1)
    return source.startsWith('!!') ? `tag:yaml.org,2002:${source.slice(2)}` : source
  }

  protected quoted(properties: Properties, indent: number): YamlNode {
    const start = this.at
    const quote = this.code()
    let at = start + 1
    let isLong = false
    for (; ; at++) {
      const code = this.code(at)
      if (at >= this.text.length) this.refuse(start)
      if (code === LINE_FEED) isLong = true
      else if (code === 92 && quote === 34) {
        at++
        if (this.code(at) === LINE_FEED) isLong = true
      } else if (code === quote) {
        if (quote === 34 || this.code(at + 1) !== quote) break
        at++
      }
    }
    this.at = at + 1
    const source = this.text.slice(start + 1, at)
    if (isLong) {
      for (const [, spaces, rest] of source.matchAll(/\n( *)([^\n]*)/g)) {
        if (rest!.trim() === '') continue
        if (spaces!.length <= indent || (spaces === '' && /^(?:---|\.\.\.)(?:\s|$)/.test(rest!))) this.refuse(start)
      }
    }
    const text = quote === 34 ? doubleQuoted(source, start + 1) : singleQuoted(source)
    return this.node('quoted', start, properties, { from: start, end: at + 1, text })
  }

  /** The part of a plain scalar that stands on this line. */
  protected plain(properties: Properties): YamlNode {
    const start = this.at
    const code = this.code()
    const isMark = code === DASH || code === QUESTION || code === COLON
    const next = this.afterReturn(start + 1)
    if (isMark ? isGap(next) || (this.flows > 0 && isFlowMark(next)) : NOT_PLAIN.includes(this.text.charAt(start)))
      this.refuse()
    const end = this.plainEnd(start)
    this.at = end
    return this.node('plain', start, properties, { from: start, end, text: this.text.slice(start, end) })
  }

  protected plainEnd(from: number): number {
    let end = from
    for (let at = from; ; at++) {
      const code = this.code(at)
      if (at >= this.text.length || code === LINE_FEED) return end
      if (code === COLON) {
        const next = this.afterReturn(at + 1)
        if (isGap(next) || (this.flows > 0 && isFlowMark(next))) return end
      }
      if (code === HASH && isBlank(this.code(at - 1))) return end
      if (this.flows > 0 && isFlowMark(code)) return end
      if (!isBlank(code) && !(code === RETURN && this.code(at + 1) === LINE_FEED)) end = at + 1
    }
  }

  /** A plain scalar with its further lines, which begin right of `indent`. */
  protected carriedOn(first: YamlNode, indent: number): YamlNode {
    const lines: string[] = [first.text]
    for (;;) {
      let at = this.at
      while (isBlank(this.code(at))) at++
      if (this.afterReturn(at) !== LINE_FEED) break
      const empty: string[] = []
      let begin = this.lineEnd(at) + 1
      let column = 0
      for (;;) {
        at = begin
        while (this.code(at) === SPACE) at++
        column = at - begin
        while (isBlank(this.code(at))) at++
        if (this.afterReturn(at) !== LINE_FEED) break
        begin = this.lineEnd(at) + 1
        empty.push('')
      }
      const code = this.code(at)
      if (at >= this.text.length || column <= indent || code === HASH) break
      if (column === 0 && /^(?:---|\.\.\.)(?:\s|$)/.test(this.text.slice(at, at + 4))) break
      if (this.flows > 0 && isFlowMark(code)) break
      const end = this.plainEnd(at)
      if (end === at) break
      if (this.flows === 0 && this.isColon(end)) this.refuse(first.start)
      lines.push(...empty, this.text.slice(at, end))
      this.at = end
    }
    if (lines.length === 1) return first
    return this.node('plain', first.start, first, { from: first.start, end: this.at, text: folded(lines) })
  }

  protected isColon(from: number): boolean {
    let at = from
    while (isBlank(this.code(at))) at++
    return this.code(at) === COLON
  }

  protected blockScalar(indent: number, properties: Properties): YamlNode {
    const start = this.at
    let end = this.lineEnd()
    const header = /^([|>])(?:([-+])([1-9])?|([1-9])([-+])?)?(?:[ \t]+#.*|[ \t]*)\r?$/.exec(this.text.slice(start, end))
    if (header === null) this.refuse()
    const [, style, chomp, digit, otherDigit, otherChomp] = header!
    const given = digit ?? otherDigit
    let at = Math.min(end + 1, this.text.length)
    const from = at
    const width = given === undefined ? this.blockIndent(at, indent) : Math.max(indent, 0) + Number(given)
    const lines: string[] = []
    while (at < this.text.length) {
      end = this.lineEnd(at)
      const line = this.text.slice(at, this.code(end - 1) === RETURN ? end - 1 : end)
      const spaces = line.search(/[^ ]|$/)
      if (spaces < width && spaces < line.length) break
      if (width === 0 && /^(?:---|\.\.\.)(?:\s|$)/.test(line)) break
      const isLast = end === this.text.length
      if (!isLast || spaces < line.length || (spaces > width && lines.some((one) => one !== '')))
        lines.push(line.slice(width))
      at = Math.min(end + 1, this.text.length)
      if (isLast) break
    }
    this.at = at
    this.column = -1
    const node = this.node('block', start, properties, {
      ...{ from, end: at, text: blockText(lines, style!, chomp ?? otherChomp ?? '') }
    })
    this.nextLine()
    return node
  }

  /** The indentation of the first line that is not empty. */
  protected blockIndent(from: number, indent: number): number {
    let widest = 0
    for (let at = from; at < this.text.length; ) {
      const end = this.lineEnd(at)
      let to = at
      while (this.code(to) === SPACE) to++
      if (to < end && this.afterReturn(to) !== LINE_FEED) {
        if (to - at <= indent) break
        if (widest > to - at) this.refuse(at)
        return to - at
      }
      widest = Math.max(widest, to - at)
      at = end + 1
    }
    return Math.max(widest, indent + 1)
  }
}
