/** One expression, compiled and run: for tests. */
import { CelError, compile, explain, type Roots, type Value } from '#engine/cel/index.ts'
import { toJson } from '#engine/cel/json.ts'

/** Any variable that the context has, of any type. */
export function rootsFor(context: object): Roots {
  return Object.fromEntries(Object.keys(context).map((name) => [name, { type: 'dyn' as const }]))
}

/** The value. Throws when the source is refused; what always fails is an error of the run here. */
export function evaluate(source: string, context: object = {}): Value {
  const compiled = compile(source, { roots: rootsFor(context), isLenient: true })
  if (!compiled.ok) throw new Error(explain(source, compiled.problems[0]!))
  return compiled.program.run(context)
}

/** The value as JSON text, or "error: ...": both are easy to write in a table. */
export function shown(source: string, context: object = {}): string {
  const value = evaluate(source, context)
  if (value instanceof CelError) return `error: ${value.message}`
  const text = toJson(value)
  return text instanceof CelError ? `error: ${text.message}` : String(text)
}
