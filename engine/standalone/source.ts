/** Text of a configuration file (YAML 1.2 or JSON) -> plain values, and where in the text each one stands. */
import { type Environment, References } from './expand.ts'
import { readText, type Source, TEXT_LENGTH_MAX } from './source-reader.ts'

export type { Source } from './source-reader.ts'

/** Never throws, whatever the text is. */
export function readSource(text: string, env: Environment): Source {
  const references = new References(text.length > TEXT_LENGTH_MAX ? '' : text)
  return readText(text, references, env)
}

/**
 * A document that is no configuration: YAML as plain values, without references to variables. Throws an Error with the
 * first mistake; aliases that would make it grow without bound are one, and a key that is given twice.
 */
export function readPlain(text: string): unknown {
  const references = new References(text, true)
  const { value, problems, position } = readText(text, references, {})
  const [problem] = problems
  if (problem === undefined) return value
  const { line, column } = position(problem.offset)
  throw new Error(`${problem.message} at line ${line}, column ${column}`)
}
