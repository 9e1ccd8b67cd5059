/** The command line: what the user typed -> what to do. Everything here is pure; main.ts acts on it. */
import { parseArgs } from 'node:util'

export const EXIT_OK = 0
export const EXIT_FAILURE = 1
export const EXIT_USAGE = 2
export const EXIT_CONFIG = 3

export type Command =
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'usage'; readonly message: string }
  | { readonly kind: 'run' | 'validate'; readonly source: Source }

/** Where the configuration comes from. */
export type Source =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'stdin' }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'default' }

const OPTIONS = {
  file: { type: 'string', short: 'f', multiple: true },
  config: { type: 'string', short: 'c', multiple: true },
  'validate-only': { type: 'boolean' },
  version: { type: 'boolean', short: 'V' },
  help: { type: 'boolean', short: 'h' }
} as const

export const HELP = `weir: a gateway for HTTP, LLM and MCP traffic

Usage:
  weir                      run the built-in demonstration on port 3000
  weir -f FILE              run a configuration file, YAML or JSON ("-": standard input)
  weir -c STRING            run a configuration given as text
  weir -f FILE --validate-only

Options:
  -f, --file FILE           configuration file; watched, and read again on SIGHUP
  -c, --config STRING       configuration text
      --validate-only       check the configuration, print every mistake, exit
  -V, --version             print the version
  -h, --help                print this

Signals:
  SIGTERM, SIGINT           drain and exit; a second one exits at once
  SIGHUP                    read the configuration again

Exit codes:
  0  done      1  failed while running      2  wrong usage      3  invalid configuration

In the file, $VAR, \${VAR} and \${VAR:-default} are taken from the environment; $$ is a dollar sign.
`

/** Reads the arguments behind the program's name. Never throws. */
export function readArguments(args: readonly string[]): Command {
  let values: Record<string, unknown>
  try {
    values = parseArgs({ args: [...args], options: OPTIONS, strict: true, allowPositionals: false }).values
  } catch (error) {
    return usage(explain(error as Error, args))
  }
  if (values.help === true) return { kind: 'help' }
  if (values.version === true) return { kind: 'version' }
  const files = (values.file ?? []) as string[]
  const texts = (values.config ?? []) as string[]
  if (files.length + texts.length > 1) return usage('give one configuration: either -f FILE or -c STRING, once')
  const kind = values['validate-only'] === true ? 'validate' : 'run'
  if (files[0] === '-') return { kind, source: { kind: 'stdin' } }
  if (files[0] !== undefined) return { kind, source: { kind: 'file', path: files[0] } }
  if (texts[0] !== undefined) return { kind, source: { kind: 'text', text: texts[0] } }
  if (kind === 'validate') return usage('--validate-only needs a configuration: -f FILE or -c STRING')
  return { kind, source: { kind: 'default' } }
}

function usage(message: string): Command {
  return { kind: 'usage', message }
}

function explain(error: Error & { code?: string }, args: readonly string[]): string {
  if (error.code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL') {
    const stray = args.find((arg) => !arg.startsWith('-')) ?? ''
    return `unexpected argument '${stray}'; a configuration file is given with -f ${stray}`
  }
  if (error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const unknown = args.find((arg) => arg.startsWith('-') && !isKnown(arg)) ?? ''
    const near = Object.keys(OPTIONS).find((name) => name.startsWith(unknown.replace(/^-+/, '').slice(0, 3)))
    return `unknown option '${unknown}'${near === undefined ? '' : `; did you mean --${near}?`}`
  }
  return error.message.split('. ')[0] ?? error.message
}

function isKnown(arg: string): boolean {
  const name = arg.replace(/^--?/, '').split('=')[0] ?? ''
  return Object.entries(OPTIONS).some(([long, option]) => name === long || ('short' in option && option.short === name))
}
