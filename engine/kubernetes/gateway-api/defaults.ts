/** What an API server makes of an object before it checks it: defaults of the CRD are filled in, nulls taken out. */

/** The part of a structural schema that says it. */
export interface Defaults {
  readonly properties?: Readonly<Record<string, Defaults>>
  readonly additionalProperties?: Defaults
  readonly items?: Defaults
  readonly default?: unknown
  readonly nullable?: unknown
}

/** Defaults within defaults too. Objects that are not there get no defaults of their fields. */
export function withDefaults(schema: Defaults, value: unknown): unknown {
  const { properties = {}, additionalProperties, items } = schema
  if (Array.isArray(value)) return items === undefined ? value : value.map((entry) => withDefaults(items, entry))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
    const own = Object.hasOwn(properties, name) ? properties[name] : additionalProperties
    if (own === undefined) return [[name, inner] as const]
    if (inner === null && own.nullable !== true) return []
    return [[name, withDefaults(own, inner)] as const]
  })
  const filled = Object.fromEntries(entries)
  for (const [name, property] of Object.entries(properties)) {
    if (property.default === undefined || Object.hasOwn(filled, name)) continue
    filled[name] = withDefaults(property, structuredClone(property.default))
  }
  return filled
}
