/** What a provider is sent for a request, as far as its configuration decides it. */

import type { AiBackend, AiProvider } from '#backends/llm/config/snapshot.ts'
import type { ClientFormat } from '#backends/llm/conversation.ts'
import { applyEdits, withDefaultModel } from '#backends/llm/edits/apply-edits.ts'
import { ModelPatterns } from '#backends/llm/edits/model-patterns.ts'
import { formatFor } from '#backends/llm/formats/index.ts'
import { takesPrefill } from '#backends/llm/formats/messages/model.ts'
import type { Dialect } from '#backends/llm/providers/dialect/dialect.ts'
import { dialectFor, type LearnedDialect } from '#backends/llm/providers/dialects.ts'
import { compileProvider } from '#backends/llm/providers/index.ts'
import type { Provider } from '#backends/llm/providers/provider.ts'
import type { ChatRequest } from '#backends/llm/request/chat-request.ts'
import { providerModel, type RequestPlan } from '#backends/llm/request/provider-request.ts'
import type { Account } from '#backends/llm/stored/stores.ts'

type ProviderSettings = Pick<AiProvider, 'type' | 'cloud' | 'formats' | 'model' | 'path' | 'pathPrefix' | 'edits'>

/** Plain data, and nothing secret: it also goes to other threads. */
export interface ProviderSpec {
  readonly settings: ProviderSettings
  /** By the name that tables of services have for it (prices/, capabilities.ts); absent: it is none that is known. */
  readonly service?: string
  readonly aliases: AiBackend['modelAliases']
  readonly learned: LearnedDialect
  /** As of RequestPlan. */
  readonly goesOn?: boolean
}

export interface ResolvedProvider extends Pick<ProviderSpec, 'service' | 'goesOn'> {
  readonly settings: ProviderSettings
  readonly provider: Provider
  readonly aliases: ModelPatterns<string>
  readonly learned: LearnedDialect
  /** Where what it keeps is kept; absent: nothing is asked of it that it would keep. */
  readonly account?: Account
}

export function resolveProvider({ settings, aliases, learned, ...rest }: ProviderSpec): ResolvedProvider {
  const provider = compileProvider(settings)
  return { ...rest, settings, provider, aliases: new ModelPatterns(Object.entries(aliases)), learned }
}

export interface PlannedRequest {
  /** As the configuration has changed it. */
  readonly request: ChatRequest
  readonly plan: RequestPlan
}

/** Throws FormatError. */
export function planRequest(chat: ChatRequest, writer: ResolvedProvider): PlannedRequest {
  const { edits } = writer.settings
  const first = planFor(withDefaultModel(chat, edits), writer)
  const request = applyEdits(chat, edits, first.format)
  return { request, plan: request === chat ? first : planFor(request, writer) }
}

function planFor(
  { model: requested, client }: ChatRequest,
  { settings, provider, aliases, learned, goesOn }: ResolvedProvider
): RequestPlan {
  const { path, pathPrefix, edits } = settings
  const model = providerModel(requested, settings.model, aliases)
  const format = formatFor(provider, client, model)
  const dialect = dialectOf(provider, learned, model)
  const plan = { provider, format, model, path, pathPrefix, caching: edits.caching, dialect }
  return goesOn === undefined ? plan : { ...plan, goesOn }
}

function dialectOf(provider: Provider, learned: LearnedDialect, model: string): Dialect {
  const named = provider.dialect?.(model) ?? null
  return named === null ? learned.dialect : dialectFor(named, '')
}

/** Whether the provider goes on with an answer whose beginning is the last turn of a request in the format `client`. */
export function takesBeginning(
  { settings, provider, aliases, learned }: ResolvedProvider,
  client: ClientFormat,
  requested: string
): boolean {
  const model = providerModel(requested, settings.model, aliases)
  const format = formatFor(provider, client, model)
  if (format === 'completions') return dialectOf(provider, learned, model).prefill !== 'none'
  // Gemini: "Requests ending with a model turn are not supported". The Responses API has no such turn.
  return (format === 'messages' || format === 'converse') && takesPrefill(model)
}
