/** What becomes of each of a deployment's litellm_params, and of what LiteLLM knows of the model beside them. */
import { isPrice } from './prices.ts'

/** Carried by code; said of every chat request that does not say it itself; or why it is not carried. */
type Row = 'carried' | 'default' | 'nothing' | { readonly not: string }

const not = (reason: string) => ({ not: reason })
export const LIMITS = not(
  'a deployment has no limits of its own: after a 429 it rests, and another is asked; keys, teams and organisations have limits'
)
const PRICES = not('is no price that llm.models[].prices has')
const BUDGET = not('budgets are those of keys, teams and organisations: a deployment has none')
const TIMEOUT = not('a model has no time limit of its own: policies.timeouts of llm holds for all')
const CLOUD = not('llm.models has no credentials of clouds: the environment of the process has them')

export const PARAMS: Readonly<Record<string, Row>> = {
  ...{ model: 'carried', api_key: 'carried', api_base: 'carried', base_url: 'carried', api_version: 'carried' },
  ...{
    custom_llm_provider: 'carried',
    drop_params: 'carried',
    extra_body: 'carried',
    weight: 'carried',
    order: 'carried'
  },
  ...{ aws_region_name: 'carried', aws_access_key_id: 'carried', aws_secret_access_key: 'carried' },
  ...{ project_id: 'carried', space_id: 'carried', model_id: 'carried', sagemaker_base_url: 'carried' },
  ...{ aws_bedrock_runtime_endpoint: 'carried', vertex_project: 'carried', vertex_location: 'carried' },
  ...{ cache_control_injection_points: 'carried' },
  ...{
    temperature: 'default',
    top_p: 'default',
    max_tokens: 'default',
    max_completion_tokens: 'default',
    n: 'default'
  },
  ...{ stop: 'default', seed: 'default', presence_penalty: 'default', frequency_penalty: 'default', user: 'default' },
  ...{ logit_bias: 'default', response_format: 'default', reasoning_effort: 'default', service_tier: 'default' },
  ...{ verbosity: 'default', parallel_tool_calls: 'default', top_k: 'default' },
  // Weir does so for every model.
  ...{ stream: 'nothing', use_in_pass_through: 'nothing', merge_reasoning_content_in_choices: 'nothing' },
  ...{ allowed_openai_params: 'nothing', use_chat_completions_api: 'nothing' },
  // LiteLLM draws by them; it holds them only where it is told to (enable_pre_call_checks, usage-based-routing).
  ...{ rpm: 'carried', tpm: 'carried', tags: 'carried', litellm_credential_name: 'carried' },
  ...{ rpm_limit: LIMITS, tpm_limit: LIMITS, max_parallel_requests: LIMITS },
  ...{ max_budget: BUDGET, budget_duration: BUDGET },
  ...{ timeout: TIMEOUT, stream_timeout: TIMEOUT, request_timeout: TIMEOUT },
  ...{
    max_retries: not('a model is retried as policies.retry of llm says'),
    num_retries: not('policies.retry of llm says it')
  },
  ...{ aws_session_token: CLOUD, aws_role_name: CLOUD, aws_session_name: CLOUD, aws_profile_name: CLOUD },
  ...{ aws_web_identity_token: CLOUD, aws_external_id: CLOUD, aws_sts_endpoint: CLOUD, vertex_credentials: CLOUD },
  ...{ azure_ad_token: CLOUD, tenant_id: CLOUD, client_id: CLOUD, client_secret: CLOUD, azure_scope: CLOUD },
  organization: not(
    'a model has no header fields of its own: policies.transformation of llm may set openai-organization'
  ),
  extra_headers: not('a model has no header fields of its own'),
  headers: not('a model has no header fields of its own'),
  thinking: not("is a field of Anthropic's format, and clients may speak others: they say reasoning_effort"),
  mock_response: not('nothing is answered without a provider'),
  additional_drop_params: not('which fields a provider cannot be told is known by its format'),
  modify_params: not('messages are changed only where the format asks for it')
}

/** Of model_info: what is about the model and changes no request. */
export const MODEL_INFO: Readonly<Record<string, Row>> = {
  ...{ id: 'nothing', mode: 'nothing', description: 'nothing', base_model: 'nothing', db_model: 'nothing' },
  ...{ max_tokens: 'nothing', max_input_tokens: 'nothing', max_output_tokens: 'nothing', metadata: 'nothing' },
  access_groups: not('keys name models and patterns of them: `models` of keys')
}

const ABOUT = /^supports_|^litellm_provider$/
const COST = /cost|price/

export function infoRow(key: string): Row {
  if (Object.hasOwn(MODEL_INFO, key)) return MODEL_INFO[key]!
  if (isPrice(key)) return 'carried'
  if (ABOUT.test(key)) return 'nothing'
  return COST.test(key) ? PRICES : not('is not known to this importer')
}

export function paramRow(key: string): Row {
  if (Object.hasOwn(PARAMS, key)) return PARAMS[key]!
  if (isPrice(key)) return 'carried'
  return COST.test(key) ? PRICES : not('is not known to this importer')
}
