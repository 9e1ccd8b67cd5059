/** What the name of a provider stands for in `llm`. */
import { COMPATIBLE, type CompatibleService, type DialectName } from '#backends/llm/providers/compatible.ts'
import { PROVIDERS } from '#backends/llm/providers/index.ts'
import type { ProviderKind } from '#backends/llm/providers/kind.ts'

/** Services at an address of their own, by the names that other gateways' files have for them. */
export const PRESETS = new Map(
  Object.entries<CompatibleService>(COMPATIBLE).flatMap(([name, { baseUrl, example, aliases = [] }]) => {
    if (baseUrl === undefined && example === undefined) return []
    return [name, ...aliases].map((called) => [called, { baseUrl, example, dialect: name as DialectName }] as const)
  })
)

const hasParams = ({ shortcut }: ProviderKind): boolean => shortcut?.params !== undefined

/** The others by the names that stand for them, those that need no parameters of their own first. */
export const KINDS: ReadonlyMap<string, ProviderKind> = new Map(
  PROVIDERS.toSorted((a, b) => Number(hasParams(a)) - Number(hasParams(b))).flatMap((kind) =>
    (kind.shortcut?.names ?? [kind.name]).map((name) => [name, kind] as const)
  )
)
