/** Where two observations of a case differ. */
import type { Observed } from './case.ts'
import type { Plain } from './record.ts'

export interface Difference {
  /** Where it is: client.status, backend.0.headers.x-a. */
  readonly at: string
  /** Undefined: it is not there. */
  readonly envoy: Plain | undefined
  readonly weir: Plain | undefined
}

export function differences(envoy: Observed, weir: Observed): Difference[] {
  return [...walk('', { ...envoy }, { ...weir })]
}

const isTree = (value: Plain | undefined): value is { readonly [key: string]: Plain } | readonly Plain[] =>
  typeof value === 'object' && value !== null

/** Values of one field are one thing, and so are lists that are not equally long. */
const isLeaf = (value: Plain | undefined): boolean =>
  !isTree(value) || (Array.isArray(value) && value.every((one) => !isTree(one)))

function* walk(at: string, envoy: Plain | undefined, weir: Plain | undefined): Generator<Difference> {
  if (JSON.stringify(envoy) === JSON.stringify(weir)) return
  if (isLeaf(envoy) || isLeaf(weir) || !isTree(envoy) || !isTree(weir)) {
    yield { at, envoy, weir }
    return
  }
  const [left, right] = [envoy as Readonly<Record<string, Plain>>, weir as Readonly<Record<string, Plain>>]
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)]))
    yield* walk(at === '' ? key : `${at}.${key}`, left[key], right[key])
}
