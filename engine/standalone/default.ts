/** The configuration that runs when none is given: real work, no keys, no servers, no network. */

/** The file, for a demo backend that listens on `demoPort` of 127.0.0.1. `port`: where Weir listens. */
export function defaultConfig(port: string, demoPort: number): string {
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
    - name: models
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
