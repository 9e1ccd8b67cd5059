/** What stands behind the Gateways: models, MCP servers, services that policies ask, a mesh; as one manifest. */
import { join } from 'node:path'
import { authority } from '#engine/testing/certificates.ts'
import type { Player } from './players/main.ts'
import { AUTHORITY_NAME, AUTHORITY_PORT, CERTIFICATES } from './players/mesh.ts'
import { PLAYER_PORT } from './players/relay.ts'
import { TLS_NAME } from './players/tls.ts'

const ANSWER = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 0,
  model: 'tiny',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello from the cluster' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 4, total_tokens: 5 }
}

const NONE = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', workerThreads: 1 }

/** An MCP server of the HTTP+SSE transport, of the project that defines MCP. */
const EVERYTHING = join('node_modules', '@modelcontextprotocol', 'server-everything', 'dist', 'index.js')
const SSE_PORT = 3001

const answering = (...routes: readonly object[]) => ({
  config: NONE,
  binds: [{ port: PLAYER_PORT, listeners: [{ routes }] }]
})
const answer = (status: number, body: string) => ({ directResponse: { status, body } })

const MODEL = answering({ policies: answer(200, JSON.stringify(ANSWER)) })

const TOOLS = {
  config: NONE,
  mcp: {
    port: PLAYER_PORT,
    targets: [{ name: 'clock', stdio: { cmd: 'weir', args: ['mcp-server', 'clock'] } }]
  }
}

/** Who has a session is Anna. */
const GATE = answering(
  {
    matches: [{ headers: [{ name: 'cookie', value: { exact: 'session=1' } }] }],
    policies: { ...answer(200, 'come in'), headerModifiers: { response: { set: [{ name: 'x-user', value: 'anna' }] } } }
  },
  { policies: answer(401, 'who are you?') }
)

/** A webhook that rejects whatever it is asked. */
const JUDGE = answering({
  policies: answer(200, JSON.stringify({ action: { body: 'not by this judge', status_code: 422, reason: 'judged' } }))
})

const keysOf = (keySet: string) =>
  answering({ matches: [{ path: { exact: '/.well-known/jwks.json' } }], policies: answer(200, keySet) })

interface Deployed {
  readonly name: string
  readonly container: object
  readonly namespace?: string
  readonly port?: object
  readonly labels?: object
  readonly podLabels?: object
  readonly podSpec?: object
}

const deployed = ({
  name,
  container,
  namespace = 'chat',
  port = {},
  labels = {},
  podLabels = {},
  podSpec
}: Deployed) => [
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name, ...podLabels } },
        spec: { containers: [{ name, ...container }], ...podSpec }
      }
    }
  },
  service(name, namespace, name, { port: PLAYER_PORT, targetPort: PLAYER_PORT, ...port }, labels)
]

const service = (name: string, namespace: string, app: string, port: object, labels: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace, labels },
  spec: { selector: { app }, ports: [port] }
})

const weir = (configuration: object) => ({ image: 'weir:0.1.0', args: ['-c', JSON.stringify(configuration)] })
const player = (name: Player) => ({ image: 'players:1', args: [name] })
const object = (apiVersion: string, kind: string, name: string, namespace: string | null, rest: object = {}) => ({
  apiVersion,
  kind,
  metadata: namespace === null ? { name } : { name, namespace },
  ...rest
})
const namespace = (name: string, labels: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels }
})

const MCP_PORT = { port: 80, appProtocol: 'kgateway.dev/mcp' }
const SERVES_MCP = { serves: 'mcp' }

/** `keySet`: JSON of the keys of tokens. `root`: of the repository. */
export function playersManifest(keySet: string, root: string): string {
  const sse = { image: 'players:1', command: [process.execPath, join(root, EVERYTHING), 'sse'] }
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: [
      ...[namespace('chat'), namespace('shop', { team: 'shop' }), namespace('istio-system')],
      ...deployed({ name: 'model', container: weir(MODEL), port: { port: 80 } }),
      ...deployed({ name: 'clock', container: weir(TOOLS), port: MCP_PORT, labels: SERVES_MCP }),
      ...deployed({ name: 'watch', namespace: 'shop', container: weir(TOOLS), port: MCP_PORT, labels: SERVES_MCP }),
      ...deployed({ name: 'wall', namespace: 'shop', container: weir(TOOLS), port: MCP_PORT }),
      ...deployed({ name: 'everything', container: sse, port: { port: SSE_PORT, targetPort: SSE_PORT } }),
      ...deployed({ name: 'gate', container: weir(GATE) }),
      ...deployed({ name: 'judge', container: weir(JUDGE) }),
      ...deployed({ name: 'keys', container: weir(keysOf(keySet)) }),
      ...deployed({ name: 'echo', container: player('echo') }),
      service('other-echo', 'chat', 'echo', { port: PLAYER_PORT, targetPort: PLAYER_PORT }),
      ...(['authorizer', 'limits', 'processor', 'collector'] as const).flatMap((name) =>
        deployed({ name, container: player(name) })
      ),
      ...withCertificates()
    ]
  })
}

/** Those with certificates: one root has signed them all, and the authority of the mesh signs with it. */
function withCertificates(): object[] {
  const root = authority('mesh')
  const workload = root.issue('/O=mesh', ['URI:spiffe://cluster.local/ns/chat/sa/workload'])
  const server = root.issue('/CN=server', [`DNS:${TLS_NAME}`])
  const client = root.issue('/CN=edge-of-the-cluster')
  const mounted = {
    volumes: [{ name: 'certificates', secret: { secretName: 'certificates' } }]
  }
  const volumeMounts = [{ name: 'certificates', mountPath: CERTIFICATES }]
  const [name = '', namespaceName = ''] = AUTHORITY_NAME.split('.')
  const secret = (where: string, stringData: object) =>
    object('v1', 'Secret', 'certificates', where, { stringData: { 'root.crt': root.cert, ...stringData } })
  return [
    secret(namespaceName, { 'root.key': root.key }),
    // What it trusts, and what it shows: a workload has no key of the authority.
    secret('chat', {
      ...{ 'workload.crt': workload.cert, 'workload.key': workload.key },
      ...{ 'server.crt': server.cert, 'server.key': server.key }
    }),
    // By the names that GatewayPolicies know.
    object('v1', 'Secret', 'tls-client', 'chat', { stringData: { 'tls.crt': client.cert, 'tls.key': client.key } }),
    object('v1', 'ConfigMap', 'tls-ca', 'chat', { data: { 'ca.crt': root.cert } }),
    object('v1', 'ConfigMap', 'istio-ca-root-cert', 'chat', { data: { 'root-cert.pem': root.cert } }),
    object('v1', 'ServiceAccount', name, namespaceName),
    object('v1', 'ServiceAccount', 'workload', 'chat'),
    object('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'istiod', null, {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:auth-delegator' },
      subjects: [{ kind: 'ServiceAccount', name, namespace: namespaceName }]
    }),
    ...deployed({
      name,
      namespace: namespaceName,
      container: { ...player('mesh-authority'), volumeMounts },
      port: { port: AUTHORITY_PORT, targetPort: AUTHORITY_PORT },
      podSpec: { ...mounted, serviceAccountName: name }
    }),
    ...deployed({ name: 'secure', container: { ...player('secure'), volumeMounts }, podSpec: mounted }),
    ...deployed({
      name: 'workload',
      container: { ...player('workload'), volumeMounts },
      podLabels: { 'security.istio.io/tlsMode': 'istio' },
      podSpec: { ...mounted, serviceAccountName: 'workload' }
    })
  ]
}
