/** All functions, by name: the one place that knows which libraries there are. */
import type { Declared } from './functions.ts'
import { CONVERSIONS } from './lib/conversions.ts'
import { ENCODERS } from './lib/encoders.ts'
import { FORMAT } from './lib/format.ts'
import { HTTP } from './lib/http.ts'
import { JSON_FUNCTIONS } from './lib/json.ts'
import { LISTS } from './lib/lists.ts'
import { MATH } from './lib/math.ts'
import { NETWORK } from './lib/network.ts'
import { OPTIONALS } from './lib/optionals.ts'
import { REGEX } from './lib/regex.ts'
import { SETS } from './lib/sets.ts'
import { STRINGS } from './lib/strings.ts'
import { TIME } from './lib/time.ts'

const ALL: readonly Declared[] = [
  ...CONVERSIONS,
  ...STRINGS,
  ...FORMAT,
  ...REGEX,
  ...MATH,
  ...LISTS,
  ...SETS,
  ...ENCODERS,
  ...TIME,
  ...OPTIONALS,
  ...NETWORK,
  ...JSON_FUNCTIONS,
  ...HTTP
]

const FUNCTIONS = index(false)
const METHODS = index(true)

function index(isMethod: boolean): ReadonlyMap<string, readonly Declared[]> {
  const found = new Map<string, Declared[]>()
  for (const declared of ALL) {
    if (declared.isMethod !== isMethod) continue
    const known = found.get(declared.name)
    if (known === undefined) found.set(declared.name, [declared])
    else known.push(declared)
  }
  return found
}

const NONE: readonly Declared[] = []

/** Overloads of `name(...)`; names may have dots. */
export function functionsNamed(name: string): readonly Declared[] {
  return FUNCTIONS.get(name) ?? NONE
}

/** Overloads of `value.name(...)`, the receiver being the first argument. */
export function methodsNamed(name: string): readonly Declared[] {
  return METHODS.get(name) ?? NONE
}

/** Every declaration. */
export function declarations(): readonly Declared[] {
  return ALL
}

/** For suggestions. */
export function functionNames(): string[] {
  return [...FUNCTIONS.keys()]
}

export function methodNames(): string[] {
  return [...METHODS.keys()]
}
