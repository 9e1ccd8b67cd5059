/** A form from a JSON Schema: plain fields of an object; what is deeper is written as JSON. */
import type { Json } from './messages.ts'

export interface SchemaField {
  readonly name: string
  readonly title: string
  readonly about: string
  readonly kind: 'text' | 'number' | 'boolean' | 'choice' | 'json'
  readonly options: readonly string[]
  readonly isRequired: boolean
  /** What stands in it first. */
  readonly first: string
}

interface Property {
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly default?: unknown
}

export function fieldsOf(schema: unknown): readonly SchemaField[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    readonly properties?: Readonly<Record<string, Property>>
    readonly required?: readonly string[]
  }
  return Object.entries(properties).map(([name, property]) => ({
    ...{ name, title: property.title ?? name, about: property.description ?? '', kind: kindOf(property) },
    options: (property.enum ?? []).map(String),
    isRequired: required.includes(name),
    first: textOf(property.default)
  }))
}

function kindOf({ type, enum: values }: Property): SchemaField['kind'] {
  if (values !== undefined) return 'choice'
  const [first] = [type].flat().filter((one) => one !== 'null')
  if (first === 'string') return 'text'
  if (first === 'number' || first === 'integer') return 'number'
  return first === 'boolean' ? 'boolean' : 'json'
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Arguments for a call, or what is wrong by the name of the field. What is empty is left out, if it may be. */
export function argumentsOf(
  fields: readonly SchemaField[],
  texts: Readonly<Record<string, string>>
): { readonly values: Json; readonly wrong: Readonly<Record<string, string>> } {
  const values: Record<string, unknown> = {}
  const wrong: Record<string, string> = {}
  for (const field of fields) {
    const text = texts[field.name] ?? field.first
    if (text === '' && !(field.isRequired && field.kind === 'text')) {
      if (field.isRequired) wrong[field.name] = 'It must be there.'
      continue
    }
    const value = readAs(field, text)
    if (value === undefined) wrong[field.name] = field.kind === 'number' ? 'This is no number.' : 'This is no JSON.'
    else values[field.name] = value
  }
  return { values, wrong }
}

function readAs({ kind }: SchemaField, text: string): unknown {
  if (kind === 'text' || kind === 'choice') return text
  if (kind === 'boolean') return text === 'true'
  try {
    const value: unknown = JSON.parse(text)
    return kind === 'number' && typeof value !== 'number' ? undefined : value
  } catch {
    return undefined
  }
}
