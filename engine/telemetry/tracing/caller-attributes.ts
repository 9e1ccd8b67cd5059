/** Whose key a client has shown, by the names that the configuration has for it: never the key itself. */
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Attribute, AttributeValue } from '#engine/telemetry/otlp/attributes.ts'

const textOf = ({ identity }: Exchange, name: string): string | undefined => {
  const claims = identity?.apiKey ?? null
  const value = claims !== null && Object.hasOwn(claims, name) ? claims[name] : undefined
  return typeof value === 'string' && value !== '' ? value : undefined
}

const text =
  (name: string) =>
  (ex: Exchange): string | undefined =>
    textOf(ex, name)

/** The same list for each call of a key, so that it is compared by what it is. */
export function tagsOf({ identity }: Exchange): AttributeValue | undefined {
  const claims = identity?.apiKey ?? null
  const tags = claims !== null && Object.hasOwn(claims, 'tags') ? claims.tags : undefined
  const isList = Array.isArray(tags) && tags.length > 0 && tags.every((tag) => typeof tag === 'string')
  return isList ? (tags as readonly string[]) : undefined
}

/** `user.id` of the OpenTelemetry conventions: the owner of the key, or the key where none is named. */
export const CALLER_ATTRIBUTES: readonly Attribute<Exchange>[] = [
  ['user.id', (ex) => textOf(ex, 'owner') ?? textOf(ex, 'id') ?? textOf(ex, 'name')],
  ['weir.key.id', text('id')],
  ['weir.key.name', text('name')],
  ['weir.key.team', text('team')],
  ['weir.key.organisation', text('organisation')],
  ['weir.key.tags', tagsOf]
]

export const hasKey = ({ identity }: Exchange): boolean => identity !== null && identity.apiKey != null
