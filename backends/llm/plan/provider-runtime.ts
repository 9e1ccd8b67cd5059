/** One provider as a worker asks it. */

import { type Authority, authorityOf } from '#backends/llm/auth/authority.ts'
import { dialectFor, type Spoken } from '#backends/llm/providers/dialects.ts'
import type { BackendContext, Endpoint } from '#engine/contract/backend.ts'
import { endpointOptions } from '#engine/contract/backend-transport/transport.ts'
import type { AiBackend, AiProvider } from '#engine/ir/snapshot.ts'
import { Lru } from '#engine/kit/lru.ts'
import { Health, Seat } from './balancer.ts'
import { type Recipe, type Writer, writerOf } from './request-plan.ts'

export interface Choice extends Writer {
  readonly given: AiProvider
  readonly recipe: Recipe
  readonly endpoint: Endpoint
  readonly authority: Authority
}

export function choiceOf(given: AiProvider, backend: AiBackend, context: BackendContext): Choice {
  const { upstream, connectTimeoutMs } = context
  const { type, cloud, formats, model, path, pathPrefix, edits } = given
  const recipe = {
    given: { type, cloud, formats, model, path, pathPrefix, edits },
    aliases: given.modelAliases ?? backend.modelAliases,
    spoken: spokenBy(given, context)
  }
  const { provider, aliases, spoken } = writerOf(recipe)
  const host = given.host ?? provider.host
  const port = given.port ?? (given.hasTls ? 443 : 80)
  // The address comes from the configuration, so it needs no guard.
  const base = { guarded: false, allow: [], connectTimeoutMs }
  const options = endpointOptions({ host, hasTls: given.hasTls }, given.transport, base)
  const endpoint = upstream.endpoint({ host, port, unixPath: null }, options)
  return {
    given,
    provider,
    endpoint,
    recipe,
    aliases,
    spoken,
    authority: authorityOf(given.auth, { provider, cloud: given.cloud, host }, context)
  }
}

/** Providers of which it is remembered how they are, and what they refuse. */
const HEALTH_MAX = 4096

/** With what has been learned of it since the process began, in this thread. */
function spokenBy({ name, type, host, port, dialect }: AiProvider, { state, name: backend }: BackendContext): Spoken {
  const known = state('ai.dialects', () => new Lru<string, Spoken>(HEALTH_MAX))
  const key = [backend, name, type, host, port, dialect].join(' ')
  const spoken = known.get(key) ?? { dialect: dialectFor(dialect, host ?? '') }
  known.set(key, spoken)
  return spoken
}

/** With the health that it had in the configuration before, if it was there under its name at the same place. */
export function seatOf(choice: Choice, { state, name }: BackendContext): Seat<Choice> {
  const known = state('ai.health', () => new Lru<string, Health>(HEALTH_MAX))
  const key = [name, choice.given.name, choice.given.type, choice.endpoint.name].join(' ')
  const health = known.get(key) ?? new Health()
  known.set(key, health)
  return new Seat(choice, health)
}
