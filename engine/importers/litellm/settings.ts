/**
 * Every setting beside model_list, and what becomes of it: one row each. A setting that weir gets is switched on here:
 * its row becomes a function that writes it. Source: "All settings" of LiteLLM's docs.
 */
import { objectOf, type Raw } from '#engine/schema/placed.ts'
import { isSet, numberOf } from './texts.ts'

/** What has been made so far. `refuse`: notes why the setting is not carried. */
export interface Settings {
  /** Of llm. */
  readonly llm: Raw
  /** Of llm.policies. */
  readonly policies: Raw
  readonly refuse: (reason: string) => void
}

/**
 * Carried by code elsewhere; nothing, since weir does it anyway or it changes no request; why it is not carried; or who
 * writes it. `closes`: it decides who may do what, so without it the port must refuse.
 */
export type Row =
  | 'carried'
  | 'nothing'
  | { readonly not: string; readonly closes?: true }
  | ((value: unknown, settings: Settings) => void)

const not = (reason: string): Row => ({ not: reason })
const KEYS = not(
  'keys, teams and users of the database are not in the file: keys and teams, or the admin API, make them'
)
const USERS = not('users have no budgets of their own: those of their keys and teams hold')
const LOGS = not('what is sent elsewhere is frontendPolicies.tracing and accessLog (OpenTelemetry)')
const HEALTH = not('when a provider rests is not set: it does after 429, 5xx and failures, longer each time')
const ACCESS: Row = { not: 'decides who may call, and is not carried: the port refuses everything', closes: true }

/** Its own code of Python. */
const CALLBACK = /^(?:prometheus)$/

const seconds = (value: unknown): string | null => {
  const number = numberOf(value)
  return number === undefined || number <= 0 ? null : `${number}s`
}

const timeout: Row = (value, { policies }) => {
  const duration = seconds(value)
  if (duration !== null) policies.timeouts = { backendRequest: duration }
}

/** Statuses after which LiteLLM asks again ("Fallbacks, retries" of its docs). */
const RETRIED = [408, 429, 500, 502, 503, 504]
const ATTEMPTS_MAX = 32

const retries: Row = (value, { policies }) => {
  const attempts = Math.min(numberOf(value) ?? 0, ATTEMPTS_MAX)
  if (attempts > 0) policies.retry = { attempts: Math.floor(attempts), codes: RETRIED }
}

/** Drawn by what each deployment is told of (groups.ts). */
const STRATEGIES = ['simple-shuffle', 'least-busy', 'latency-based-routing', 'cost-based-routing']

const strategy: Row = (value, { refuse }) => {
  if (!STRATEGIES.includes(String(value)))
    refuse('is no strategy here: of two deployments that are drawn the one with less latency and load is asked')
}

const dropParams: Row = (value, { llm }) => {
  if (value === true) llm.unsupported = 'drop'
}

const ROUTER: Readonly<Record<string, Row>> = {
  ...{
    num_retries: retries,
    timeout,
    fallbacks: 'carried',
    default_fallbacks: 'carried',
    model_group_alias: 'carried'
  },
  ...{ context_window_fallbacks: 'carried', content_policy_fallbacks: 'carried', enable_pre_call_checks: 'carried' },
  routing_strategy: strategy,
  routing_strategy_args: 'nothing',
  ...{ allowed_fails: HEALTH, cooldown_time: HEALTH, disable_cooldowns: HEALTH, allowed_fails_policy: HEALTH },
  ...{ retry_policy: not('retries by the kind of error are not in this version'), retry_after: HEALTH },
  ...{
    redis_host: 'nothing',
    redis_port: 'nothing',
    redis_password: 'nothing',
    redis_url: 'nothing',
    set_verbose: 'nothing'
  },
  ...{
    cache_responses: not('litellm_settings.cache keeps answers'),
    enable_tag_filtering: 'carried',
    stream_timeout: not('time limits hold for streams and others alike')
  }
}

const LIBRARY: Readonly<Record<string, Row>> = {
  ...{ drop_params: dropParams, request_timeout: timeout, num_retries: retries },
  ...{ fallbacks: 'carried', default_fallbacks: 'carried', model_alias_map: 'carried' },
  ...{ context_window_fallbacks: 'carried', content_policy_fallbacks: 'carried', allowed_fails: HEALTH },
  ...{ cache: 'carried', cache_params: 'carried' },
  ...{
    success_callback: 'carried',
    failure_callback: 'carried',
    callbacks: 'carried',
    service_callback: 'carried',
    service_callbacks: 'carried'
  },
  ...{
    set_verbose: 'nothing',
    json_logs: 'nothing',
    log_level: 'nothing',
    turn_off_message_logging: 'nothing',
    telemetry: 'nothing'
  },
  ...{
    redact_user_api_key_info: 'nothing',
    redact_messages_in_exceptions: 'nothing',
    modify_params: 'nothing',
    ssl_verify: not('certificates are always verified')
  },
  ...{
    max_budget: 'carried',
    budget_duration: 'carried',
    timezone: 'carried',
    max_end_user_budget: USERS,
    default_end_user_params: USERS,
    max_internal_user_budget: USERS,
    internal_user_budget_duration: USERS
  },
  ...{
    extra_spend_tag_headers: not('tags are those of keys'),
    disable_end_user_cost_tracking: 'nothing',
    enable_end_user_cost_tracking_prometheus_only: 'nothing'
  },
  ...{
    default_team_settings: LOGS,
    default_team_params: KEYS,
    default_key_generate_params: KEYS,
    default_internal_user_params: USERS,
    key_generation_settings: KEYS,
    upperbound_key_generate_params: KEYS
  },
  global_disable_no_log_param: 'nothing',
  guardrails: ACCESS,
  mcp_aliases: not('names of MCP servers are their targets')
}

const GENERAL: Readonly<Record<string, Row>> = {
  master_key: 'carried',
  ...{
    database_url: KEYS,
    allow_user_auth: KEYS,
    max_internal_user_budget: USERS,
    internal_user_budget_duration: USERS
  },
  ...{
    default_internal_user_params: USERS,
    key_generation_settings: KEYS,
    store_model_in_db: not('models of the database are not in the file')
  },
  ...{
    custom_auth: ACCESS,
    enable_jwt_auth: ACCESS,
    litellm_jwtauth: ACCESS,
    enable_oauth2_auth: ACCESS,
    allowed_ips: ACCESS
  },
  ...{
    allowed_routes: ACCESS,
    enforced_params: ACCESS,
    enforce_user_param: not('policies.authorization can ask for fields of the body')
  },
  ...{ num_retries: retries, request_timeout: timeout, drop_params: dropParams },
  ...{
    disable_spend_logs: 'nothing',
    disable_error_logs: 'nothing',
    set_verbose: 'nothing',
    json_logs: 'nothing',
    debug: 'nothing'
  },
  ...{
    database_connection_pool_limit: 'nothing',
    database_connection_timeout: 'nothing',
    proxy_batch_write_at: 'nothing',
    ui_access_mode: 'nothing'
  },
  ...{
    disable_master_key_return: 'nothing',
    disable_adding_master_key_hash_to_db: 'nothing',
    always_include_stream_usage: 'nothing',
    log_level: 'nothing'
  },
  ...{
    allow_requests_on_db_unavailable: 'nothing',
    infer_model_from_keys: 'nothing',
    disable_reset_budget: 'nothing',
    log_verbose: 'nothing'
  },
  ...{
    store_prompts_in_spend_logs: LOGS,
    maximum_spend_logs_retention_period: LOGS,
    alerting: LOGS,
    alerting_threshold: LOGS,
    user_header_name: LOGS
  },
  ...{
    max_parallel_requests: not('config.downstream and policies.circuitBreaker bound what is under way'),
    global_max_parallel_requests: 'carried'
  },
  ...{ background_health_checks: HEALTH, health_check_interval: HEALTH },
  pass_through_endpoints: not('paths that are passed on are routes of a bind'),
  completion_model: not('a request has to name its model')
}

export const SECTIONS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  router_settings: ROUTER,
  litellm_settings: LIBRARY,
  general_settings: GENERAL
}

/** Other keys at the top of the file. */
export const TOP: Readonly<Record<string, Row>> = {
  ...{ model_list: 'carried', include: 'carried', environment_variables: 'carried', mcp_servers: 'carried' },
  ...{ router_settings: 'carried', litellm_settings: 'carried', general_settings: 'carried', guardrails: 'carried' },
  ...{
    cache: not('stands in litellm_settings'),
    cache_settings: not('stands in litellm_settings: cache_params'),
    callback_settings: LOGS,
    credential_list: 'carried'
  },
  ...{
    files_settings: not('files go to the provider whose model they name'),
    finetune_settings: not('fine-tuning passes by its path')
  },
  ...{
    search_tools: not('search tools are not in this version'),
    vector_store_registry: not('vector stores are not in this version')
  },
  ...{ health_check: 'nothing', server_settings: 'nothing' }
}

export function rowOf(rows: Readonly<Record<string, Row>>, key: string): Row {
  return Object.hasOwn(rows, key) ? rows[key]! : not('is not known to this importer')
}

/** Callbacks that weir has no other way for. */
export function foreignCallbacks(value: unknown): readonly string[] {
  const all = Array.isArray(value) ? value : [value]
  return all.filter((one): one is string => typeof one === 'string' && isSet(one) && !CALLBACK.test(one))
}

export { LOGS }

/** Guards of answers and requests that act on every call: without them the port must refuse. */
export function alwaysOn(guardrail: unknown): boolean {
  const params = objectOf(objectOf(guardrail).litellm_params)
  return params.default_on === true || objectOf(guardrail).default_on === true
}
