/** The command line: what the user typed -> what to do. Everything here is pure; main.ts acts on it. */
import { parseArgs } from 'node:util'
import { nearest } from '#engine/schema/suggest.ts'
import { CEL_OPTIONS, type CelQuestion, readCelQuestion } from './cel/options.ts'
import {
  CONTROLLER_OPTIONS,
  type ControllerSettings,
  readControllerSettings,
  type ServingSettings
} from './controller-options.ts'
import { EXPLAIN_OPTIONS, readExplainRequest, type TypedRequest } from './explain-options.ts'
import { JOBS } from './init/files.ts'
import { INIT_OPTIONS, type InitQuestion, readInitQuestion } from './init/options.ts'
import { PRICES_OPTIONS, PRICES_WORDS, type PricesQuestion, readPricesQuestion } from './prices-options.ts'
import { PROXY_VARIABLES, type ProxyFlags } from './proxy-options.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

export const EXIT_OK = 0
export const EXIT_FAILURE = 1
export const EXIT_USAGE = 2
export const EXIT_CONFIG = 3

export type Command =
  /** `of`: a command that has a page of its own. */
  | { readonly kind: 'help'; readonly of?: Helped }
  | { readonly kind: 'version' }
  /** `help`: the command that says more. */
  | { readonly kind: 'usage'; readonly message: string; readonly help: string }
  | { readonly kind: 'schema' }
  | { readonly kind: 'init'; readonly question: InitQuestion }
  | { readonly kind: 'cel'; readonly question: CelQuestion }
  | { readonly kind: 'completion'; readonly shell: Shell }
  | { readonly kind: 'mcp-server'; readonly name: string }
  | ImportCommand
  | { readonly kind: 'controller'; readonly settings: ControllerSettings }
  | GatewayCommand

/** Commands with a page of help. */
export const HELPED = ['init', 'cel', 'explain', 'proxy', 'controller', 'prices'] as const
export type Helped = (typeof HELPED)[number]

/** `from`: the gateway whose file stands at `path`. `output`: null: the standard output. */
export interface ImportCommand {
  readonly kind: 'import'
  readonly from: string
  readonly path: string
  readonly output: string | null
}

/** What needs the whole program. */
export type GatewayCommand =
  | { readonly kind: 'run' | 'validate'; readonly source: Source }
  /** `source`: of the settings of the process. */
  | { readonly kind: 'proxy'; readonly source: Source; readonly flags: ProxyFlags }
  | { readonly kind: 'serve'; readonly source: Source; readonly settings: ServingSettings }
  | { readonly kind: 'explain'; readonly source: Source; readonly request: TypedRequest; readonly isJson: boolean }
  | PricesCommand

export interface PricesCommand {
  readonly kind: 'prices'
  readonly source: Source
  readonly question: PricesQuestion
}

export const STDIN = '-'

/** Where the configuration comes from. */
export type Source =
  /** Files, folders of manifests, and STDIN once. */
  | { readonly kind: 'files'; readonly paths: readonly string[] }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'default' }

/** Words that stand first, and what may follow each. */
export const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  init: [...JOBS, ...Object.keys(INIT_OPTIONS).map((name) => `--${name}`)],
  validate: ['--file', '--config'],
  cel: Object.keys(CEL_OPTIONS).map((name) => `--${name}`),
  explain: [
    ...['--request', '--header', '--data', '--from', '--cert', '--http1.1', '--http2', '--http2-prior-knowledge'],
    ...['--json', '--file', '--config']
  ],
  proxy: [...PROXY_VARIABLES.map((name) => `--${name}`), '--file', '--config'],
  controller: Object.keys(CONTROLLER_OPTIONS).map((name) => `--${name}`),
  prices: [...PRICES_WORDS, ...Object.keys(PRICES_OPTIONS).map((name) => `--${name}`)],
  import: ['litellm', 'agentgateway'],
  schema: [],
  completion: SHELLS,
  help: HELPED,
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
  weir -f MANIFEST ...      serve the Gateways of manifests of Kubernetes: files, folders, without a cluster
  weir -c STRING            run a configuration given as text
  weir init                 write a file to begin with: models, MCP or a reverse proxy
  weir validate FILE ...    check files, print every mistake with its place
  weir explain OPTIONS      say what would become of a request
  weir cel EXPRESSION       say what an expression of CEL says of a request
  weir proxy OPTIONS        be a data plane of that controller
  weir controller OPTIONS   carry out the Gateways of a Kubernetes cluster
  weir prices check|show    say what models have no price, or what one costs
  weir import NAME FILE     carry over a file of litellm or agentgateway (NAME), into -o OUT
  weir schema               print the JSON Schema of the configuration file, for editors
  weir completion SHELL     print what bash, zsh or fish completes: source <(weir completion bash)
  weir help COMMAND         say more: init, explain, cel, prices, proxy, controller
  weir mcp-server NAME      be an MCP server of the demonstration on standard streams: clock or notebook

Options:
  -f, --file FILE           configuration file, or manifests: -f FILE -f FOLDER; watched, read again on SIGHUP
  -c, --config STRING       configuration text
      --validate-only       check the configuration, print every mistake, exit
  -V, --version             print the version
  -h, --help                print this

Examples:
  weir -c '{ binds: [{ port: 8080, listeners: [{ routes: [{ backends: [{ host: "localhost:9000" }] }] }] }] }'

Signals:
  SIGTERM, SIGINT           drain and exit; another one exits at once
  SIGHUP                    read the configuration file again

Exit codes:
  0  ended as asked     1  could not start, or was forced to end
  2  wrong usage        3  invalid configuration, or it cannot be read        (import: 2  not all is carried)

In the file, $VAR, \${VAR} and \${VAR:-default} are taken from the environment; $$ is a dollar sign.
`

/** Reads the arguments behind the program's name. Never throws. */
export function readArguments(args: readonly string[]): Command {
  if (args[0] === 'mcp-server' && args.length === 2) return { kind: 'mcp-server', name: args[1]! }
  if (args[0] === 'mcp-server') return usage('mcp-server needs one name: clock or notebook')
  if (args[0] === 'schema')
    return args.length === 1 ? { kind: 'schema' } : usage('schema is a command without arguments')
  if (args[0] === 'completion') return completionOf(args.slice(1))
  if (args[0] === 'validate') return validateOf(args.slice(1))
  if (args[0] === 'help') return helpOf(args.slice(1))
  if (args[0] === 'import') return importOf(args.slice(1))
  const own = args[0] !== undefined && Object.hasOwn(READERS, args[0]) ? READERS[args[0] as Helped] : null
  if (own !== null) return commandOf(args[0] as Helped, args.slice(1), own.options, own.read)
  let values: Record<string, unknown>
  try {
    values = parseArgs({ args: [...args], options: OPTIONS, strict: true, allowPositionals: false }).values
  } catch (error) {
    return usage(explain(error as Error, args))
  }
  if (values.help === true) return { kind: 'help' }
  if (values.version === true) return { kind: 'version' }
  const source = sourceOf(values)
  if (typeof source === 'string') return usage(source)
  const kind = values['validate-only'] === true ? 'validate' : 'run'
  if (source !== null) return { kind, source }
  if (kind === 'validate') return usage('--validate-only needs a configuration: -f FILE or -c STRING')
  return { kind, source: { kind: 'default' } }
}

/** Null: none is given. A text says what is wrong. */
function sourceOf(values: Values): Source | string | null {
  const files = (values.file ?? []) as string[]
  const [text, ...texts] = (values.config ?? []) as string[]
  if (texts.length > 0 || (files.length > 0 && text !== undefined)) return ONE_SOURCE
  if (files.filter((path) => path === STDIN).length > 1) return 'standard input can be read once'
  if (files.length > 0) return { kind: 'files', paths: files }
  return text === undefined ? null : { kind: 'text', text }
}

const ONE_SOURCE = 'give one configuration: either -f FILE, several times for manifests, or -c STRING once'

const NO_CONFIGURATION: Source = { kind: 'text', text: 'binds: []' }

type Options = Readonly<Record<string, { readonly type: 'string' | 'boolean'; readonly multiple?: boolean }>>
type Values = Readonly<Record<string, unknown>>

/** A command with options of its own. What `read` says is wrong, as a text, leads to its page of help. */
function commandOf(
  of: Helped,
  args: readonly string[],
  options: Options,
  read: (values: Values, positionals: readonly string[]) => Command | string
): Command {
  const wrong = (message: string): Command => ({ kind: 'usage', message, help: `weir ${of} --help` })
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, strict: true, allowPositionals: true })
    if (values.help === true) return { kind: 'help', of }
    if (positionals.length > 0 && !WITH_WORDS.includes(of)) return wrong(explain(STRAY, args, options))
    const command = read(values, positionals)
    return typeof command === 'string' ? wrong(command) : command
  } catch (error) {
    return wrong(explain(error as Error, args, options))
  }
}

/** Commands with words behind them that are no options. */
const WITH_WORDS: readonly Helped[] = ['init', 'cel', 'prices']
const STRAY = Object.assign(new Error('unexpected argument'), { code: 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL' })

function explainOf(values: Values): Command | string {
  const source = sourceOf(values)
  if (typeof source === 'string') return source
  if (source === null) return 'explain needs a configuration: -f FILE or -c STRING'
  const request = readExplainRequest(values)
  return typeof request === 'string' ? request : { kind: 'explain', source, request, isJson: values.json === true }
}

function pricesOf(values: Values, positionals: readonly string[]): Command | string {
  const source = sourceOf(values)
  if (typeof source === 'string') return source
  const question = readPricesQuestion(positionals, values, source !== null)
  return typeof question === 'string' ? question : { kind: 'prices', source: source ?? NO_CONFIGURATION, question }
}

const PROXY_OPTIONS = {
  ...Object.fromEntries(PROXY_VARIABLES.map((name) => [name, { type: 'string' } as const])),
  file: OPTIONS.file,
  config: OPTIONS.config,
  help: OPTIONS.help
} as const

function proxyOf(values: Values): Command | string {
  const source = sourceOf(values)
  if (typeof source === 'string') return source
  const flags = Object.fromEntries(PROXY_VARIABLES.map((name) => [name, values[name]])) as ProxyFlags
  return { kind: 'proxy', source: source ?? NO_CONFIGURATION, flags }
}

function controllerOf(values: Values): Command | string {
  const settings = readControllerSettings(values)
  if (typeof settings === 'string') return settings
  if (settings.serve === null) return { kind: 'controller', settings }
  return { kind: 'serve', source: NO_CONFIGURATION, settings: { ...settings, serve: settings.serve } }
}

function initOf(values: Values, positionals: readonly string[]): Command | string {
  const question = readInitQuestion(positionals, values)
  return typeof question === 'string' ? question : { kind: 'init', question }
}

function celOf(values: Values, positionals: readonly string[]): Command | string {
  const question = readCelQuestion(positionals, values)
  return typeof question === 'string' ? question : { kind: 'cel', question }
}

/** What stands behind each command that has options of its own. */
const READERS: {
  readonly [name in Helped]: {
    readonly options: Options
    readonly read: (values: Values, positionals: readonly string[]) => Command | string
  }
} = {
  init: { options: INIT_OPTIONS, read: initOf },
  cel: { options: CEL_OPTIONS, read: celOf },
  explain: { options: EXPLAIN_OPTIONS, read: explainOf },
  prices: { options: PRICES_OPTIONS, read: pricesOf },
  proxy: { options: PROXY_OPTIONS, read: proxyOf },
  controller: { options: CONTROLLER_OPTIONS, read: controllerOf }
}

function importOf(args: readonly string[]): Command {
  const example = 'import needs a name and a file: weir import litellm config.yaml -o weir.yaml'
  const options = { output: { type: 'string', short: 'o' } } as const
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, strict: true, allowPositionals: true })
    const [from, path, ...others] = positionals
    if (from === undefined || path === undefined || others.length > 0) return usage(example)
    return { kind: 'import', from, path, output: values.output ?? null }
  } catch {
    return usage(example)
  }
}

/** As --validate-only; files may stand without -f. */
function validateOf(args: readonly string[]): Command {
  const options = { file: OPTIONS.file, config: OPTIONS.config, help: OPTIONS.help }
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    if (values.help === true) return { kind: 'help' }
    const source = sourceOf({ ...values, file: [...(values.file ?? []), ...positionals] })
    if (typeof source === 'string') return usage(source)
    if (source === null) return usage('validate needs a configuration: weir validate FILE, or -c STRING')
    return { kind: 'validate', source }
  } catch (error) {
    return usage(explain(error as Error, args, options))
  }
}

function helpOf(args: readonly string[]): Command {
  const [name, ...others] = args
  if (name === undefined || (others.length === 0 && name in COMMANDS && !isHelped(name))) return { kind: 'help' }
  if (others.length === 0 && isHelped(name)) return { kind: 'help', of: name }
  const near = nearest(name, Object.keys(COMMANDS))
  return usage(`there is no command '${name}'${near === null ? '' : `; did you mean ${near}?`}`)
}

const isHelped = (name: string): name is Helped => HELPED.some((one) => one === name)

function completionOf(args: readonly string[]): Command {
  const shell = SHELLS.find((name) => args.length === 1 && name === args[0])
  return shell === undefined ? usage(`completion needs one shell: ${SHELLS.join(', ')}`) : { kind: 'completion', shell }
}

function usage(message: string): Command {
  return { kind: 'usage', message, help: 'weir --help' }
}

function explain(
  error: Error & { code?: string },
  args: readonly string[],
  options: Readonly<Record<string, { readonly type: 'string' | 'boolean' }>> = OPTIONS
): string {
  // What was typed, word by word; the error names only the kind of mistake in a stable way.
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true })
  for (const token of tokens) {
    if (error.code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL' && token.kind === 'positional') {
      const command = token.index === 0 ? nearest(token.value, Object.keys(COMMANDS)) : null
      const instead =
        command === null ? `a configuration file is given with -f ${token.value}` : `did you mean ${command}?`
      return `unexpected argument '${token.value}'; ${instead}`
    }
    if (error.code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION' || token.kind !== 'option' || token.name in options) continue
    const { name, rawName } = token
    const near = nearest(name, Object.keys(options)) ?? Object.keys(options).find((option) => option.startsWith(name))
    return `unknown option '${rawName}'${near === undefined || name.length < 2 ? '' : `; did you mean --${near}?`}`
  }
  return error.message.split('. ')[0] ?? error.message
}
