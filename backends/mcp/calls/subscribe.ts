/** `subscriptions/listen`: one stream of the changes of all targets (2026-07-28, basic/patterns/subscriptions). */

import { LIST_FILTERS } from '#backends/mcp/bridge/stateless-client.ts'
import { RESOURCES_MAX } from '#backends/mcp/bridge/subscription.ts'
import type { Reply } from '#backends/mcp/downstream/reply.ts'
import { messageForClient } from '#backends/mcp/names/messages.ts'
import type { OwnedName } from '#backends/mcp/names/names.ts'
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  isObject,
  type JsonObject,
  type JsonValue,
  type RpcNotification,
  type RpcRequest
} from '#backends/mcp/protocol/json-rpc.ts'
import { META_SERVER_INFO, META_SUBSCRIPTION } from '#backends/mcp/protocol/stateless.ts'
import { failureText, type Services } from '#backends/mcp/services.ts'
import { OWN_INFO } from '#backends/mcp/session/initialize.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import { failure, type LinkFailure, type Target } from '#backends/mcp/targets/target.ts'
import type { Call } from './call.ts'
import { type TracedMessages, tracedMessages } from './traced-messages.ts'

/** Of one caller in one worker: each holds connections. */
const STREAMS_MAX = 64
/** Notifications that are kept until every target has acknowledged. */
const EARLY_MAX = 64
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

export function subscribe(call: Call): void {
  const { reply, session, message } = call
  const filter = message.params?.notifications
  if (!isObject(filter)) reply.error(message.id, INVALID_PARAMS, 'subscriptions/listen needs notifications')
  else if (session.streams >= STREAMS_MAX) {
    reply.refuse(429, -32_000, 'Too Many Requests: the caller has too many open streams', { id: message.id })
  } else new SubscriptionStream(call, filter).start()
}

class SubscriptionStream {
  readonly #services: Services
  readonly #reply: Reply
  readonly #session: Session
  readonly #message: RpcRequest
  readonly #filter: JsonObject
  /** Targets that have not acknowledged yet; null: the client has the acknowledgment. */
  #pending: Set<string> | null
  /** Filters that targets have acknowledged. */
  readonly #agreed = new Map<string, JsonObject>()
  readonly #open = new Set<string>()
  readonly #stops: (() => void)[] = []
  /** Notifications that came before the acknowledgment. */
  #early: RpcNotification[] = []
  #failed: { readonly target: string; readonly failure: LinkFailure } | null = null
  #timer: NodeJS.Timeout | null = null
  #isOver = false
  readonly #traced: TracedMessages | null

  constructor({ services, reply, session, message }: Call, filter: JsonObject) {
    this.#services = services
    this.#reply = reply
    this.#session = session
    this.#message = message
    this.#filter = filter
    this.#pending = new Set(services.names.targets)
    this.#traced = tracedMessages(reply.ex, session)
  }

  start(): void {
    const { targets, backend } = this.#services
    this.#session.streams++
    this.#reply.onGone = () => this.#leave()
    // One slow target does not keep back the notifications of the others.
    this.#timer = setTimeout(() => this.#acknowledge(), backend.targetTimeoutMs).unref()
    for (const { name } of targets.all) this.#open.add(name)
    const headers = this.#services.forwardedHeaders(this.#reply.ex)
    for (const target of targets.all) {
      const params = { ...this.#message.params, notifications: this.#filterFor(target) }
      const stop = targets.link(this.#session, target, headers).request(
        { ...this.#message, params },
        {
          message: (message) => this.#onMessage(target, message),
          answered: (response) => {
            const why = 'error' in response ? response.error.message.slice(0, 200) : null
            this.#onEnd(target, why === null ? null : failure('refused', why))
          },
          failed: (why) => this.#onEnd(target, why)
        },
        0
      )
      this.#stops.push(stop)
    }
  }

  /** The part of the filter for this target, under its own names, without what rules hide. */
  #filterFor({ name }: Target): JsonObject {
    const { names } = this.#services
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
    requested: JsonValue | undefined,
    kind: 'resource' | 'task',
    ownerOf: (name: string) => OwnedName | null
  ) {
    const own: string[] = []
    for (const one of Array.isArray(requested) ? requested.slice(0, RESOURCES_MAX) : []) {
      const owned = typeof one === 'string' ? ownerOf(one) : null
      if (owned?.target !== target) continue
      const item = { kind, target, name: owned.name, arguments: undefined }
      if (this.#services.mayUse(this.#reply.ex, item)) own.push(owned.name)
    }
    return own
  }

  #onMessage({ name }: Target, message: RpcRequest | RpcNotification): void {
    if (this.#isOver || 'id' in message) return
    this.#services.listChanges.onMessage(name, message)
    if (message.method === ACKNOWLEDGED) {
      const agreed = message.params?.notifications
      this.#agreed.set(name, isObject(agreed) ? agreed : {})
      this.#settle(name)
      return
    }
    const relayed = this.#traced === null ? message : this.#traced.relay(name, message)
    const changed = messageForClient(this.#services.names, name, relayed) as RpcNotification
    if (this.#pending === null) this.#reply.message(changed, null)
    else if (this.#early.length < EARLY_MAX) this.#early.push(changed)
  }

  #settle(name: string): void {
    this.#pending?.delete(name)
    if (this.#pending?.size === 0) this.#acknowledge()
  }

  #acknowledge(): void {
    if (this.#pending === null || this.#isOver) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#pending = null
    const failed = this.#failed
    const isRefused = this.#agreed.size === 0 && failed !== null
    if (failed !== null && (isRefused || this.#services.backend.failureMode === 'failClosed')) {
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
      for (const uri of texts(resourceSubscriptions)) uris.push(this.#services.names.uri(name, uri))
      for (const id of texts(taskIds)) tasks.push(this.#services.names.taskId(name, id))
    }
    if (uris.length > 0) all.resourceSubscriptions = uris
    if (tasks.length > 0) all.taskIds = tasks
    return all
  }

  #onEnd({ name }: Target, failure: LinkFailure | null): void {
    if (this.#isOver) return
    this.#open.delete(name)
    if (failure !== null) this.#failed = { target: name, failure }
    if (this.#pending !== null) this.#settle(name)
    else if (failure !== null || this.#open.size === 0) this.#close(failure !== null)
  }

  /** `isBroken`: the client sees that notifications were lost, and subscribes again. */
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
