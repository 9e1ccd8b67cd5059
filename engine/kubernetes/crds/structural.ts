/**
 * A schema of a resource -> a structural schema of OpenAPI v3, which API servers enforce (apiextensions.k8s.io/v1).
 * What has no such form is an error: an object that the API server takes and the gateway refuses is found late.
 */
import { type Enforcement, enforcementOf } from '#engine/schema/rule.ts'
import { z } from '#engine/schema/schema.ts'
import { type Validation, validationOf } from './validations.ts'

export interface Structural {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  readonly description?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Structural>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Structural
  readonly items?: Structural
  readonly allOf?: readonly { readonly pattern: string }[]
  readonly 'x-kubernetes-preserve-unknown-fields'?: true
  readonly 'x-kubernetes-int-or-string'?: true
  readonly 'x-kubernetes-validations'?: readonly Validation[]
  readonly [keyword: string]: unknown
}

type Schema = z.core.$ZodTypes
type Keywords = Record<string, unknown>

/** The bound of every integer in JavaScript says nothing about a setting. */
const INTEGER_MAX = Number.MAX_SAFE_INTEGER

/** Keywords that a schema may name itself (meta). */
const NAMED = /^(?:format|nullable|x-kubernetes-.+)$/

/** `path`: for errors. */
export function structural(schema: z.core.$ZodType, path: readonly string[] = ['spec']): Structural {
  const { def } = (schema as Schema)._zod
  const meta: Keywords = z.globalRegistry.get(schema as z.ZodType) ?? {}
  const own = typeKeywords(schema as Schema, path)
  const described = typeof meta.description === 'string' ? { description: meta.description } : {}
  const named = Object.fromEntries(Object.entries(meta).filter(([keyword]) => NAMED.test(keyword)))
  return withChecks({ ...own, ...described, ...named }, checksOf(def), path)
}

function typeKeywords(schema: Schema, path: readonly string[]): Structural {
  const { def } = schema._zod
  switch (def.type) {
    case 'string':
    case 'boolean':
      return { type: def.type }
    case 'number':
      return { type: isInteger(schema) ? 'integer' : 'number' }
    case 'enum':
      return enumOf(Object.values(def.entries), path)
    case 'literal':
      return enumOf(def.values, path)
    case 'any':
    case 'unknown':
      return { 'x-kubernetes-preserve-unknown-fields': true }
    case 'array':
      return { type: 'array', items: structural(def.element, [...path, '[]']) }
    case 'record':
      return recordOf(def, path)
    case 'object':
      return objectOf(def as z.core.$ZodObjectDef, path)
    case 'optional':
      return structural(def.innerType, path)
    case 'default':
      return { ...structural(def.innerType, path), default: def.defaultValue }
    case 'nullable':
      return { ...structural(def.innerType, path), nullable: true }
    case 'lazy':
      return structural(def.getter(), path)
    case 'pipe':
      return structural(def.in, path)
    case 'union':
      return unionOf(def, path)
    default:
      return unknown(`a schema of type ${def.type}`, path)
  }
}

function isInteger({ _zod: { def } }: Schema): boolean {
  return [def, ...checksOf(def).map((check) => check._zod.def)].some(
    (one) => (one as { readonly format?: unknown }).format === 'safeint'
  )
}

function enumOf(values: readonly unknown[], path: readonly string[]): Structural {
  const [type, ...others] = new Set(values.map((value) => typeof value))
  if (others.length > 0 || (type !== 'string' && type !== 'number')) return unknown('words of several types', path)
  return { type: type === 'string' ? type : 'integer', enum: values }
}

function objectOf({ shape, catchall }: z.core.$ZodObjectDef, path: readonly string[]): Structural {
  const names = Object.keys(shape)
  if (names.length === 0) {
    const isLoose = (catchall as Schema | undefined)?._zod.def.type === 'unknown'
    return { type: 'object', ...(isLoose ? { 'x-kubernetes-preserve-unknown-fields': true } : {}) }
  }
  const properties = names.map((name) => [name, structural(shape[name]!, [...path, name])] as const)
  const required = names.filter((name) => !mayBeAbsent(shape[name]!))
  return { type: 'object', properties: Object.fromEntries(properties), ...(required.length > 0 ? { required } : {}) }
}

function mayBeAbsent(schema: z.core.$ZodType): boolean {
  const { def } = (schema as Schema)._zod
  return def.type === 'optional' || def.type === 'default'
}

/** Keys have no schema in OpenAPI: their bounds are a rule over the map. */
function recordOf({ keyType, valueType }: z.core.$ZodRecordDef, path: readonly string[]): Structural {
  const key = structural(keyType, [...path, 'keys'])
  if (key.type !== 'string' || key.enum !== undefined) return unknown('a map with keys that are not any text', path)
  const additionalProperties = structural(valueType, [...path, '*'])
  // CEL has no maps of values without a type.
  if (additionalProperties.type === undefined && additionalProperties['x-kubernetes-int-or-string'] === undefined) {
    return { type: 'object', additionalProperties }
  }
  const { minLength = 0, maxLength, pattern } = key
  const rules = [
    ...(maxLength === undefined
      ? []
      : [
          {
            rule: `self.all(key, key.size() >= ${minLength} && key.size() <= ${maxLength})`,
            message: `names must have ${minLength} to ${maxLength} characters`
          }
        ]),
    ...(pattern === undefined
      ? []
      : [{ rule: `self.all(key, key.matches(${JSON.stringify(pattern)}))`, message: `names must match ${pattern}` }])
  ]
  return { type: 'object', additionalProperties, ...(rules.length > 0 ? { 'x-kubernetes-validations': rules } : {}) }
}

/** A number or a text is the only union of structural schemas: bounds of each apply to values of its type alone. */
function unionOf({ options }: z.core.$ZodUnionDef, path: readonly string[]): Structural {
  const forms = options.map((option) => structural(option, path))
  const types = forms.map(({ type }) => type)
  if (types.length !== 2 || !types.includes('integer') || !types.includes('string')) {
    return unknown(`a union of ${types.join(' and ')}`, path)
  }
  const bounds = forms.map(({ type: _type, format: _format, ...keywords }) => keywords)
  const rules = bounds.find((form) => form['x-kubernetes-validations'] !== undefined)
  if (rules !== undefined) return unknown('a rule about one form of a union', path)
  return { ...Object.assign({}, ...bounds), 'x-kubernetes-int-or-string': true }
}

function checksOf(def: object) {
  const { checks = [], check } = def as { readonly checks?: readonly z.core.$ZodCheck[]; readonly check?: string }
  // z.int() is a schema and its own check.
  return check === undefined ? checks : [{ _zod: { def } } as z.core.$ZodCheck, ...checks]
}

function withChecks(schema: Structural, checks: readonly z.core.$ZodCheck[], path: readonly string[]): Structural {
  const keywords: Keywords = {}
  const patterns: string[] = []
  const rules = [...(schema['x-kubernetes-validations'] ?? [])]
  for (const check of checks) {
    const def = check._zod.def as CheckDef
    const enforced = def.check === 'custom' ? enforcementOf(def.params) : null
    if (enforced !== null) {
      Object.assign(keywords, enforced.keywords)
      rules.push(...rulesOf(enforced, def, schema, path))
    } else if (def.check === 'string_format' && def.pattern instanceof RegExp) {
      patterns.push(patternOf(def.pattern, path))
    } else Object.assign(keywords, boundOf(def, schema, path))
  }
  const [pattern] = patterns
  if (patterns.length > 1) keywords.allOf = patterns.map((one) => ({ pattern: one }))
  else if (pattern !== undefined) keywords.pattern = pattern
  if (rules.length > 0) keywords['x-kubernetes-validations'] = rules
  return { ...schema, ...keywords }
}

interface CheckDef {
  readonly check: string
  readonly params?: unknown
  readonly error?: z.core.$ZodErrorMap
  readonly path?: readonly PropertyKey[]
  readonly pattern?: unknown
  readonly value?: number
  readonly inclusive?: boolean
  readonly minimum?: number
  readonly maximum?: number
  readonly format?: string
}

function boundOf(def: CheckDef, { type }: Structural, path: readonly string[]): Keywords {
  const of = type === 'array' ? 'Items' : 'Length'
  switch (def.check) {
    case 'min_length':
      return { [`min${of}`]: def.minimum }
    case 'max_length':
      return { [`max${of}`]: def.maximum }
    case 'greater_than':
      return { minimum: def.value, ...(def.inclusive === true ? {} : { exclusiveMinimum: true }) }
    case 'less_than':
      if (def.value === INTEGER_MAX) return {}
      return { maximum: def.value, ...(def.inclusive === true ? {} : { exclusiveMaximum: true }) }
    case 'number_format':
      return def.format === 'safeint' ? { format: 'int64' } : unknown(`a number that is ${def.format}`, path)
    default:
      return unknown(`a check (${def.check}) that says nothing of API servers (engine/schema/rule.ts)`, path)
  }
}

/** API servers have RE2. */
function patternOf({ source, flags }: RegExp, path: readonly string[]): string {
  if (flags !== '' && flags !== 'i') return unknown(`a pattern with flags ${flags}`, path)
  return flags === 'i' ? `(?i)${source}` : source
}

function rulesOf(enforced: Enforcement, def: CheckDef, schema: Structural, path: readonly string[]): Validation[] {
  return enforced.rules.map((rule) => {
    const validation = validationOf(rule, messageOf(def), def.path ?? [])
    if (validation === null) return unknown('a rule without a message of its own', path)
    for (const [, name] of validation.rule.matchAll(/\bself\.([A-Za-z]\w*)\b(?!\()/g)) {
      if (schema.properties?.[name!] === undefined) unknown(`a rule about ${name}, which resources do not have`, path)
    }
    return validation
  })
}

/** The message of a check; null: it depends on the value. */
function messageOf({ error }: CheckDef): string | null {
  try {
    const message = error?.({ code: 'custom', input: undefined } as never)
    return typeof message === 'string' ? message : null
  } catch {
    return null
  }
}

function unknown(what: string, path: readonly string[]): never {
  throw new Error(`${path.join('.')}: ${what} has no form in a CRD`)
}
