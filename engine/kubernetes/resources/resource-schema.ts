/**
 * The schema of a file's value -> that of the same value in a resource. What only files spell is left out, what
 * resources spell otherwise takes its place (engine/schema/spelling.ts), and choices count what is left. It validates;
 * its output is of no use, because translations of what has another spelling are left out.
 */
import { CHOICES } from '#engine/schema/choice.ts'
import { enforcementOf } from '#engine/schema/rule.ts'
import { isRefused, z } from '#engine/schema/schema.ts'
import { descriptionInResources, type ResourceWord, spellingOf } from '#engine/schema/spelling.ts'

type Schema = z.core.$ZodTypes
type Checks = NonNullable<Schema['_zod']['def']['checks']>

/** `words`: schemas of what resources have their own words for. */
export class ResourceSchemas {
  readonly #words: (word: ResourceWord) => z.ZodType
  readonly #made = new Map<z.core.$ZodType, z.ZodType>()

  constructor(words: (word: ResourceWord) => z.ZodType) {
    this.#words = words
  }

  /** Null: resources have no such field. */
  field(schema: z.core.$ZodType): z.ZodType | null {
    const spelling = spellingOf(schema) ?? spellingOf(innerOf(schema))
    if (spelling?.kind === 'absent' || (spelling === null && isRefused(schema))) return null
    return this.of(schema)
  }

  of(schema: z.core.$ZodType): z.ZodType {
    const known = this.#made.get(schema)
    if (known !== undefined) return known
    const made = this.#make(schema as Schema)
    const { id: _, ...meta } = z.globalRegistry.get(schema as z.ZodType) ?? {}
    const own = descriptionInResources(schema)
    const isSame = made === schema && own === null
    const described = isSame ? made : withMeta(made, { ...meta, ...(own === null ? {} : { description: own }) })
    this.#made.set(schema, described)
    return described
  }

  #make(schema: Schema): z.ZodType {
    const spelling = spellingOf(schema)
    if (spelling?.kind === 'absent') throw new Error('a form that only files have is all that there is')
    if (spelling?.kind === 'schema') return this.of(spelling.schema)
    if (spelling?.kind === 'word') {
      const own = this.#words(spelling.word)
      return schema._zod.def.type === 'optional' ? own.optional() : own
    }
    const { def } = schema._zod
    switch (def.type) {
      case 'lazy':
        // Made once, where `getter` makes it each time.
        return this.of((schema as unknown as z.core.$ZodLazy)._zod.innerType)
      case 'object':
        return this.#object(def as z.core.$ZodObjectDef, schema)
      case 'optional':
      case 'nullable':
      case 'default':
        return this.#with(schema, { innerType: def.innerType })
      case 'array':
        return this.#with(schema, { element: def.element })
      case 'record':
        return this.#with(schema, { keyType: def.keyType, valueType: def.valueType })
      case 'union':
        return this.#union(def, schema)
      case 'pipe':
        return this.#pipe(def, schema)
      default:
        return schema as unknown as z.ZodType
    }
  }

  /** With its parts in the spelling of resources; `schema` itself where that is the same. */
  #with(schema: Schema, parts: Readonly<Record<string, z.core.$ZodType>>): z.ZodType {
    const made = Object.fromEntries(Object.entries(parts).map(([key, part]) => [key, this.of(part)]))
    const isSame = Object.entries(parts).every(([key, part]) => made[key] === part)
    return isSame
      ? (schema as unknown as z.ZodType)
      : z.core.clone(schema as never, { ...schema._zod.def, ...made } as never)
  }

  #object(def: z.core.$ZodObjectDef, schema: Schema): z.ZodType {
    const fields = Object.entries(def.shape).flatMap(([name, field]) => {
      const made = this.field(field)
      return made === null ? [] : [[name, made] as const]
    })
    const shape: Record<string, z.ZodType> = Object.fromEntries(fields)
    const checks = remaining(def.checks ?? [], shape)
    const isSame =
      fields.length === Object.keys(def.shape).length && fields.every(([name]) => shape[name] === def.shape[name])
    return isSame ? (schema as unknown as z.ZodType) : z.core.clone(schema as never, { ...def, shape, checks } as never)
  }

  #union(def: z.core.$ZodUnionDef, schema: Schema): z.ZodType {
    const options = def.options.flatMap((option) => this.field(option) ?? [])
    if (options.length === 0) throw new Error('a form that only files have is all that there is')
    if (options.length === 1 && (def.checks ?? []).length === 0) return options[0]!
    const isSame = options.length === def.options.length && options.every((option, i) => option === def.options[i])
    return isSame ? (schema as unknown as z.ZodType) : z.core.clone(schema as never, { ...def, options } as never)
  }

  /** A translation is left out when what it gets is spelled otherwise: it knows the file's spelling. */
  #pipe(def: z.core.$ZodPipeDef, schema: Schema): z.ZodType {
    const made = this.of(def.in)
    if (made === def.in) return schema as unknown as z.ZodType
    if ((def.checks ?? []).every((check) => isOnlyForFiles(check))) return made
    throw new Error('a check of what is translated cannot see a resource: put it ahead of the translation')
  }
}

const withMeta = (schema: z.ZodType, meta: object) =>
  Object.keys(meta).length === 0 ? schema : schema.meta({ ...schema.meta(), ...meta })

/** A schema without what says that it may be left out. */
export function innerOf(schema: z.core.$ZodType): z.core.$ZodType {
  const { def } = (schema as Schema)._zod
  return def.type === 'optional' || def.type === 'default' ? innerOf(def.innerType) : schema
}

const isOnlyForFiles = (check: Checks[number]) => enforcementOf(paramsOf(check))?.rules.length === 0

const paramsOf = (check: Checks[number]) => (check._zod.def as { readonly params?: unknown }).params

/** Choices of the fields that are left; of one field alone: it becomes required in `shape`. */
function remaining(checks: Checks, shape: Record<string, z.ZodType>): Checks {
  return checks.flatMap((check) => {
    const [rule] = enforcementOf(paramsOf(check))?.rules ?? []
    if (rule === undefined || rule.kind === 'cel') return [check]
    const names = rule.names.filter((name) => shape[name] !== undefined)
    if (names.length > 1) return [CHOICES[rule.kind](names)]
    const [only] = names
    if (only !== undefined && rule.kind !== 'at most one') shape[only] = innerOf(shape[only]!) as z.ZodType
    return []
  })
}
