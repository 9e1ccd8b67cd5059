/** The command line of `weir init`. */
import { nearest } from '#engine/schema/suggest.ts'
import { JOBS, type Job } from './files.ts'

/** What is known of the file already; what is not, is asked, or has a default. */
export interface InitQuestion {
  readonly job: Job | null
  /** A provider of models, an MCP server (URL or command), a backend (host:port). */
  readonly to: string | null
  readonly port: number | null
  readonly output: string
  /** Writes over a file that is there. */
  readonly isForced: boolean
}

export const INIT_OPTIONS = {
  to: { type: 'string' },
  port: { type: 'string', short: 'p' },
  output: { type: 'string', short: 'o' },
  force: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' }
} as const

const OUTPUT_DEFAULT = 'weir.yaml'

export const INIT_HELP = `weir init: write a configuration file to begin with, with comments that say what to add next

Usage:
  weir init                 ask three questions
  weir init JOB OPTIONS     ask nothing

Jobs:
  llm                       models of a provider, for clients of OpenAI, Anthropic and Google alike
  mcp                       an MCP server, to which others can be added behind the same endpoint
  proxy                     a reverse proxy before an HTTP server

Options:
      --to TARGET           llm: a provider, such as openai, anthropic, gemini, mistral, ollama; default openai
                            mcp: the URL of a server, or the command of one in quotes; default a notebook to try
                            proxy: HOST:PORT of the server; default localhost:9000
  -p, --port PORT           where clients connect; default 4000 (llm), 3000 (mcp), 8080 (proxy)
  -o, --output FILE         default ${OUTPUT_DEFAULT}; "-": the standard output
      --force               write over a file that is there
  -h, --help                print this

Examples:
  weir init llm --to anthropic
  weir init mcp --to 'npx -y @modelcontextprotocol/server-filesystem /srv/files'
  weir init proxy --to localhost:3001 -p 80 -o edge.yaml

Exit codes:
  0  written      1  the file cannot be written, or is there already
  2  wrong usage  3  what was answered makes no valid configuration
`

/** A text says what is wrong. */
export function readInitQuestion(
  [word, ...others]: readonly string[],
  values: { readonly [name in 'to' | 'port' | 'output']?: string | undefined } & {
    readonly force?: boolean | undefined
  }
): InitQuestion | string {
  if (others.length > 0) return `unexpected argument '${others[0]}'; init takes one job: ${JOBS.join(', ')}`
  const job = JOBS.find((one) => one === word) ?? null
  if (word !== undefined && job === null) {
    const near = nearest(word, JOBS)
    return `there is no job '${word}'${near === null ? '' : `; did you mean ${near}?`} (${JOBS.join(', ')})`
  }
  if (job === null && values.to !== undefined) return `--to needs a job before it: ${JOBS.join(', ')}`
  if (/\p{Cc}/u.test(values.to ?? '')) return '--to must be one line of text'
  const port = values.port === undefined ? null : portOf(values.port)
  if (Number.isNaN(port)) return `--port must be a number from 1 to 65535, not '${values.port}'`
  const { to = null, output = OUTPUT_DEFAULT, force = false } = values
  return { job, to, port, output, isForced: force }
}

/** NaN: it is none. */
export function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text.trim()) ? Number(text) : Number.NaN
  return port >= 1 && port <= 65_535 ? port : Number.NaN
}
