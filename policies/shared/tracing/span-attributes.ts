/** Default attributes of spans, by name: what a configuration may leave out. */

export const DEFAULT_ATTRIBUTES: readonly string[] = [
  ...['http.request.method', 'http.request.method_original', 'http.route', 'http.response.status_code'],
  ...['http.request.resend_count', 'url.scheme', 'url.path', 'url.full', 'server.address', 'server.port'],
  ...['client.address', 'network.peer.address', 'network.peer.port', 'network.protocol.name'],
  ...['network.protocol.version', 'network.transport', 'user_agent.original', 'error.type'],
  ...['rpc.system.name', 'rpc.method', 'rpc.response.status_code'],
  ...['gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.request.model', 'gen_ai.request.stream'],
  ...['gen_ai.request.temperature', 'gen_ai.request.top_p', 'gen_ai.request.top_k', 'gen_ai.request.max_tokens'],
  ...['gen_ai.request.frequency_penalty', 'gen_ai.request.presence_penalty', 'gen_ai.request.seed'],
  ...['gen_ai.request.stop_sequences', 'gen_ai.request.choice.count', 'gen_ai.request.reasoning.level'],
  ...['gen_ai.request.previous_response.id', 'gen_ai.request.encoding_formats', 'gen_ai.embeddings.dimension.count'],
  ...['gen_ai.output.type', 'gen_ai.response.id', 'gen_ai.response.finish_reasons'],
  ...['gen_ai.response.model', 'gen_ai.response.time_to_first_chunk'],
  ...['gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens', 'gen_ai.usage.cache_read.input_tokens'],
  ...['gen_ai.usage.cache_creation.input_tokens', 'gen_ai.usage.reasoning.output_tokens'],
  ...['gen_ai.usage.audio.input_tokens', 'gen_ai.usage.audio.output_tokens', 'gen_ai.usage.image.input_tokens'],
  ...['gen_ai.usage.cost', 'weir.cost.basis', 'weir.cost.unknown', 'weir.cache'],
  ...['user.id', 'weir.key.id', 'weir.key.name', 'weir.key.team', 'weir.key.organisation', 'weir.key.tags'],
  ...['langfuse.trace.tags', 'langfuse.observation.completion_start_time', 'langfuse.observation.usage_details'],
  ...['mcp.method.name', 'mcp.session.id', 'mcp.protocol.version', 'gen_ai.tool.name', 'gen_ai.prompt.name'],
  ...['mcp.resource.uri', 'jsonrpc.request.id', 'weir.mcp.target'],
  ...['weir.listener', 'weir.route', 'weir.route.rule', 'weir.backend', 'weir.endpoint'],
  ...['weir.reason', 'weir.reason.detail', 'weir.request.id']
]

const KNOWN: ReadonlySet<string> = new Set(DEFAULT_ATTRIBUTES)

/** Names of the access log, and those that the HTTP conventions had before: the same facts on a span. */
const OTHER_NAMES: Readonly<Record<string, readonly string[] | undefined>> = {
  'http.method': ['http.request.method'],
  'http.host': ['server.address', 'server.port'],
  'http.path': ['url.path', 'url.full'],
  'http.target': ['url.path'],
  'http.url': ['url.full'],
  'http.version': ['network.protocol.version'],
  'http.status': ['http.response.status_code'],
  'http.status_code': ['http.response.status_code'],
  'grpc.status': ['rpc.response.status_code'],
  'src.addr': ['client.address', 'network.peer.address', 'network.peer.port'],
  'retry.attempt': ['http.request.resend_count'],
  listener: ['weir.listener'],
  route: ['weir.route'],
  'route.rule': ['weir.route.rule'],
  backend: ['weir.backend'],
  endpoint: ['weir.endpoint'],
  reason: ['weir.reason'],
  'reason.detail': ['weir.reason.detail'],
  'mcp.target': ['weir.mcp.target']
}

/** What log records have beside: names of the access log, and those of the attributes. */
const RECORD_NAMES: Readonly<Record<string, readonly string[] | undefined>> = {
  'bytes.in': ['http.request.body.size', 'weir.bytes.received'],
  'bytes.out': ['http.response.body.size', 'weir.bytes.sent'],
  duration: ['weir.duration'],
  'tls.sni': ['weir.tls.server_name'],
  'request.id': ['weir.request.id'],
  'trace.id': ['trace.id'],
  'span.id': ['trace.id']
}
const RECORD_ATTRIBUTES: ReadonlySet<string> = new Set(Object.values(RECORD_NAMES).flatMap((names) => names ?? []))

/** Attributes of log records that `name` leaves out; none: nothing is called so. */
export function recordNamesOf(name: string): readonly string[] {
  const known = spanNamesOf(name)
  if (known.length > 0) return known
  return RECORD_ATTRIBUTES.has(name) ? [name] : (RECORD_NAMES[name] ?? [])
}

/** Attributes that `name` leaves out; none: nothing is called so. */
export function spanNamesOf(name: string): readonly string[] {
  return KNOWN.has(name) ? [name] : (OTHER_NAMES[name] ?? [])
}
