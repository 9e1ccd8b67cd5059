/**
 * Which target a name belongs to. With several targets a tool or prompt of one is `<target>_<name>`, what has a URI
 * is `<target>+<uri>` (of ui:// resources the authority begins with `<target>+`), and ids that a target chose are
 * `<target>+<id>`. Names of targets have neither "_" nor "+", so the first of them ends the target's.
 */

import type { JsonObject, JsonValue, RpcId } from '#backends/mcp/protocol/json-rpc.ts'
import { isObject } from '#backends/mcp/protocol/read-message.ts'

export interface Owned {
  readonly target: string
  readonly name: string
}

export class Names {
  readonly targets: ReadonlySet<string>
  /** Tools and prompts say their target. */
  readonly isPrefixed: boolean
  /** URIs and ids do: where there are several targets, whatever the names of tools look like. */
  readonly isTagged: boolean
  readonly #only: string

  constructor(targets: readonly string[], mode: 'conditional' | 'always' | 'never') {
    this.targets = new Set(targets)
    this.isTagged = targets.length > 1
    this.isPrefixed = mode === 'always' || (mode === 'conditional' && this.isTagged)
    this.#only = targets[0] ?? ''
  }

  name(target: string, name: string): string {
    return this.isPrefixed ? `${target}_${name}` : name
  }

  /** Null: nobody's. Where several targets have plain names, only their lists can tell: not for here. */
  ownerOfName(name: string): Owned | null {
    if (this.isPrefixed) return this.#split(name, '_', 0)
    return this.isTagged ? null : { target: this.#only, name }
  }

  uri(target: string, uri: string): string {
    if (!this.isTagged) return uri
    return uri.startsWith(UI) ? `${UI}${target}+${uri.slice(UI.length)}` : `${target}+${uri}`
  }

  ownerOfUri(uri: string): Owned | null {
    if (!this.isTagged) return { target: this.#only, name: uri }
    if (!uri.startsWith(UI)) return this.#split(uri, '+', 0)
    const owned = this.#split(uri, '+', UI.length)
    return owned === null ? null : { target: owned.target, name: UI + owned.name }
  }

  /** Ids of requests of a server, and its tokens of progress: text and numbers stay apart. */
  id(target: string, id: RpcId): RpcId {
    return this.isTagged ? `${target}+${typeof id === 'number' ? 'n' : 's'}${id}` : id
  }

  ownerOfId(id: RpcId): { readonly target: string; readonly id: RpcId } | null {
    if (!this.isTagged) return { target: this.#only, id }
    const owned = typeof id === 'string' ? this.#split(id, '+', 0) : null
    if (owned === null) return null
    const text = owned.name.slice(1)
    if (owned.name[0] === 's') return { target: owned.target, id: text }
    const number = Number(text)
    return owned.name[0] === 'n' && Number.isSafeInteger(number) ? { target: owned.target, id: number } : null
  }

  taskId(target: string, id: string): string {
    return this.isTagged ? `${target}+${id}` : id
  }

  ownerOfTask(id: string): Owned | null {
    return this.isTagged ? this.#split(id, '+', 0) : { target: this.#only, name: id }
  }

  #split(text: string, mark: string, from: number): Owned | null {
    const at = text.indexOf(mark, from)
    if (at < 0) return null
    const target = text.slice(from, at)
    return this.targets.has(target) ? { target, name: text.slice(at + 1) } : null
  }
}

const UI = 'ui://'
const RELATED_TASK = 'io.modelcontextprotocol/related-task'

/** Whether a result may say a URI or an id of a task: what says neither is not read. */
export function maySayPlaces(json: Buffer): boolean {
  return json.includes('"uri"') || json.includes('"taskId"') || json.includes('esourceUri"')
}

/** A result, or the parameters of a notification, with the URIs and ids of tasks that clients know. */
export function outward(names: Names, target: string, value: JsonObject): JsonObject {
  if (!names.isTagged) return value
  const changed: Record<string, JsonValue> = { ...value }
  if (Array.isArray(value.content)) changed.content = value.content.map((block) => outwardBlock(names, target, block))
  if (Array.isArray(value.contents)) changed.contents = value.contents.map((part) => withUri(names, target, part))
  if (Array.isArray(value.messages)) changed.messages = value.messages.map((one) => outwardMessage(names, target, one))
  if (typeof value.uri === 'string') changed.uri = names.uri(target, value.uri)
  if (typeof value.taskId === 'string') changed.taskId = names.taskId(target, value.taskId)
  if (isObject(value.task)) changed.task = withTask(names, target, value.task)
  if (isObject(value._meta)) changed._meta = outwardMeta(names, target, value._meta)
  return changed
}

/** `_meta` names the task that a message belongs to, and the pages of apps (ui.resourceUri). */
export function outwardMeta(names: Names, target: string, meta: JsonObject): JsonObject {
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

function outwardMessage(names: Names, target: string, message: JsonValue): JsonValue {
  if (!isObject(message) || message.content === undefined) return message
  return { ...message, content: outwardBlock(names, target, message.content) }
}

/** A link to a resource, or one with its text. */
function outwardBlock(names: Names, target: string, block: JsonValue): JsonValue {
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
