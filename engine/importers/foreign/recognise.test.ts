/** Files of other gateways, as people give them to `weir -f`. Each is written here, in its program's form. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'
import { foreign } from './index.ts'

const errorsOf = (text: string) => {
  const result = loadConfig(text, { file: 'weir.yaml', env: {}, policies, backends, foreign })
  return result.ok ? [] : result.errors
}

const FILES: readonly (readonly [program: string, text: string, line: number])[] = [
  ['LiteLLM', '\nmodel_list:\n  - model_name: a\n    litellm_params: { model: openai/a }\n', 2],
  ['LiteLLM', 'general_settings: { master_key: sk-1 }\n', 1],
  ['Envoy', 'admin: {}\nstatic_resources: { listeners: [] }\n', 2],
  ['Kong', '_format_version: "3.0"\nservices: []\n', 1],
  ['docker compose', 'services:\n  web:\n    image: nginx\n    ports: ["80:80"]\n', 1],
  ['Caddy', '{ "apps": { "http": { "servers": {} } } }', 1],
  ['Traefik', 'entryPoints:\n  web: { address: ":80" }\n', 1],
  ['Traefik', 'http:\n  routers: {}\n', 1],
  ['Traefik', '# static\n[entryPoints]\n  [entryPoints.web]\n    address = ":80"\n', 2],
  ['Portkey', '{ "strategy": { "mode": "fallback" }, "targets": [{ "provider": "openai" }] }', 1],
  [
    'nginx',
    'worker_processes 1;\nevents { }\nhttp {\n  server { listen 80; location / { proxy_pass http://a; } }\n}\n',
    2
  ],
  ['HAProxy', 'global\n    maxconn 100\nfrontend web\n    bind :80\n    default_backend b\n', 1],
  ['Caddy', '# site\nexample.com {\n\troot * /srv\n\treverse_proxy localhost:9000\n}\n', 2]
]

test('a file of another program is one mistake, which names it at its place and says what to do', () => {
  for (const [program, text, line] of FILES) {
    const [error, ...others] = errorsOf(text)
    equal(error?.message, `this is a file of ${program}, not of weir`, text)
    deepEqual([others.length, error.line], [0, line], text)
    ok((error.hint ?? '').length > 10)
  }
})

test('what is of weir, or of nobody, is judged as before', () => {
  for (const text of [
    'binds: []',
    'llm: { models: [{ name: a, provider: openai }] }',
    'mcp: { targets: [] }',
    'hello',
    ''
  ]) {
    ok(
      errorsOf(text).every(({ message }) => !message.startsWith('this is a file of')),
      text
    )
  }
  deepEqual(errorsOf('config: {}\nbinds: []'), [])
})

test('settings that only agentgateway has are one mistake, beside those that are of the file', () => {
  const text = `binds:
- port: 3000
  mode: internal
  listeners:
  - routes:
    - policies: { oidc: { issuer: a }, backendAuth: { crossAppAccess: {} }, retry: { attempts: x } }
      backends: [{ host: 'a:1' }]
ui: {}
`
  const errors = errorsOf(text)
  deepEqual(
    errors.map(({ path }) => path),
    ['binds[0].mode', 'binds[0].listeners[0].routes[0].policies.retry.attempts']
  )
  equal(
    errors[0]?.message,
    "bind setting 'mode' is not in this version of weir; so are 3 more settings of agentgateway here"
  )
  ok(errors[0]?.hint?.startsWith('weir import agentgateway FILE'))
})
