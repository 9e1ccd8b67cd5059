/**
 * What API servers ask of a schema before they take its CRD (Kubernetes, "Specifying a structural schema", and the
 * validation of apiextensions.k8s.io/v1), as far as generated ones could miss it.
 */
import { patternProblem } from '#engine/kit/pattern.ts'
import type { Structural } from '#engine/kubernetes/crds/structural.ts'

/** Keywords that structural schemas may have, of those that are made here. */
const KEYWORDS = new Set([
  ...['type', 'description', 'default', 'enum', 'format', 'nullable', 'pattern', 'allOf'],
  ...['properties', 'required', 'additionalProperties', 'items'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength'],
  ...['minItems', 'maxItems', 'minProperties', 'maxProperties'],
  ...['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-int-or-string', 'x-kubernetes-validations'],
  ...['x-kubernetes-list-type', 'x-kubernetes-list-map-keys']
])

/** What is wrong with it, each with its path. */
export function structureProblems(schema: Structural, path: string): string[] {
  const found = PARTS.flatMap((judge) => judge(schema)).map((problem) => `${path}: ${problem}`)
  const fields = Object.entries(schema.properties ?? {})
  const inner = [
    ...fields.map(([name, field]) => [`${path}.${name}`, field] as const),
    ...(schema.items === undefined ? [] : [[`${path}[]`, schema.items] as const]),
    ...(schema.additionalProperties === undefined ? [] : [[`${path}.*`, schema.additionalProperties] as const])
  ]
  return [...found, ...inner.flatMap(([at, part]) => structureProblems(part, at))]
}

type Judge = (schema: Structural) => string[]

const keywords: Judge = (schema) =>
  Object.keys(schema)
    .filter((keyword) => !KEYWORDS.has(keyword))
    .map((keyword) => `${keyword} is no keyword of structural schemas`)

const types: Judge = ({ type, items, properties, additionalProperties, ...schema }) => [
  ...(type === undefined && !schema['x-kubernetes-preserve-unknown-fields'] && !schema['x-kubernetes-int-or-string']
    ? ['has no type']
    : []),
  ...(type !== undefined && schema['x-kubernetes-int-or-string'] ? ['is a number or a text, and has a type'] : []),
  ...(properties !== undefined && additionalProperties !== undefined ? ['has fields and is a map'] : []),
  ...((type === 'array') === (items !== undefined) ? [] : ['is a list without items, or has items and is none'])
]

const fields: Judge = ({ properties = {}, required = [] }) =>
  required.filter((name) => properties[name] === undefined).map((name) => `requires ${name}, which it has not`)

const patterns: Judge = ({ pattern, allOf = [] }) =>
  [pattern, ...allOf.map((one) => one.pattern)].flatMap((source) => {
    const problem = typeof source === 'string' ? patternProblem(source) : null
    return problem === null ? [] : [`pattern ${String(source)}: ${problem}`]
  })

const defaults: Judge = ({ type, default: value, ...schema }) => {
  if (value === undefined) return []
  const words = schema.enum ?? [value]
  const kind = type === 'integer' ? 'number' : type
  return [
    ...(typeof value === kind ? [] : [`is filled in with ${JSON.stringify(value)}, which is no ${type}`]),
    ...(words.includes(value) ? [] : [`is filled in with ${JSON.stringify(value)}, which is none of its words`])
  ]
}

/** Of lists that are maps: their keys are there, and are no objects. */
const listKeys: Judge = ({ items, ...schema }) => {
  const keys = (schema['x-kubernetes-list-map-keys'] ?? []) as readonly string[]
  return keys.flatMap((key) => {
    const field = items?.properties?.[key]
    if (field === undefined) return [`tells entries apart by ${key}, which they have not`]
    const isThere = items?.required?.includes(key) === true || field.default !== undefined
    return isThere ? [] : [`tells entries apart by ${key}, which may be left out`]
  })
}

const validations: Judge = ({ properties = {}, ...schema }) => {
  const rules = schema['x-kubernetes-validations'] ?? []
  return rules.flatMap(({ rule, message, fieldPath }) => [
    ...(/^\S.*[^.\s]$/.test(message) && message.length <= 2048 ? [] : [`the message of ${rule} is no sentence`]),
    ...(fieldPath === undefined || properties[fieldPath.slice(1)] !== undefined
      ? []
      : [`${rule} is about ${fieldPath}, which it has not`])
  ])
}

const PARTS: readonly Judge[] = [keywords, types, fields, patterns, defaults, listKeys, validations]
