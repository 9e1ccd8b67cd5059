/**
 * What a request declares to the model beside the conversation: tools, and schemas of answers. Descriptions and values
 * are texts. Names of tools, of parameters and of what refers to them are searched but never changed: model and client
 * have to find them again.
 */
import type { Rule } from './live.ts'
import { maskText, spansOf } from './rules.ts'
import { type Holder, holderOf, isObject, put } from './texts.ts'

/** Credentials and addresses of a tool: for the provider, and for no model and no guard. */
const HIDDEN: ReadonlySet<string> = new Set(
  `authorization authorization_token headers server_url url connector_id mcpServers
  cache_control container file_ids vector_store_ids`.split(/\s+/)
)
/** Words of the formats and of JSON Schema: the same in every request. */
const KEYWORDS: ReadonlySet<string> = new Set(
  `type function custom name description parameters strict input_schema inputSchema json_schema schema format grammar
  definition syntax title properties required items prefixItems additionalProperties patternProperties propertyNames
  enum const default example examples anyOf oneOf allOf not if then else minimum maximum exclusiveMinimum
  exclusiveMaximum multipleOf minLength maxLength minItems maxItems uniqueItems minProperties maxProperties pattern
  nullable propertyOrdering contentEncoding contentMediaType deprecated readOnly writeOnly
  functionDeclarations function_declarations parametersJsonSchema response responseJsonSchema behavior
  additionalItems contains minContains maxContains unevaluatedProperties unevaluatedItems
  $ref $id $schema $anchor $defs $comment definitions dependentSchemas dependentRequired
  server_label server_description allowed_tools allowed_callers tools allowed_domains blocked_domains filters
  user_location city region country timezone search_context_size max_uses input_examples eager_input_streaming
  defer_loading require_approval display_width_px display_height_px display_number environment
  googleSearch google_search codeExecution code_execution urlContext url_context fileSearch googleMaps
  googleSearchRetrieval dynamicRetrievalConfig`.split(/\s+/)
)
/** Fields whose keys are names that the caller has given. */
const MAPS: ReadonlySet<string> = new Set(
  'properties patternProperties $defs definitions dependentSchemas dependentRequired'.split(' ')
)
/** Fields with names, or lists of names. */
const NAME_FIELDS: ReadonlySet<string> = new Set(
  'name $ref $id $anchor $schema required propertyOrdering format server_label allowed_tools'.split(' ')
)
/** Fields whose values, of any type, are text of the author. */
const VALUES: ReadonlySet<string> = new Set('enum const default example examples input_examples'.split(' '))
/** Words of an API. Where it is no such word it is refused by the provider. */
const TYPE = 'type'

export interface Declared {
  /** As JSON: what a model sees of it. */
  readonly text: string
  /** Throws SyntaxError. */
  set(text: string): void
  readonly holder: Holder
  readonly key: string
}

/** What is declared at `paths` ("response_format.json_schema"), and in lists there each item by itself. */
export function declaredIn(body: unknown, paths: readonly string[]): Declared[] {
  const all: Declared[] = []
  for (const path of paths) {
    const at = holderOf(body, path)
    if (at === null) continue
    const { holder, key } = at
    const value = holder[key]
    if (Array.isArray(value)) {
      for (const i of value.keys()) all.push(declared(value as unknown as Holder, String(i)))
    } else if (value !== null) all.push(declared(holder, key))
  }
  return all
}

function declared(holder: Holder, key: string): Declared {
  return {
    holder,
    key,
    get text() {
      const value = holder[key]
      return JSON.stringify(isObject(value) ? parted(value, false) : value)
    },
    set: (text) => {
      const value = holder[key]
      const parsed: unknown = JSON.parse(text)
      put(
        holder,
        key,
        isObject(value) && isObject(parsed) ? { ...parted(parsed, false), ...parted(value, true) } : parsed
      )
    }
  }
}

/** The fields that are hidden, or those that are not. */
function parted(value: Holder, isHidden: boolean): Holder {
  return Object.fromEntries(Object.entries(value).filter(([name]) => HIDDEN.has(name) === isHidden))
}

/** What has been found: 'name' where it stands in something that cannot be changed. */
export type Hit = 'none' | 'text' | 'name'

/** Masks what `rules` find in texts; or, with `isDry`, only tells. */
export function maskDeclared(all: readonly Declared[], rules: readonly Rule[], isDry: boolean): Hit {
  const walk = new Walk(rules, isDry)
  for (const { holder, key } of all) {
    const value = holder[key]
    if (isObject(value)) walk.object(value, { isMap: false, isValue: false, isTop: true })
    else walk.visit(holder, key, key, { isMap: false, isValue: false })
  }
  return walk.hit
}

/** Whether `rules` find anything in names. */
export function findsInNames(names: readonly string[], rules: readonly Rule[]): boolean {
  return [...new Set(names)].some((name) => spansOf(name, rules).length > 0)
}

interface DeclarationContext {
  /** The keys of this object are names. */
  readonly isMap: boolean
  /** Below a field of VALUES. */
  readonly isValue: boolean
  /** The tool or schema itself. */
  readonly isTop?: boolean
}

class Walk {
  readonly #rules: readonly Rule[]
  readonly #isDry: boolean
  hit: Hit = 'none'

  constructor(rules: readonly Rule[], isDry: boolean) {
    this.#rules = rules
    this.#isDry = isDry
  }

  /** `field`: the name of the field in which the value stands, also when it is an item of a list there. */
  visit(holder: Holder, key: string, field: string, place: DeclarationContext): void {
    const value = holder[key]
    if (typeof value === 'string') {
      if (place.isValue || place.isMap) this.#text(holder, key, value)
      else if (NAME_FIELDS.has(field)) this.#name(value)
      else if (field !== TYPE) this.#text(holder, key, value)
    } else if (typeof value === 'number') {
      // Elsewhere a string would be no schema: limits of lengths and of numbers.
      if (place.isValue) this.#text(holder, key, JSON.stringify(value))
    } else if (Array.isArray(value)) {
      for (const i of value.keys()) this.visit(value as unknown as Holder, String(i), field, { ...place, isMap: false })
    } else if (isObject(value)) this.object(value, place)
  }

  object(value: Holder, { isMap, isValue, isTop = false }: DeclarationContext): void {
    for (const name of Object.keys(value)) {
      if (isTop && HIDDEN.has(name)) continue
      if (isMap || isValue || !KEYWORDS.has(name)) this.#name(name)
      const below = { isMap: !isMap && !isValue && MAPS.has(name), isValue: isValue || (!isMap && VALUES.has(name)) }
      this.visit(value, name, isMap ? '' : name, below)
    }
  }

  #name(text: string): void {
    if (this.hit !== 'name' && spansOf(text, this.#rules).length > 0) this.hit = 'name'
  }

  #text(holder: Holder, key: string, text: string): void {
    const masked = maskText(text, this.#rules)
    if (masked === text) return
    if (this.hit === 'none') this.hit = 'text'
    if (!this.#isDry) put(holder, key, masked)
  }
}
