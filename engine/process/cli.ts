/** The command line: what the user typed -> what to do. Everything here is pure; main.ts acts on it. */
import { parseArgs } from 'node:util'
import { nearest } from '#engine/schema/suggest.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

export const EXIT_OK = 0
export const EXIT_FAILURE = 1
export const EXIT_USAGE = 2
export const EXIT_CONFIG = 3

export type Command =
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'usage'; readonly message: string }
  | { readonly kind: 'schema' }
  | { readonly kind: 'completion'; readonly shell: Shell }
  | { readonly kind: 'mcp-server'; readonly name: string }
  | GatewayCommand

/** What needs the whole program. */
export interface GatewayCommand {
  readonly kind: 'run' | 'validate'
  readonly source: Source
}

/** Where the configuration comes from. */
export type Source =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'stdin' }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'default' }

/** Words that stand first, and what may follow each. */
export const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  schema: [],
  completion: SHELLS,
  'mcp-server': ['clock', 'notebook']
}

export const OPTIONS = {
  file: { type: 'string', short: 'f', multiple: true },
  config: { type: 'string', short: 'c', multiple: true },
  'validate-only': { type: 'boolean' },
  version: { type: 'boolean', short: 'V' },
  help: { type: 'boolean', short: 'h' }
} as const

export const HELP = `weir: a gateway for HTTP, LLM and MCP traffic

Usage:
  weir                      run the built-in demonstration on port 3000 (PORT)
  weir -f FILE              run a configuration file, YAML or JSON ("-": standard input)
  weir -c STRING            run a configuration given as text
  weir schema               print the JSON Schema of the configuration file, for editors
  weir completion SHELL     print what bash, zsh or fish completes: source <(weir completion bash)
  weir mcp-server NAME      be an MCP server of the demonstration on standard streams: clock or notebook

Options:
  -f, --file FILE           configuration file; watched, and read again on SIGHUP
  -c, --config STRING       configuration text
      --validate-only       check the configuration, print every mistake, exit
  -V, --version             print the version
  -h, --help                print this

Examples:
  weir -f weir.yaml --validate-only
  weir -c '{ binds: [{ port: 8080, listeners: [{ routes: [{ backends: [{ host: "localhost:9000" }] }] }] }] }'

Signals:
  SIGTERM, SIGINT           drain and exit; another one exits at once
  SIGHUP                    read the configuration file again

Exit codes:
  0  ended as asked     1  could not start, or was forced to end
  2  wrong usage        3  invalid configuration, or it cannot be read

In the file, $VAR, \${VAR} and \${VAR:-default} are taken from the environment; $$ is a dollar sign.
`

/** Reads the arguments behind the program's name. Never throws. */
export function readArguments(args: readonly string[]): Command {
  if (args[0] === 'mcp-server' && args.length === 2) return { kind: 'mcp-server', name: args[1]! }
  if (args[0] === 'mcp-server') return usage('mcp-server needs one name: clock or notebook')
  if (args[0] === 'schema')
    return args.length === 1 ? { kind: 'schema' } : usage('schema is a command without arguments')
  if (args[0] === 'completion') return completionOf(args.slice(1))
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

function completionOf(args: readonly string[]): Command {
  const shell = SHELLS.find((name) => args.length === 1 && name === args[0])
  return shell === undefined ? usage(`completion needs one shell: ${SHELLS.join(', ')}`) : { kind: 'completion', shell }
}

function usage(message: string): Command {
  return { kind: 'usage', message }
}

function explain(error: Error & { code?: string }, args: readonly string[]): string {
  // What was typed, word by word; the error names only the kind of mistake in a stable way.
  const { tokens } = parseArgs({ args: [...args], options: OPTIONS, strict: false, tokens: true })
  for (const token of tokens) {
    if (error.code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL' && token.kind === 'positional') {
      return `unexpected argument '${token.value}'; a configuration file is given with -f ${token.value}`
    }
    if (error.code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION' || token.kind !== 'option' || token.name in OPTIONS) continue
    const { name, rawName } = token
    const near = nearest(name, Object.keys(OPTIONS)) ?? Object.keys(OPTIONS).find((option) => option.startsWith(name))
    return `unknown option '${rawName}'${near === undefined || name.length < 2 ? '' : `; did you mean --${near}?`}`
  }
  return error.message.split('. ')[0] ?? error.message
}
