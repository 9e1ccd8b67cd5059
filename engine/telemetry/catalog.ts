/**
 * Every metric that Weir exposes: one row each. The worker that counts and the main thread that
 * prints read the same row, so a histogram's buckets or a help text exist once.
 *
 * Label values are names from the configuration or members of a small fixed set; nothing that a
 * client sends (host, path, header, unknown method) becomes a label, so that a scan cannot fill memory. Names of
 * models are bounded by model-metrics.ts, those of tools and prompts by mcp-metrics.ts.
 */

/** Upper bounds in seconds, 1 ms to 80 s; the bucket above the last one is implied. */
const DURATION_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80] as const

/** A handshake may last 15 s by default. */
const HANDSHAKE_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

/** The conventions for generative AI say which (gen-ai-metrics, ExplicitBucketBoundaries). Tokens: */
const TOKEN_BOUNDS = [
  ...([1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144] as const),
  ...([1_048_576, 4_194_304, 16_777_216, 67_108_864] as const)
]
/** Seconds of whole operations, */
const OPERATION_BOUNDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
/** until the first token, */
const FIRST_TOKEN_BOUNDS = [
  ...([0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10] as const)
]
/** and per token after it. */
const PER_TOKEN_BOUNDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5]

/** Seconds of operations of MCP (gen-ai/mcp). */
const MCP_BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

const MODEL_LABELS = [
  'route',
  'gen_ai_operation_name',
  'gen_ai_provider_name',
  'gen_ai_request_model',
  'gen_ai_response_model'
] as const

const SIDE_LABELS = ['route', 'purpose', 'gen_ai_provider_name', 'gen_ai_request_model'] as const

export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  /** Upper bounds of the buckets, rising; histograms only. */
  readonly bounds?: readonly number[]
}

export const METRICS = {
  weir_build_info: gauge('Version of the running program; the value is always 1.', ['version', 'node']),
  weir_requests_total: counter('Exchanges that ended. reason: Upstream, DirectResponse or an error code.', [
    'port',
    'listener',
    'route',
    'backend',
    'method',
    'status',
    'reason'
  ]),
  weir_request_duration_seconds: histogram('From the head of the request to the last byte of the response.', ['route']),
  weir_upstream_first_byte_seconds: histogram('From the head of the request to the head of the upstream response.', [
    'route',
    'backend'
  ]),
  gen_ai_client_token_usage: histogram(
    'Tokens of answers of models. gen_ai_token_type: input or output.',
    [...MODEL_LABELS, 'gen_ai_token_type'],
    TOKEN_BOUNDS
  ),
  gen_ai_client_operation_duration_seconds: histogram(
    'From the request to the last byte of a model\'s answer. error_type: "" for success.',
    [...MODEL_LABELS, 'error_type'],
    OPERATION_BOUNDS
  ),
  gen_ai_server_time_to_first_token_seconds: histogram(
    'From the request to the first piece of a streamed answer.',
    MODEL_LABELS,
    FIRST_TOKEN_BOUNDS
  ),
  gen_ai_server_time_per_output_token_seconds: histogram(
    'Per token after the first one of a streamed answer.',
    MODEL_LABELS,
    PER_TOKEN_BOUNDS
  ),
  weir_llm_cost_total: counter(
    'What answers of models cost, in units of the currency of prices (config.prices).',
    MODEL_LABELS
  ),
  weir_llm_cost_unknown_total: counter(
    'Answers of models whose cost is not known: the model has no price, or the provider did not tell its tokens.',
    MODEL_LABELS
  ),
  weir_llm_key_cost_total: counter('What callers with an API key cost, by the id of the key and its team.', [
    'key',
    'team'
  ]),
  mcp_server_operation_duration_seconds: histogram(
    'From an MCP request to the end of its answer. error_type: "" for success, tool_error, a JSON-RPC code or a status.',
    ['route', 'mcp_method_name', 'target', 'gen_ai_tool_name', 'gen_ai_prompt_name', 'error_type'],
    MCP_BOUNDS
  ),
  weir_request_bytes_total: counter('Bytes received from clients.', ['route']),
  weir_response_bytes_total: counter('Bytes sent to clients.', ['route']),
  weir_tcp_connections_total: counter(
    'Connections of TCP and of TLS passed on that ended. reason: "" when both sides ended it, or why not.',
    ['port', 'listener', 'route', 'backend', 'reason']
  ),
  weir_tcp_connection_duration_seconds: histogram('From the first to the last byte of such a connection.', ['route']),
  weir_tcp_received_bytes_total: counter('Bytes of such connections received from clients.', ['route']),
  weir_tcp_sent_bytes_total: counter('Bytes of such connections sent to clients.', ['route']),
  weir_downstream_connections: gauge('Client connections that are open.', ['port', 'transport']),
  weir_downstream_connections_total: counter('Client connections accepted.', ['port', 'transport']),
  weir_tls_handshakes_total: counter('TLS handshakes of clients. result: ok, resumed, or why there was none.', [
    'port',
    'result'
  ]),
  tls_handshake_duration_seconds: histogram(
    'From the accepted connection to the end of its TLS handshake.',
    ['port'],
    HANDSHAKE_BOUNDS
  ),
  weir_downstream_connections_evicted_total: counter(
    'Client connections closed because there were too many. which: idle (it waited for a request) or newcomer.',
    ['which']
  ),
  weir_buffered_bytes: gauge('Bytes of bodies that are kept in memory, for policies, models and retries.', []),
  weir_buffered_refusals_total: counter('How often there was no room for more of them.', []),
  weir_upstream_connections: gauge('Connections to backends that are open.', ['state']),
  weir_upstream_connects_total: counter('Attempts to connect to a backend.', ['result']),
  weir_upstream_ejections_total: counter(
    'Addresses of a backend that got no requests for a while. reason: consecutive_5xx, connect_failures or latency.',
    ['destination', 'reason']
  ),
  weir_upstream_checks_total: counter('Active health checks of addresses. result: ok or failed.', [
    'destination',
    'result'
  ]),
  weir_upstream_addresses: gauge(
    'Addresses of destinations of the configuration. state: healthy, unreachable, unhealthy (by active checks) or ejected.',
    ['destination', 'state']
  ),
  weir_upstream_overflows_total: counter(
    'What circuitBreaker has refused. kind: connections, pending_requests, requests or retries.',
    ['destination', 'kind']
  ),
  weir_upstream_tls_handshakes_total: counter('TLS handshakes with backends that succeeded.', ['resumed']),
  weir_upstream_retries_total: counter('Attempts after the first one of an exchange.', []),
  weir_upstream_retries_refused_total: counter('Attempts not made because a retry budget was spent.', []),
  weir_llm_side_call_duration_seconds: histogram(
    'Calls of models beside those of clients. purpose: shadow or cache. error_type: empty where the call went well.',
    [...SIDE_LABELS, 'error_type'],
    OPERATION_BOUNDS
  ),
  weir_llm_side_call_tokens_total: counter('Tokens of such calls.', [...SIDE_LABELS, 'gen_ai_token_type']),
  weir_llm_side_call_cost_total: counter('What such calls have cost, in the currency of prices.', SIDE_LABELS),
  weir_llm_side_calls_dropped_total: counter('Such calls that were not made, since too many were under way.', [
    'route',
    'purpose'
  ]),
  weir_mirrored_requests_total: counter('Copies of requests for mirrors. result: answered, failed or dropped.', [
    'route',
    'backend',
    'result'
  ]),
  weir_service_calls_total: counter(
    'Calls of policies and backends to services. result: ok, status (an answer with a grpc-status other than 0), ' +
      'UNAVAILABLE, DEADLINE, PROTOCOL, TOO_LARGE, NO_ROOM or CANCELLED.',
    ['service', 'policy', 'result']
  ),
  weir_service_call_duration_seconds: histogram('From a call to a service to the end of its answer.', [
    'service',
    'policy'
  ]),
  weir_expression_failures_total: counter('Expressions that failed, or gave what cannot be used.', ['policy']),
  weir_offload_jobs_lost_total: counter(
    'Jobs for helper threads that were not done. reason: refused (too many waiting) or late (ended with its thread).',
    ['lane', 'reason']
  ),
  weir_event_loop_delay_seconds: gauge('How late the event loop ran in the last sampling interval.', [
    'worker',
    'stat'
  ]),
  weir_state_connections: gauge('Workers that reach the server of config.state.url.', []),
  weir_state_duration_seconds: histogram('From a batch of operations for that server to its answer.', []),
  weir_state_failures_total: counter('Batches that had no answer of that server.', []),
  weir_state_object_failures_total: counter(
    'Whose an object of a provider is could not be written down (note, forget) or looked up (owned).',
    ['operation']
  ),
  weir_state_uncounted_calls_total: counter(
    'Calls that it should have counted, and was away for. outcome: passed (failureMode open) or refused.',
    ['outcome']
  ),
  weir_spend_records_total: counter(
    'Records of model calls. result: kept, no_room (too many waited) or not_written (the file could not be written).',
    ['result']
  ),
  weir_spend_exported_total: counter(
    'Records of model calls for receivers. result: sent, queue_full, refused, expired (after ten attempts) or shutdown.',
    ['result']
  ),
  weir_access_log_dropped_total: counter('Access log lines dropped because the output did not keep up.', []),
  weir_access_log_failures_total: counter(
    'Expressions of the access log that failed: the line or record (filter) or the field (attribute) was left out.',
    ['part']
  ),
  weir_otlp_exported_total: counter(
    'Spans, data points of metrics and log records that a collector has taken. signal: traces, metrics or logs.',
    ['signal']
  ),
  weir_otlp_dropped_total: counter(
    'Those that were lost. reason: queue_full, too_large, refused or rejected (by the collector), expired, shutdown.',
    ['signal', 'reason']
  ),
  weir_otlp_retries_total: counter('Export requests that were sent again.', ['signal']),
  weir_metrics_dropped_series_total: counter('Series that were not kept because the metrics region is full.', []),
  weir_config_reloads_total: counter('Configurations offered since the start.', ['result']),
  weir_config_last_success_timestamp_seconds: gauge('When the running configuration was accepted.', []),
  weir_workers: gauge('Worker threads that serve.', []),
  weir_worker_restarts_total: counter('Worker threads that died and were replaced.', []),
  weir_rate_limit_callers_total: counter(
    'Requests that had to share a rate limit bucket: their caller could not be told, or there was no room for it; and ' +
      'buckets that were given away before they were full again.',
    ['result']
  ),
  weir_controller_leader: gauge('1: this controller holds the Lease, and writes.', []),
  weir_controller_gateways: gauge('Gateways that are translated.', []),
  weir_controller_data_planes: gauge('Data planes that are connected.', []),
  weir_controller_translation_seconds: histogram('From changes of resources to what data planes are told.', []),
  weir_controller_status_writes_total: counter('Statuses that were written, or should have been.', ['result']),
  process_resident_memory_bytes: gauge('Resident memory of the process.', []),
  process_cpu_seconds_total: counter('CPU time of the process, user and system.', []),
  process_start_time_seconds: gauge('When the process started.', []),
  process_open_fds: gauge('Open file descriptors: sockets, files, pipes.', []),
  process_max_fds: gauge('How many file descriptors the process may have open.', [])
} as const satisfies Record<string, MetricRow>

export type MetricName = keyof typeof METRICS
type NameOf<T extends MetricRow['type']> = {
  [N in MetricName]: (typeof METRICS)[N]['type'] extends T ? N : never
}[MetricName]
export type CounterName = NameOf<'counter'>
export type GaugeName = NameOf<'gauge'>
export type HistogramName = NameOf<'histogram'>
/** The labels of a metric, every one of them, by name. */
export type LabelsOf<N extends MetricName> = Readonly<Record<(typeof METRICS)[N]['labels'][number], string>>

/** The bounds of a metric, or null for one that is a single number. */
export function boundsOf(name: MetricName): readonly number[] | null {
  const row: MetricRow = METRICS[name]
  return row.bounds ?? null
}

function counter<const L extends readonly string[]>(help: string, labels: L) {
  return { type: 'counter', help, labels } as const
}

function gauge<const L extends readonly string[]>(help: string, labels: L) {
  return { type: 'gauge', help, labels } as const
}

function histogram<const L extends readonly string[]>(
  help: string,
  labels: L,
  bounds: readonly number[] = DURATION_BOUNDS
) {
  return { type: 'histogram', help, labels, bounds } as const
}
