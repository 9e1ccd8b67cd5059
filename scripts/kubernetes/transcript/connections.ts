/** Section 2.6, backend: connections, TLS and credentials as backends see them, and requests as models get them. */
import { accepted, addressOf, applied, askOf, body, code, logged, manifests } from './commands.ts'
import { CHAT, INIT, MCP_FIELDS } from './requests.ts'
import { awaited, type Command, type Step, seen } from './steps.ts'

const WIDE = askOf('wide')
const shown = (path: string, shows: RegExp): readonly Command[] => [
  body(`/${path}`, '', /^over TLS 200$/, WIDE),
  logged('secure', shows)
]
const TOKEN = `-H "authorization: Bearer $(cat token)"`

export const CONNECTIONS: Step = {
  title: '2.6 backend: tcp, tls, http, auth',
  text: 'The server of TLS has a certificate for `secure.example`, of an authority that the system does not know, and prints what it is shown. The echo never answers at `/silent`; nobody is at the address of `nowhere`.',
  files: manifests('connections'),
  commands: [
    applied('connections'),
    accepted('gatewaybackends', [
      'silent',
      'tls-all',
      'tls-ca',
      'tls-client',
      'tls-hostname',
      'tls-names',
      'tls-sni',
      'tls-system'
    ]),
    body('/tls-system', '', /502$/, WIDE),
    body('/tls-ca', '', /502$/, WIDE),
    ...shown('tls-sni', /SNI secure.example \| ALPN http\/1.1 \| certificate of nobody/),
    ...shown('tls-names', /SNI secure.chat.svc.cluster.local /),
    ...shown('tls-hostname', /SNI secure.chat.svc.cluster.local/),
    ...shown('tls-all', /ALPN http\/1.1/),
    ...shown('tls-client', /ALPN h2 \| certificate of edge-of-the-cluster/),
    code('/silent', '', /504/, WIDE),
    awaited(
      `bash -c 'curl -s http://$0:8080/silent >/dev/null & sleep 0.2; in-pod wide ss -tnoH state established dport = :8080; wait' ${addressOf('wide')}`,
      /timer:\(keepalive,/
    ),
    code('/nowhere', '', /50[24]/, WIDE),
    body('/key', '', /authorization: Bearer inline[\s\S]*200$/, WIDE),
    body('/secret', '', /authorization: Basic b2Y6c2VjcmV0[\s\S]*200$/, WIDE),
    code('/passed', '', /401/, WIDE),
    body('/passed', TOKEN, /authorization: Bearer, an id token for chat[\s\S]*200$/, WIDE)
  ]
}

const modelRequest = (path: string, request: string, shows: RegExp): readonly Command[] => [
  body(path, request, /Hello[\s\S]*200$/, WIDE),
  logged('echo', shows)
]

export const MODELS: Step = {
  title: '2.4 and 2.6 backend.ai and backend.mcp, as the provider sees them',
  text: 'The echo prints the bodies of requests to models. The model of the first group always fails, so the second group is asked, with the key that a policy for this one provider says.',
  files: manifests('models'),
  commands: [
    applied('models'),
    accepted('gatewaypolicies', ['asked-again', 'changed-models', 'second-provider']),
    ...modelRequest(
      '/changed',
      `-d '{"model":"fast","seed":1,"max_tokens":5,"messages":[{"role":"user","content":"Hi"}]}'`,
      /"model":"tiny"(?=.*"temperature":0.2)(?=.*"seed":1\b)(?=.*"max_tokens":100)(?=.*Be brief\..*Hi.*Please\.)/
    ),
    ...modelRequest(
      '/cached/messages',
      `-d '{"model":"a","max_tokens":5,"system":"You are a clock.","messages":[{"role":"user","content":"Hi"}]}'`,
      /POST \/v1\/messages .*x-api-key: key-of-anthropic.*"system":\[.*You are a clock.*cache_control/
    ),
    ...modelRequest('/cached/chat', CHAT('a', 'Hi'), /POST \/v1\/messages .*"model":"claude-sonnet-5"/),
    body('/cached/models', '', /claude[\s\S]*200$/, WIDE),
    ...modelRequest(
      '/groups',
      CHAT('any', 'Hi'),
      /POST \/other\/chat\/completions .*authorization: Bearer key-of-the-second/
    ),
    ...modelRequest('/own-key', CHAT('any', 'Hi'), /authorization: Bearer key-of-the-provider/),
    body('/judged', `-H 'x-who: anna' ${CHAT('small', 'Hi')}`, /not by this judge[\s\S]*422$/, WIDE),
    awaited(`${WIDE}/locked -o /dev/null -D - ${MCP_FIELDS} -d ${INIT}`, /401[\s\S]*resource_metadata=/i),
    body('/locked', `${TOKEN} ${MCP_FIELDS} -d ${INIT}`, /"serverInfo"[\s\S]*200$/, WIDE),
    seen(`kubectl -n chat get gatewaybackends`, /two-groups +True/)
  ]
}
