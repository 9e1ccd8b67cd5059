/** Files to begin with: what `weir init` writes for each of its jobs. */

export const JOBS = ['llm', 'mcp', 'proxy'] as const
export type Job = (typeof JOBS)[number]

export interface Answers {
  readonly to: string
  readonly port: number
}

export interface FirstFile {
  readonly text: string
  /** Variables that it reads, and that have to be set before it runs. */
  readonly variables: readonly string[]
  /** What to type when it runs. */
  readonly tries: readonly string[]
}

export const DEFAULTS: { readonly [job in Job]: Answers } = {
  llm: { to: 'openai', port: 4000 },
  mcp: { to: 'weir mcp-server notebook', port: 3000 },
  proxy: { to: 'localhost:9000', port: 8080 }
}

export const QUESTIONS: { readonly [job in Job]: { readonly to: string; readonly port: string } } = {
  llm: { to: 'Which provider (openai, anthropic, gemini, mistral, groq, ollama, ...)', port: 'Port for clients' },
  mcp: { to: 'URL of the MCP server, or the command that starts it', port: 'Port for clients' },
  proxy: { to: 'Server behind the gateway, HOST:PORT', port: 'Port for clients' }
}

/** `file`: its name, for comments. */
export function fileFor(job: Job, answers: Answers, file: string): FirstFile {
  return FILES[job](answers, file)
}

/** Of the vendors' own programs and libraries. */
const VARIABLES: Readonly<Record<string, string>> = {
  ...{ gemini: 'GEMINI_API_KEY', google: 'GEMINI_API_KEY', azure: 'AZURE_OPENAI_API_KEY', huggingface: 'HF_TOKEN' },
  ...{ together_ai: 'TOGETHER_API_KEY', fireworks_ai: 'FIREWORKS_API_KEY', githubModels: 'GITHUB_TOKEN' }
}
/** Servers of one's own, which ask for no key. */
const KEYLESS: ReadonlySet<string> = new Set(['ollama', 'vllm', 'sglang', 'lmstudio', 'lm_studio', 'llamacpp'])
/** A model to try, by its provider. */
const MODELS: Readonly<Record<string, string>> = {
  ...{ openai: 'gpt-5-mini', anthropic: 'claude-haiku-4-5', gemini: 'gemini-2.5-flash', ollama: 'llama3.2' },
  ...{ mistral: 'mistral-small-latest', groq: 'llama-3.3-70b-versatile', deepseek: 'deepseek-chat' }
}

const variableOf = (provider: string): string =>
  VARIABLES[provider] ?? `${provider.replaceAll(/[^A-Za-z0-9]/g, '_').toUpperCase()}_API_KEY`

/** In double quotes where a plain word could be read as something else. */
const yaml = (text: string): string => (/^[A-Za-z][\w./:-]*$/.test(text) ? text : JSON.stringify(text))

const headOf = (file: string) =>
  `# Run: weir -f ${file}     Check: weir validate ${file}     What it does: http://localhost:15000/ui/`

function llm({ to, port }: Answers, file: string): FirstFile {
  const variable = KEYLESS.has(to) ? null : variableOf(to)
  const params = variable === null ? '' : `\n      params: { apiKey: $${variable} }`
  const model = MODELS[to] ?? 'MODEL'
  const chat = `curl localhost:${port}/v1/chat/completions -H 'content-type: application/json' \\
  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`
  return {
    variables: variable === null ? [] : [variable],
    tries: [chat],
    text: `# Models behind one address, for clients of OpenAI, Anthropic and Google alike: point their base URL at port ${port}.
${headOf(file)}
llm:
  port: ${port}
  models:
    # All models of the provider, by its own names.
    - name: "*"
      provider: ${yaml(to)}${params}

    # A name of your own, and who answers when the first cannot:
    # - name: fast
    #   provider: ${yaml(to)}
    #   params: { model: ${yaml(model)}${variable === null ? '' : `, apiKey: $${variable}`} }
    #   fallbacks: [spare]
    # - { name: spare, provider: anthropic, params: { model: claude-haiku-4-5, apiKey: $ANTHROPIC_API_KEY } }

  # Equal requests of one client get one answer:
  # cache: { ttl: 10m }

# Keys of clients with budgets; without them everybody who reaches the port may ask:
# keys:
#   - name: alice
#     key: $ALICE_KEY
#     budgets: [{ amount: 20, period: Month }]
# config: { state: { path: weir-state } }
`
  }
}

const URL_START = /^https?:\/\//i

function mcp({ to, port }: Answers, file: string): FirstFile {
  const isUrl = URL_START.test(to)
  const [cmd = '', ...args] = wordsOf(to)
  const target = isUrl
    ? `      mcp: { host: ${yaml(to)} }`
    : `      stdio: { cmd: ${yaml(cmd)}, args: [${args.map(yaml).join(', ')}] }`
  return {
    variables: [],
    tries: [`npx @modelcontextprotocol/inspector --cli http://localhost:${port}/mcp --method tools/list`],
    text: `# MCP servers behind one endpoint: http://localhost:${port}/mcp
${headOf(file)}
mcp:
  port: ${port}
  targets:
    - name: first
${target}

    # Another server: tools of several are called NAME_TOOL then.
    # - name: search
    #   mcp: { host: "https://search.example.com/mcp" }
    #   policies: { auth: { key: $SEARCH_KEY } }

  # Who may call, and what; a tool that is not allowed is not listed either:
  # policies:
  #   apiKeyAuthentication:
  #     keys: [{ key: $ADMIN_KEY, metadata: { role: admin } }, { key: $USER_KEY, metadata: { role: user } }]
  #   mcpAuthorization:
  #     rules: ['apiKey.role == "admin"', 'mcp.tool.name.startsWith("read")']
`
  }
}

function proxy({ to, port }: Answers, file: string): FirstFile {
  return {
    variables: [],
    tries: [`curl -i localhost:${port}/`],
    text: `# A reverse proxy before ${to}.
${headOf(file)}
binds:
  - port: ${port}
    listeners:
      # HTTPS: beside routes, protocol: HTTPS and tls: { cert: cert.pem, key: key.pem }
      - routes:
          - name: all
            # Only some requests: matches: [{ path: { pathPrefix: /api } }]
            backends: [{ host: ${yaml(to)} }]
            policies:
              timeouts: { request: 60s }
              # retry: { attempts: 2, codes: [502, 503] }
              # rateLimit: { local: [{ requests: 100, unit: Minutes, key: source.address }] }
              # headerModifiers: { response: { set: { x-served-by: weir } } }
              # authorization: { rules: ['request.method in ["GET", "HEAD"]'] }

          # Another server for some paths:
          # - matches: [{ path: { pathPrefix: /static } }]
          #   backends: [{ host: "localhost:9001" }]
`
  }
}

const FILES: { readonly [job in Job]: (answers: Answers, file: string) => FirstFile } = { llm, mcp, proxy }

/** Words of a command, as a shell reads simple ones: with spaces in single or double quotes. */
function wordsOf(command: string): string[] {
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain!
  )
}
