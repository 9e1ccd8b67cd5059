/** Says of a file that is not weir's whose it is, in one sentence instead of all the mistakes that weir would find. */
import { objectOf, type Path } from '#engine/schema/placed.ts'
import { TEXT_MARKS, VALUE_MARKS } from './marks.ts'

/** `at`: a path in the value, or an offset into the text. */
export interface Foreign {
  readonly at: Path | number
  readonly message: string
  readonly hint: string
}

/** A finding as configurations have it. */
interface Mistake {
  readonly path: Path
  readonly message: string
  readonly hint?: string | undefined
}

/** A long text is no configuration that was given by mistake; expressions are kept away from it. */
const TEXT_CHARS_MAX = 65_536

const messageOf = (program: string): string => `this is a file of ${program}, not of weir`

/** `value`: what is read of `text` as YAML. Null: nobody's that is known here. */
export function recognise(text: string, value: unknown): Foreign | null {
  if (typeof value === 'object' && value !== null) {
    for (const { program, hint, find } of VALUE_MARKS) {
      const at = find(objectOf(value))
      if (at !== null) return { at, message: messageOf(program), hint }
    }
    return null
  }
  const head = text.slice(0, TEXT_CHARS_MAX)
  for (const { program, hint, form } of TEXT_MARKS) {
    const found = form.exec(head)
    if (found !== null) return { at: found.index, message: messageOf(program), hint }
  }
  return null
}

/** Keys that agentgateway has where weir has others, beside those that weir refuses by name. */
const OF_AGENTGATEWAY = new Set([
  ...['crossAppAccess', 'oauthTokenExchange'],
  ...['rejection', 'prompts', 'conditional']
])
const BY_NAME = /is not in this version of weir/
const IMPORT = 'weir import agentgateway FILE -o weir.yaml writes what weir has of it, with a comment for the rest'

/** Several settings that only agentgateway has are one mistake: the file is its. */
export function gathered<M extends Mistake>(mistakes: readonly M[]): readonly M[] {
  const isForeign = ({ path, message }: M) => BY_NAME.test(message) || OF_AGENTGATEWAY.has(String(path.at(-1)))
  const foreign = mistakes.filter(isForeign)
  const [first] = foreign
  if (first === undefined) return mistakes
  const others = foreign.length === 1 ? '' : `; so are ${foreign.length - 1} more settings of agentgateway here`
  const named = { ...first, message: `${first.message}${others}`, hint: IMPORT }
  return mistakes.flatMap((one) => (one === first ? [named] : foreign.includes(one) ? [] : [one]))
}
