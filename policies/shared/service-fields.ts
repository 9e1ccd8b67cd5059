/** Fields that a service sets: which it may, and how they are written (envoy.config.core.v3.HeaderValueOption). */
import type { HeaderBlock } from '#engine/http/headers.ts'
import type { HeaderValueOption } from '#engine/proto/generated/envoy/config/core/v3/base.ts'
import { isReservedField } from './field.ts'

/** How a field is written where there may be some of its name: the four actions of Envoy. */
export type Action = 'append' | 'add-if-absent' | 'overwrite' | 'overwrite-if-exists'

export interface FieldChange {
  /** In lower case; a name that may be set. */
  readonly name: string
  /** Octets of the value, as latin1 text. */
  readonly value: string
  readonly action: Action
}

const NAME = /^[a-z0-9!#$%&'*+\-.^_`|~]{1,256}$/

/** `lower`: in lower case. */
export function isFieldName(lower: string): boolean {
  return NAME.test(lower)
}

/** `name` in lower case, if a service may set or remove a field of that name; else null. */
export function settableName(name: string): string | null {
  const lower = name.toLowerCase()
  // Host is the authority, which decides where the request goes: that is for policies of the configuration.
  return NAME.test(lower) && lower !== 'host' && !isReservedField(lower) ? lower : null
}

/** Whether a text, one character for each octet, may be the value of a field. */
export function isFieldText(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if ((c < 32 && c !== 9) || c === 127 || c > 255) return false
  }
  return true
}

const ACTIONS: readonly Action[] = ['append', 'add-if-absent', 'overwrite', 'overwrite-if-exists']

/** `append`, which is deprecated, goes before append_action where it is there: so does Envoy. */
export function actionOf({ append, appendAction }: HeaderValueOption): Action {
  if (append !== undefined) return append ? 'append' : 'overwrite'
  return ACTIONS[appendAction] ?? 'overwrite'
}

/** With neither, a field replaces those of its name: of requests in OkHttpResponse, and in HeaderMutation. */
export function replacing(option: HeaderValueOption): HeaderValueOption {
  const saysNothing = option.append === undefined && option.appendAction === APPEND_OR_ADD
  return saysNothing ? { ...option, append: false } : option
}

/** What HeaderValueOption.append_action is when it is not sent. */
const APPEND_OR_ADD = 0

export function changesOf(options: readonly HeaderValueOption[], ignored: () => void): FieldChange[] {
  const changes: FieldChange[] = []
  for (const option of options) {
    const name = settableName(option.header?.key ?? '')
    const value = octetsOf(option.header)
    if (name === null || value === null) ignored()
    else changes.push({ name, value, action: actionOf(option) })
  }
  return changes
}

/** The value as octets, one character each; null: it cannot be one. */
export function octetsOf(header: HeaderValueOption['header']): string | null {
  if (header === undefined) return null
  const { value, rawValue } = header
  const octets = Buffer.from(value === '' ? rawValue : Buffer.from(value, 'utf8')).toString('latin1')
  return isFieldText(octets) ? octets.trim() : null
}

export function applyField(block: HeaderBlock, { name, value, action }: FieldChange): void {
  if (action === 'append') block.append(name, value)
  else if (action === 'add-if-absent') {
    if (!block.has(name)) block.append(name, value)
  } else if (action === 'overwrite' || block.has(name)) {
    // Also what servers could take for it (x_role).
    block.strip([name])
    block.append(name, value)
  }
}
