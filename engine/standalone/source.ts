/** Text of a configuration file (YAML 1.2 or JSON) -> plain values, and where in the text each one stands. */
import { type Environment, References } from './expand.ts'
import { readDocument } from './source-document.ts'
import { readEvents } from './source-events.ts'
import { type Source, TEXT_LENGTH_MAX } from './source-shape.ts'

export type { Source } from './source-shape.ts'

/** Never throws, whatever the text is. The fast path reads text without unusual YAML. */
export function readSource(text: string, env: Environment): Source {
  const references = new References(text.length > TEXT_LENGTH_MAX ? '' : text)
  return readEvents(text, references, env) ?? readDocument(text, references, env)
}

/** The same for a text without references to variables. */
export function readPlainSource(text: string): Source {
  const references = new References(text, true)
  return readEvents(text, references, {}) ?? readDocument(text, references, {})
}

/**
 * A document that is no configuration: YAML as plain values, without references to variables. Throws an Error with the
 * first mistake; aliases that would make it grow without bound are one, and a key that is given twice.
 */
export function readPlain(text: string): unknown {
  const { value, problems, position } = readPlainSource(text)
  const [problem] = problems
  if (problem === undefined) return value
  const { line, column } = position(problem.offset)
  throw new Error(`${problem.message} at line ${line}, column ${column}`)
}
