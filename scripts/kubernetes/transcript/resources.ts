/** The resources of weir.dev, section by section of the specification: apply, refusal, status, traffic. */
import { CLOUDS, IDENTITIES } from './cloud.ts'
import { CONNECTIONS, MODELS } from './connections.ts'
import { FRONTEND_FIELDS } from './frontend.ts'
import { CLASSES, MESH } from './mesh.ts'
import { ASK, CHAT, INIT, MCP_FIELDS } from './requests.ts'
import { BACKEND_ROWS, PARAMETERS_ROWS, POLICY_ROWS } from './rows.ts'
import { FURTHER, QUOTAS, SERVICES } from './services.ts'
import { awaited, type Step, seen } from './steps.ts'
import { SELECTORS, TARGETS } from './targets.ts'

const GATEWAY: Step = {
  title: 'A Gateway',
  text: 'The controller makes a data plane for it: a Deployment and a Service beside the Gateway, in its namespace.',
  files: {
    'gateway.yaml': `apiVersion: v1
kind: Namespace
metadata: { name: chat }
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: edge, namespace: chat }
spec:
  gatewayClassName: weir
  listeners:
    - { name: http, port: 8080, protocol: HTTP }
`
  },
  commands: [
    seen('kubectl apply -f gateway.yaml', /gateway.*created/),
    awaited('kubectl -n chat get gateway edge', /edge +weir +\S+ +True/),
    awaited('kubectl -n chat get deployments,services', /deployment.*edge.*1\/1/)
  ]
}

export const BACKEND: Step = {
  title: '2.3 and 2.4 GatewayBackend, models',
  text: 'The model is played by a Pod that always answers the same. What has two kinds, or a provider without its host, is refused by the API server.',
  files: {
    'models.yaml': `apiVersion: weir.dev/v1alpha1
kind: GatewayBackend
metadata: { name: models, namespace: chat }
spec:
  ai:
    groups:
      - providers:
          - name: local
            custom: { model: tiny }
            host: model.chat.svc.cluster.local
            port: 80
  policies: { ai: { modelAliases: { fast: tiny } } }
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: chat, namespace: chat }
spec:
  parentRefs: [{ name: edge }]
  rules:
    - matches: [{ path: { value: /v1/chat/completions } }]
      backendRefs: [{ group: weir.dev, kind: GatewayBackend, name: models }]
`,
    'two-kinds.yaml': `apiVersion: weir.dev/v1alpha1
kind: GatewayBackend
metadata: { name: wrong, namespace: chat }
spec:
  static: { host: example.com, port: 443 }
  ai:
    provider:
      custom: { model: tiny }
`
  },
  commands: [
    seen('kubectl apply -f models.yaml', /gatewaybackend.*created/),
    seen('kubectl apply -f two-kinds.yaml', /must have exactly one of static/),
    awaited('kubectl -n chat get gatewaybackends', /models +True/),
    awaited(
      `kubectl -n chat get httproute chat -o jsonpath='{range .status.parents[0].conditions[*]}{.type}={.status} {.reason}: {.message}{"\\n"}{end}'`,
      /ResolvedRefs=True/
    ),
    awaited(`${ASK}/v1/chat/completions ${CHAT('fast', 'Hi')}`, /Hello from the cluster/)
  ]
}

export const MCP: Step = {
  title: '2.5 GatewayBackend, MCP',
  text: 'Targets are the Services with a label. A target that is none is refused.',
  files: {
    'tools.yaml': `apiVersion: weir.dev/v1alpha1
kind: GatewayBackend
metadata: { name: tools, namespace: chat }
spec:
  mcp:
    targets:
      - name: found
        selector: { services: { matchLabels: { serves: mcp } } }
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: tools, namespace: chat }
spec:
  parentRefs: [{ name: edge }]
  rules:
    - matches: [{ path: { value: /mcp } }]
      backendRefs: [{ group: weir.dev, kind: GatewayBackend, name: tools }]
`,
    'no-target.yaml': `apiVersion: weir.dev/v1alpha1
kind: GatewayBackend
metadata: { name: wrong, namespace: chat }
spec:
  mcp:
    targets:
      - { name: nothing }
`
  },
  commands: [
    seen('kubectl apply -f tools.yaml', /gatewaybackend.*created/),
    seen('kubectl apply -f no-target.yaml', /must have/),
    awaited('kubectl -n chat get gatewaybackend tools', /tools +True/),
    awaited(`${ASK}/mcp ${MCP_FIELDS} -d ${INIT}`, /"serverInfo"/)
  ]
}

export const POLICY: Step = {
  title: '2.6 GatewayPolicy',
  text: 'One for the whole Gateway, and a more precise one for a route, which wins where both say the same.',
  files: {
    'limits.yaml': `apiVersion: weir.dev/v1alpha1
kind: GatewayPolicy
metadata: { name: all, namespace: chat }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: Gateway, name: edge }]
  traffic:
    rateLimit: { local: [{ requests: 1000, unit: Minutes }] }
---
apiVersion: weir.dev/v1alpha1
kind: GatewayPolicy
metadata: { name: chat, namespace: chat }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: chat }]
  traffic:
    rateLimit: { local: [{ requests: 1, unit: Hours }] }
`,
    'no-target.yaml': `apiVersion: weir.dev/v1alpha1
kind: GatewayPolicy
metadata: { name: wrong, namespace: chat }
spec:
  traffic:
    rateLimit: { local: [{ requests: 1, unit: Hours }] }
`,
    'nowhere.yaml': `apiVersion: weir.dev/v1alpha1
kind: GatewayPolicy
metadata: { name: nowhere, namespace: chat }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: missing }]
  traffic:
    timeouts: { request: 1s }
`
  },
  commands: [
    seen('kubectl apply -f limits.yaml', /gatewaypolicy.*created/),
    seen('kubectl apply -f no-target.yaml', /must have exactly one of targetRefs, targetSelectors/),
    seen('kubectl apply -f nowhere.yaml', /created/),
    awaited('kubectl -n chat get gatewaypolicies', /all +True/),
    awaited(
      `kubectl -n chat get gatewaypolicy nowhere -o jsonpath='{.status.ancestors[0].controllerName} {.status.ancestors[0].conditions[0].reason}: {.status.ancestors[0].conditions[0].message}{"\\n"}'`,
      /weir.dev\/gateway-controller TargetNotFound/
    ),
    awaited(
      `for i in 1 2 3; do ${ASK}/v1/chat/completions -o /dev/null -w '%{http_code} ' -d '{"messages":[{"role":"user","content":"Hi"}]}'; done`,
      /429 429/
    )
  ]
}

export const PARAMETERS: Step = {
  title: '2.7 GatewayParameters',
  text: 'How the Pods of one Gateway look. The overlay is merged as strategic merge patches are.',
  files: {
    'parameters.yaml': `apiVersion: weir.dev/v1alpha1
kind: GatewayParameters
metadata: { name: larger, namespace: chat }
spec:
  logging: { level: debug }
  env: [{ name: TEAM, value: chat }]
  resources: { requests: { cpu: 200m, memory: 512Mi } }
  shutdown: { min: 0, max: 5 }
  deployment:
    metadata: { labels: { team: chat } }
    spec: { replicas: 2 }
`,
    'shutdown.yaml': `apiVersion: weir.dev/v1alpha1
kind: GatewayParameters
metadata: { name: wrong, namespace: chat }
spec:
  shutdown: { min: 10 }
`
  },
  commands: [
    seen('kubectl apply -f parameters.yaml', /created/),
    seen('kubectl apply -f shutdown.yaml', /spec.shutdown.max.*Required|required/i),
    seen(
      `kubectl -n chat patch gateway edge --type merge -p '{"spec":{"infrastructure":{"parametersRef":{"group":"weir.dev","kind":"GatewayParameters","name":"larger"}}}}'`,
      /patched/
    ),
    awaited('kubectl -n chat get deployments --show-labels', /2\/2.*team=chat/),
    awaited(
      `kubectl -n chat get deployments -o jsonpath='{.items[?(@.metadata.labels.team)].spec.template.spec.containers[0].resources}'`,
      /512Mi/
    )
  ]
}

export const RESOURCE_STEPS: readonly Step[] = [
  ...[GATEWAY, BACKEND, MCP, ...BACKEND_ROWS, SELECTORS],
  ...[POLICY, ...POLICY_ROWS],
  ...[TARGETS, SERVICES, QUOTAS, FURTHER, CONNECTIONS, MODELS, CLOUDS, IDENTITIES, FRONTEND_FIELDS],
  ...[PARAMETERS, ...PARAMETERS_ROWS, CLASSES, MESH]
]
