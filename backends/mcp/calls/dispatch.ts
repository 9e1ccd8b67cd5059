/** Requests of clients, method by method: who is asked, and what may come back. */

import { URI_MAX } from '#backends/mcp/authorization/uri-forms.ts'
import type { Reply } from '#backends/mcp/downstream/reply.ts'
import { LISTS, type ListKind } from '#backends/mcp/lists/kinds.ts'
import { list } from '#backends/mcp/lists/serve.ts'
import { outwardMessage } from '#backends/mcp/names/messages.ts'
import type { Owned } from '#backends/mcp/names/names.ts'
import { lacks } from '#backends/mcp/protocol/capabilities.ts'
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  type JsonObject,
  METHOD_NOT_FOUND,
  type RpcRequest,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import { isObject } from '#backends/mcp/protocol/read-message.ts'
import { type Core, failureText } from '#backends/mcp/services.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { LinkFailure, Target } from '#backends/mcp/targets/target.ts'
import type { JsonValue } from '#engine/contract/model-use.ts'
import { extend, unknownMethod } from './extension-methods.ts'
import { ownersOf } from './find-owners.ts'
import { fail, forward, under } from './forward.ts'
import { ask } from './target-request.ts'

/** One request and where its answer goes. */
export interface Call {
  readonly core: Core
  readonly reply: Reply
  readonly session: Session
  readonly message: RpcRequest
  readonly params: JsonObject
  readonly bytes: Buffer
}

type Handler = (call: Call) => void

const METHODS: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ...[...LISTS].map(([method, kind]): [string, Handler] => [method, (call) => listFor(call, kind)]),
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
  ['logging/setLevel', everywhere]
])

export function handle(core: Core, reply: Reply, session: Session, message: RpcRequest, bytes: Buffer): void {
  const call = { core, reply, session, message, params: message.params ?? {}, bytes }
  const handler = METHODS.get(message.method)
  if (handler !== undefined) handler(call)
  else if (core.names.isTagged) extend(core, reply, session, message)
  else if (!core.mayTell(reply.ex, core.peers.all[0]!.name, message)) reply.respond(unknownMethod(message))
  else pass(call, core.peers.all[0]!, message.params ?? null)
}

/** To one target. `params`: as it gets them, null for none; the client's own bytes go where those are the same. */
function pass(
  call: Call,
  target: Target,
  params: JsonObject | null,
  edit: ((r: JsonObject) => JsonObject) | null = null
): void {
  const { core, reply, session, message, bytes } = call
  const isSame = params === null || params === message.params
  // Where rules have decided, the target gets what they have read: of two fields of one name JSON keeps the last here,
  // and perhaps the first there.
  const mayBeOwn = isSame && !core.hasRules(target.name)
  forward({
    core,
    reply,
    session,
    target,
    message: isSame ? message : { ...message, params: params! },
    ...(mayBeOwn ? { json: bytes } : {}),
    edit,
    timeoutMs: edit === null ? 0 : core.backend.targetTimeoutMs
  })
}

const KNOWN_AS = { tool: 'tool', prompt: 'prompt', resource: 'resource', task: 'task' } as const
type Kind = keyof typeof KNOWN_AS

/** What does not exist and what is hidden are told apart by nobody. Status 200: SDKs make a protocol error of it. */
function unknown({ reply, message }: Call, kind: Kind, name: string): void {
  reply.error(message.id, INVALID_PARAMS, `Unknown ${kind}: ${name}`)
}

function invalid({ reply, message }: Call, what: string): void {
  reply.error(message.id, INVALID_PARAMS, what)
}

// --- calls of one item ---

function byName(call: Call, kind: 'tool' | 'prompt'): void {
  const { core, params, session } = call
  const { name } = params
  if (typeof name !== 'string') {
    invalid(call, `${call.message.method} needs a name`)
    return
  }
  const owned = core.names.ownerOfName(name)
  const isPlainOfMany = core.names.isTagged && !core.names.isPrefixed
  if (owned === null && !isPlainOfMany) {
    unknown(call, kind, name)
    return
  }
  // Who has it, or whether it is there at all, only the lists of the targets can tell.
  if (owned === null || core.hasRules(owned.target)) {
    ownersOf(core, call.reply, session, kind, name, owned, argumentsOf(params), (owners) =>
      found(call, kind, name, owners)
    )
  } else byOwner(call, kind, owned)
}

function found(call: Call, kind: 'tool' | 'prompt', name: string, owners: readonly Owned[] | LinkFailure): void {
  if (!Array.isArray(owners)) {
    const { core, reply, session, message } = call
    fail(core, reply, session, message.id, 'list', owners as LinkFailure)
    return
  }
  const [owned, other] = owners as readonly Owned[]
  if (owned === undefined) unknown(call, kind, name)
  else if (other !== undefined) {
    const targets = (owners as readonly Owned[]).map(({ target }) => target).join(', ')
    invalid(call, `Ambiguous ${kind}: ${name} is offered by ${targets}`)
  } else byOwner(call, kind, owned)
}

/** For rules: a call without any has none, and asking for one of them is no failure. */
const argumentsOf = ({ arguments: given = {} }: JsonObject): JsonValue => given as JsonValue

function byOwner(call: Call, kind: 'tool' | 'prompt', { target, name }: Owned): void {
  const { core, reply, params } = call
  const item = { kind, target, name, arguments: argumentsOf(params) }
  reply.ex.mcp!.item = item
  if (!core.mayUse(reply.ex, item)) unknown(call, kind, String(params.name))
  else pass(call, core.peers.get(target), name === params.name ? params : { ...params, name })
}

function byUri(call: Call): void {
  const { core, reply, params } = call
  const { uri } = params
  if (typeof uri !== 'string') {
    invalid(call, `${call.message.method} needs a uri`)
    return
  }
  const owned = core.names.ownerOfUri(uri)
  if (owned === null) {
    unknown(call, 'resource', uri)
    return
  }
  const { target, name } = owned
  if (isTooLong(call, owned)) return
  const item = { kind: 'resource' as const, target, name, arguments: undefined }
  reply.ex.mcp!.item = item
  if (!core.mayUse(reply.ex, item)) unknown(call, 'resource', uri)
  else pass(call, core.peers.get(target), name === uri ? params : { ...params, uri: name })
}

/** What rules cannot judge is refused by name, and not sent back. */
function isTooLong(call: Call, { target, name }: Owned): boolean {
  if (name.length <= URI_MAX || !call.core.hasRules(target)) return false
  invalid(call, `a uri may have ${URI_MAX} characters where there are rules, this one has ${name.length}`)
  return true
}

/** Completes an argument of a prompt, or a variable of a resource template. */
function byReference(call: Call): void {
  const { core, reply, params } = call
  const { ref } = params
  const isPrompt = isObject(ref) && ref.type === 'ref/prompt'
  const field = isPrompt ? 'name' : 'uri'
  const value = isObject(ref) ? ref[field] : undefined
  if (typeof value !== 'string' || !isObject(ref)) {
    invalid(call, 'completion/complete needs a ref with a name or a uri')
    return
  }
  const kind = isPrompt ? 'prompt' : 'resource'
  const plain = isPrompt && core.names.isTagged && !core.names.isPrefixed
  if (plain) {
    ownersOf(core, reply, call.session, 'prompt', value, null, undefined, (owners) => {
      const [owned, other] = Array.isArray(owners) ? (owners as readonly Owned[]) : []
      completes(call, ref, kind, field, other === undefined ? (owned ?? null) : null)
    })
  } else completes(call, ref, kind, field, isPrompt ? core.names.ownerOfName(value) : core.names.ownerOfUri(value))
}

function completes(call: Call, ref: JsonObject, kind: 'prompt' | 'resource', field: string, owned: Owned | null): void {
  const { core, reply, params } = call
  const value = String(ref[field])
  if (kind === 'resource' && owned !== null && isTooLong(call, owned)) return
  const item = owned === null ? null : { kind, target: owned.target, name: owned.name, arguments: undefined }
  if (owned === null || item === null || !core.mayUse(reply.ex, item)) unknown(call, kind, value)
  else {
    const told = owned.name === value ? params : { ...params, ref: { ...ref, [field]: owned.name } }
    pass(call, core.peers.get(owned.target), told)
  }
}

function byTask(call: Call): void {
  const { core, reply, params } = call
  const { taskId } = params
  const owned = typeof taskId === 'string' ? core.names.ownerOfTask(taskId) : null
  if (typeof taskId !== 'string' || owned === null) {
    invalid(call, 'Unknown task')
    return
  }
  const item = { kind: 'task' as const, target: owned.target, name: owned.name, arguments: undefined }
  reply.ex.mcp!.item = item
  if (core.hasRules(owned.target) && !core.mayUse(reply.ex, item)) unknown(call, 'task', taskId)
  else pass(call, core.peers.get(owned.target), owned.name === taskId ? params : { ...params, taskId: owned.name })
}

function listFor(call: Call, kind: ListKind): void {
  list(call, kind, () => pass(call, call.core.peers.all[0]!, call.message.params ?? null))
}

// --- of the gateway, or of all ---

function ping(call: Call): void {
  const { core, reply, message } = call
  // One of several that does not answer would end a session that is fine without it.
  if (core.names.isTagged) reply.respond({ jsonrpc: '2.0', id: message.id, result: {} })
  else pass(call, core.peers.all[0]!, message.params ?? null)
}

/** Asks every target; whoever does not know the method has nothing to do with it. */
function everywhere(call: Call): void {
  const { core, reply, session, message } = call
  if (!core.names.isTagged) {
    pass(call, core.peers.all[0]!, message.params ?? null)
    return
  }
  const targets = core.peers.all.filter((target) => !lacks(session.declared(target.name), message.method))
  if (targets.length === 0) {
    reply.error(message.id, METHOD_NOT_FOUND, 'Method not found')
    return
  }
  const finish = under(session, message.id, [...core.names.targets])
  const headers = core.peers.headersOf(reply.ex)
  const outcomes: (RpcResponse | { readonly failure: LinkFailure; readonly target: string })[] = []
  const end = (outcome: (typeof outcomes)[number]): void => {
    outcomes.push(outcome)
    if (outcomes.length < targets.length) return
    finish()
    const good = outcomes.find((one) => 'result' in one)
    const failed = outcomes.find((one) => 'failure' in one)
    const refused = outcomes.find((one) => 'error' in one)
    if (good !== undefined) reply.respond({ jsonrpc: '2.0', id: message.id, result: {} })
    else if (failed !== undefined) reply.error(message.id, INTERNAL_ERROR, failureText(failed.target, failed.failure))
    else reply.respond({ ...refused!, id: message.id })
  }
  const stops = targets.map((target) =>
    ask(core.asking(session, target, headers, core.backend.targetTimeoutMs), message, {
      message: (given) => reply.message(outwardMessage(core.names, target.name, given), null),
      answered: end,
      failed: (failure) => end({ failure, target: target.name })
    })
  )
  reply.onGone = () => {
    finish()
    for (const stop of stops) stop()
  }
}
