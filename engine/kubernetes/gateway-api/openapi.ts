/**
 * A structural schema of OpenAPI v3, as CRDs have it -> a schema that checks as an API server does: unknown fields are
 * refused, as kubectl asks for, and rules of CEL are run. Defaults have been filled in (defaults.ts).
 */
import { compile, type Program } from '#engine/cel/index.ts'
import { says, z } from '#engine/schema/schema.ts'
import type { Defaults } from './defaults.ts'

export interface OpenApi extends Defaults {
  readonly type: 'object' | 'array' | 'string' | 'integer' | 'boolean'
  readonly properties?: Readonly<Record<string, OpenApi>>
  readonly required?: readonly string[]
  readonly additionalProperties?: OpenApi
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly items?: OpenApi
  readonly minItems?: number
  readonly maxItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'map' | 'set'
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-validations'?: readonly Rule[]
}

interface Rule {
  readonly rule: string
  readonly message: string
}

interface Self {
  readonly self: unknown
}

const ROOTS = { self: { type: 'dyn' } } as const

/** Programs by rule: filters of HTTPRoutes have the same ones in two places. */
const programs = new Map<string, Program<Self>>()

export function schemaOf(openApi: OpenApi): z.ZodType {
  const schema = typeOf(openApi)
  // Rules that compare with the object before (oldSelf) are about changes.
  const rules = (openApi['x-kubernetes-validations'] ?? [])
    .filter(({ rule }) => !rule.includes('oldSelf'))
    .map(({ rule, message }) => ({ program: programOf(rule), message }))
  if (rules.length === 0) return schema
  return schema.superRefine((self, context) => {
    for (const { program, message } of rules) {
      if (program.run({ self }) !== true) context.addIssue({ code: 'custom', message })
    }
  })
}

function programOf(rule: string): Program<Self> {
  const known = programs.get(rule)
  if (known !== undefined) return known
  // A property that is a word of CEL is escaped so in rules.
  const compiled = compile<Self>(rule.replaceAll('__namespace__', 'namespace'), { roots: ROOTS, result: 'bool' })
  if (!compiled.ok) throw new Error(`${rule}: ${compiled.problems[0]?.message}`)
  programs.set(rule, compiled.program)
  return compiled.program
}

function typeOf(openApi: OpenApi): z.ZodType {
  switch (openApi.type) {
    case 'object':
      return openApi.properties === undefined ? mapOf(openApi) : objectOf(openApi, openApi.properties)
    case 'array':
      return listOf(openApi)
    case 'string':
      return textOf(openApi)
    case 'integer':
      return integerOf(openApi)
    case 'boolean':
      return z.boolean()
  }
}

function objectOf({ required = [] }: OpenApi, properties: Readonly<Record<string, OpenApi>>): z.ZodType {
  const fields = Object.entries(properties).map(([name, property]): [string, z.ZodType] => {
    const schema = schemaOf(property)
    return [name, required.includes(name) ? schema : schema.optional()]
  })
  return z.strictObject(Object.fromEntries(fields))
}

function mapOf({ additionalProperties, minProperties = 0, maxProperties = Number.POSITIVE_INFINITY }: OpenApi) {
  const value = additionalProperties === undefined ? z.unknown() : schemaOf(additionalProperties)
  const holds = (entries: object) => {
    const { length } = Object.keys(entries)
    return length >= minProperties && length <= maxProperties
  }
  return z.record(z.string(), value).refine(holds, `must have ${minProperties} to ${maxProperties} entries`)
}

function listOf({ items, minItems = 0, maxItems, ...openApi }: OpenApi): z.ZodType {
  const error = says(`must have ${minItems} to ${maxItems ?? 'any number of'} entries`)
  const list = z.array(schemaOf(items!)).check(z.minLength(minItems, { error }))
  const bounded = maxItems === undefined ? list : list.check(z.maxLength(maxItems, { error }))
  const kind = openApi['x-kubernetes-list-type']
  if (kind !== 'map' && kind !== 'set') return bounded
  const keys = openApi['x-kubernetes-list-map-keys']
  return bounded.superRefine((entries, context) => {
    const seen = new Set<string>()
    for (const [i, entry] of entries.entries()) {
      const key = JSON.stringify(
        keys === undefined ? entry : keys.map((name) => (entry as Record<string, unknown>)[name])
      )
      const message = keys === undefined ? 'is given twice' : `another entry has the same ${keys.join(' and ')}`
      if (seen.has(key)) context.addIssue({ code: 'custom', path: [i], message })
      seen.add(key)
    }
  })
}

function textOf({ minLength = 0, maxLength, pattern, enum: words }: OpenApi): z.ZodType {
  if (words !== undefined) return z.enum(words)
  const text = z.string().check(z.minLength(minLength))
  const bounded = maxLength === undefined ? text : text.check(z.maxLength(maxLength))
  return pattern === undefined ? bounded : bounded.check(z.regex(new RegExp(pattern)))
}

function integerOf({ minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER }: OpenApi): z.ZodType {
  const error = says(`must be a whole number from ${minimum} to ${maximum}`)
  return z.int({ error }).check(z.gte(minimum, { error }), z.lte(maximum, { error }))
}
