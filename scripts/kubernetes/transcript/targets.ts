/** Sections 2.5 and 2.6: what policies and targets of MCP backends are found by. */
import { accepted, applied, askOf, body, judged, manifests, refused } from './commands.ts'
import { ASK, INIT, MCP_FIELDS } from './requests.ts'
import { awaited, type Command, type Step, seen } from './steps.ts'

/** What of the policies of each level arrives: the field of the answer, and what the backend was shown. */
const level = (path: string, port: number, ofTraffic: string, ofBackend: string): Command =>
  awaited(
    `${askOf('wide', port)}${path} -w '%header{x-level}'`,
    new RegExp(`authorization: Bearer ${ofBackend}\\b[\\s\\S]*^${ofTraffic}$`, 'm')
  )

export const TARGETS: Step = {
  title: '2.6 targets: Gateway, listener, ListenerSet, route, rule, Service, backend',
  text: 'A Gateway of its own. Each policy says of itself in a field of answers at which level it stands, and shows the backend a key of that level: the most precise one wins. Three find their targets by labels. The echo answers with what it got.',
  files: manifests('targets', 'no-targets'),
  commands: [
    applied('targets'),
    refused('no-targets'),
    awaited('kubectl -n chat get gateway wide', /wide +weir +\S+ +True/),
    accepted('gatewaypolicies', ['level-gateway', 'level-listener', 'level-set', 'level-fourth']),
    accepted('gatewaypolicies', ['level-route', 'level-rule', 'level-service', 'level-backend']),
    level('/plain', 8080, 'gateway', 'of-gateway'),
    level('/plain', 8081, 'listener', 'of-listener'),
    level('/plain', 8082, 'listener-set', 'of-listener-set'),
    level('/plain', 8083, 'fourth', 'of-fourth'),
    level('/levels', 8080, 'route', 'of-route'),
    level('/levels/rule', 8080, 'rule', 'of-rule'),
    level('/levels/service', 8080, 'route', 'of-service'),
    level('/levels/backend', 8080, 'route', 'of-backend'),
    seen('kubectl -n chat label httproute levels level-', /unlabeled/),
    level('/levels', 8080, 'gateway', 'of-gateway'),
    judged('no-section', /TargetNotFound: .*missing/)
  ]
}

const LIST = `'{"jsonrpc":"2.0","id":2,"method":"tools/list"}'`
const tools = (path: string, shows: RegExp): Command =>
  awaited(`${ASK}${path} ${MCP_FIELDS} -d ${LIST} | grep -o '"name":"[^"]*"'`, shows)

export const SELECTORS: Step = {
  title: '2.5 selector.services, selector.namespaces, and SSE',
  text: 'Two Services with MCP servers are in the namespace `shop`, one of them with the label. They are reached once `shop` grants it. The server behind `over-sse` is one of the HTTP+SSE transport, which has a session.',
  files: manifests('selected', 'shop'),
  commands: [
    applied('selected'),
    awaited('kubectl -n chat get gatewaybackends by-service over-sse', /by-service +True.*over-sse +True/s),
    tools('/by-service', /"name":"/),
    awaited(
      `kubectl -n chat get gatewaybackend by-namespace -o jsonpath='{.status.conditions[0].reason}: {.status.conditions[0].message}'`,
      /Service shop\/wall is left out: no ReferenceGrant there/
    ),
    body('/by-namespace', `${MCP_FIELDS} -d ${LIST}`, /5\d\d$/),
    applied('shop'),
    tools('/by-namespace', /"name":"wall-80_[\s\S]*"name":"watch-80_/),
    tools('/by-both', /^(?![\s\S]*wall)[\s\S]*"name":"/),
    awaited(
      `session=$(${ASK}/over-sse ${MCP_FIELDS} -d ${INIT} -D - -o /dev/null | tr -d '\\r' | sed -n 's/^mcp-session-id: //Ip'); ${ASK}/over-sse ${MCP_FIELDS} -H "mcp-session-id: $session" -d '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"message":"over SSE"}}}'`,
      /Echo: over SSE/
    )
  ]
}
