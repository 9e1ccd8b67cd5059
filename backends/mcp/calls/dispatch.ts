/** Requests of clients, method by method: which targets get them. */

import { URI_MAX } from '#backends/mcp/authorization/uri-forms.ts'
import { LISTS } from '#backends/mcp/lists/kinds.ts'
import { serveList } from '#backends/mcp/lists/serve.ts'
import { messageForClient } from '#backends/mcp/names/messages.ts'
import type { OwnedName } from '#backends/mcp/names/names.ts'
import { lacksCapability } from '#backends/mcp/protocol/capabilities.ts'
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  isObject,
  type JsonObject,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import { failureText } from '#backends/mcp/services.ts'
import type { LinkFailure, Target } from '#backends/mcp/targets/target.ts'
import type { McpItem } from '#engine/contract/mcp-use.ts'
import type { JsonValue } from '#engine/contract/model-use.ts'
import { type Call, replyFailure, requestTo, trackRunning } from './call.ts'
import { callExtension, unknownMethod } from './extension-methods.ts'
import { findOwners } from './find-owners.ts'
import { forward } from './forward.ts'
import { sendRequest } from './target-request.ts'

type Handler = (call: Call) => void

const METHODS: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ...[...LISTS].map(([method, kind]): [string, Handler] => [
    method,
    (call) => serveList(call, kind, () => forwardToOnly(call))
  ]),
  ['tools/call', (call) => byName(call, 'tool')],
  ['prompts/get', (call) => byName(call, 'prompt')],
  ['resources/read', byUri],
  ['resources/subscribe', byUri],
  ['resources/unsubscribe', byUri],
  ['completion/complete', byReference],
  ['tasks/get', byTask],
  ['tasks/result', byTask],
  ['tasks/cancel', byTask],
  ['tasks/update', byTask],
  ['ping', ping],
  ['logging/setLevel', toAllTargets]
])

export function dispatch(call: Call): void {
  const { services, reply, message } = call
  const handler = METHODS.get(message.method)
  if (handler !== undefined) handler(call)
  else if (services.names.isMultiplexed) callExtension(call)
  else if (!services.mayReceive(reply.ex, services.targets.all[0]!.name, message)) reply.respond(unknownMethod(message))
  else forwardToOnly(call)
}

/** `params`: for the target; null: none. The client's own bytes are sent where they say the same. */
function forwardTo(call: Call, target: Target, params: JsonObject | null): void {
  const { services, message, bytes } = call
  const isSame = params === null || params === message.params
  // Where rules have decided, the target gets what they have evaluated: of two members of one name JSON.parse keeps the
  // last one, and the target perhaps the first.
  const mayBeOwn = isSame && !services.hasRules(target.name)
  forward(call, {
    target,
    message: isSame ? message : { ...message, params: params! },
    ...(mayBeOwn ? { json: bytes } : {}),
    edit: null,
    timeoutMs: 0
  })
}

const forwardToOnly = (call: Call): void => forwardTo(call, call.services.targets.all[0]!, call.message.params ?? null)

type Kind = 'tool' | 'prompt' | 'resource' | 'task'

/** The same for unknown and hidden items. With status 200, which SDKs take for a protocol error. */
function unknown({ reply, message }: Call, kind: Kind, name: string): void {
  // A name that nobody has is the client's own text.
  reply.ex.errorDetail ??= `no target has this ${kind}`
  reply.error(message.id, INVALID_PARAMS, `Unknown ${kind}: ${name}`)
}

function invalid({ reply, message }: Call, what: string): void {
  reply.error(message.id, INVALID_PARAMS, what)
}

// --- requests about one item ---

interface ItemRequest {
  readonly kind: Kind
  /** As the client names it. */
  readonly requested: string
  /** Null: no target has it. */
  readonly owned: OwnedName | null
  readonly args?: McpItem['arguments']
  /** The params with the target's own name in place of the client's. */
  readonly rename: (name: string) => JsonObject
}

function itemOf({ kind, owned, args }: ItemRequest): McpItem | null {
  return owned === null ? null : { kind, target: owned.target, name: owned.name, arguments: args }
}

/** Forwards the request to the item's owner if rules allow it. */
function forwardItem(call: Call, request: ItemRequest, item: McpItem | null): void {
  const { services, reply, params } = call
  const { kind, requested, rename } = request
  if (item !== null && !services.mayUse(reply.ex, item)) {
    services.noteDenial(reply.ex, item)
    unknown(call, kind, requested)
  } else if (item === null) unknown(call, kind, requested)
  else forwardTo(call, services.targets.get(item.target), item.name === requested ? params : rename(item.name))
}

/** The same, and the item is what expressions, logs and metrics see. */
function callItem(call: Call, request: ItemRequest): void {
  const item = itemOf(request)
  if (item !== null) call.reply.ex.mcp!.item = item
  forwardItem(call, request, item)
}

function byName(call: Call, kind: 'tool' | 'prompt'): void {
  const { services, params } = call
  const { name } = params
  if (typeof name !== 'string') {
    invalid(call, `${call.message.method} needs a name`)
    return
  }
  const owned = services.names.ownerOfName(name)
  const args = argumentsOf(params)
  const callOwner = (owner: OwnedName | null): void =>
    callItem(call, { kind, requested: name, owned: owner, args, rename: (own) => ({ ...params, name: own }) })
  if (owned === null && !hasPlainNames(call)) unknown(call, kind, name)
  // Only the lists of the targets tell whose the name is, and whether there is such a one.
  else if (owned === null || services.hasRules(owned.target))
    findOwners(call, { kind, name, owned, args }, (owners) => {
      if (!isList(owners)) {
        replyFailure(call, 'list', owners)
        return
      }
      const [first, second] = owners
      if (second === undefined) callOwner(first ?? null)
      else invalid(call, `Ambiguous ${kind}: ${name} is offered by ${owners.map(({ target }) => target).join(', ')}`)
    })
  else callOwner(owned)
}

/** Several targets whose tools and prompts have no prefixes. */
const hasPlainNames = ({ services: { names } }: Call): boolean => names.isMultiplexed && !names.isPrefixed

const isList = (owners: readonly OwnedName[] | LinkFailure): owners is readonly OwnedName[] => Array.isArray(owners)

/** Without any, rules see an empty object: asking for a member of it is no failure. */
const argumentsOf = ({ arguments: args = {} }: JsonObject): JsonValue => args as JsonValue

function byUri(call: Call): void {
  const { services, params } = call
  const { uri } = params
  if (typeof uri !== 'string') {
    invalid(call, `${call.message.method} needs a uri`)
    return
  }
  const owned = services.names.ownerOfUri(uri)
  if (owned !== null && isTooLong(call, owned)) return
  callItem(call, { kind: 'resource', requested: uri, owned, rename: (own) => ({ ...params, uri: own }) })
}

/** Rules cannot judge it: it is refused without repeating it. */
function isTooLong(call: Call, { target, name }: OwnedName): boolean {
  if (name.length <= URI_MAX || !call.services.hasRules(target)) return false
  invalid(call, `a uri may have ${URI_MAX} characters where there are rules, this one has ${name.length}`)
  return true
}

/** Completes an argument of a prompt, or a variable of a resource template. */
function byReference(call: Call): void {
  const { services, params } = call
  const { ref } = params
  const isPrompt = isObject(ref) && ref.type === 'ref/prompt'
  const kind = isPrompt ? 'prompt' : 'resource'
  const field = isPrompt ? 'name' : 'uri'
  const requested = isObject(ref) ? ref[field] : undefined
  if (typeof requested !== 'string' || !isObject(ref)) {
    invalid(call, 'completion/complete needs a ref with a name or a uri')
    return
  }
  const complete = (owned: OwnedName | null): void => {
    if (!isPrompt && owned !== null && isTooLong(call, owned)) return
    const rename = (own: string) => ({ ...params, ref: { ...ref, [field]: own } })
    const request: ItemRequest = { kind, requested, owned, rename }
    forwardItem(call, request, itemOf(request))
  }
  if (isPrompt && hasPlainNames(call)) {
    findOwners(call, { kind: 'prompt', name: requested, owned: null, args: undefined }, (owners) => {
      const [owned, other] = isList(owners) ? owners : []
      complete(other === undefined ? (owned ?? null) : null)
    })
  } else complete(isPrompt ? services.names.ownerOfName(requested) : services.names.ownerOfUri(requested))
}

function byTask(call: Call): void {
  const { services, params } = call
  const { taskId } = params
  const owned = typeof taskId === 'string' ? services.names.ownerOfTask(taskId) : null
  if (typeof taskId !== 'string' || owned === null) invalid(call, 'Unknown task')
  else callItem(call, { kind: 'task', requested: taskId, owned, rename: (own) => ({ ...params, taskId: own }) })
}

// --- requests about the server ---

function ping(call: Call): void {
  const { services, reply, message } = call
  // The session is fine without one of several targets.
  if (services.names.isMultiplexed) reply.respond({ jsonrpc: '2.0', id: message.id, result: {} })
  else forwardToOnly(call)
}

/** Targets that do not know the method have nothing to do with it. */
function toAllTargets(call: Call): void {
  const { services, reply, session, message } = call
  if (!services.names.isMultiplexed) {
    forwardToOnly(call)
    return
  }
  const targets = services.targets.all.filter(
    ({ name }) => !lacksCapability(session.capabilitiesOf(name), message.method)
  )
  if (targets.length === 0) {
    reply.respond(unknownMethod(message))
    return
  }
  const finish = trackRunning(call, [...services.names.targets])
  const outcomes: (RpcResponse | { readonly failure: LinkFailure; readonly target: string })[] = []
  const end = (outcome: (typeof outcomes)[number]): void => {
    outcomes.push(outcome)
    if (outcomes.length < targets.length) return
    finish()
    const failed = outcomes.find((one) => 'failure' in one)
    const refused = outcomes.find((one) => 'error' in one)
    if (outcomes.some((one) => 'result' in one)) reply.respond({ jsonrpc: '2.0', id: message.id, result: {} })
    else if (failed !== undefined) reply.error(message.id, INTERNAL_ERROR, failureText(failed.target, failed.failure))
    else reply.respond({ ...refused!, id: message.id })
  }
  const stops = targets.map((target) =>
    sendRequest(requestTo(call, target, services.backend.targetTimeoutMs), message, {
      message: (serverMessage) => reply.message(messageForClient(services.names, target.name, serverMessage), null),
      answered: end,
      failed: (failure) => end({ failure, target: target.name })
    })
  )
  reply.onGone = () => {
    finish()
    for (const stop of stops) stop()
  }
}
