/** The command line: what the user typed -> what to do. Everything here is pure; main.ts acts on it. */
import { parseArgs } from 'node:util'
import { nearest } from '#engine/schema/suggest.ts'
import {
  CONTROLLER_OPTIONS,
  type ControllerSettings,
  readControllerSettings,
  type ServingSettings
} from './controller-options.ts'
import { PRICES_OPTIONS, PRICES_WORDS, type PricesQuestion, readPricesQuestion } from './prices-options.ts'
import { PROXY_VARIABLES, type ProxyFlags } from './proxy-options.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

export const EXIT_OK = 0
export const EXIT_FAILURE = 1
export const EXIT_USAGE = 2
export const EXIT_CONFIG = 3

export type Command =
  | { readonly kind: 'help' | 'explain-help' | 'controller-help' | 'proxy-help' | 'prices-help' }
  | { readonly kind: 'version' }
  /** `help`: the command that says more. */
  | { readonly kind: 'usage'; readonly message: string; readonly help: string }
  | { readonly kind: 'schema' }
  | { readonly kind: 'completion'; readonly shell: Shell }
  | { readonly kind: 'mcp-server'; readonly name: string }
  | ImportCommand
  | { readonly kind: 'controller'; readonly settings: ControllerSettings }
  | GatewayCommand

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

/** The request of `weir explain`, as it was typed. */
export interface TypedRequest {
  readonly method: string
  readonly url: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Text, or "@" and the path of a file; null: no body. */
  readonly data: string | null
  readonly from: string | undefined
  /** As `httpVersion` of POST /explain; undefined: as clients do. */
  readonly httpVersion: string | undefined
  /** Path of a file in PEM. */
  readonly cert: string | undefined
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
  'mcp-server': ['clock', 'notebook']
}

export const OPTIONS = {
  file: { type: 'string', short: 'f', multiple: true },
  config: { type: 'string', short: 'c', multiple: true },
  'validate-only': { type: 'boolean' },
  version: { type: 'boolean', short: 'V' },
  help: { type: 'boolean', short: 'h' }
} as const

/** Of `weir explain`; -H, -d, -E and the versions of HTTP as curl has them. */
export const EXPLAIN_OPTIONS = {
  request: { type: 'string', short: 'r' },
  header: { type: 'string', short: 'H', multiple: true },
  data: { type: 'string', short: 'd' },
  from: { type: 'string' },
  cert: { type: 'string', short: 'E' },
  'http1.1': { type: 'boolean' },
  http2: { type: 'boolean' },
  'http2-prior-knowledge': { type: 'boolean' },
  json: { type: 'boolean' },
  file: OPTIONS.file,
  config: OPTIONS.config,
  help: OPTIONS.help
} as const

export const HELP = `weir: a gateway for HTTP, LLM and MCP traffic

Usage:
  weir                      run the built-in demonstration on port 3000 (PORT)
  weir -f FILE              run a configuration file, YAML or JSON ("-": standard input)
  weir -f MANIFEST ...      serve the Gateways of manifests of Kubernetes: files, folders, without a cluster
  weir -c STRING            run a configuration given as text
  weir explain OPTIONS      say what would become of a request: weir explain -h
  weir proxy OPTIONS        be a data plane of that controller: weir proxy -h
  weir controller OPTIONS   carry out the Gateways of a Kubernetes cluster: weir controller -h
  weir prices check|show    say what models have no price, or what one costs: weir prices -h
  weir import NAME FILE     carry over a file of litellm or agentgateway (NAME), into -o OUT
  weir schema               print the JSON Schema of the configuration file, for editors
  weir completion SHELL     print what bash, zsh or fish completes: source <(weir completion bash)
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

export const EXPLAIN_HELP = `weir explain: what would become of a request; nothing is sent, asked or taken

Usage:
  weir explain -r 'GET http://host:8080/path' -f FILE

Options:
  -r, --request REQUEST     method and URL; the port of the URL chooses the bind
  -H, --header HEADER       'Name: value', any number of times
  -d, --data TEXT           body, or @FILE
      --from IP             of the client; default 127.0.0.1
  -E, --cert FILE           certificate that the client shows, PEM; its key is not needed
      --http1.1             what the client speaks: HTTP/1.1; the default of http://
      --http2               HTTP/2 too, if the listener agrees (ALPN); the default of https://
      --http2-prior-knowledge  HTTP/2 alone, also over http://
      --json                for programs
  -f, --file FILE           configuration file, or manifests, any number of times
  -c, --config STRING       configuration text
  -h, --help                print this

Exit codes:
  0  it would be served     1  it would be refused
  2  wrong usage            3  invalid configuration, or it cannot be read
`

/** Reads the arguments behind the program's name. Never throws. */
export function readArguments(args: readonly string[]): Command {
  if (args[0] === 'mcp-server' && args.length === 2) return { kind: 'mcp-server', name: args[1]! }
  if (args[0] === 'mcp-server') return usage('mcp-server needs one name: clock or notebook')
  if (args[0] === 'schema')
    return args.length === 1 ? { kind: 'schema' } : usage('schema is a command without arguments')
  if (args[0] === 'completion') return completionOf(args.slice(1))
  if (args[0] === 'import') return importOf(args.slice(1))
  if (args[0] === 'explain') return explainOf(args.slice(1))
  if (args[0] === 'prices') return pricesOf(args.slice(1))
  if (args[0] === 'proxy') return proxyOf(args.slice(1))
  if (args[0] === 'controller') return controllerOf(args.slice(1))
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
function sourceOf(values: Record<string, unknown>): Source | string | null {
  const files = (values.file ?? []) as string[]
  const [text, ...texts] = (values.config ?? []) as string[]
  if (texts.length > 0 || (files.length > 0 && text !== undefined)) return ONE_SOURCE
  if (files.filter((path) => path === STDIN).length > 1) return 'standard input can be read once'
  if (files.length > 0) return { kind: 'files', paths: files }
  return text === undefined ? null : { kind: 'text', text }
}

const ONE_SOURCE = 'give one configuration: either -f FILE, several times for manifests, or -c STRING once'

const REQUEST_EXAMPLE = "-r 'GET http://host:8080/path'"
/** "GET http://host/", or the URL alone. */
const REQUEST = /^(?:(\S+) +)?(\S+)$/
/** Options to what POST /explain calls them. */
const VERSIONS = { 'http1.1': '1.1', http2: '2', 'http2-prior-knowledge': '2-prior-knowledge' } as const
const HEADER = /^([^:\s]+):[ \t]*(.*)$/s

function explainOf(args: readonly string[]): Command {
  let values: Record<string, unknown>
  try {
    values = parseArgs({ args: [...args], options: EXPLAIN_OPTIONS, strict: true, allowPositionals: false }).values
  } catch (error) {
    return explainUsage(explain(error as Error, args, EXPLAIN_OPTIONS))
  }
  if (values.help === true) return { kind: 'explain-help' }
  const source = sourceOf(values)
  if (typeof source === 'string') return explainUsage(source)
  if (source === null) return explainUsage('explain needs a configuration: -f FILE or -c STRING')
  const { request, data = null, from, cert } = values as Partial<Record<'request' | 'data' | 'from' | 'cert', string>>
  const [, method, url] = REQUEST.exec(request?.trim() ?? '') ?? []
  if (request === undefined) return explainUsage(`explain needs a request: ${REQUEST_EXAMPLE}`)
  if (url === undefined)
    return explainUsage(`a request is a method, which may be left out, and a URL: ${REQUEST_EXAMPLE}`)
  const headers = ((values.header ?? []) as string[]).map((text) => HEADER.exec(text))
  if (headers.includes(null)) return explainUsage("a header is written -H 'Name: value'")
  const versions = Object.entries(VERSIONS).filter(([option]) => values[option] === true)
  if (versions.length > 1)
    return explainUsage(`a client speaks one of ${versions.map(([name]) => `--${name}`).join(', ')}`)
  const typed = {
    method: method ?? (data === null ? 'GET' : 'POST'),
    url,
    headers: headers.map((parts): [string, string] => [parts![1]!, parts![2]!]),
    data,
    from,
    httpVersion: versions[0]?.[1],
    cert
  }
  return { kind: 'explain', source, request: typed, isJson: values.json === true }
}

const NO_CONFIGURATION: Source = { kind: 'text', text: 'binds: []' }

function pricesOf(args: readonly string[]): Command {
  const wrong = (message: string): Command => ({ kind: 'usage', message, help: 'weir prices --help' })
  try {
    const { values, positionals } = parseArgs({ args: [...args], options: PRICES_OPTIONS, allowPositionals: true })
    if (values.help === true) return { kind: 'prices-help' }
    const source = sourceOf(values)
    if (typeof source === 'string') return wrong(source)
    const question = readPricesQuestion(positionals, values, source !== null)
    if (typeof question === 'string') return wrong(question)
    return { kind: 'prices', source: source ?? NO_CONFIGURATION, question }
  } catch (error) {
    return wrong(explain(error as Error, args, PRICES_OPTIONS))
  }
}

const PROXY_OPTIONS = {
  ...(Object.fromEntries(PROXY_VARIABLES.map((name) => [name, { type: 'string' }])) as Record<
    (typeof PROXY_VARIABLES)[number],
    { type: 'string' }
  >),
  file: OPTIONS.file,
  config: OPTIONS.config,
  help: OPTIONS.help
} as const

function proxyOf(args: readonly string[]): Command {
  const wrong = (message: string): Command => ({ kind: 'usage', message, help: 'weir proxy --help' })
  let values: Record<string, unknown>
  try {
    values = parseArgs({ args: [...args], options: PROXY_OPTIONS, strict: true, allowPositionals: false }).values
  } catch (error) {
    return wrong(explain(error as Error, args, PROXY_OPTIONS))
  }
  if (values.help === true) return { kind: 'proxy-help' }
  const source = sourceOf(values)
  if (typeof source === 'string') return wrong(source)
  const flags = Object.fromEntries(PROXY_VARIABLES.map((name) => [name, values[name]])) as ProxyFlags
  return { kind: 'proxy', source: source ?? NO_CONFIGURATION, flags }
}

function controllerOf(args: readonly string[]): Command {
  const wrong = (message: string): Command => ({ kind: 'usage', message, help: 'weir controller --help' })
  let values: Record<string, unknown>
  try {
    values = parseArgs({ args: [...args], options: CONTROLLER_OPTIONS, strict: true, allowPositionals: false }).values
  } catch (error) {
    return wrong(explain(error as Error, args, CONTROLLER_OPTIONS))
  }
  if (values.help === true) return { kind: 'controller-help' }
  const settings = readControllerSettings(values)
  if (typeof settings === 'string') return wrong(settings)
  if (settings.serve === null) return { kind: 'controller', settings }
  return {
    kind: 'serve',
    source: { kind: 'text', text: 'binds: []' },
    settings: { ...settings, serve: settings.serve }
  }
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

function completionOf(args: readonly string[]): Command {
  const shell = SHELLS.find((name) => args.length === 1 && name === args[0])
  return shell === undefined ? usage(`completion needs one shell: ${SHELLS.join(', ')}`) : { kind: 'completion', shell }
}

function usage(message: string): Command {
  return { kind: 'usage', message, help: 'weir --help' }
}

function explainUsage(message: string): Command {
  return { kind: 'usage', message, help: 'weir explain --help' }
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
