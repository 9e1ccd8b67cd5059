/** The command line of `npm run bench`. */
import { parseArgs } from 'node:util'

export const HELP = `Usage: npm run bench -- [options]

Runs three parts: micro (time per call of hot functions), gc (garbage per request), load (Weir
and every proxy that is installed, on the canonical workloads). Without options: all three.

  --quick          within two minutes: nginx and weir, ten workloads; figures are rougher
  --part NAMES     only these parts: micro, gc, load
  --only NAMES     only these workloads, and no other part (see --list)
  --peers NAMES    only these proxies: nginx, haproxy, envoy, weir, weir-uws, portkey, litellm
  --rounds N       interleaved rounds per workload (15; quick: 2)
  --soak N         instead of all that: N chat requests of each kind, and whether Weir keeps
                   memory, sockets or timers of them
  --turns          instead of all that: the longest turn of the event loop while large bodies pass
  --no-save        write no file to bench/results
  --list           the workloads
  --help           this text

NAMES are separated by commas. The exit code is 1 when an answer was wrong or missing, or when a
request makes more garbage than is allowed.
`

export type Part = 'micro' | 'gc' | 'load'
export const PARTS: readonly Part[] = ['micro', 'gc', 'load']

export interface Options {
  readonly action: 'run' | 'list' | 'help'
  readonly quick: boolean
  readonly parts: readonly Part[]
  /** Empty: all. */
  readonly only: readonly string[]
  /** Empty: all. */
  readonly peers: readonly string[]
  /** Null: what the mode takes. */
  readonly rounds: number | null
  readonly save: boolean
  /** Null: no soak. */
  readonly soak: number | null
  readonly turns: boolean
}

export interface Known {
  readonly workloads: readonly string[]
  readonly peers: readonly string[]
}

/** Reads `args`. Throws an Error that names what is wrong and what is allowed. */
export function parseOptions(args: readonly string[], known: Known): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      part: { type: 'string', default: '' },
      only: { type: 'string', default: '' },
      peers: { type: 'string', default: '' },
      rounds: { type: 'string' },
      soak: { type: 'string' },
      turns: { type: 'boolean', default: false },
      'no-save': { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false }
    }
  })
  const only = names('--only', values.only, known.workloads)
  const parts = names('--part', values.part, PARTS) as Part[]
  const otherwise = only.length > 0 ? (['load'] as const) : PARTS
  return {
    action: values.help ? 'help' : values.list ? 'list' : 'run',
    quick: values.quick,
    parts: parts.length > 0 ? parts : otherwise,
    only,
    peers: names('--peers', values.peers, known.peers),
    rounds: values.rounds === undefined ? null : count('--rounds', values.rounds),
    save: !values['no-save'],
    soak: values.soak === undefined ? null : count('--soak', values.soak, 9_999_999),
    turns: values.turns
  }
}

function names(option: string, text: string, allowed: readonly string[]): string[] {
  const list = text === '' ? [] : text.split(',').map((name) => name.trim())
  const unknown = list.filter((name) => !allowed.includes(name))
  if (unknown.length > 0) throw new Error(`${option}: unknown ${unknown.join(', ')}; there are ${allowed.join(', ')}`)
  return list
}

function count(option: string, text: string, max = 999): number {
  const number = /^[1-9]\d{0,6}$/.test(text) ? Number(text) : 0
  if (number < 1 || number > max) throw new Error(`${option}: ${text} is not a number from 1 to ${max}`)
  return number
}
