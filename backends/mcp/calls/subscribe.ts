/** `subscriptions/listen`: one stream of the changes of all targets (2026-07-28, basic/patterns/subscriptions). */
import { LIST_FILTERS } from '#backends/mcp/bridge/stateless-client.ts'
import { RESOURCES_MAX } from '#backends/mcp/bridge/subscription.ts'
import type { Reply } from '#backends/mcp/downstream/reply.ts'
import { outwardMessage } from '#backends/mcp/names/messages.ts'
import type { Owned } from '#backends/mcp/names/names.ts'
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  type JsonObject,
  type JsonValue,
  type RpcNotification,
  type RpcRequest
} from '#backends/mcp/protocol/json-rpc.ts'
import { isObject, META_SERVER_INFO, META_SUBSCRIPTION } from '#backends/mcp/protocol/stateless.ts'
import { type Core, failureText } from '#backends/mcp/services.ts'
import { OWN_INFO } from '#backends/mcp/session/initialize.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { LinkFailure, Target } from '#backends/mcp/targets/target.ts'

/** Of one caller in one worker: each holds connections. */
const STREAMS_MAX = 64
/** Kept until every target has acknowledged. */
const EARLY_MAX = 64
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

export function subscribe(core: Core, reply: Reply, session: Session, message: RpcRequest): void {
  const filter = message.params?.notifications
  if (!isObject(filter)) reply.error(message.id, INVALID_PARAMS, 'subscriptions/listen needs notifications')
  else if (session.streams >= STREAMS_MAX) {
    reply.refuse(429, -32_000, 'Too Many Requests: the caller has too many open streams', { id: message.id })
  } else new Subscribing(core, reply, session, message, filter).start()
}

class Subscribing {
  readonly #core: Core
  readonly #reply: Reply
  readonly #session: Session
  readonly #message: RpcRequest
  readonly #filter: JsonObject
  /** Targets that have not said yet what they agree to; null: the client has been told. */
  #silent: Set<string> | null
  readonly #agreed = new Map<string, JsonObject>()
  readonly #open = new Set<string>()
  readonly #stops: (() => void)[] = []
  #early: RpcNotification[] = []
  #failed: { readonly target: string; readonly failure: LinkFailure } | null = null
  #timer: NodeJS.Timeout | null = null
  #isOver = false

  constructor(core: Core, reply: Reply, session: Session, message: RpcRequest, filter: JsonObject) {
    this.#core = core
    this.#reply = reply
    this.#session = session
    this.#message = message
    this.#filter = filter
    this.#silent = new Set(core.names.targets)
  }

  start(): void {
    const { peers, backend } = this.#core
    this.#session.streams++
    this.#reply.onGone = () => this.#leave()
    // One slow target does not keep the others' news back.
    this.#timer = setTimeout(() => this.#acknowledge(), backend.targetTimeoutMs).unref()
    for (const { name } of peers.all) this.#open.add(name)
    const headers = peers.headersOf(this.#reply.ex)
    for (const target of peers.all) {
      const params = { ...this.#message.params, notifications: this.#filterFor(target) }
      const stop = peers.link(this.#session, target, headers).request(
        { ...this.#message, params },
        {
          message: (said) => this.#heard(target, said),
          answered: (response) => {
            const why = 'error' in response ? response.error.message.slice(0, 200) : null
            this.#ended(target, why === null ? null : { kind: 'refused', status: null, message: why })
          },
          failed: (failure) => this.#ended(target, failure)
        },
        0
      )
      this.#stops.push(stop)
    }
  }

  /** What the client asks for of this target, under its own names; nothing that is hidden from the caller. */
  #filterFor({ name }: Target): JsonObject {
    const { names } = this.#core
    const { resourceSubscriptions, taskIds, ...lists } = this.#filter
    const uris = this.#own(name, resourceSubscriptions, 'resource', (uri) => names.ownerOfUri(uri))
    const tasks = this.#own(name, taskIds, 'task', (id) => names.ownerOfTask(id))
    return {
      ...lists,
      ...(uris.length === 0 ? {} : { resourceSubscriptions: uris }),
      ...(tasks.length === 0 ? {} : { taskIds: tasks })
    }
  }

  #own(
    target: string,
    given: JsonValue | undefined,
    kind: 'resource' | 'task',
    ownerOf: (name: string) => Owned | null
  ) {
    const own: string[] = []
    for (const one of Array.isArray(given) ? given.slice(0, RESOURCES_MAX) : []) {
      const owned = typeof one === 'string' ? ownerOf(one) : null
      if (owned?.target !== target) continue
      const item = { kind, target, name: owned.name, arguments: undefined }
      if (this.#core.mayUse(this.#reply.ex, item)) own.push(owned.name)
    }
    return own
  }

  #heard({ name }: Target, said: RpcRequest | RpcNotification): void {
    if (this.#isOver || 'id' in said) return
    this.#core.news.heard(name, said)
    if (said.method === ACKNOWLEDGED) {
      const agreed = said.params?.notifications
      this.#agreed.set(name, isObject(agreed) ? agreed : {})
      this.#settle(name)
      return
    }
    const told = outwardMessage(this.#core.names, name, said) as RpcNotification
    if (this.#silent === null) this.#reply.message(told, null)
    else if (this.#early.length < EARLY_MAX) this.#early.push(told)
  }

  #settle(name: string): void {
    this.#silent?.delete(name)
    if (this.#silent?.size === 0) this.#acknowledge()
  }

  #acknowledge(): void {
    if (this.#silent === null || this.#isOver) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#silent = null
    const failed = this.#failed
    const isRefused = this.#agreed.size === 0 && failed !== null
    if (failed !== null && (isRefused || this.#core.backend.failureMode === 'failClosed')) {
      this.#leave()
      this.#reply.error(this.#message.id, INTERNAL_ERROR, failureText(failed.target, failed.failure))
      return
    }
    const _meta = { [META_SUBSCRIPTION]: this.#message.id }
    const params = { _meta, notifications: this.#union() }
    this.#reply.message({ jsonrpc: '2.0', method: ACKNOWLEDGED, params }, null)
    for (const early of this.#early.splice(0)) this.#reply.message(early, null)
    if (this.#open.size === 0) this.#close()
  }

  #union(): JsonObject {
    const all: Record<string, JsonValue> = {}
    const uris: string[] = []
    const tasks: string[] = []
    for (const [name, { resourceSubscriptions, taskIds, ...lists }] of this.#agreed) {
      for (const [key] of LIST_FILTERS) if (lists[key] === true) all[key] = true
      for (const uri of texts(resourceSubscriptions)) uris.push(this.#core.names.uri(name, uri))
      for (const id of texts(taskIds)) tasks.push(this.#core.names.taskId(name, id))
    }
    if (uris.length > 0) all.resourceSubscriptions = uris
    if (tasks.length > 0) all.taskIds = tasks
    return all
  }

  #ended({ name }: Target, failure: LinkFailure | null): void {
    if (this.#isOver) return
    this.#open.delete(name)
    if (failure !== null) this.#failed = { target: name, failure }
    if (this.#silent !== null) this.#settle(name)
    else if (failure !== null || this.#open.size === 0) this.#close(failure !== null)
  }

  /** In order, or so that the client sees that something has been lost and comes back for all. */
  #close(isBroken = false): void {
    if (this.#isOver) return
    this.#leave()
    if (isBroken) {
      this.#reply.end(true)
      return
    }
    const _meta = { [META_SUBSCRIPTION]: this.#message.id, [META_SERVER_INFO]: OWN_INFO }
    this.#reply.respond({ jsonrpc: '2.0', id: this.#message.id, result: { resultType: 'complete', _meta } })
  }

  #leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#session.streams--
    if (this.#timer !== null) clearTimeout(this.#timer)
    for (const stop of this.#stops) stop()
  }
}

const texts = (list: JsonValue | undefined): string[] =>
  Array.isArray(list) ? list.filter((one) => typeof one === 'string') : []
