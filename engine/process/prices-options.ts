/** The command line of `weir prices`. */

export const PRICES_WORDS = ['check', 'show'] as const

export type PricesQuestion =
  /** `hasConfig`: of the models of the configuration; else of the catalogue. */
  | { readonly kind: 'check'; readonly daysMax: number; readonly hasConfig: boolean; readonly isJson: boolean }
  /** `name`: of a model or a provider. */
  | { readonly kind: 'show'; readonly name: string; readonly isJson: boolean }

export const PRICES_OPTIONS = {
  older: { type: 'string' },
  json: { type: 'boolean' },
  file: { type: 'string', short: 'f', multiple: true },
  config: { type: 'string', short: 'c', multiple: true },
  help: { type: 'boolean', short: 'h' }
} as const

const DAYS_DEFAULT = 180
const NAME_CHARS_MAX = 256

export const PRICES_HELP = `weir prices: what models cost, and what is not known of that; nothing is asked of anybody

Usage:
  weir prices check [-f FILE]      which models of the configuration have no price, which prices are old
  weir prices show NAME [-f FILE]  the prices of a model, or of all models of a provider

Options:
      --older DAYS          check: tell rows that were looked up more days ago; default ${DAYS_DEFAULT}
      --json                for programs
  -f, --file FILE           configuration file; without it the catalogue of this version is looked at alone
  -c, --config STRING       configuration text
  -h, --help                print this

Examples:
  weir prices check -f weir.yaml --older 90
  weir prices show gpt-4o-mini
  weir prices show anthropic --json

Exit codes:
  0  all have a price, none is older; there is such a row
  1  a model has no price, or a row is older; there is no such row
  2  wrong usage            3  invalid configuration, or it cannot be read
`

/** A text says what is wrong. */
export function readPricesQuestion(
  [word, name, ...others]: readonly string[],
  { older, json }: { readonly older?: string | undefined; readonly json?: boolean | undefined },
  hasConfig: boolean
): PricesQuestion | string {
  const isJson = json === true
  if (word === 'show') {
    if (name === undefined || name === '' || others.length > 0)
      return 'show needs one name, of a model or a provider: weir prices show gpt-4o-mini'
    if (name.length > NAME_CHARS_MAX) return `a name has at most ${NAME_CHARS_MAX} characters`
    return older === undefined ? { kind: 'show', name, isJson } : '--older is an option of check'
  }
  if (word !== 'check') return "prices needs to know what to do: 'check', or 'show' and a name"
  if (name !== undefined) return `check takes no names: unexpected argument '${name}'`
  if (older !== undefined && !/^\d{1,5}$/.test(older)) return '--older is a whole number of days, such as --older 90'
  return { kind: 'check', daysMax: older === undefined ? DAYS_DEFAULT : Number(older), hasConfig, isJson }
}
