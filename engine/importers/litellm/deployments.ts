/** Entries of LiteLLM's model_list -> models of weir's `llm`, without the names that clients use. */

import type { ForeignFile } from '#engine/contract/importer.ts'
import type { Draft } from '#engine/importers/draft.ts'
import { objectOf, type Path, type Raw, text } from '#engine/schema/placed.ts'
import { infoRow, LIMITS, paramRow } from './params.ts'
import { pricesOf } from './prices.ts'
import { type ModelName, PROVIDERS, type ProviderRow, readModelName } from './providers.ts'
import { carriedValue, isSet, numberOf, textOf } from './texts.ts'

export interface Deployment {
  /** The client's name: LiteLLM's model_name. */
  readonly group: string
  /** Of llm.models, but for `name` and `visibility`. */
  readonly model: Raw
  /** What it is drawn by, where the file says so. */
  readonly shares: Readonly<Record<'weight' | 'rpm' | 'tpm', number | undefined>>
  readonly tags: readonly string[]
  /** Lower is asked first. */
  readonly order: number
  readonly file: ForeignFile
  readonly path: Path
}

export interface DeploymentInput {
  readonly file: ForeignFile
  readonly raw: Raw
  readonly path: Path
  readonly environment: Raw
  /** Parameters by the name of their credential (credential_list). */
  readonly credentials: ReadonlyMap<string, Raw>
  /** Requests that are too long for a deployment are not sent to it (enable_pre_call_checks). */
  readonly checksLength: boolean
}

/** Null: it is not carried, and a note says why. */
export function deploymentOf(input: DeploymentInput, draft: Draft): Deployment | null {
  const { file, raw, path, environment } = input
  const params = paramsOf(input)
  const at = (key: string): Path => [...path, 'litellm_params', key]
  const group = text(raw.model_name)
  const name = text(params.model)
  if (group === undefined || name === undefined) {
    draft.note(file, path, 'has no model_name, or no litellm_params.model')
    return null
  }
  const read = readModelName(name, textOf(params.custom_llm_provider, environment))
  const address = textOf(isSet(params.api_base) ? params.api_base : params.base_url, environment)
  const row = rowOf(read, address)
  if (row === null) {
    const what = read.provider === null ? `nobody can tell whose model "${name}" is` : `provider "${read.provider}"`
    draft.note(
      file,
      at('model'),
      `${what}: the model is left out; api_base of a server in OpenAI's format would carry it`
    )
    return null
  }
  const own = {
    ...commonParams(row, params, environment, address),
    ...cloudParams(row, read, params, environment, address)
  }
  const to = providerModel(row, read, group)
  const prices = pricesOf(raw.model_info, params)
  const contextTokens = input.checksLength ? numberOf(objectOf(raw.model_info).max_input_tokens) : undefined
  const model: Raw = {
    provider: row.provider ?? { custom: {} },
    params: { ...(to === undefined ? {} : { model: to }), ...own },
    ...changes(params, environment),
    ...(prices === null ? {} : { prices }),
    ...(contextTokens === undefined ? {} : { contextTokens })
  }
  if (read.provider === 'sagemaker' && objectOf(raw.model_info).mode !== 'embedding')
    draft.note(file, at('model'), INPUTS)
  notesOf(input, params, draft)
  const shares = { weight: numberOf(params.weight), rpm: numberOf(params.rpm), tpm: numberOf(params.tpm) }
  const tags = (Array.isArray(params.tags) ? params.tags : []).flatMap((tag) => textOf(tag, environment) ?? [])
  return { group, model, shares, tags, order: numberOf(params.order) ?? 0, file, path }
}

/** Of `sagemaker/`, where LiteLLM writes the prompt itself. */
const INPUTS =
  'its container is asked in chat completions, not by `inputs`: TGI before 3.0 takes them with MESSAGES_API_ENABLED=true'

/** With what its credential says, where it says nothing itself. */
function paramsOf({ raw, credentials }: DeploymentInput): Raw {
  const params = objectOf(raw.litellm_params)
  return { ...credentials.get(String(params.litellm_credential_name)), ...params }
}

/** Null: weir does not know where it is. */
function rowOf({ provider }: ModelName, address: string | undefined): ProviderRow | null {
  const row = provider !== null && Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider]! : null
  if (row === null) return address === undefined ? null : {}
  return row.provider === undefined && row.baseUrl === undefined && address === undefined ? null : row
}

/** Undefined: the client's name. Both names may have a star, which means the same. */
function providerModel({ provider }: ProviderRow, { model }: ModelName, group: string): string | undefined {
  const name = provider === 'bedrock' ? bedrockName(model).model : model
  const shown = textOf(name) ?? name
  return shown === '*' && group === '*' ? undefined : shown
}

/** "converse/...", "invoke/...", "us-east-1/...": how and where, ahead of the name. */
function bedrockName(name: string): { readonly model: string; readonly region: string | undefined } {
  const model = name.replace(/^(?:converse|invoke|converse_like)\//, '')
  const [, region, own] = /^([a-z]{2}(?:-[a-z]+)+-[0-9])\/(.+)$/.exec(model) ?? []
  return { model: own ?? model, region }
}

/** Their addresses are in cloudParams. */
const HAVE_OWN: ReadonlySet<string> = new Set(['azure', 'bedrock', 'sagemaker'])

function commonParams(row: ProviderRow, params: Raw, environment: Raw, address: string | undefined): Raw {
  const { provider, key, baseUrl = undefined, dialect } = row
  const ownKey = provider === 'sagemaker' ? undefined : textOf(params.api_key, environment)
  const apiKey = ownKey ?? (key === undefined ? undefined : `$${key}`)
  const base = HAVE_OWN.has(provider ?? '') ? undefined : (baseOf(row, address) ?? baseUrl)
  return {
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(base === undefined ? {} : { baseUrl: base }),
    ...(dialect === undefined ? {} : { dialect })
  }
}

/** LiteLLM's address of Anthropic goes without the version, which weir's has where it has a path. */
function baseOf({ provider }: ProviderRow, address: string | undefined): string | undefined {
  const base = address?.replace(/\/+$/, '').replace(/\/(?:chat\/completions|messages|embeddings)$/, '')
  if (provider !== 'anthropic' || base === undefined || base.startsWith('$')) return base
  return /^https?:\/\/[^/]+$/.test(base) || base.endsWith('/v1') ? base : `${base}/v1`
}

/** LiteLLM's own default. */
const REGION = `\${AWS_REGION_NAME:-us-west-2}`

function cloudParams(
  { provider }: ProviderRow,
  { model }: ModelName,
  params: Raw,
  environment: Raw,
  address: string | undefined
): Raw {
  if (provider === 'azure') return azureParams(params, environment, address)
  if (provider === 'bedrock') {
    const region = textOf(params.aws_region_name, environment) ?? bedrockName(model).region
    const endpoint = textOf(params.aws_bedrock_runtime_endpoint, environment) ?? address
    return {
      awsRegion: region ?? REGION,
      ...(endpoint === undefined ? {} : { baseUrl: endpoint })
    }
  }
  if (provider === 'vertex') {
    return {
      vertexProject: textOf(params.vertex_project, environment) ?? '$VERTEXAI_PROJECT',
      vertexRegion: textOf(params.vertex_location, environment) ?? `\${VERTEXAI_LOCATION:-us-central1}`
    }
  }
  if (provider === 'sagemaker') return sagemakerParams(params, environment)
  return provider === 'watsonx' ? watsonxParams(params, environment) : {}
}

/** LiteLLM's address has the path of the endpoint in it. */
function sagemakerParams(params: Raw, environment: Raw): Raw {
  const component = textOf(params.model_id, environment)
  const base = textOf(params.sagemaker_base_url, environment)
  return {
    sagemakerRegion: textOf(params.aws_region_name, environment) ?? REGION,
    ...(component === undefined ? {} : { sagemakerComponent: component }),
    ...(base === undefined ? {} : { baseUrl: base.replace(/^(https?:\/\/[^/]+).*$/, '$1') })
  }
}

/** LiteLLM reads the same variables. Its address is the host of a region, which is baseUrl here. */
function watsonxParams(params: Raw, environment: Raw): Raw {
  const space = textOf(params.space_id, environment)
  const version = textOf(params.api_version, environment)
  return {
    ...(space === undefined
      ? { watsonxProject: textOf(params.project_id, environment) ?? '$WATSONX_PROJECT_ID' }
      : { watsonxSpace: space }),
    ...(version === undefined ? {} : { watsonxVersion: version })
  }
}

const AZURE_HOST = /^https?:\/\/([A-Za-z0-9-]+)\.openai\.azure\.com\/?$/

/** Where the host is not that of a resource, its name only fills the place that the schema has for it. */
function azureParams(params: Raw, environment: Raw, address = '$AZURE_API_BASE'): Raw {
  const version = textOf(params.api_version, environment)
  const [, resource] = AZURE_HOST.exec(address) ?? []
  const base = /^\$/.test(address) ? address : address.replace(/^(https?:\/\/[^/]+).*$/, '$1')
  return {
    ...(resource === undefined ? { azureResourceName: 'by-base-url', baseUrl: base } : { azureResourceName: resource }),
    ...(version === undefined ? {} : { azureApiVersion: version })
  }
}

/** Fields of requests that clients may leave out, and marks for the provider's cache. */
function changes(params: Raw, environment: Raw): Raw {
  const defaults = Object.entries(params).filter(([key, value]) => paramRow(key) === 'default' && isSet(value))
  const all = { ...Object.fromEntries(defaults), ...objectOf(params.extra_body) }
  const marks = Array.isArray(params.cache_control_injection_points)
  return {
    ...(Object.keys(all).length === 0 ? {} : { defaults: carriedValue(all, environment) }),
    ...(marks ? { promptCaching: { cacheSystem: true } } : {})
  }
}

const KEYS_OF_AWS = { aws_access_key_id: 'AWS_ACCESS_KEY_ID', aws_secret_access_key: 'AWS_SECRET_ACCESS_KEY' } as const

function notesOf(input: DeploymentInput, params: Raw, draft: Draft): void {
  const { file, raw, path, environment, credentials, checksLength } = input
  for (const [key, value] of Object.entries(params)) {
    const row = paramRow(key)
    const at = [...path, 'litellm_params', key]
    if (typeof row === 'object' && isSet(value)) draft.note(file, at, row.not)
    else if (checksLength && (key === 'rpm' || key === 'tpm') && isSet(value)) draft.note(file, at, LIMITS.not)
  }
  const credential = text(params.litellm_credential_name)
  if (credential !== undefined && !credentials.has(credential)) {
    draft.note(file, [...path, 'litellm_params', 'litellm_credential_name'], 'is no credential of credential_list')
  }
  // The default chain of AWS reads the same variables.
  for (const [key, name] of Object.entries(KEYS_OF_AWS)) {
    const value = textOf(params[key], environment)
    if (value !== undefined && value !== `$${name}`) {
      draft.note(file, [...path, 'litellm_params', key], `keys of AWS come from the environment: set ${name}`)
    }
  }
  for (const [key, value] of Object.entries(objectOf(raw.model_info))) {
    const row = infoRow(key)
    if (typeof row === 'object' && isSet(value)) draft.note(file, [...path, 'model_info', key], row.not)
  }
  for (const key of Object.keys(raw)) {
    if (!['model_name', 'litellm_params', 'model_info'].includes(key)) {
      draft.note(file, [...path, key], 'is not known to this importer')
    }
  }
}
