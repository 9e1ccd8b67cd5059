/** Where each row of the specification's tables is shown, or why it is not. */
import { CLOUDS, IDENTITIES } from './cloud.ts'
import { CONNECTIONS, MODELS } from './connections.ts'
import { FRONTEND_FIELDS } from './frontend.ts'
import { CLASSES, MESH } from './mesh.ts'
import { BACKEND, MCP, PARAMETERS, POLICY } from './resources.ts'
import { BACKENDS, FRONTEND, GUARDS, OVERLAYS, SERVERS, TRAFFIC } from './rows.ts'
import { FURTHER, QUOTAS, SERVICES } from './services.ts'
import type { Step } from './steps.ts'
import { SELECTORS, TARGETS } from './targets.ts'

/** A text is the reason why it is not shown. */
type Row = readonly [row: string, shown: Step | string]

const TYPE: Row = ['apiVersion, kind, metadata, spec, status', BACKEND]

const SECTIONS: Readonly<Record<string, readonly Row[]>> = {
  '2.3': [
    TYPE,
    ['static: host, port', BACKENDS],
    ['ai', BACKEND],
    ['mcp', MCP],
    ['dynamicForwardProxy', BACKENDS],
    ['policies', CONNECTIONS]
  ],
  '2.4': [
    ['provider; groups in their order; names of providers', MODELS],
    ['policies of a provider', MODELS],
    ['a policy for one provider (`sectionName`)', MODELS],
    ['host, port, path', MODELS],
    ['openai (typeA)', BACKENDS],
    ['azureopenai (typeAHosted)', CLOUDS],
    ['anthropic (typeB)', MODELS],
    ['gemini (typeC)', CLOUDS],
    ['vertexai (typeCCloud)', IDENTITIES],
    ['bedrock (typeD), guardrail', CLOUDS]
  ],
  '2.5': [
    ['targets, sessionRouting', SERVERS],
    ['selector.services, selector.namespaces', SELECTORS],
    ['static: host, port, path, StreamableHTTP', SERVERS],
    ['static: SSE', SELECTORS],
    [
      'policies of a target; the order in which policies merge',
      'accepted only: no MCP server here tells what it was shown; `backends/mcp/target-auth.test.ts` does'
    ]
  ],
  '2.6': [
    ['targetRefs, targetSelectors, sectionName; precedence', TARGETS],
    ['merging by top-level field', TARGETS],
    ['conditions, ancestors', POLICY]
  ],
  '2.6 frontend': [
    ['tcp.keepalive.time', FRONTEND_FIELDS],
    ['tcp.keepalive.retries, .interval', 'not carried out: Node sets neither; the API server refuses them by name'],
    ['tls: handshakeTimeout, alpnProtocols, minProtocolVersion, maxProtocolVersion, cipherSuites', FRONTEND_FIELDS],
    ['http: maxBufferSize, http1IdleTimeout', FRONTEND_FIELDS],
    ['http: http1MaxHeaders', FRONTEND],
    ['http: http2WindowSize, http2ConnectionWindowSize, http2FrameSize', FRONTEND_FIELDS],
    ['http: http2KeepaliveInterval, http2KeepaliveTimeout', FRONTEND_FIELDS],
    ['accessLog: filter, attributes', FRONTEND_FIELDS],
    ['tracing: backendRef, protocol HTTP, attributes, resources, randomSampling, clientSampling', FRONTEND_FIELDS],
    ['tracing: protocol GRPC', 'no collector of gRPC is played; `policies/frontend/tracing-collector.test.ts` has one']
  ],
  '2.6 traffic': [
    ['phase, transformation, cors, csrf, headerModifiers, directResponse', TRAFFIC],
    ['hostRewrite, timeouts', FURTHER],
    ['retry', MODELS],
    ['extProc', QUOTAS],
    ['extAuth: grpc, contextExtensions, requestMetadata, forwardBody', SERVICES],
    ['extAuth: http, path, redirect, allowed fields, addRequestHeaders, responseMetadata', SERVICES],
    ['rateLimit.local: requests, tokens, unit, burst', QUOTAS],
    ['rateLimit.global: domain, descriptors, units', QUOTAS],
    ['authorization', TRAFFIC],
    ['jwtAuthentication: mode, issuer, audiences, jwks.remote', SERVICES],
    ['jwtAuthentication: jwks.inline', TRAFFIC],
    ['basicAuthentication: secretRef, realm', TRAFFIC],
    ['basicAuthentication: users, mode', FURTHER],
    ['apiKeyAuthentication: secretRef, secretSelector, mode', TRAFFIC]
  ],
  '2.6 backend': [
    ['tcp: keepalive, connectTimeout', CONNECTIONS],
    ['tls: all fields', CONNECTIONS],
    ['http: version, requestTimeout', CONNECTIONS],
    ['auth: key, secretRef, passthrough', CONNECTIONS],
    ['auth: aws (cloudD)', CLOUDS],
    ['auth: gcp (cloudC)', IDENTITIES],
    ['ai: prompt, defaults, overrides, modelAliases, promptCaching, routes', MODELS],
    ['ai: promptGuard, regex', GUARDS],
    ['ai: promptGuard, webhook', MODELS],
    ['ai: promptGuard, openAIModeration (typeAModeration)', 'asks the real service, which is not reached from here'],
    ['mcp.authorization', SERVERS],
    ['mcp.authentication', MODELS]
  ],
  '2.7': [
    ['logging.level, rawConfig, image, shutdown', OVERLAYS],
    ['logging.format', CLASSES],
    ['env, resources', CLASSES],
    ['istio', MESH],
    ['deployment, service, serviceAccount', OVERLAYS],
    ['podDisruptionBudget, horizontalPodAutoscaler', OVERLAYS],
    ['the order of typed fields and overlays of class and Gateway', CLASSES],
    ['overlays: scalars, lists by key', PARAMETERS],
    ['overlays: $patch delete and replace', OVERLAYS],
    ['overlays: null', 'by server-side apply only; `npm run conformance -- kubernetes` compares it with the API server']
  ]
}

/** The part of the page. */
export function coverageTable(): string {
  const rows = Object.entries(SECTIONS).flatMap(([section, all]) =>
    all.map(
      ([row, shown]) => `| ${section} | ${row} | ${typeof shown === 'string' ? `not here: ${shown}` : linkTo(shown)} |`
    )
  )
  return ['## What is shown', '', '| section | row | where |', '|---|---|---|', ...rows, ''].join('\n')
}

const linkTo = ({ title }: Step): string => `[${title}](#${anchorOf(title)})`

/** As GitHub makes them. */
const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
