/** What the service wants changed in a head, as far as the rules allow it. */
import type { Exchange } from '#engine/contract/exchange.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { compilePattern, type Pattern } from '#engine/kit/pattern.ts'
import type { HeaderMutation } from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import type { Pseudo } from '#policies/shared/pseudo.ts'
import {
  actionOf,
  applyField,
  type FieldChange,
  isFieldName,
  octetsOf,
  replacing,
  settableName
} from '#policies/shared/service-fields.ts'
import type { MutationRulesConfig } from './schema.ts'

/** As many fields as servers take in a head. */
const CHANGES_MAX = 1000
const CHANGES_BYTES_MAX = 64 * 1024

export interface MutationRules {
  readonly allowsEnvoy: boolean
  readonly disallowsAll: boolean
  readonly disallowsSystem: boolean
  readonly disallowIsError: boolean
  readonly allowed: Pattern | null
  readonly disallowed: Pattern | null
}

export function rulesOf(config: MutationRulesConfig): MutationRules {
  const compiled = (source: string | undefined) => (source === undefined ? null : compilePattern(source))
  return {
    allowsEnvoy: config.allowEnvoy ?? false,
    disallowsAll: config.disallowAll ?? false,
    disallowsSystem: config.disallowSystem ?? false,
    disallowIsError: config.disallowIsError ?? false,
    allowed: compiled(config.allowExpression),
    disallowed: compiled(config.disallowExpression)
  }
}

/** A mutation that may be applied whole. */
export interface Changes {
  readonly removed: readonly string[]
  readonly fields: readonly FieldChange[]
  /** Pseudo headers that can be set, with their values. */
  readonly pseudo: readonly (readonly [name: string, value: string])[]
}

/** Where no pseudo header can be set. */
export const NO_PSEUDO: ReadonlyMap<string, Pseudo> = new Map()

export const NO_CHANGES: Changes = { removed: [], fields: [], pseudo: [] }

/**
 * What is allowed of `mutation`; a text says why it cannot be applied at all. `pseudo`: names of the pseudo headers of
 * that side that can be set.
 */
export function changesOf(
  mutation: HeaderMutation | undefined,
  rules: MutationRules,
  pseudo: ReadonlyMap<string, Pseudo>
): Changes | string {
  if (mutation === undefined) return NO_CHANGES
  const { setHeaders, removeHeaders } = mutation
  if (setHeaders.length + removeHeaders.length > CHANGES_MAX) return 'it changes too many fields'
  const changes = { removed: [] as string[], fields: [] as FieldChange[], pseudo: [] as [string, string][] }
  let bytes = 0
  for (const field of removeHeaders) {
    const name = field.toLowerCase()
    if (name === 'content-length') continue
    if (settableName(name) !== null && isAllowed(name, rules)) changes.removed.push(name)
    else if (rules.disallowIsError) return DISALLOWED
  }
  for (const option of setHeaders) {
    const name = (option.header?.key ?? '').toLowerCase()
    // The engine writes it, as long as the body is.
    if (name === 'content-length') continue
    const value = octetsOf(option.header)
    const isPseudo = pseudo.has(name)
    if (value === null || !(isPseudo || name.startsWith(':') || isFieldName(name))) return 'it sets what is no field'
    bytes += name.length + value.length
    if (bytes > CHANGES_BYTES_MAX) return 'it sets fields that are too long'
    if (isPseudo && isAllowed(name, rules)) changes.pseudo.push([name, value])
    else if (!isPseudo && settableName(name) !== null && isAllowed(name, rules))
      changes.fields.push({ name, value, action: actionOf(replacing(option)) })
    else if (rules.disallowIsError) return DISALLOWED
  }
  return changes
}

const DISALLOWED = 'it changes a field that it may not change'

/** In the order of Envoy: what an expression says of a name goes before all else. */
function isAllowed(name: string, rules: MutationRules): boolean {
  const { disallowed, allowed, disallowsAll, disallowsSystem, allowsEnvoy } = rules
  if (disallowed?.matches(name) === true) return false
  if (allowed?.matches(name) === true) return true
  if (disallowsAll || (disallowsSystem && name.startsWith(':'))) return false
  return allowsEnvoy || !name.startsWith('x-envoy')
}

/** Removals come first, as in Envoy. */
export function applyChanges(
  ex: Exchange,
  block: HeaderBlock,
  { removed, fields, pseudo }: Changes,
  setters: ReadonlyMap<string, Pseudo>
): void {
  if (removed.length > 0) block.strip(removed)
  for (const change of fields) applyField(block, change)
  // A value that cannot be one changes nothing.
  for (const [name, value] of pseudo) setters.get(name)!(ex, value)
}

/** The fields as those of a message of its own, flat: name, value, ... */
export function flatFields({ fields }: Changes): string[] {
  const flat: string[] = []
  for (const { name, value, action } of fields) {
    const known = flat.findIndex((other, i) => i % 2 === 0 && other === name)
    if (action === 'append' || known < 0) flat.push(name, value)
    else flat[known + 1] = value
  }
  return flat
}
