/** Flow collections of YAML 1.2.2 (7.4), and what may stand in them and outside. Parts of yaml-parser.ts. */
import {
  COLON,
  COMMA,
  HASH,
  isBlank,
  isFlowMark,
  isGap,
  KEY_LENGTH_MAX,
  LINE_FEED,
  NO_PROPERTIES,
  type Properties,
  QUESTION,
  SPACE,
  type YamlNode,
  YamlText
} from './yaml-text.ts'

/** Reads flow collections. */
export class YamlFlow extends YamlText {
  /** What begins here, on one line as far as it is plain. `indent`: its lines begin further right. */
  protected atom(properties: Properties, indent: number): YamlNode {
    const start = this.at
    switch (this.text[start]) {
      case '*': {
        const text = this.name()
        return this.node('alias', start, properties, { text, end: this.at })
      }
      case '"':
      case "'":
        return this.quoted(properties, indent)
      case '[':
      case '{':
        return this.flow(properties, indent)
      default:
        return this.plain(properties)
    }
  }

  /** Over white space, line ends and comments. Lines inside begin right of `indent`. */
  protected gap(indent: number): void {
    for (;;) {
      const from = this.at
      while (isBlank(this.code())) this.at++
      const code = this.afterReturn(this.at)
      if (this.at >= this.text.length) this.refuse()
      if (code === HASH && this.at === from && this.code(from - 1) !== LINE_FEED) this.refuse()
      if (code !== HASH && code !== LINE_FEED) return
      const begin = this.lineEnd() + 1
      let at = begin
      while (this.code(at) === SPACE) at++
      const column = at - begin
      let next = at
      while (isBlank(this.code(next))) next++
      this.at = begin
      const first = this.afterReturn(next)
      if (first === LINE_FEED || this.code(at) === HASH) continue
      const isEnd = this.flows === 1 && column === indent && (this.code(at) === 93 || this.code(at) === 125)
      if (column <= indent && !isEnd) this.refuse(at)
      if (column === 0 && /^(?:---|\.\.\.)(?:\s|$)/.test(this.text.slice(at, at + 4))) this.refuse(at)
      if (isEnd && this.isBelowKey) {
        this.warnings.push({ offset: at, message: 'Flow end indicator should be more indented than parent' })
      }
    }
  }

  protected flow(properties: Properties, indent: number): YamlNode {
    const start = this.at
    const isMap = this.text[start] === '{'
    const close = isMap ? 125 : 93
    const items: YamlNode[] = []
    this.deeper()
    this.flows++
    this.at++
    for (;;) {
      this.gap(indent)
      if (this.code() === close) break
      if (isMap) this.flowPair(indent, items)
      else items.push(this.flowEntry(indent))
      this.gap(indent)
      if (this.code() === COMMA) this.at++
      else if (this.code() !== close) this.refuse()
    }
    this.at++
    this.flows--
    this.levels--
    return this.node(isMap ? 'map' : 'list', start, properties, { items, end: this.at })
  }

  protected flowPair(indent: number, items: YamlNode[]): void {
    if (this.code() === QUESTION && isGap(this.afterReturn(this.at + 1))) {
      this.at++
      this.gap(indent)
    }
    const key = this.flowNode(indent)
    const end = this.at
    this.gap(indent)
    if (!this.isFlowColon(key, end)) {
      items.push(key, this.node('empty', end, NO_PROPERTIES))
      return
    }
    if (end - key.start > KEY_LENGTH_MAX) this.refuse(key.start)
    this.at++
    this.gap(indent)
    items.push(key, this.flowNode(indent))
  }

  /** Of a list: a value, or a pair, which is a map. */
  protected flowEntry(indent: number): YamlNode {
    const begin = this.at
    const isExplicit = this.code() === QUESTION && isGap(this.afterReturn(begin + 1))
    if (isExplicit) {
      this.at++
      this.gap(indent)
    }
    const key = this.flowNode(indent)
    const end = this.at
    while (isBlank(this.code())) this.at++
    if (!this.isFlowColon(key, end)) {
      if (isExplicit || key.type === 'empty') this.refuse(begin)
      return key
    }
    if (end - begin > KEY_LENGTH_MAX || this.lineEnd(begin) < end) this.refuse(begin)
    this.at++
    this.gap(indent)
    const items = [key, this.flowNode(indent)]
    return this.node('map', begin, NO_PROPERTIES, { items, end: this.at })
  }

  protected isFlowColon({ type }: YamlNode, end: number): boolean {
    if (this.code() !== COLON) return false
    const next = this.afterReturn(this.at + 1)
    const isTight = this.at === end && (type === 'quoted' || type === 'map' || type === 'list')
    return isTight || isGap(next) || isFlowMark(next)
  }

  /** May be left out. */
  protected flowNode(indent: number): YamlNode {
    const begin = this.at
    const properties = this.properties()
    if (properties.anchor !== null || properties.tag !== null) this.gap(indent)
    const code = this.code()
    const next = this.afterReturn(this.at + 1)
    const isNothing =
      code === COMMA || code === 93 || code === 125 || (code === COLON && (isGap(next) || isFlowMark(next)))
    if (isNothing) {
      if (code === COMMA && begin === this.at && this.code(begin - 1) !== COLON && !this.isAfterColon(begin))
        this.refuse()
      return this.node('empty', begin, properties)
    }
    const node = this.atom(properties, indent)
    if (node.type === 'alias' && (node.anchor !== null || node.tag !== null)) this.refuse(begin)
    return node.type === 'plain' ? this.carriedOn(node, indent) : node
  }

  protected isAfterColon(from: number): boolean {
    let at = from - 1
    while (isGap(this.code(at)) && at >= 0) at--
    return this.code(at) === COLON
  }
}
