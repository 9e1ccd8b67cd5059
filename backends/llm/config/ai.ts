/** The file's `ai` backends (docs/specification.md#llm-backends): schema, and its form in the Snapshot. */

import type { AiBackend } from '#backends/llm/config/snapshot.ts'
import type { TranslateContext } from '#engine/contract/backend-config.ts'
import { backendPriceRows, type FilePrices, rowsOf } from '#engine/prices/schema.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { entriesOf, type Raw } from '#engine/schema/placed.ts'
import { cel, ONLY_FILES } from '#engine/schema/rule.ts'
import { list, misplacedKeys, name, z } from '#engine/schema/schema.ts'
import { allOnlyInFiles, onlyInFiles } from '#engine/schema/spelling.ts'
import { together } from '#engine/schema/together.ts'
import { cache, cacheOf } from './cache.ts'
import { edits, withOuter } from './edits.ts'
import { failoverOf, failoverSettings } from './failover.ts'
import { type FileGuards, promptGuard, translateGuards, unguardedRoute } from './guards.ts'
import { levelsOf, mergedModelPolicies } from './policies.ts'
import { type FileProvider, provider, providerOf } from './providers.ts'
import { ranking, rankingOf } from './ranking.ts'
import { type FileRoutes, routes, translateRoutes } from './routes.ts'
import { shadow, shadowHasName, shadowOf } from './shadow.ts'
import { type FileStored, stored, storedOf } from './stored.ts'
import { continuationsOf, silenceOf, streams } from './streams.ts'

/** docs/specification.md#llm-backends. */
const GROUPS_MAX = 32
const PROVIDERS_MAX = 32

/** Groups have a name in common with themselves alone. */
const UNIQUE_NAMES = cel(
  '!has(self.groups) || self.groups.all(one, self.groups.exists_one(other, ' +
    'sets.intersects(one.providers.map(p, p.name), other.providers.map(p, p.name)))) && ' +
    'self.groups.all(one, one.providers.all(p, one.providers.exists_one(q, q.name == p.name)))',
  { message: 'names of providers must be unique across all groups', field: 'groups' }
)

/** What happens to fields that a provider has not got. */
const unsupported = () =>
  z
    .enum(['tolerant', 'refuse', 'drop'])
    .optional()
    .describe(
      'Fields that the provider cannot be told. Default tolerant: 400 that names what changes the meaning, the rest is left out. refuse: 400. drop: left out.'
    )

export const aiSchema = () =>
  oneOf(
    {
      provider: provider().optional().describe('The only provider.'),
      groups: list(z.strictObject({ providers: list(provider({ name: name() }), 1, PROVIDERS_MAX) }), 1, GROUPS_MAX)
        .optional()
        .describe('Providers in order of priority; those of one group are equal.')
    },
    {
      name: onlyInFiles(name().optional()).describe('Of the only provider, in telemetry. Default: its kind.'),
      routes: onlyInFiles(routes().optional()),
      ...allOnlyInFiles(edits()),
      unsupported: unsupported(),
      routing: onlyInFiles(ranking().optional()),
      failover: onlyInFiles(failoverSettings().optional()),
      shadow: onlyInFiles(shadow({ provider: name().describe('The name of one of the providers.') }).optional()),
      cache: onlyInFiles(cache().optional()),
      stored: onlyInFiles(stored().optional()),
      streams: streams().optional(),
      prices: onlyInFiles(backendPriceRows.optional()).describe('What calls cost, in place of config.prices.'),
      ...misplacedKeys('belongs into the provider, or beside ai', ['policies', 'auth']),
      promptGuard: onlyInFiles(promptGuard().optional()).describe(
        'What may not be asked or answered: masked or rejected.'
      )
    }
  )
    .check(
      together<FileAi>(
        [],
        ({ value, issues }) => {
          if (value.name === undefined || value.groups === undefined) return
          const message = 'is for a backend with one provider: each provider of a group has its own name'
          issues.push({ code: 'custom', path: ['name'], message, input: value.name })
        },
        ONLY_FILES
      )
    )
    .check(
      together<FileAi>(
        ['promptGuard', 'routes'],
        ({ value, issues }) => {
          const unguarded = value.promptGuard === undefined ? null : unguardedRoute(value.routes ?? {})
          if (unguarded === null) return
          const message = `prompt guards cannot see what passes as ${unguarded[1]} (route ${unguarded[0]}); that needs a backend without them`
          issues.push({ code: 'custom', path: ['promptGuard'], message, input: value.promptGuard })
        },
        ONLY_FILES
      )
    )
    .check(shadowHasName())
    .check(
      together<Raw>(
        [],
        ({ value, issues }) => {
          const names = new Set<unknown>()
          for (const group of entriesOf(value.groups, ['groups'])) {
            for (const { raw, path } of entriesOf(group.raw.providers, [...group.path, 'providers'])) {
              const { name: called } = raw
              if (names.has(called)) {
                const at = [...path, 'name']
                issues.push({ code: 'custom', path: at, message: `two providers are called ${called}`, input: called })
              }
              if (typeof called === 'string') names.add(called)
            }
          }
        },
        UNIQUE_NAMES
      )
    )

interface FileAi {
  readonly name?: string | undefined
  readonly groups?: unknown
  readonly promptGuard?: FileGuards | undefined
  readonly prices?: FilePrices
  readonly routes?: FileRoutes | undefined
  readonly stored?: FileStored | undefined
}

export type FileAiBackend = z.output<ReturnType<typeof aiSchema>>

/** What the backend itself says wins over what policies say for all its providers. */
export function translateAi(file: FileAiBackend, context: TranslateContext): AiBackend {
  const { policies, levels, transportOf, authOf } = context
  const groups =
    file.provider === undefined
      ? file.groups!.map(({ providers }) => providers)
      : [[{ name: file.name, ...file.provider }]]
  const { ai = {} } = mergedModelPolicies(levelsOf(levels))
  const changes = withOuter(file, ai)
  const translated = groups.map((providers) =>
    providers.map((input) => {
      const provider = input as FileProvider
      const own = provider.policies
      return providerOf(provider, changes, { transport: transportOf(own), auth: authOf(own) })
    })
  )
  const copied = translated.flat().find((one) => one.name === file.shadow?.provider)
  return {
    kind: 'ai',
    groups: translated,
    routes: translateRoutes(file.routes ?? ai.routes ?? {}),
    modelAliases: changes.modelAliases ?? {},
    unsupported: file.unsupported ?? 'tolerant',
    silence: silenceOf(file.streams),
    continuations: continuationsOf(file.streams),
    promptGuard: translateGuards(file.promptGuard ?? ai.promptGuard, context.sources),
    ranking: rankingOf(file.routing),
    failover: failoverOf(file.failover),
    ...(copied === undefined ? {} : { shadow: shadowOf(file.shadow!, copied) }),
    prices: rowsOf(file.prices) ?? [],
    cache: cacheOf(file.cache),
    stored: storedOf(file.stored),
    policies
  }
}
