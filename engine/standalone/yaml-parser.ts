/**
 * YAML 1.2.2 -> nodes with places, in one pass. Refuses (NotRead) whatever is no YAML, and the little that is and that
 * parsers read differently; which mistake it is, source-syntax.ts finds out.
 */

import { YamlFlow } from './yaml-flow.ts'
import {
  COLON,
  DASH,
  isBlank,
  isGap,
  KEY_LENGTH_MAX,
  NO_PROPERTIES,
  type Properties,
  QUESTION,
  type YamlNode
} from './yaml-text.ts'

export type { YamlNode } from './yaml-text.ts'
export { TOO_DEEP } from './yaml-text.ts'

export interface YamlDocument {
  /** Null: there is nothing in it. */
  readonly root: YamlNode | null
  readonly warnings: readonly { readonly offset: number; readonly message: string }[]
}

/** `masked`: without carriage returns but before line feeds. */
export function parseYaml(masked: string): YamlDocument {
  return new Parser(masked).document()
}

class Parser extends YamlFlow {
  document(): YamlDocument {
    this.directives()
    const root = this.block(-1, false)
    if (this.nextLine() && this.isMarker('...')) {
      this.at += 3
      this.column = -1
      this.endLine()
      this.nextLine()
    }
    if (this.at < this.text.length) this.refuse()
    const isNothing = root.type === 'empty' && root.anchor === null && root.tag === null
    return { root: isNothing ? null : root, warnings: this.warnings }
  }

  protected directives(): void {
    let has = false
    while (this.nextLine() && this.column === 0 && this.text[this.at] === '%') {
      const end = this.lineEnd()
      const [, version] = /^%YAML[ \t]+([0-9.]+)[ \t]*(?:#.*)?$/.exec(this.text.slice(this.at, end).trimEnd()) ?? []
      if (version === undefined || has) this.refuse()
      if (!/^1\.[12]$/.test(version!)) {
        const message = `Unsupported YAML version ${version}`
        this.warnings.push({ offset: this.at + 6, message })
      }
      has = true
      this.at = end
      this.column = -1
    }
    if (this.isMarker('---')) {
      this.at += 3
      this.column = -1
    } else if (has) this.refuse()
  }

  /**
   * The node below something at column `indent`. Inside a map (`isValue`) a list may begin in the column of its key.
   * At the beginning #at is behind what introduces it, or at the beginning of the text.
   */
  protected block(indent: number, isValue: boolean, isCompact = false): YamlNode {
    let begin = this.at
    let properties = NO_PROPERTIES
    let tabbed = false
    for (;;) {
      if (this.column < 0) {
        const from = this.at
        if (this.isLineOver()) {
          begin = this.at
          if (!this.nextLine()) return this.node('empty', begin, properties)
        } else {
          tabbed = this.text.slice(from, this.at).includes('\t')
          if (properties !== NO_PROPERTIES && !isGap(this.code(this.at - 1))) this.refuse()
        }
      }
      const column = this.column
      const isDash = this.code() === DASH && isGap(this.afterReturn(this.at + 1))
      if (column >= 0) {
        if (this.isTabbed && column <= indent) this.refuse()
        const isInside = column > indent || (isValue && column === indent && isDash)
        if (!isInside || this.isMarker('---') || this.isMarker('...')) return this.node('empty', begin, properties)
      }
      if (column >= 0 && this.isTabbed) tabbed = true
      const isFree = (column >= 0 && !tabbed) || (isCompact && !tabbed && properties === NO_PROPERTIES)
      if (isDash) {
        if (!isFree) this.refuse()
        return this.list(column >= 0 ? column : this.columnOf(this.at), properties)
      }
      if (this.code() === QUESTION && isGap(this.afterReturn(this.at + 1))) {
        if (!isFree) this.refuse()
        return this.map(column >= 0 ? column : this.columnOf(this.at), properties, null)
      }
      const at = this.at
      const own = this.properties()
      const has = own.anchor !== null || own.tag !== null
      if (has && this.isLineOver()) {
        if (properties !== NO_PROPERTIES) this.refuse(at)
        properties = own
        this.column = -1
        continue
      }
      const style = this.text[this.at]
      if (style === '|' || style === '>') {
        if (has && properties !== NO_PROPERTIES) this.refuse(at)
        return this.blockScalar(indent, has ? own : properties)
      }
      this.column = -1
      this.isBelowKey = isValue
      const isKeyEmpty = this.code() === COLON && isGap(this.afterReturn(this.at + 1))
      const first = isKeyEmpty ? this.node('empty', this.at, own) : this.atom(own, indent)
      if (this.isKey(at, first)) {
        if (!isFree) this.refuse(at)
        return this.map(column >= 0 ? column : this.columnOf(at), properties, first)
      }
      if (has && properties !== NO_PROPERTIES) this.refuse(at)
      const { anchor, tag } = has ? own : properties
      const value = first.type === 'plain' ? this.carriedOn(first, indent) : first
      if (value.type === 'alias' && (anchor !== null || tag !== null)) this.refuse(at)
      this.endLine()
      return Object.assign(value, { anchor, tag })
    }
  }

  /** Whether what begins at `from` and ends here is a key; moves behind its colon then. */
  protected isKey(from: number, { type }: YamlNode): boolean {
    let at = this.at
    while (isBlank(this.code(at))) at++
    if (this.code(at) !== COLON || !isGap(this.afterReturn(at + 1))) return false
    if (this.lineEnd(from) < at || at - from > KEY_LENGTH_MAX) this.refuse(from)
    if (type === 'alias' && at === this.at) this.refuse()
    this.at = at + 1
    return true
  }

  protected list(column: number, properties: Properties): YamlNode {
    const start = this.at
    const items: YamlNode[] = []
    this.deeper()
    do {
      this.at++
      this.column = -1
      items.push(this.block(column, false, true))
    } while (this.isNext(column) && this.code() === DASH && isGap(this.afterReturn(this.at + 1)))
    this.levels--
    return this.node('list', start, properties, { items })
  }

  /** Whether the next line belongs to the collection in `column`. */
  protected isNext(column: number): boolean {
    this.endLine()
    if (!this.nextLine() || this.isMarker('---') || this.isMarker('...')) return false
    if (this.column > column || this.isTabbed) this.refuse()
    return this.column === column
  }

  /** `first`: its first key, with #at behind the colon; null: at a "?". */
  protected map(column: number, properties: Properties, first: YamlNode | null): YamlNode {
    const items: YamlNode[] = []
    const start = first?.start ?? this.at
    let key: YamlNode | null | undefined = first
    this.deeper()
    for (;;) {
      if (key === null) this.explicit(column, items)
      else items.push(key, this.block(column, true))
      if (!this.isNext(column)) break
      key = this.code() === QUESTION && isGap(this.afterReturn(this.at + 1)) ? null : this.nextKey(column)
      if (key === undefined) break
    }
    this.levels--
    return this.node('map', start, properties, { items })
  }

  /** A key at the beginning of a line; undefined: a dash, which goes on with a list around. */
  protected nextKey(column: number): YamlNode | undefined {
    if (this.code() === DASH && isGap(this.afterReturn(this.at + 1))) return undefined
    const at = this.at
    const own = this.properties()
    this.column = -1
    const isEmpty = this.code() === COLON && isGap(this.afterReturn(this.at + 1))
    const key = isEmpty ? this.node('empty', this.at, own) : this.atom(own, column)
    if (!this.isKey(at, key)) this.refuse(at)
    return key
  }

  protected explicit(column: number, items: YamlNode[]): void {
    this.at++
    this.column = -1
    items.push(this.block(column, false, true))
    const at = this.at
    if (this.isNext(column) && this.code() === COLON && isGap(this.afterReturn(this.at + 1))) {
      this.at++
      this.column = -1
      items.push(this.block(column, true, true))
    } else items.push(this.node('empty', at, NO_PROPERTIES))
  }
}
