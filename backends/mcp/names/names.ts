/**
 * Maps names of targets to names of clients and back. With several targets, tools and prompts are `<target>_<name>`,
 * resources `<target>+<uri>` (for ui:// the authority begins with `<target>+`), and ids that a target has chosen
 * `<target>+<id>`. Names of targets contain neither "_" nor "+", so the first of these ends the target's name.
 */

import { isObject, type JsonObject, type JsonValue, type RpcId } from '#backends/mcp/protocol/json-rpc.ts'
export interface OwnedName {
  readonly target: string
  readonly name: string
}

export class Names {
  readonly targets: ReadonlySet<string>
  /** Names of tools and prompts begin with their target's. */
  readonly isPrefixed: boolean
  /** There are several targets: URIs and ids begin with the target's name, whatever `mode` is. */
  readonly isMultiplexed: boolean
  readonly #only: string

  constructor(targets: readonly string[], mode: 'conditional' | 'always' | 'never') {
    this.targets = new Set(targets)
    this.isMultiplexed = targets.length > 1
    this.isPrefixed = mode === 'always' || (mode === 'conditional' && this.isMultiplexed)
    this.#only = targets[0] ?? ''
  }

  name(target: string, name: string): string {
    return this.isPrefixed ? `${target}_${name}` : name
  }

  /** Null: no target has it, or several targets have unprefixed names, so that only their lists can tell. */
  ownerOfName(name: string): OwnedName | null {
    if (this.isPrefixed) return this.#split(name, '_', 0)
    return this.isMultiplexed ? null : { target: this.#only, name }
  }

  uri(target: string, uri: string): string {
    if (!this.isMultiplexed) return uri
    return uri.startsWith(UI) ? `${UI}${target}+${uri.slice(UI.length)}` : `${target}+${uri}`
  }

  ownerOfUri(uri: string): OwnedName | null {
    if (!this.isMultiplexed) return { target: this.#only, name: uri }
    if (!uri.startsWith(UI)) return this.#split(uri, '+', 0)
    const owned = this.#split(uri, '+', UI.length)
    return owned === null ? null : { target: owned.target, name: UI + owned.name }
  }

  /** For ids of a server's requests and its progress tokens: strings and numbers stay distinct. */
  id(target: string, id: RpcId): RpcId {
    return this.isMultiplexed ? `${target}+${typeof id === 'number' ? 'n' : 's'}${id}` : id
  }

  ownerOfId(id: RpcId): { readonly target: string; readonly id: RpcId } | null {
    if (!this.isMultiplexed) return { target: this.#only, id }
    const owned = typeof id === 'string' ? this.#split(id, '+', 0) : null
    if (owned === null) return null
    const text = owned.name.slice(1)
    if (owned.name[0] === 's') return { target: owned.target, id: text }
    const number = Number(text)
    return owned.name[0] === 'n' && Number.isSafeInteger(number) ? { target: owned.target, id: number } : null
  }

  taskId(target: string, id: string): string {
    return this.isMultiplexed ? `${target}+${id}` : id
  }

  ownerOfTask(id: string): OwnedName | null {
    return this.isMultiplexed ? this.#split(id, '+', 0) : { target: this.#only, name: id }
  }

  #split(text: string, mark: string, from: number): OwnedName | null {
    const at = text.indexOf(mark, from)
    if (at < 0) return null
    const target = text.slice(from, at)
    return this.targets.has(target) ? { target, name: text.slice(at + 1) } : null
  }
}

const UI = 'ui://'
const RELATED_TASK = 'io.modelcontextprotocol/related-task'

/** Whether a result may contain a URI or a task id; others need not be parsed. */
export function mayContainNames(json: Buffer): boolean {
  return json.includes('"uri"') || json.includes('"taskId"') || json.includes('esourceUri"')
}

/** A result, or the params of a notification, with URIs and task ids as clients know them. */
export function resultForClient(names: Names, target: string, value: JsonObject): JsonObject {
  if (!names.isMultiplexed) return value
  const changed: Record<string, JsonValue> = { ...value }
  if (Array.isArray(value.content)) changed.content = value.content.map((block) => contentBlock(names, target, block))
  if (Array.isArray(value.contents)) changed.contents = value.contents.map((part) => withUri(names, target, part))
  if (Array.isArray(value.messages)) changed.messages = value.messages.map((one) => promptMessage(names, target, one))
  if (typeof value.uri === 'string') changed.uri = names.uri(target, value.uri)
  if (typeof value.taskId === 'string') changed.taskId = names.taskId(target, value.taskId)
  if (isObject(value.task)) changed.task = withTask(names, target, value.task)
  if (isObject(value._meta)) changed._meta = metaForClient(names, target, value._meta)
  return changed
}

/** `_meta` may contain the related task, and pages of apps (ui.resourceUri). */
export function metaForClient(names: Names, target: string, meta: JsonObject): JsonObject {
  const changed: Record<string, JsonValue> = { ...meta }
  const task = meta[RELATED_TASK]
  if (isObject(task)) changed[RELATED_TASK] = withTask(names, target, task)
  const { ui } = meta
  if (isObject(ui) && typeof ui.resourceUri === 'string')
    changed.ui = { ...ui, resourceUri: names.uri(target, ui.resourceUri) }
  const flat = meta['ui/resourceUri']
  if (typeof flat === 'string') changed['ui/resourceUri'] = names.uri(target, flat)
  return changed
}

function promptMessage(names: Names, target: string, message: JsonValue): JsonValue {
  if (!isObject(message) || message.content === undefined) return message
  return { ...message, content: contentBlock(names, target, message.content) }
}

/** A resource link, or an embedded resource. */
function contentBlock(names: Names, target: string, block: JsonValue): JsonValue {
  if (!isObject(block)) return block
  if (block.type === 'resource_link') return withUri(names, target, block)
  if (block.type !== 'resource' || block.resource === undefined) return block
  return { ...block, resource: withUri(names, target, block.resource) }
}

function withUri(names: Names, target: string, value: JsonValue): JsonValue {
  return isObject(value) && typeof value.uri === 'string' ? { ...value, uri: names.uri(target, value.uri) } : value
}

function withTask(names: Names, target: string, task: JsonObject): JsonObject {
  return typeof task.taskId === 'string' ? { ...task, taskId: names.taskId(target, task.taskId) } : task
}
