/** The configuration that runs when none is given: real work, no keys, no servers, no network. */
import { fileURLToPath } from 'node:url'

/**
 * The file, for a demo backend that listens on `demoPort` of 127.0.0.1. `port`: where Weir listens. `program`: the
 * module that runs weir, for its MCP servers.
 */
export function demoConfig(port: string, demoPort: number, program: URL): string {
  return `
config:
  logging: { level: info }
binds:
- port: ${port}
  listeners:
  - name: demo
    routes:
    - name: welcome
      matches:
      - path: { exact: / }
      policies:
        directResponse:
          status: 200
          body: |
            This is weir, running its built-in demonstration.

              curl http://localhost:${port}/demo/hello         a proxied answer
              curl -d hi http://localhost:${port}/demo/echo    what the backend saw of your request
              curl -N http://localhost:${port}/demo/stream     server-sent events, passed on as they come
              curl -i http://localhost:${port}/old/place       a redirect

            A model that needs no key, for the SDKs of OpenAI (base URL http://localhost:${port}/v1), Anthropic and
            Google (http://localhost:${port}), streamed or not. What it says is always the same:

              curl http://localhost:${port}/v1/chat/completions -d '{"model":"demo","messages":[{"role":"user","content":"Hi"}]}'

            Tools for agents: two MCP servers, a clock and a notebook, are one at http://localhost:${port}/mcp
            (streamable HTTP; the README has lines for curl and the SDK).

            Routes, workers and the running configuration: http://localhost:15000/ui/
            Your own configuration: weir -f config.yaml
    - name: moved
      matches:
      - path: { pathPrefix: /old }
      policies:
        requestRedirect: { path: { prefix: /demo }, status: 301 }
    - name: demo
      matches:
      - path: { pathPrefix: /demo }
      policies:
        urlRewrite: { path: { prefix: / } }
        timeouts: { request: 30s }
        requestHeaderModifier: { set: { x-demo: through-weir } }
        responseHeaderModifier: { set: { x-served-by: weir } }
      backends:
      - host: 127.0.0.1:${demoPort}
${models(demoPort)}${tools(program)}`
}

function models(demoPort: number): string {
  return `    - name: models
      matches:
      - path: { pathPrefix: /v1 }
      - path: { pathPrefix: /v1beta }
      backends:
      - ai:
          provider: { openai: {}, host: 127.0.0.1, port: ${demoPort} }
          routes:
            /messages: Messages
            /responses: Responses
            ":generateContent": GenerateContent
            ":streamGenerateContent": GenerateContent
            /embeddings: Embeddings
            ":embedContent": Embeddings
            ":batchEmbedContents": Embeddings
            /count_tokens: AnthropicTokenCount
            ":countTokens": GeminiTokenCount
            /models: Models
            /realtime: Realtime
            "*": Completions
`
}

function tools(program: URL): string {
  const server = (name: string): string => {
    const args = ['--disable-warning=ExperimentalWarning', fileURLToPath(program), 'mcp-server', name]
    // JSON is YAML; a dollar sign would be a variable.
    return JSON.stringify({ name, stdio: { cmd: process.execPath, args } }).replaceAll('$', '$$$$')
  }
  return `    - name: tools
      matches:
      - path: { exact: /mcp }
      backends:
      - mcp:
          targets:
          - ${server('clock')}
          - ${server('notebook')}
`
}
