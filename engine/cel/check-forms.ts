/**
 * Texts that are compared with a variable whose texts are written in one way only (Variable.form), and that are written
 * in another: request.path == "/a%3Ab". Such a rule is never true, and one that denies stands open.
 */
import { childrenOf, type Expr, type Index, type Literal } from './ast.ts'
import type { Problem } from './errors.ts'
import { type Environment, meaningOf, pathOf } from './resolve.ts'
import type { TextForm, Variable } from './roots.ts'

/** What the value of a node may be made of; of a list its elements, of a map its keys. */
interface Parts {
  /** Null: no variable with a form, or something else too, which may be written in any way. */
  readonly form: TextForm | null
  readonly literals: readonly Literal[]
  /** Of a map: what is looked up in it. Null: it is no map. */
  readonly values: Parts | null
}

const NONE: Parts = { form: null, literals: [], values: null }
/** Methods that look for their argument in the text. */
const TESTS: ReadonlySet<string> = new Set(['startsWith', 'endsWith', 'contains', 'matches', 'indexOf', 'lastIndexOf'])
type Locals = ReadonlyMap<string, Parts>

export function checkForms(tree: Expr, environment: Environment): readonly Problem[] {
  const walk = new FormWalk(environment)
  walk.parts(tree, new Map())
  return [...walk.problems.values()]
}

class FormWalk {
  /** By place: a text may be compared in several steps of one loop. */
  readonly problems = new Map<number, Problem>()
  readonly #environment: Environment

  constructor(environment: Environment) {
    this.#environment = environment
  }

  parts(node: Expr, locals: Locals): Parts {
    const below = (child: Expr) => this.parts(child, locals)
    switch (node.kind) {
      case 'literal':
        return typeof node.value === 'string' ? { ...NONE, literals: [node] } : NONE
      case 'ident':
      case 'select':
        return this.#read(node, locals)
      case 'index':
        if (pathOf(node) !== null) return this.#read(node, locals)
        return this.#lookedUp(node, below(node.operand), below(node.index))
      case 'binary':
        if (node.op === '+') return union(childrenOf(node).map(below))
        return this.#compared(childrenOf(node).map(below))
      case 'call': {
        const all = childrenOf(node).map(below)
        // What others are given (replace(":", "%3A")) is not compared.
        return TESTS.has(node.name) ? this.#compared(all) : { ...NONE, form: union(all).form }
      }
      case 'conditional':
        below(node.test)
        return anyOf([below(node.yes), below(node.no)])
      case 'fold': {
        const range = below(node.range)
        const inner = new Map(locals).set(node.first, { ...range, values: null })
        if (node.second !== null) inner.set(node.second, range.values ?? range)
        if (node.where !== null) this.parts(node.where, inner)
        return this.parts(node.body, inner)
      }
      case 'bind':
        return this.parts(node.body, new Map(locals).set(node.name, below(node.value)))
      case 'unary':
      case 'logic':
        for (const child of childrenOf(node)) below(child)
        return NONE
      case 'map': {
        const values = anyOf(node.entries.map(({ value }) => below(value)))
        return { ...anyOf(node.entries.map(({ key }) => below(key))), values }
      }
      case 'list':
      case 'fallback':
      case 'struct':
        return anyOf(childrenOf(node).map(below))
    }
  }

  /** A table is asked by its keys; what stands beside them (`{"/old": "/new%20page"}[request.path]`) is its answer. */
  #lookedUp({ operand }: Index, table: Parts, key: Parts): Parts {
    if (operand.kind === 'list') return table
    this.#compared([table, key])
    return table.values ?? NONE
  }

  #read(node: Expr, locals: Locals): Parts {
    const path = pathOf(node)
    if (path === null) return union(childrenOf(node).map((child) => this.parts(child, locals)))
    const local = path.absolute ? undefined : locals.get(path.names[0]!)
    if (local !== undefined) return local
    const meaning = meaningOf(path, this.#environment)
    if (meaning?.kind !== 'variable') return NONE
    let variable: Variable | undefined = meaning.variable
    for (const name of path.names.slice(meaning.used)) {
      variable =
        variable?.fields !== undefined && Object.hasOwn(variable.fields, name) ? variable.fields[name] : undefined
    }
    return variable?.form === undefined ? NONE : { ...NONE, form: variable.form }
  }

  /** With each other: what one of them is made of (elements of a list) is not compared with the rest of it. */
  #compared(all: readonly Parts[]): Parts {
    for (const one of all) {
      for (const other of all) if (one !== other && one.form !== null) this.#check(one.form, other.literals)
    }
    return NONE
  }

  #check(form: TextForm, literals: readonly Literal[]): void {
    for (const { at, end, value } of literals) {
      const written = String(value)
      const formed = form.of(written)
      if (formed === written) continue
      const hint = form.of(formed) === formed ? `write ${JSON.stringify(formed)}; ${form.instead}` : form.instead
      this.problems.set(at, { offset: at, length: Math.max(1, end - at), message: form.what, hint })
    }
  }
}

/** Of all of them at once: texts put together. */
function union(all: readonly Parts[]): Parts {
  const values = all.flatMap((one) => (one.values === null ? [] : [one.values]))
  return {
    form: all.find(({ form }) => form !== null)?.form ?? null,
    // Each once: what is bound to a name may be said again and again.
    literals: [...new Set(all.flatMap(({ literals }) => literals))],
    values: values.length === 0 ? null : union(values)
  }
}

/** One of several, not known which: it has a form if all that are not literals have it. */
function anyOf(all: readonly Parts[]): Parts {
  const isFormed = all.every(({ form, literals }) => form !== null || literals.length > 0)
  return isFormed ? union(all) : { ...union(all), form: null }
}
