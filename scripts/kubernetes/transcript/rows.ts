/** The rows of the specification, table by table: manifests with all of their fields, and what is refused of each. */
import { accepted, applied, body, code, fields, manifests, refused } from './commands.ts'
import { ASK, CHAT, INIT, MCP_FIELDS } from './requests.ts'
import { awaited, type Step, seen } from './steps.ts'

export const BACKENDS: Step = {
  title: '2.3 and 2.4, each field',
  text: 'A host, any host, one provider, and groups of all kinds of providers. Each object of the second manifest breaks one rule.',
  files: manifests('backends', 'no-backends'),
  commands: [
    applied('backends'),
    refused('no-backends'),
    accepted('gatewaybackends', ['any-host', 'near-host', 'one-provider', 'providers', 'static']),
    code('/static', '', /200/),
    // Without allowAddresses clients reach nothing that is not public.
    code('/any', '-H "host: echo.chat.svc.cluster.local:8080"', /403/),
    body('/near', '-H "host: echo.chat.svc.cluster.local:8080"', /GET \/near[\s\S]*200$/),
    awaited(`${ASK}/one ${CHAT('gpt-5-mini', 'Hi')}`, /Hello from the cluster/)
  ]
}

export const SERVERS: Step = {
  title: '2.5, each field',
  text: 'A server by its host, without sessions, of whose tools one is allowed.',
  files: manifests('servers', 'no-servers'),
  commands: [
    applied('servers'),
    refused('no-servers'),
    accepted('gatewaybackends', ['servers']),
    awaited(`${ASK}/servers ${MCP_FIELDS} -d ${INIT}`, /"serverInfo"/),
    awaited(`${ASK}/servers ${MCP_FIELDS} -d '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'`, /"tools":\[/)
  ]
}

export const FRONTEND: Step = {
  title: '2.6 frontend, each field',
  text: 'A request may have 20 header fields here: one more is refused.',
  files: manifests('frontend', 'no-frontend'),
  commands: [
    applied('frontend'),
    refused('no-frontend'),
    accepted('gatewaypolicies', ['frontend']),
    code('/static', '', /200/),
    code('/static', `$(for i in $(seq 20); do echo "-H x-$i:1"; done)`, /431/)
  ]
}

export const TRAFFIC: Step = {
  title: '2.6 traffic, each field',
  text: 'A route for each policy. Two of `late.yaml` have targets that they cannot have. The third is for the controller to judge: its status says why, and what it guards is closed.',
  files: manifests('traffic', 'no-traffic', 'late'),
  commands: [
    applied('traffic'),
    refused('no-traffic'),
    seen('kubectl apply -f late.yaml', /late/),
    accepted('gatewaypolicies', ['cors', 'csrf', 'early', 'key', 'tried']),
    awaited(
      `kubectl -n chat get gatewaypolicy unreadable -o jsonpath='{.status.ancestors[0].conditions[0].reason}: {.status.ancestors[0].conditions[0].message}'`,
      /Invalid: spec\.traffic/
    ),
    code('/static', '', /403/),
    fields('/cors', `-H 'origin: https://app.example'`, /access-control-allow-origin: https:\/\/app.example/i),
    code('/csrf', `-X POST -H 'origin: https://app.example'`, /200/),
    code('/csrf', `-X POST -H 'origin: https://other.example'`, /403/),
    fields('/fields', '', /x-by: edge/i),
    awaited(`${ASK}/changed -i`, /x-asked: \/changed[\s\S]*changed$/i),
    awaited(`${ASK}/direct -i`, /418[\s\S]*a teapot/),
    code('/key', '', /401/),
    code('/key', `-H 'authorization: Bearer key-of-anna'`, /200/),
    code('/key', `-H 'authorization: Bearer key-of-otto'`, /403/),
    code('/labelled', '', /200/),
    code('/labelled', `-H 'authorization: Bearer unknown'`, /401/),
    fields('/basic', '', /www-authenticate: Basic realm="Chat"/i),
    code('/basic', '-u anna:password', /200/),
    code('/token', '', /401/),
    code('/denied', '', /403/),
    code('/asked', '-d short', /200/),
    code('/asked', `-d 'longer than 16 bytes'`, /413/),
    code('/tried', '', /200/),
    code('/counted', '', /5\d\d/),
    code('/read', '', /5\d\d/)
  ]
}

export const GUARDS: Step = {
  title: '2.6 backend, each field',
  text: 'What the guard of requests finds is refused with its own status; what that of answers finds is masked.',
  files: manifests('guards', 'no-guards'),
  commands: [
    applied('guards'),
    refused('no-guards'),
    accepted('gatewaypolicies', ['guards', 'to-clock']),
    awaited(`${ASK}/guarded -w ' %{http_code}' ${CHAT('fast', 'the launch code')}`, /not here.* 422/s),
    awaited(`${ASK}/guarded ${CHAT('fast', 'Hi')}`, /[^o] from the cluster/)
  ]
}

export const OVERLAYS: Step = {
  title: '2.7, each field',
  text: 'The data planes are replaced by such ones, and serve.',
  files: manifests('overlays', 'no-overlays'),
  commands: [
    seen('kubectl apply -f overlays.yaml', /configured/),
    refused('no-overlays'),
    awaited('kubectl -n chat get poddisruptionbudgets,horizontalpodautoscalers', /poddisruption[\s\S]*horizontal/),
    awaited('kubectl -n chat get serviceaccounts -l team=chat', /edge-weir/),
    awaited(
      `kubectl -n chat get deployment edge-weir -o jsonpath='{range .spec.template.spec.containers[0].env[?(@.value)]}{.name}={.value}{"\\n"}{end}'`,
      /OWNER=\$\(TEAM\)-team/
    ),
    awaited('kubectl -n chat get deployment edge-weir', /2\/2 +2 /),
    code('/direct', '', /418/)
  ]
}

export const BACKEND_ROWS: readonly Step[] = [BACKENDS, SERVERS]
export const POLICY_ROWS: readonly Step[] = [FRONTEND, TRAFFIC, GUARDS]
export const PARAMETERS_ROWS: readonly Step[] = [OVERLAYS]
