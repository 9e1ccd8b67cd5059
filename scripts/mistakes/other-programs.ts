/** Files of other programs, by which people begin. */
import type { Group } from './mistake.ts'

export const OTHER_PROGRAMS: Group = {
  title: 'Files of other programs',
  mistakes: [
    {
      what: 'a file of nginx',
      text: 'server {\n  listen 8080;\n  location / {\n    proxy_pass http://localhost:9000;\n  }\n}\n',
      file: 'nginx.conf',
      says: /nginx/
    },
    { what: 'a Caddyfile', text: ':8080 {\n  reverse_proxy localhost:9000\n}\n', file: 'Caddyfile', says: /Caddy/ },
    {
      what: 'a file of Envoy',
      text: 'static_resources:\n  listeners:\n  - address: { socket_address: { address: 0.0.0.0, port_value: 8080 } }\n  clusters: []\n',
      says: /Envoy/
    },
    {
      what: 'a dynamic file of Traefik',
      text: 'http:\n  routers:\n    app:\n      rule: Host(`a.test`)\n      service: app\n  services:\n    app:\n      loadBalancer:\n        servers:\n        - url: http://localhost:9000\n',
      says: /Traefik/
    },
    {
      what: 'a static file of Traefik',
      text: 'entryPoints:\n  web:\n    address: ":80"\nproviders:\n  docker: {}\n',
      says: /Traefik/
    },
    {
      what: 'a file of HAProxy',
      text: 'frontend web\n  bind :8080\n  default_backend app\nbackend app\n  server a 127.0.0.1:9000\n',
      file: 'haproxy.cfg',
      says: /HAProxy/
    },
    {
      what: 'a file of LiteLLM',
      text: 'model_list:\n- model_name: gpt\n  litellm_params: { model: openai/gpt-5, api_key: os.environ/OPENAI_API_KEY }\n',
      says: /weir import litellm/
    },
    {
      what: 'a file of agentgateway',
      text: 'binds:\n- port: 3000\n  listeners:\n  - routes:\n    - policies: { cors: { allowOrigins: ["*"], allowHeaders: [mcp-protocol-version] }, a2a: {} }\n      backends: [{ mcp: { targets: [{ name: a, stdio: { cmd: npx, args: [a] } }] } }]\n',
      says: /a2a/
    },
    {
      what: 'a file of Kong',
      text: '_format_version: "3.0"\nservices:\n- name: app\n  url: http://localhost:9000\n  routes:\n  - paths: [/]\n',
      says: /Kong/
    },
    {
      what: 'a file of Portkey',
      text: '{"strategy": {"mode": "fallback"}, "targets": [{"provider": "openai", "api_key": "k"}]}',
      file: 'config.json',
      says: /Portkey/
    },
    {
      what: 'a file of Docker Compose',
      text: 'services:\n  weir:\n    image: weir\n    ports: ["8080:8080"]\n',
      says: /docker compose/
    },
    {
      what: 'a Deployment of Kubernetes',
      text: 'apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: app }\nspec: {}\n',
      says: /Kubernetes|Deployment|manifest/
    },
    { what: 'an empty file', text: '# nothing yet\n', says: /empty|nothing/ },
    { what: 'a text that is no configuration', text: 'hello\n', says: /must be|mapping|object|configuration/ }
  ]
}
