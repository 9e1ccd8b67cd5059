/**
 * The texts of a chat request or answer, wherever its format has them: every string below the given fields, except
 * those whose name marks them as structure. Fields that a format adds later are searched too; fields that must not
 * change are named here. Tool arguments are JSON, as text or as a value.
 */

/** Ids, kinds, seals, media, places: nothing that a person or a model has written. */
const STRUCTURE: ReadonlySet<string> = new Set(
  `type role id name object model status format detail phase index ttl effort
  tool_call_id tool_use_id call_id item_id file_id container_id response_id server_label approval_request_id
  toolUseId responseId modelVersion videoMetadata
  media_type mediaType mimeType mime_type
  url image_url file_url uri fileUri file_uri s3Location bytes image_data file_data b64_json partial_image_b64
  signature thoughtSignature thought_signature encrypted_content encrypted_index encrypted_stdout redactedContent
  cache_control cachePoint prompt_cache_breakpoint extra_content obfuscation
  finish_reason finishReason stop_reason stop_sequence safetyRatings safety_ratings blockReason logprobs logprobsResult
  language outcome jsonPath`.split(/\s+/)
)
/** Of those the ones that are words of an API: with a space in it, it is prose ("detail" of an error). */
const WORDS: ReadonlySet<string> = new Set(
  'object status format detail phase effort language outcome blockReason'.split(' ')
)
/** Beside the texts of an answer: its cost, its model, place and time. */
const ENVELOPE: ReadonlySet<string> = new Set(
  `usage usageMetadata usage_metadata metrics timings service_tier serviceTier system_fingerprint provider created
  created_at createTime stopReason p`.split(/\s+/)
)
/** In place of a root: whatever is beside the others. */
export const BESIDE = '*'
/** JSON as text. */
const JSON_TEXTS: ReadonlySet<string> = new Set(['arguments', 'partial_json'])
/** JSON as a value, where it is an object or a list; some servers have `arguments` so. */
const JSON_VALUES: ReadonlySet<string> = new Set(['input', 'args', 'arguments', 'response', 'json'])
/** What templates of open models say in whatever way they like, so that no name in it is structure. */
const JSON_ROOTS: ReadonlySet<string> = new Set(['documents', 'chat_template_kwargs'])
/** Of a prompt that the provider keeps: they have names of the user's own ("Responses"). */
const VARIABLES = 'variables'
/** A document in clear text, and everything else in base64, have the same field. */
const DATA = 'data'

/** Where the turns of a conversation are. */
const TURN_ROOTS: ReadonlySet<string> = new Set(['messages', 'contents', 'input'])
const SYSTEM_ROOTS: ReadonlySet<string> = new Set(['system', 'instructions', 'systemInstruction', 'system_instruction'])
const ROLES: Readonly<Record<string, string>> = { model: 'assistant', developer: 'system', function: 'tool' }
const TOOL_PLACES: ReadonlySet<string> = new Set(['functionResponse', 'function_response', 'toolResult'])
const TOOL_TYPES = /tool_result$|_call_output$/
const CALL_TYPES = /tool_use$|_call$/

export type Holder = { [key: string]: unknown }

/** What is written there is a name for others to find: it is looked at, and cannot be changed. */
const NAMES: ReadonlySet<string> = new Set(['name', 'role', 'server_label'])
const KNOWN_ROLES: ReadonlySet<unknown> = new Set([
  'system',
  'developer',
  'user',
  'assistant',
  'model',
  'tool',
  'function'
])

/** Fields of the parts of a message that are read as one text. */
const PART_TEXTS: ReadonlySet<string> = new Set(['text', 'thinking'])
/** Where a part that is a thought keeps its text (Amazon Bedrock). */
const THOUGHT_HOLDERS: ReadonlySet<string> = new Set(['reasoningContent', 'reasoningText'])
/** Lists whose items may be texts themselves. */
const PART_LISTS: ReadonlySet<string> = new Set(['content', 'parts'])

/** Texts with the same list and kind read as one text. */
export interface Run {
  readonly list: object
  readonly kind: 'text' | 'thought'
}

export interface Slot {
  /** system, user, assistant or tool. */
  readonly role: string
  readonly isJson: boolean
  readonly text: string
  /** Names of the fields and indices of the lists that lead here, from the root on. */
  readonly path: string
  /** Null: it stands alone. */
  readonly run: Run | null
  set(text: string): void
}

/** What is found below the roots of a body. */
export interface Found {
  readonly slots: Slot[]
  /** Names on the way, where they are asked for. */
  readonly names: string[] | null
}

export function isObject(value: unknown): value is Holder {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * The texts below the fields at the paths `roots` of `body`. `role`: of texts without one of their own. RangeError when
 * it is nested too deeply.
 */
export function textsOf(body: unknown, roots: readonly string[], role: string): Slot[] {
  const slots: Slot[] = []
  find(body, roots, role, { slots, names: null })
  return slots
}

/** The same, and the names that stand beside the texts. */
export function textsAndNamesOf(body: unknown, roots: readonly string[], role: string) {
  const found = { slots: [] as Slot[], names: [] as string[] }
  find(body, roots, role, found)
  return found
}

function find(body: unknown, roots: readonly string[], role: string, found: Found): void {
  // All instructions are one text to models that have one place for them.
  const system = {}
  for (const root of roots) {
    if (root === BESIDE && isObject(body)) found.slots.push(...textsBeside(body, roots, role))
    const at = holderOf(body, root)
    if (at === null) continue
    const { holder, key } = at
    // A root is where the conversation is, whatever its name says elsewhere.
    const isSystem = SYSTEM_ROOTS.has(key)
    const from = isSystem
      ? { ...ALONE, role: 'system', path: root, list: system, answer: system, turn: system }
      : { ...ALONE, role, path: root }
    const value = holder[key]
    if (TURN_ROOTS.has(key) && Array.isArray(value)) {
      visitTurns(value, from, system, found)
      continue
    }
    if (JSON_ROOTS.has(root) && typeof value === 'object' && value !== null) {
      found.slots.push(valueSlot(holder, key, value, from))
      continue
    }
    // The messages of one answer of "Responses" are read as one text.
    const isAnswer = root === 'output' && Array.isArray(value)
    visit(holder, key, value, isAnswer ? { ...from, answer: value } : from, found)
  }
}

/** Where the field is that `path` leads to ("text.format"); null: nowhere. */
export function holderOf(body: unknown, path: string): { readonly holder: Holder; readonly key: string } | null {
  const names = path.split('.')
  const key = names.pop()!
  let holder: unknown = body
  for (const name of names) holder = isObject(holder) && Object.hasOwn(holder, name) ? holder[name] : null
  return isObject(holder) && Object.hasOwn(holder, key) ? { holder, key } : null
}

/** All texts of a value that has no roots, such as a part of an event. */
export function textsBelow(holder: object, key: string, role: string): Slot[] {
  const slots: Slot[] = []
  if (isFixed(holder as Holder, key)) return slots
  visit(holder as Holder, key, (holder as Holder)[key], { ...ALONE, role, path: key }, { slots, names: null })
  return slots
}

/** The texts of a value that stand below none of the fields `taken`. */
export function textsBeside(holder: Holder, taken: readonly string[], role: string): Slot[] {
  const slots: Slot[] = []
  for (const name of Object.keys(holder)) {
    const one = holder[name]
    const isText = typeof one === 'string' || (typeof one === 'object' && one !== null)
    if (isText && !ENVELOPE.has(name) && !taken.includes(name)) slots.push(...textsBelow(holder, name, role))
  }
  return slots
}

interface TextContext {
  readonly role: string
  readonly path: string
  /** The list of parts in which the value stands, or whose item it belongs to; null: none. */
  readonly list: object | null
  readonly kind: Run['kind']
  /** The list of messages that are one answer; null: it is none, or further up. */
  readonly answer: object | null
  /** What the parts of this message are parts of; null: it is none. */
  readonly turn: object | null
}

const ALONE = { list: null, kind: 'text', answer: null, turn: null } as const

/**
 * Consecutive messages of one role are one turn: some providers join them, and so do translations to formats in which
 * turns have to alternate.
 */
function visitTurns(value: readonly unknown[], place: TextContext, system: object, found: Found): void {
  let turn = { role: '' }
  for (const [i, item] of value.entries()) {
    const at = { ...place, path: `${place.path}.${i}` }
    if (!isObject(item)) {
      visit(value as unknown as Holder, String(i), item, at, found)
      continue
    }
    const role = roleOf(item, place.role)
    // Thoughts ("Responses") have no role and end nothing.
    const goesOn = role === turn.role || role === 'system' || item.type === 'reasoning'
    if (!goesOn || role === 'tool') turn = { role }
    visitObject(item, { ...at, turn: role === 'system' ? system : turn }, found)
  }
}

function visit(holder: Holder, key: string, value: unknown, place: TextContext, { slots, names }: Found): void {
  if (typeof value === 'string') {
    if (value !== '') slots.push(slotOf(holder, key, value, JSON_TEXTS.has(key), place))
  } else if (Array.isArray(value)) visitList(value, key, place, { slots, names })
  else if (typeof value === 'object' && value !== null) visitObject(value as Holder, place, { slots, names })
}

function visitList(value: readonly unknown[], key: string, place: TextContext, found: Found): void {
  const isAnswer = place.answer === value
  const isPart = PART_LISTS.has(key) || SYSTEM_ROOTS.has(key)
  const list = isAnswer ? null : isPart && place.answer !== null ? place.answer : value
  const answer = isAnswer ? place.answer : null
  for (const [i, item] of value.entries()) {
    const index = isObject(item) && typeof item.index === 'number' ? item.index : i
    const at = { role: place.role, kind: place.kind, path: `${place.path}.${index}`, list, answer, turn: null }
    const isText = typeof item === 'string' && !PART_LISTS.has(key)
    visit(value as unknown as Holder, String(i), item, isText ? { ...at, list: null } : at, found)
  }
}

function visitObject(object: Holder, place: TextContext, found: Found): void {
  const role = roleOf(object, place.role)
  const isThought = object.thought === true || object.type === 'reasoning_text' || object.type === 'thinking'
  const kind = isThought ? 'thought' : place.kind
  for (const name of Object.keys(object)) {
    const one = object[name]
    if (isStructure(object, name)) {
      if (found.names !== null && NAMES.has(name)) note(one, name, found.names)
      continue
    }
    const path = `${place.path}.${name}`
    const isPart = PART_TEXTS.has(name) && typeof one === 'string'
    const goesOn = isPart || THOUGHT_HOLDERS.has(name)
    const turn = PART_LISTS.has(name) ? place.turn : null
    const at: TextContext = {
      role: TOOL_PLACES.has(name) ? 'tool' : role,
      path,
      list: goesOn ? place.list : typeof one === 'string' ? turn : null,
      kind: name === 'thinking' || THOUGHT_HOLDERS.has(name) ? 'thought' : goesOn ? kind : 'text',
      answer: turn ?? place.answer,
      turn: null
    }
    if (JSON_VALUES.has(name) && typeof one === 'object' && one !== null) {
      found.slots.push(valueSlot(object, name, one, { ...at, role }))
    } else if (name === VARIABLES && isObject(one)) {
      for (const key of Object.keys(one)) visit(one, key, one[key], { ...at, path: `${path}.${key}` }, found)
    } else visit(object, name, one, at, found)
  }
}

function note(value: unknown, field: string, names: string[]): void {
  if (typeof value === 'string' && value !== '' && !(field === 'role' && KNOWN_ROLES.has(value))) names.push(value)
}

function isStructure(holder: Holder, name: string): boolean {
  if (name === DATA) return holder.type !== 'text' && isWord(holder[name])
  return isFixed(holder, name)
}

/** One word: no prose, but an id, a credential or base64, which may have lines. */
export const isWord = (value: unknown): boolean => typeof value !== 'object' && !/[ \t]/.test(String(value))

function isFixed(holder: Holder, name: string): boolean {
  return STRUCTURE.has(name) && !(WORDS.has(name) && isProse(holder[name]))
}

const isProse = (value: unknown): boolean => typeof value === 'string' && /\s/.test(value)

function roleOf({ role, type }: Holder, inherited: string): string {
  if (typeof type === 'string') {
    if (TOOL_TYPES.test(type)) return 'tool'
    if (CALL_TYPES.test(type)) return 'assistant'
  }
  if (typeof role !== 'string') return inherited
  return Object.hasOwn(ROLES, role) ? ROLES[role]! : role
}

function slotOf(holder: Holder, key: string, text: string, isJson: boolean, place: TextContext): Slot {
  const { role, path, list, kind } = place
  const run = list === null || isJson ? null : { list, kind }
  return { role, isJson, text, path, run, set: (changed) => put(holder, key, changed) }
}

function valueSlot(holder: Holder, key: string, value: object, { role, path }: TextContext): Slot {
  const text = JSON.stringify(value)
  return { role, isJson: true, text, path, run: null, set: (changed) => put(holder, key, JSON.parse(changed)) }
}

/** Defined and not assigned: a field may be called __proto__. */
export function put(holder: Holder, key: string, value: unknown): void {
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
