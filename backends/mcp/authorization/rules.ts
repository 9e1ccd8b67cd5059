/**
 * Authorization rules for tools, prompts, resources, tasks and methods of extensions of MCP servers
 * (docs/specification.md#mcp-policies). Lists are filtered by the same rules that allow or deny calls.
 */

import type { McpRules } from '#backends/mcp/config/snapshot.ts'
import type { Expr } from '#engine/cel/ast.ts'
import { MCP_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression, type Expression } from '#engine/cel/expression.ts'
import { parse } from '#engine/cel/parser.ts'
import { pathOf } from '#engine/cel/resolve.ts'
import { type Exchange, readAs } from '#engine/contract/exchange.ts'
import { type McpItem, type McpUse, newMcpUse } from '#engine/contract/mcp-use.ts'
import { URI_MAX, uriForms } from './uri-forms.ts'

/** Whether the caller of `ex` may see and use `item`. Synchronous; never throws. */
export type ItemGate = (ex: Exchange, item: McpItem) => boolean

/**
 * Once per configuration; every expression has passed the schema. An item is denied if a `deny` rule is true or fails.
 * Otherwise each `require` rule must be true, and one `allow` rule if there are any. A rule that names `mcp.tool` is
 * not true for prompts and does not deny them; the same holds for the other kinds.
 *
 * The URI of a resource, and the path of the request, can be written in many ways. A `deny` rule applies if it is true
 * for any of them, decoded or not. `allow` and `require` rules must be true for the text as sent and for each form that
 * URL parsers and servers make of it (uri-forms.ts).
 */
export function compileRules(rules: McpRules | null): ItemGate {
  if (rules === null) return () => true
  const gate = new Gate(rules)
  return (ex, item) => {
    const { readings } = ex
    if (readings === null) return gate.passes(ex, item)
    for (let i = 0; i < readings.length; i++) if (!gate.passes(readAs(ex, readings[i]!), item)) return false
    return true
  }
}

class Gate {
  readonly #denies: Index
  readonly #requires: readonly Rule[]
  readonly #allows: Index | null

  constructor({ allow, deny, require }: McpRules) {
    this.#denies = new Index(deny)
    this.#requires = require.map((source) => ruleOf(source))
    this.#allows = allow.length === 0 ? null : new Index(allow)
  }

  passes(ex: Exchange, item: McpItem): boolean {
    const use = ex.mcp ?? newMcpUse()
    const { mcp } = ex
    const before = use.item
    ex.mcp = use
    const mayPass = item.kind === 'resource' ? this.#admitsUri(ex, use, item) : this.#admits(ex, use, item, null)
    use.item = before
    ex.mcp = mcp
    return mayPass
  }

  #admitsUri(ex: Exchange, use: McpUse, item: McpItem): boolean {
    if (item.name.length > URI_MAX) return false
    const { spelled, suspected, scheme } = uriForms(item.name)
    const sent = { name: item.name, scheme }
    for (const name of spelled) {
      if (!this.#admits(ex, use, name === item.name ? item : { ...item, name }, sent)) return false
    }
    for (const name of suspected) if (this.#isDenied(ex, use, { ...item, name })) return false
    return true
  }

  /** `sent`: the URI of which `item` is one form; null: it is no URI. */
  #admits(ex: Exchange, use: McpUse, item: McpItem, sent: SentUri | null): boolean {
    if (this.#isDenied(ex, use, item)) return false
    for (const rule of this.#requires) {
      use.item = item
      if (namesText(rule, item, sent) || rule.program.run(ex) === true) continue
      if (sent === null || !writesScheme(rule, ex, use, item, sent)) return false
    }
    use.item = item
    return this.#allows === null || this.#allows.some(ex, item, isTrue) || this.#allowsText(ex, use, item, sent)
  }

  #isDenied(ex: Exchange, use: McpUse, item: McpItem): boolean {
    use.item = item
    return this.#denies.some(ex, item, isDenied)
  }

  /** A rule that names the text as sent allows its other forms too; the same holds for its scheme. */
  #allowsText(ex: Exchange, use: McpUse, item: McpItem, sent: SentUri | null): boolean {
    if (sent === null || sent.name === item.name) return false
    use.item = { ...item, name: sent.name }
    if (this.#allows!.someNaming(ex, use.item, isTrue)) return true
    return this.#allows!.some(ex, item, (rule) => writesScheme(rule, ex, use, item, sent))
  }
}

interface SentUri {
  readonly name: string
  /** If it has capitals, else empty. */
  readonly scheme: string
}

/** For forms other than the one sent: a rule that names that one has already been evaluated for it. */
function namesText({ names }: Rule, { name }: McpItem, sent: SentUri | null): boolean {
  return sent !== null && name !== sent.name && names?.has(sent.name) === true
}

/** A rule with `Screen:` means `Screen:1`, though URL parsers make it `screen:1`: it is evaluated with the capitals. */
function writesScheme(rule: Rule, ex: Exchange, use: McpUse, item: McpItem, { scheme }: SentUri): boolean {
  if (scheme === '' || !rule.schemes.has(scheme) || !item.name.startsWith(`${scheme.toLowerCase()}:`)) return false
  use.item = { ...item, name: scheme + item.name.slice(scheme.length) }
  return rule.program.run(ex) === true
}

interface Rule {
  readonly program: Expression
  /** Kinds that it names; it does not apply to others. Null: it tests for the presence of a kind. */
  readonly kinds: ReadonlySet<string> | null
  /** URIs that it compares with: only items with one of these can match. Null: it names none. */
  readonly names: ReadonlySet<string> | null
  /** Words with capitals before a colon: "Screen" in `startsWith("Screen:")`. */
  readonly schemes: ReadonlySet<string>
}

function ruleOf(source: string): Rule {
  const program = compileExpression(source, MCP_ROOTS, 'bool')
  const uris = (slotsOf(source) ?? []).flatMap(({ kind, name }) => (kind === 'resource' ? [name] : []))
  return {
    program,
    kinds: kindsOf(program),
    names: uris.length === 0 ? null : new Set(uris),
    schemes: schemesOf(source)
  }
}

function schemesOf(source: string): Rule['schemes'] {
  const words = source.match(/(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*(?=:)/g) ?? []
  return new Set(words.filter((word) => word !== word.toLowerCase()))
}

const isTrue = ({ program }: Rule, ex: Exchange): boolean => program.run(ex) === true

/** A rule that fails denies the item, unless it only names other kinds. */
function isDenied({ program, kinds }: Rule, ex: Exchange, { kind }: McpItem): boolean {
  const value = program.run(ex)
  if (typeof value === 'boolean') return value
  return kinds === null || kinds.size === 0 || kinds.has(kind)
}

/** Functions and operators with which a rule can refer to a missing kind without failing. */
const ASKS = /\b(?:has|default|coalesce|variables)\s*\(|\.\s*\?|\[\s*\?/
const KINDS: ReadonlySet<string> = new Set<McpItem['kind']>(['tool', 'prompt', 'resource', 'task', 'method'])

function kindsOf({ needs, source }: Expression): Rule['kinds'] {
  const paths = needs.paths.filter(([root]) => root === 'mcp')
  // Errs on the strict side: a match inside a string counts too, and so does `mcp` or `mcp.tool` as a whole value.
  const isWhole = paths.some(([, kind, field]) => kind === undefined || (KINDS.has(kind) && field === undefined))
  if (isWhole || ASKS.test(source)) return null
  return new Set(paths.flatMap(([, kind]) => (KINDS.has(kind!) ? [kind!] : [])))
}

// --- index by name: a thousand tools with a rule each must not cost a million evaluations ---

type Test = (rule: Rule, ex: Exchange, item: McpItem) => boolean

class Index {
  /** Rules that can only be true for certain names: by kind, then by name. */
  readonly #named = new Map<string, Map<string, Rule[]>>()
  readonly #others: Rule[] = []

  constructor(sources: readonly string[]) {
    for (const source of sources) {
      const rule = ruleOf(source)
      const slots = slotsOf(source)
      if (slots === null) this.#others.push(rule)
      for (const { kind, name } of slots ?? []) this.#add(kind, name, rule)
    }
  }

  #add(kind: string, name: string, rule: Rule): void {
    const ofKind = this.#named.get(kind) ?? new Map<string, Rule[]>()
    this.#named.set(kind, ofKind)
    const there = ofKind.get(name)
    if (there === undefined) ofKind.set(name, [rule])
    // A list may contain a name twice.
    else if (there.at(-1) !== rule) there.push(rule)
  }

  some(ex: Exchange, item: McpItem, test: Test): boolean {
    if (this.someNaming(ex, item, test)) return true
    for (const rule of this.#others) if (test(rule, ex, item)) return true
    return false
  }

  /** Like `some`, for rules that name the item. */
  someNaming(ex: Exchange, item: McpItem, test: Test): boolean {
    const named = this.#named.get(item.kind)?.get(item.name)
    if (named !== undefined) for (const rule of named) if (test(rule, ex, item)) return true
    return false
  }
}

interface Slot {
  readonly kind: string
  readonly name: string
}

/** From `mcp.tool.name == "a"` or `mcp.tool.name in ["a"]`, alone or as a term of &&; null: any item. */
function slotsOf(source: string): Slot[] | null {
  const tree = parse(source)
  const terms = tree.kind === 'logic' && tree.op === '&&' ? tree.terms : [tree]
  for (const term of terms) {
    const slots = slotsOfTerm(term)
    if (slots !== null) return slots
  }
  return null
}

function slotsOfTerm(term: Expr): Slot[] | null {
  if (term.kind !== 'binary') return null
  const { op, left, right } = term
  if (op === '==') return slotsFor(left, [right]) ?? slotsFor(right, [left])
  if (op !== 'in' || right.kind !== 'list' || right.items.some(({ optional }) => optional)) return null
  return slotsFor(
    left,
    right.items.map(({ value }) => value)
  )
}

function slotsFor(subject: Expr, names: readonly Expr[]): Slot[] | null {
  const [root, kind, field, ...rest] = pathOf(subject)?.names ?? []
  if (root !== 'mcp' || kind === undefined || field !== 'name' || rest.length > 0) return null
  const texts = names.flatMap((name) =>
    name.kind === 'literal' && typeof name.value === 'string' ? [{ kind, name: name.value }] : []
  )
  return texts.length === names.length ? texts : null
}
