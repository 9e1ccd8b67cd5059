/**
 * Names that the specification or other gateways know and this version does not have yet: using one
 * is an error that says so, never silence.
 */

/** Place in the file (indexes left out) -> names refused there. */
const LATER: Readonly<Record<string, readonly string[]>> = {
  '': ['gateways', 'routes', 'tcpRoutes', 'llm', 'mcp', 'ui', 'services', 'workloads', 'routeGroups', 'policies'],
  config: [
    'tracing',
    'metrics',
    'session',
    'dns',
    'hbone',
    'modelCatalog',
    'database',
    'storage',
    'enableIpv6',
    'customFunctions'
  ],
  'config.logging': ['filter', 'fields', 'database'],
  binds: ['tunnelProtocol', 'mode', 'address'],
  'binds.listeners': ['tls', 'tcpRoutes', 'namespace'],
  'binds.listeners.routes': ['namespace', 'ruleName'],
  'binds.listeners.routes.backends': ['mcp', 'ai', 'service', 'aws', 'internal', 'routeGroup', 'invalid'],
  backends: ['mcp', 'ai', 'service', 'aws', 'internal'],
  frontendPolicies: [
    'tls',
    'accessLog',
    'tracing',
    'networkAuthorization',
    'networkExtAuthz',
    'proxyProtocol',
    'connect',
    'metrics'
  ],
  'frontendPolicies.http': [
    'http2WindowSize',
    'http2ConnectionWindowSize',
    'http2FrameSize',
    'http2KeepaliveInterval',
    'http2KeepaliveTimeout',
    'http2MaxHeaderSize',
    'http1HeaderCase',
    'maxConnectionDuration'
  ]
}

/** Policies of spec 2.6 and of the closest peer's file. */
const POLICIES_LATER = [
  ...['cors', 'csrf', 'jwtAuth', 'jwtAuthentication', 'basicAuth', 'basicAuthentication', 'apiKey'],
  ...['apiKeyAuthentication', 'extAuthz', 'extAuth', 'extProc', 'localRateLimit', 'remoteRateLimit', 'rateLimit'],
  ...['authorization', 'mcpAuthorization', 'mcpAuthentication', 'mcpGuardrails', 'transformations', 'transformation'],
  ...['retry', 'requestMirror', 'buffer', 'delay', 'ai', 'a2a', 'backendTLS', 'backendAuth', 'backendTunnel', 'oidc'],
  ...['tcp', 'tls', 'http', 'auth', 'mcp', 'health', 'sessionAffinity', 'phase']
]

/** What is refused at the data path `path`, which may hold indexes. */
export function comesLater(path: readonly (string | number)[], key: string): boolean {
  const place = path.filter((step) => typeof step === 'string').join('.')
  if (place.endsWith('policies')) return POLICIES_LATER.includes(key)
  return LATER[place]?.includes(key) ?? false
}

/** Settings whose value cannot be honoured on this platform, with the reason. */
export const UNHONOURED: Readonly<Record<string, string>> = {
  retries: 'cannot be honoured: Node lets a program set only the idle time before TCP probes (time)',
  interval: 'cannot be honoured: Node lets a program set only the idle time before TCP probes (time)'
}

const PROTOCOLS_LATER = ['HTTPS', 'TLS', 'TCP', 'HBONE']

export function protocolProblem(protocol: unknown): string {
  const name = String(protocol)
  if (PROTOCOLS_LATER.includes(name)) return `protocol ${name} is not in this version of weir; only HTTP is`
  return `expected HTTP, got ${JSON.stringify(protocol)}`
}
