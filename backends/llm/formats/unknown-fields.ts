/**
 * Fields that a conversation has no place for. Reading a format collects them by path (Fields.leaveUnknown), writing
 * the same format puts them back; for every other format they are losses.
 *
 * A path has steps of three kinds: `.name`, `[index]`, and `["name"]` where the name itself has signs of a path in it.
 */
import type { FormatName, Json, Origin } from '#backends/llm/conversation.ts'
import { isObject, type Writable } from './fields.ts'
import type { Losses } from './format.ts'

export type UnknownFields = Map<string, Json>

/** What reading a format leaves beside the conversation. */
export interface ReadNotes {
  readonly unknown: UnknownFields
  /** See Origin.wording. */
  readonly wording: Map<string, Json>
}

export const newNotes = (): ReadNotes => ({ unknown: new Map(), wording: new Map() })

const STEP = /(?:^|\.)([^.[\]"]+)|\[(?:(\d+)|("(?:[^"\\]|\\.)*"))\]/g
const QUOTED = /\[("(?:[^"\\]|\\.)*")\]/g

type Step = string | number

interface Unknown {
  readonly path: string
  readonly steps: readonly Step[]
  readonly value: Json
}

/** `path` as clients see it: names as they are. */
export function lossPath(path: string): string {
  return path.replace(QUOTED, (_, name: string, at: number) => (at === 0 ? '' : '.') + JSON.parse(name))
}

/**
 * Puts the unknown fields of `origin` into `body`, if it is of the same format; the others are losses. `creates`:
 * missing objects on the way to a field are made; else the field is a loss.
 */
export function restoreUnknown(
  body: Writable,
  { format, unknownFields }: Origin,
  own: FormatName,
  losses: Losses,
  creates = true
): void {
  if (format === own) putBack(body, unknownFields, creates, (path) => losses.add(lossPath(path)))
  else loseUnknown(unknownFields, losses)
}

export function loseUnknown(fields: ReadonlyMap<string, Json>, losses: Losses): void {
  for (const path of fields.keys()) losses.add(lossPath(path))
}

export function putBack(
  body: Writable,
  fields: Iterable<readonly [path: string, value: Json]>,
  creates: boolean,
  lose: (path: string) => void
): void {
  const all = Array.from(fields, ([path, value]): Unknown => ({ path, steps: stepsOf(path), value }))
  // Elements first: the paths of other fields count them.
  for (const elements of elementsByList(all).values()) {
    const found = parentOf(body, elements[0]!.steps, creates)
    if (Array.isArray(found)) insert(found as Json[], elements)
    else for (const { path } of elements) lose(path)
  }
  for (const { path, steps, value } of all) {
    const name = steps.at(-1)
    if (typeof name !== 'string') continue
    const parent = parentOf(body, steps, creates)
    if (!isObject(parent)) lose(path)
    else define(parent, name, merged(Object.hasOwn(parent, name) ? parent[name] : undefined, value))
  }
}

function stepsOf(path: string): Step[] {
  return Array.from(path.matchAll(STEP), ([, name, index, quoted]) =>
    index !== undefined ? Number(index) : (name ?? (JSON.parse(quoted!) as string))
  )
}

/** Elements that were left out of lists: outer lists first, and by index. */
function elementsByList(all: readonly Unknown[]): Map<string, Unknown[]> {
  const elements = all.filter(({ steps }) => typeof steps.at(-1) === 'number')
  elements.sort((a, b) => a.steps.length - b.steps.length || Number(a.steps.at(-1)) - Number(b.steps.at(-1)))
  return Map.groupBy(elements, ({ path }) => path.slice(0, path.lastIndexOf('[')))
}

/** What holds the last of `steps`; undefined: it is missing. Elements of lists are never made. */
function parentOf(body: Json, steps: readonly Step[], creates: boolean): Json | undefined {
  let at: Json | undefined = body
  for (const [i, step] of steps.slice(0, -1).entries()) {
    if (typeof step === 'number') at = Array.isArray(at) ? (at as readonly Json[])[step] : undefined
    else if (!isObject(at)) return undefined
    else if (Object.hasOwn(at, step)) at = at[step]
    else if (!creates || steps.slice(i + 1, -1).some((next) => typeof next === 'number')) return undefined
    else at = define(at, step, typeof steps[i + 1] === 'number' ? [] : {})
  }
  return at
}

/** In one pass: lists may be long. */
function insert(list: Json[], elements: readonly Unknown[]): void {
  const old = list.splice(0)
  let next = 0
  for (const { steps, value } of elements) {
    const index = steps.at(-1) as number
    while (list.length < index && next < old.length) list.push(old[next++]!)
    list.push(value)
  }
  while (next < old.length) list.push(old[next++]!)
}

function merged(written: Json | undefined, left: Json): Json {
  return isObject(written) && isObject(left) ? { ...written, ...left } : left
}

/** As an own property, whatever its name: "__proto__" is one too. */
function define(owner: object, name: string, value: Json): Json {
  Object.defineProperty(owner, name, { value, enumerable: true, configurable: true, writable: true })
  return value
}
