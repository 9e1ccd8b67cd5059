/** What the host offers to expressions: variables, their known fields, and how to read them. */
import type { TypeName } from './functions.ts'
import { Fields, type Value } from './values.ts'

/** A variable, or a known field of one. `C` is what a run is given. */
export interface Variable<C = object> {
  /** dyn when only a run can tell. */
  readonly type: TypeName
  /** Known fields. With them, any other field is a mistake that is found when the expression is compiled. */
  readonly fields?: Readonly<Record<string, Variable<C>>>
  /** Beside `fields` it has whatever its value has. Taken whole, it is that value, without them. */
  readonly isOpen?: true
  /**
   * The value, or undefined when there is none now. Must not throw. Without it, the property of the
   * variable's name is read: of the context for a variable, of its parent's value for a field.
   */
  readonly read?: (context: C) => unknown
  readonly form?: TextForm
}

/** The one spelling that texts of this variable have: a literal in another spelling can never be equal. */
export interface TextForm {
  readonly of: (text: string) => string
  /** For people: what the form is, and which variable has the other ways of writing. */
  readonly what: string
  readonly instead: string
}

export type Roots<C = object> = Readonly<Record<string, Variable<C>>>

type Properties = Readonly<Record<string, unknown>>

/** Reads a variable from a context. */
export type Reader = (context: object) => unknown

/** Names that a property of the context is read by; kept so that two steps need no closure in between. */
const PROPERTY = new WeakMap<Reader, string>()

/** How to read `name`, of the context or (with `parent`) of another variable's value. */
export function readerOf(name: string, variable: Variable, parent: Reader | null): Reader {
  if (variable.read !== undefined) return variable.read
  // Declared names only: what a prototype has is a getter of the host.
  if (parent === null) {
    const reader: Reader = (context) => (context as Properties)[name]
    PROPERTY.set(reader, name)
    return reader
  }
  const outer = PROPERTY.get(parent)
  return (context) => {
    const owner = outer === undefined ? parent(context) : (context as Properties)[outer]
    return typeof owner === 'object' && owner !== null ? (owner as Properties)[name] : undefined
  }
}

/** A variable with known fields as a map: for an expression that takes it whole. */
export class Whole extends Fields {
  readonly #context: object
  readonly #fields: Readonly<Record<string, Variable>>
  readonly #reader: Reader

  constructor(context: object, fields: Readonly<Record<string, Variable>>, reader: Reader) {
    super()
    this.#context = context
    this.#fields = fields
    this.#reader = reader
  }

  get(key: string): Value | undefined {
    if (!Object.hasOwn(this.#fields, key)) return undefined
    const field = this.#fields[key]!
    return wholeOf(this.#context, field, readerOf(key, field, this.#reader))
  }

  keys(): Iterable<string> {
    return Object.keys(this.#fields).filter((key) => this.get(key) !== undefined)
  }
}

/** The value of a variable: itself, or a map of its known fields; undefined when it is not there. */
export function wholeOf(context: object, variable: Variable, reader: Reader): Value | undefined {
  const value = reader(context)
  if (value === undefined) return undefined
  return variable.fields === undefined || variable.isOpen
    ? (value as Value)
    : new Whole(context, variable.fields, reader)
}
