/** Shapes of requests, as strict as the providers are: what a shape does not name is refused. */

/** Adds what is wrong with `value`, which stands at `at`, to `faults`. */
export type Check = (value: unknown, at: string, faults: string[]) => void

type Members = { readonly [name: string]: unknown }

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const kind =
  (what: string, is: (value: unknown) => boolean): Check =>
  (value, at, faults) => {
    if (!is(value)) faults.push(`${at}: must be ${what}`)
  }

export const anything: Check = () => {}
export const text = kind('a string', (value) => typeof value === 'string')
export const filled = kind('a text that is not blank', (value) => typeof value === 'string' && value.trim() !== '')
export const flag = kind('true or false', (value) => typeof value === 'boolean')
export const map = kind('an object', isObject)
export const number = kind('a number', (value) => typeof value === 'number')
export const within = (low: number, high: number): Check =>
  kind(`within ${low} and ${high}`, (value) => typeof value === 'number' && value >= low && value <= high)
export const words = (...known: readonly string[]): Check =>
  kind(`one of ${known.join(', ')}`, (value) => typeof value === 'string' && known.includes(value))
export const matching = (pattern: RegExp): Check =>
  kind(`like ${pattern.source}`, (value) => typeof value === 'string' && pattern.test(value))

export const list =
  (item: Check, least = 0): Check =>
  (value, at, faults) => {
    if (!Array.isArray(value)) faults.push(`${at}: must be a list`)
    else if (value.length < least) faults.push(`${at}: must have ${least} at least`)
    else for (const [i, one] of value.entries()) item(one, `${at}[${i}]`, faults)
  }

/** Names that end in "!" are required. Null is as good as absent. */
export function object(members: { readonly [name: string]: Check }): Check {
  const known = new Map(Object.entries(members).map(([name, check]) => [name.replace('!', ''), check]))
  const required = Object.keys(members).flatMap((name) => (name.endsWith('!') ? [name.slice(0, -1)] : []))
  return (value, at, faults) => {
    if (!isObject(value)) {
      faults.push(`${at}: must be an object`)
      return
    }
    for (const name of required) if ((value[name] ?? null) === null) faults.push(`${at}.${name}: Field required`)
    for (const [name, member] of Object.entries(value)) {
      const check = known.get(name)
      if (check === undefined) faults.push(`${at}.${name}: Extra inputs are not permitted`)
      else if (member !== null) check(member, `${at}.${name}`, faults)
    }
  }
}

/** Exactly one of `variants`, by the member that is there, beside `shared`. */
export function union(variants: { readonly [name: string]: Check }, shared: { readonly [name: string]: Check }): Check {
  const whole = object({ ...variants, ...shared })
  return (value, at, faults) => {
    whole(value, at, faults)
    if (!isObject(value)) return
    const present = Object.keys(value).filter((name) => Object.hasOwn(variants, name))
    if (present.length !== 1) faults.push(`${at}: must have exactly one of ${Object.keys(variants).join(', ')}`)
  }
}

/** By the word that stands at `key`; `usual` where none does. */
export function tagged(
  key: string,
  variants: { readonly [word: string]: { readonly [name: string]: Check } },
  usual = ''
): Check {
  const checks = new Map(Object.entries(variants).map(([word, members]) => [word, object({ [key]: text, ...members })]))
  return (value, at, faults) => {
    const word = isObject(value) ? String(value[key] ?? usual) : ''
    const check = checks.get(word)
    if (check === undefined) faults.push(`${at}.${key}: '${word}' is not one of ${[...checks.keys()].join(', ')}`)
    else check(value, at, faults)
  }
}

export const either =
  (...checks: readonly Check[]): Check =>
  (value, at, faults) => {
    let least: string[] | null = null
    for (const check of checks) {
      const found: string[] = []
      check(value, at, found)
      // The longer forms stand behind the shorter.
      if (least === null || found.length <= least.length) least = found
    }
    for (const fault of least ?? []) faults.push(fault)
  }

/** The first thing that is wrong; null: nothing. */
export function faultOf(check: Check, value: unknown): string | null {
  const faults: string[] = []
  check(value, 'body', faults)
  return faults[0]?.replace(/^body\.?/, '') ?? null
}
