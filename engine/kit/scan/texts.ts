/**
 * The texts of a chat request or answer, wherever its format has them: every string below the given fields but those
 * whose name says that they are structure. What a format may add tomorrow is seen too; what has to stay as it is has
 * a name here. Tool arguments are JSON, whether they come as text or as a value.
 */

/** Ids, kinds, seals, media, places: nothing that somebody has written or that a model has said. */
const STRUCTURE: ReadonlySet<string> = new Set(
  `type role id name object model status format detail phase index ttl effort
  tool_call_id tool_use_id call_id item_id file_id container_id response_id server_label approval_request_id
  toolUseId responseId modelVersion videoMetadata
  media_type mediaType mimeType mime_type
  url image_url file_url uri fileUri file_uri s3Location bytes image_data file_data b64_json partial_image_b64
  signature thoughtSignature thought_signature encrypted_content encrypted_index encrypted_stdout redactedContent
  cache_control cachePoint prompt_cache_breakpoint extra_content obfuscation
  finish_reason finishReason stop_reason stop_sequence safetyRatings safety_ratings logprobs logprobsResult
  language outcome jsonPath`.split(/\s+/)
)
/** JSON as text. */
const JSON_TEXTS: ReadonlySet<string> = new Set(['arguments', 'partial_json'])
/** JSON as a value, where it is an object or a list; some servers have `arguments` so. */
const JSON_VALUES: ReadonlySet<string> = new Set(['input', 'args', 'arguments', 'response', 'json'])
/** A document in clear text, and everything else in base64, have the same field. */
const DATA = 'data'

const SYSTEM_ROOTS: ReadonlySet<string> = new Set(['system', 'instructions', 'systemInstruction', 'system_instruction'])
const ROLES: Readonly<Record<string, string>> = { model: 'assistant', developer: 'system', function: 'tool' }
const TOOL_PLACES: ReadonlySet<string> = new Set(['functionResponse', 'function_response', 'toolResult'])
const TOOL_TYPES = /tool_result$|_call_output$/
const CALL_TYPES = /tool_use$|_call$/

type Holder = { [key: string]: unknown }

export interface Slot {
  /** system, user, assistant or tool. */
  readonly role: string
  readonly isJson: boolean
  readonly text: string
  /** Names of the fields and indices of the lists that lead here, from the root on. */
  readonly path: string
  set(text: string): void
}

export function isObject(value: unknown): value is Holder {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The texts below the fields `roots` of `body`. `role`: of who says so nowhere. RangeError when it is too deep. */
export function textsOf(body: unknown, roots: readonly string[], role: string): Slot[] {
  const slots: Slot[] = []
  if (!isObject(body)) return slots
  for (const root of roots) {
    if (!Object.hasOwn(body, root)) continue
    // A root is where the conversation is, whatever its name says elsewhere.
    const from = { role: SYSTEM_ROOTS.has(root) ? 'system' : role, path: root, isStructural: false }
    visit(body, root, body[root], from, slots)
  }
  return slots
}

/** All texts of a value that has no roots, such as a part of an event. */
export function textsBelow(holder: object, key: string, role: string): Slot[] {
  const slots: Slot[] = []
  if (STRUCTURE.has(key)) return slots
  visit(holder as Holder, key, (holder as Holder)[key], { role, path: key, isStructural: false }, slots)
  return slots
}

interface Place {
  readonly role: string
  readonly path: string
  readonly isStructural: boolean
}

function visit(holder: Holder, key: string, value: unknown, place: Place, slots: Slot[]): void {
  if (typeof value === 'string') {
    if (value !== '' && !place.isStructural) slots.push(slotOf(holder, key, value, JSON_TEXTS.has(key), place))
    return
  }
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) {
      const index = isObject(item) && typeof item.index === 'number' ? item.index : i
      const at = { ...place, path: `${place.path}.${index}` }
      visit(value as unknown as Holder, String(i), item, at, slots)
    }
    return
  }
  const object = value as Holder
  const role = roleOf(object, place.role)
  for (const name of Object.keys(object)) {
    const one = object[name]
    const at = { role, path: `${place.path}.${name}`, isStructural: isStructure(object, name) }
    if (at.isStructural) continue
    if (JSON_VALUES.has(name) && typeof one === 'object' && one !== null) slots.push(valueSlot(object, name, one, at))
    else visit(object, name, one, TOOL_PLACES.has(name) ? { ...at, role: 'tool' } : at, slots)
  }
}

function isStructure(holder: Holder, name: string): boolean {
  if (name === DATA) return holder.type !== 'text'
  return STRUCTURE.has(name)
}

function roleOf({ role, type }: Holder, given: string): string {
  if (typeof type === 'string') {
    if (TOOL_TYPES.test(type)) return 'tool'
    if (CALL_TYPES.test(type)) return 'assistant'
  }
  if (typeof role !== 'string') return given
  return Object.hasOwn(ROLES, role) ? ROLES[role]! : role
}

function slotOf(holder: Holder, key: string, text: string, isJson: boolean, { role, path }: Place): Slot {
  return { role, isJson, text, path, set: (changed) => put(holder, key, changed) }
}

function valueSlot(holder: Holder, key: string, value: object, { role, path }: Place): Slot {
  const text = JSON.stringify(value)
  return { role, isJson: true, text, path, set: (changed) => put(holder, key, JSON.parse(changed)) }
}

/** Defined and not assigned: a field may be called __proto__. */
function put(holder: Holder, key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true })
}

/** Log probabilities name the tokens of the text. False: there were none. */
export function stripLogprobs(value: object): boolean {
  let isStripped = false
  const holder = value as { [name: string]: unknown }
  for (const name of Object.keys(holder)) {
    const one = holder[name]
    if (typeof one !== 'object' || one === null) continue
    if (name === 'logprobs' || name === 'logprobsResult') {
      if (Array.isArray(one) && one.length === 0) continue
      holder[name] = Array.isArray(one) ? [] : null
      isStripped = true
    } else if (stripLogprobs(one)) isStripped = true
  }
  return isStripped
}
