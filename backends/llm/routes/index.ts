/** Which code serves each route type but chat; and the format of errors for its clients. */

import type { AiRouteType } from '#backends/llm/config/snapshot.ts'
import type { ChatRouteType, ClientFormat } from '#backends/llm/conversation.ts'
import { CLIENT_FORMATS } from '#backends/llm/formats/index.ts'
import { NO_STORES, type StoredSettings } from '#backends/llm/stored/stores.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { decodedPath, isPlainPath, readingsOf } from '#engine/http/path.ts'
import type { OperationType } from './answer-spec.ts'
import { operationFor } from './body-operation.ts'
import type { LargeOperation } from './large-operation.ts'
import type { ActiveOperation } from './operation.ts'
import { isOperation, operationKind } from './operations.ts'

type ChatType = ChatRouteType | 'Passthrough'

/** The client's format on routes of chat; null: nothing is read there. */
const CHAT = Object.fromEntries([
  ...CLIENT_FORMATS.map(({ routeType, name }) => [routeType, name]),
  ['Passthrough', null]
]) as Readonly<Record<ChatType, ClientFormat | null>>

export const isChat = (type: AiRouteType): type is ChatType => Object.hasOwn(CHAT, type)

/** Whether bodies name what providers keep. */
export const refersTo = (type: AiRouteType): boolean => isChat(type) || operationKind(type).refers === true

/** The format of errors for the client; null: unknown. */
export function clientOf(type: AiRouteType, ex: Exchange): ClientFormat | null {
  return isChat(type) ? CHAT[type] : operationKind(type).client(ex)
}

/** Throws FormatError. `bytes`: the body; a large one is not read. */
export function operationOf(
  type: OperationType,
  ex: Exchange,
  bytes: Buffer,
  stored: () => StoredSettings = () => NO_STORES
): ActiveOperation | LargeOperation {
  const kind = operationKind(type)
  return 'read' in kind ? operationFor(kind, ex, bytes) : kind.begin(ex, stored)
}

/**
 * The route type of the path of `ex`, or the reason why it is ambiguous: a provider may read it as the path of
 * another type, which would have been guarded in another way.
 */
export function typeOf(routes: Parameters<typeof routeTypeOf>[0], ex: Exchange): AiRouteType | 'PATH_AMBIGUOUS' {
  const type = routeTypeOf(routes, ex.path)
  if (isPlainPath(ex.path)) return type
  const others = (readingsOf(ex.path) ?? []).map((path) => typeInText(routes, path))
  return others.every((other) => other === type) ? type : 'PATH_AMBIGUOUS'
}

/** As routeTypeOf, with the suffixes compared as text: ":generateContent" is also written "%3AgenerateContent". */
function typeInText(routes: Parameters<typeof routeTypeOf>[0], path: string): AiRouteType {
  const text = decodedPath(path)
  return routes.find(({ suffix }) => text.endsWith(suffix))?.type ?? routeTypeOf(routes, path)
}

/** What is spoken at `path`: the first that fits of `routes`, which has the longest first. */
export function routeTypeOf(
  routes: readonly { readonly suffix: string; readonly type: AiRouteType }[],
  path: string
): AiRouteType {
  // How it ends says more than what is in it: routes of the gateway may begin with /responses, or with /files.
  const route =
    routes.find(({ suffix }) => path.endsWith(suffix)) ??
    routes.find(({ suffix, type }) => suffix === '*' || goesOn(path, suffix, type))
  // What is below is an answer that the provider keeps: GET /v1/responses/ID.
  if (route?.type === 'Responses' && isKeptAnswer(path, route.suffix)) return 'Stored'
  return route?.type ?? 'Completions'
}

/** On the path of every request, for each route: nothing is put together for it. */
function isBelow(path: string, suffix: string): boolean {
  for (let at = path.indexOf(suffix); at >= 0; at = path.indexOf(suffix, at + 1)) {
    if (path[at + suffix.length] === '/') return suffix !== '*'
  }
  return false
}

/** /ID, and what it has (API reference of OpenAI, "Responses"). */
const OF_ANSWER = /^\/[^/]+(?:\/[^/]+)?$/

function isKeptAnswer(path: string, suffix: string): boolean {
  return isBelow(path, suffix) && OF_ANSWER.test(path.slice(path.lastIndexOf(`${suffix}/`) + suffix.length))
}

export const OTHER_API =
  'this is the path of another API than chat: it is served where the routes of the backend name it'

/**
 * Ends of OpenAI's other APIs ("API reference"), which no answer of chat could serve. What nothing is named for is chat
 * (docs/specification.md#policies-for-models); these are not, unless a suffix of the configuration is theirs.
 */
const OTHER_APIS = new RegExp(
  [
    '/(?:images/(?:generations|edits|variations)|audio/(?:speech|transcriptions|translations|voices)|moderations)$',
    '(?<!/chat)/completions$',
    '/v1(?:/openai)?/(?:batches|files|uploads|fine_tuning|vector_stores|assistants|threads|containers|evals|videos)(?:/|$)'
  ].join('|')
)

export function isOtherApi(routes: Parameters<typeof routeTypeOf>[0], path: string): boolean {
  return (
    OTHER_APIS.test(path) &&
    !routes.some(({ suffix, type }) => (suffix === '*' ? type !== 'Completions' : path.endsWith(suffix)))
  )
}

/** Behind one of its own ends. */
function goesOn(path: string, suffix: string, type: AiRouteType): boolean {
  if (!isBelow(path, suffix)) return false
  if (type === 'Responses') return isKeptAnswer(path, suffix)
  if (!isOperation(type)) return false
  const { pathEnds, goesOn } = operationKind(type)
  return goesOn?.(path) === true && pathEnds.some((end) => suffix.endsWith(end))
}

/** Chat is what is looked for first. */
const rankOf = ({ type }: { readonly type: AiRouteType }): number => (isChat(type) ? 0 : type === 'Stored' ? 2 : 1)

const PATHS_SHOWN_MAX = 16

/** For people who have asked elsewhere. */
export function servedPaths(routes: Parameters<typeof routeTypeOf>[0]): string {
  const ends = routes
    .toSorted((a, b) => rankOf(a) - rankOf(b))
    .map(({ suffix }) => suffix)
    .filter((suffix) => suffix !== '*')
  if (ends.length === 0) return 'every path is one of chat completions here, which are sent with POST'
  const more = ends.length > PATHS_SHOWN_MAX ? ', ...' : ''
  return `the paths that are served here end with ${ends.slice(0, PATHS_SHOWN_MAX).join(', ')}${more}`
}
