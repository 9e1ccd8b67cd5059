/** One provider as a worker asks it. */

import type { Authenticator } from '#backends/llm/auth/authenticator.ts'
import { authenticatorFor } from '#backends/llm/auth/compile.ts'
import { FAILOVER_DEFAULT } from '#backends/llm/config/failover.ts'
import type { AiBackend, AiProvider, Cooldown } from '#backends/llm/config/snapshot.ts'
import { ProviderPrices, priceProvider } from '#backends/llm/prices/provider-prices.ts'
import { dialectFor, type LearnedDialect } from '#backends/llm/providers/dialects.ts'
import { serviceNamed } from '#backends/llm/providers/services.ts'
import type { Account, Store } from '#backends/llm/stored/stores.ts'
import { isChecked } from '#backends/shared/auth/check-credentials.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { configuredEndpoint } from '#engine/contract/backend-transport/endpoint.ts'
import type { CheckCredentials } from '#engine/contract/check-credentials.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import { Lru } from '#engine/kit/lru.ts'
import { Health, ProviderSlot } from './balancer.ts'
import { type ProviderSpec, type ResolvedProvider, resolveProvider } from './request-plan.ts'

export interface ProviderRuntime extends ResolvedProvider {
  readonly settings: AiProvider
  readonly spec: ProviderSpec
  readonly endpoint: Endpoint
  readonly authenticator: Authenticator
  readonly prices: ProviderPrices
  readonly account: Account
}

export function buildProvider(
  settings: AiProvider,
  backend: AiBackend,
  store: Store,
  context: BackendContext
): ProviderRuntime {
  const { type, cloud, formats, model, path, pathPrefix, edits } = settings
  const called = priceProvider(type, settings.dialect, settings.host)
  const service = serviceNamed(called, settings.host)
  const spec = {
    settings: { type, cloud, formats, model, path, pathPrefix, edits },
    service,
    aliases: settings.modelAliases ?? backend.modelAliases,
    learned: learnedDialect(settings, context),
    ...(backend.goesOn === true ? { goesOn: true } : {})
  }
  const { provider, aliases, learned } = resolveProvider(spec)
  const host = settings.host ?? provider.host
  const endpoint = configuredEndpoint({ ...settings, host }, context)
  const authenticator = authenticatorFor(settings.auth, { type, cloud: settings.cloud, provider, host }, context)
  if (isChecked(settings.transport)) context.upstream.checkAs(endpoint, checkCredentials(authenticator))
  const prices = new ProviderPrices(called, settings.prices ?? backend.prices, context)
  const account = { name: settings.name, store }
  const known = { settings, service, provider, endpoint, spec, aliases, learned, authenticator, prices, account }
  return backend.goesOn === true ? { ...known, goesOn: true } : known
}

const NO_KEY = { key: null, other: null }
const NO_CLIENT = { inRequest: NO_KEY, consumed: NO_KEY }

/** Null: it is clients who are shown. */
function checkCredentials({ wantsClient, authorize, refused }: Authenticator): CheckCredentials | null {
  return wantsClient ? null : { show: (ex) => authorize(ex, NO_CLIENT), refused }
}

/** Providers of which it is remembered how they are, and what they refuse. */
const HEALTH_MAX = 4096

/** With what has been learned of it since the process began, in this thread. */
function learnedDialect(
  { name, type, host, port, dialect, dialectChanges }: AiProvider,
  { state, name: backend }: BackendContext
): LearnedDialect {
  const known = state('ai.dialects', () => new Lru<string, LearnedDialect>(HEALTH_MAX))
  const key = [backend, name, type, host, port, dialect, JSON.stringify(dialectChanges)].join(' ')
  const learned = known.get(key) ?? { dialect: dialectFor(dialect, host ?? '', dialectChanges) }
  known.set(key, learned)
  return learned
}

/** With the health that it had in the configuration before, if it was there under its name at the same place. */
export function slotFor(
  choice: ProviderRuntime,
  { state, name }: BackendContext,
  cooldown: Cooldown = FAILOVER_DEFAULT.cooldown
): ProviderSlot<ProviderRuntime> {
  const known = state('ai.health', () => new Lru<string, Health>(HEALTH_MAX))
  const key = [name, choice.settings.name, choice.settings.type, choice.endpoint.name].join(' ')
  const health = known.get(key) ?? new Health()
  known.set(key, health)
  health.cooldown = cooldown
  return new ProviderSlot(choice, health, () => choice.endpoint.usable)
}
