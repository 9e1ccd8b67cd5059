/** First mistakes: each is loaded by a test, and is a part of docs/mistakes.md. */
import type { Group } from './mistake.ts'
import { llm, MODELS } from './models.ts'
import { OTHER_PROGRAMS } from './other-programs.ts'

const route = (inner: string) => `binds:
- port: 8080
  listeners:
  - routes:
    - ${inner}
      backends: [{ host: "localhost:9000" }]
`
const withKey = (name: string) => llm(`{ name: "*", provider: openai, params: { apiKey: "\${${name}:-none}" } }`)

export const GROUPS: readonly Group[] = [
  OTHER_PROGRAMS,
  {
    title: 'YAML',
    mistakes: [
      {
        what: 'a tab in place of spaces',
        text: 'binds:\n- port: 8080\n\tlisteners: []\n',
        says: /tab/,
        instead: 'binds:\n- port: 8080\n  listeners: [{}]\n'
      },
      {
        what: 'a key twice',
        text: 'binds: []\nconfig: { workerThreads: 1 }\nbinds: []\n',
        says: /twice|already|unique|again/,
        instead: 'binds: [{ port: 8080, listeners: [{}] }]\nconfig: { workerThreads: 1 }\n'
      },
      {
        what: 'a merge key',
        text: 'base: &base { timeouts: { request: 5s } }\nbinds:\n- port: 8080\n  listeners:\n  - policies:\n      <<: *base\n',
        says: /<</
      },
      {
        what: 'a key and its value without a space',
        text: 'binds:\n- port:8080\n  listeners: []\n',
        says: /space|:/,
        instead: 'binds:\n- port: 8080\n  listeners: [{}]\n'
      },
      {
        what: 'a list that is too far left',
        text: route('policies: { cors: { allowOrigins: ["*"] } }').replace('      backends', '    backends'),
        says: /indent|column|backends/
      },
      {
        what: 'one entry in place of a list',
        text: 'binds:\n  port: 8080\n  listeners: [{}]\n',
        says: /list/,
        instead: 'binds:\n- port: 8080\n  listeners: [{}]\n'
      },
      {
        what: 'a quotation mark that is not closed',
        text: 'binds:\n- port: 8080\n  listeners: [{ hostname: "a.test }]\n',
        says: /quote|"/
      },
      {
        what: 'a variable that is not set',
        text: llm('{ name: "*", provider: openai, params: { apiKey: $NOT_SET_ANYWHERE } }'),
        says: /NOT_SET_ANYWHERE/,
        instead: withKey('NOT_SET_ANYWHERE')
      },
      {
        what: 'a variable as LiteLLM writes it',
        text: llm('{ name: "*", provider: openai, params: { apiKey: os.environ/OPENAI_API_KEY } }'),
        says: /os\.environ|\$OPENAI_API_KEY/,
        instead: withKey('OPENAI_API_KEY')
      },
      {
        what: 'a variable as templates write it',
        text: llm('{ name: "*", provider: openai, params: { apiKey: "{{ env.OPENAI_API_KEY }}" } }'),
        says: /templates name a variable: write \$NAME/,
        instead: withKey('OPENAI_API_KEY')
      }
    ]
  },
  {
    title: 'Addresses and ports',
    mistakes: [
      {
        what: 'a port in quotes',
        text: 'binds:\n- port: "8080"\n  listeners: [{}]\n',
        says: /8080|quotes|number/,
        instead: 'binds:\n- port: 8080\n  listeners: [{}]\n'
      },
      {
        what: 'an address as a port',
        text: 'binds:\n- port: "0.0.0.0:8080"\n  listeners: [{}]\n',
        says: /port|number/,
        instead: 'binds:\n- port: 8080\n  listeners: [{}]\n'
      },
      {
        what: 'a host with a path',
        text: route('name: a').replace('localhost:9000', 'localhost:9000/api'),
        says: /path/
      },
      {
        what: 'a URL as a host',
        text: route('name: a').replace('localhost:9000', 'http://localhost:9000'),
        says: /http:\/\/|scheme|URL/,
        instead: route('name: a')
      },
      {
        what: 'a host without a port',
        text: route('name: a').replace('localhost:9000', 'localhost'),
        says: /port/,
        instead: route('name: a')
      },
      {
        what: 'a hostname with a port',
        text: 'binds:\n- port: 8080\n  listeners: [{ hostname: "a.test:8080" }]\n',
        says: /port|hostname/,
        instead: 'binds:\n- port: 8080\n  listeners: [{ hostname: a.test }]\n'
      },
      {
        what: 'the same port twice',
        text: 'binds:\n- { port: 8080, listeners: [{}] }\n- { port: 8080, listeners: [{}] }\n',
        says: /8080|port|same/
      },
      {
        what: 'HTTPS without a certificate',
        text: 'binds:\n- port: 8443\n  listeners: [{ protocol: HTTPS }]\n',
        says: /tls|cert/
      },
      {
        what: 'a certificate that is not there',
        text: 'binds:\n- port: 8443\n  listeners: [{ protocol: HTTPS, tls: { cert: nowhere.pem, key: nowhere.key } }]\n',
        says: /nowhere\.pem/
      }
    ]
  },
  {
    title: 'Names and places of fields',
    mistakes: [
      {
        what: 'a name with a typo',
        text: 'binds:\n- port: 8080\n  listners: [{}]\n',
        says: /did you mean "?listeners/,
        instead: 'binds:\n- port: 8080\n  listeners: [{}]\n'
      },
      {
        what: 'a policy beside policies',
        text: route('cors: { allowOrigins: ["*"] }'),
        says: /policies/,
        instead: route('policies: { cors: { allowOrigins: ["*"] } }')
      },
      {
        what: 'a port of a listener',
        text: 'binds:\n- listeners: [{ port: 8080 }]\n',
        says: /beside binds\[0\]\.listeners/,
        instead: 'binds:\n- port: 8080\n  listeners: [{}]\n'
      },
      {
        what: 'a policy one level too high',
        text: 'binds:\n- port: 8080\n  policies: { cors: { allowOrigins: ["*"] } }\n  listeners: [{}]\n',
        says: /listeners\[\]\.policies|listeners/
      },
      {
        what: 'routes beside listeners',
        text: 'binds:\n- port: 8080\n  routes: []\n',
        says: /listeners/
      },
      {
        what: 'backends beside routes',
        text: 'binds:\n- port: 8080\n  listeners:\n  - backends: [{ host: "localhost:9000" }]\n',
        says: /routes/
      },
      {
        what: 'a name in snake case',
        text: route('policies: { rate_limit: { local: [{ requests: 1, unit: Minutes }] } }'),
        says: /rateLimit/,
        instead: route('policies: { rateLimit: { local: [{ requests: 1, unit: Minutes }] } }')
      },
      {
        what: 'a setting of the process at the top',
        text: 'adminAddr: localhost:15000\nbinds: []\n',
        says: /config/,
        instead: 'config: { adminAddr: "localhost:15000" }\nbinds: [{ port: 8080, listeners: [{}] }]\n'
      },
      {
        what: 'a path as text',
        text: route('matches: [{ path: /api }]'),
        says: /pathPrefix|object|exact/,
        instead: route('matches: [{ path: { pathPrefix: /api } }]')
      },
      {
        what: 'methods as a list',
        text: route('matches: [{ method: [GET, POST] }]'),
        says: /method|text|match/,
        instead: route('matches: [{ method: GET }, { method: POST }]')
      },
      {
        what: 'headers as a map',
        text: route('matches: [{ headers: { x-team: red } }]'),
        says: /list/,
        instead: route('matches: [{ headers: [{ name: x-team, value: { exact: red } }] }]')
      },
      {
        what: 'a backend that nobody defines',
        text: 'binds:\n- port: 8080\n  listeners:\n  - routes: [{ backends: [{ backend: app }] }]\n',
        says: /app/
      }
    ]
  },
  {
    title: 'Values',
    mistakes: [
      {
        what: 'a duration without a unit',
        text: route('policies: { timeouts: { request: 5 } }'),
        says: /5s|unit|duration/,
        instead: route('policies: { timeouts: { request: 5s } }')
      },
      {
        what: 'a duration with a space',
        text: route('policies: { timeouts: { request: 5 seconds } }'),
        says: /5s|duration/,
        instead: route('policies: { timeouts: { request: 5s } }')
      },
      {
        what: 'a size with a unit',
        text: 'frontendPolicies: { http: { maxBufferSize: 2MB } }\nbinds: []\n',
        says: /number|bytes/,
        instead: 'frontendPolicies: { http: { maxBufferSize: 2097152 } }\nbinds: [{ port: 8080, listeners: [{}] }]\n'
      },
      {
        what: 'yes in place of true',
        text: route('policies: { cors: { allowOrigins: ["*"], allowCredentials: yes } }'),
        says: /true/,
        instead: route('policies: { cors: { allowOrigins: ["https://a.test"], allowCredentials: true } }')
      },
      {
        what: 'a unit in the singular',
        text: route('policies: { rateLimit: { local: [{ requests: 1, unit: minute }] } }'),
        says: /Minutes/,
        instead: route('policies: { rateLimit: { local: [{ requests: 1, unit: Minutes }] } }')
      },
      {
        what: 'a status that does not exist',
        text: 'binds:\n- port: 8080\n  listeners:\n  - routes: [{ policies: { directResponse: { status: 999 } } }]\n',
        says: /599|200/
      },
      {
        what: 'one = in an expression',
        text: route('policies: { authorization: { rules: [\'request.method = "GET"\'] } }'),
        says: /==/,
        instead: route('policies: { authorization: { rules: [\'request.method == "GET"\'] } }')
      },
      {
        what: 'a header of an expression with a dash behind a dot',
        text: route('policies: { authorization: { rules: [\'request.headers.x-team == "red"\'] } }'),
        says: /\["x-team"\]|team/,
        instead: route('policies: { authorization: { rules: [\'request.headers["x-team"] == "red"\'] } }')
      },
      {
        what: 'a field of an expression with a typo',
        text: route('policies: { authorization: { rules: [\'request.metod == "GET"\'] } }'),
        says: /method/,
        instead: route('policies: { authorization: { rules: [\'request.method == "GET"\'] } }')
      },
      {
        what: 'a regular expression that goes back',
        text: route('matches: [{ path: { regex: "(a)\\\\1" } }]'),
        says: /RE2|regex/
      }
    ]
  },
  MODELS
]
