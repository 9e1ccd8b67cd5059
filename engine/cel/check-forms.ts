/**
 * Texts that are compared with a variable whose texts are written in one way only (Variable.form), and that are written
 * in another: request.path == "/a%3Ab". Such a rule is never true, and one that denies stands open.
 */
import { childrenOf, type Expr, type Literal } from './ast.ts'
import type { Problem } from './errors.ts'
import { type Environment, meaningOf, pathOf } from './resolve.ts'
import type { TextForm, Variable } from './roots.ts'

/** What the value of a node may be made of. */
interface Parts {
  /** Null: no variable with a form. */
  readonly form: TextForm | null
  readonly literals: readonly Literal[]
}

const NONE: Parts = { form: null, literals: [] }
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
        return typeof node.value === 'string' ? { form: null, literals: [node] } : NONE
      case 'ident':
      case 'select':
        return this.#read(node, locals)
      case 'index':
        if (pathOf(node) !== null) return this.#read(node, locals)
        return this.#compared([below(node.operand), below(node.index)])
      case 'binary':
        if (node.op === '+') return union(childrenOf(node).map(below))
        return this.#compared(childrenOf(node).map(below))
      case 'call': {
        const all = childrenOf(node).map(below)
        // What others are given (replace(":", "%3A")) is not compared.
        return TESTS.has(node.name) ? this.#compared(all) : { form: union(all).form, literals: [] }
      }
      case 'conditional':
        below(node.test)
        return union([below(node.yes), below(node.no)])
      case 'fold': {
        const range = below(node.range)
        const inner = new Map(locals).set(node.first, range)
        if (node.second !== null) inner.set(node.second, range)
        if (node.where !== null) this.parts(node.where, inner)
        return this.parts(node.body, inner)
      }
      case 'bind':
        return this.parts(node.body, new Map(locals).set(node.name, below(node.value)))
      case 'unary':
      case 'logic':
        for (const child of childrenOf(node)) below(child)
        return NONE
      case 'list':
      case 'map':
      case 'fallback':
      case 'struct':
        return union(childrenOf(node).map(below))
    }
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
    return variable?.form === undefined ? NONE : { form: variable.form, literals: [] }
  }

  #compared(all: readonly Parts[]): Parts {
    const { form, literals } = union(all)
    if (form === null) return NONE
    for (const { at, end, value } of literals) {
      const written = String(value)
      const formed = form.of(written)
      if (formed === written) continue
      const hint = form.of(formed) === formed ? `write ${JSON.stringify(formed)}; ${form.instead}` : form.instead
      this.problems.set(at, { offset: at, length: Math.max(1, end - at), message: form.what, hint })
    }
    return NONE
  }
}

function union(all: readonly Parts[]): Parts {
  return {
    form: all.find(({ form }) => form !== null)?.form ?? null,
    // Each once: what is bound to a name may be said again and again.
    literals: [...new Set(all.flatMap(({ literals }) => literals))]
  }
}
