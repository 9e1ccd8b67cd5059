/** Calls of the admin API, by the names of its operations; their types are made from the table of them. */
import { signal } from '@preact/signals'
import { OPERATIONS, type Operations } from './generated/operations.ts'

const API_PATH = '/api/v1'

export type OperationId = keyof Operations
export type Answer<Id extends OperationId> = Operations[Id]['answer']

export interface Input<Id extends OperationId> {
  /** Parts of the path. */
  readonly names?: Operations[Id]['names']
  readonly query?: Operations[Id]['query']
  readonly body?: Operations[Id]['body']
}

/** A call that did not succeed; `message` is the API's own. */
export class ApiFailure extends Error {
  /** 0: there was no answer. */
  readonly status: number
  readonly code: string
  /** Of the body or of the query, if one is to blame. */
  readonly field: string | null

  constructor(status: number, code: string, message: string, field: string | null = null) {
    super(message)
    this.status = status
    this.code = code
    this.field = field
  }
}

/** Rejects with an ApiFailure, or with what aborted it. */
export async function call<Id extends OperationId>(
  id: Id,
  input: Input<Id> = {},
  signal: AbortSignal | null = null
): Promise<Answer<Id>> {
  const { method } = OPERATIONS[id]
  const hasBody = method !== 'GET' && method !== 'DELETE'
  const init: RequestInit = { method, signal, cache: 'no-store', credentials: 'same-origin' }
  if (hasBody) init.body = JSON.stringify(input.body ?? {})
  const ask = method === 'GET' ? fetch : fetchMarked
  const response = await ask(urlOf(id, input), init).catch((problem: unknown) => {
    if (problem instanceof ApiFailure) throw problem
    if (signal?.aborted === true) throw problem
    throw new ApiFailure(0, 'UNREACHABLE', 'the admin port does not answer; is the gateway running?')
  })
  const text = await response.text()
  if (!response.ok) throw failureOf(response.status, text)
  return (text === '' ? undefined : JSON.parse(text)) as Answer<Id>
}

/** Who looks at the page, and what they may do. Null: the gateway has not said so yet. */
export const session = signal<Answer<'getSession'> | null>(null)

let mark: Promise<string> | null = null

/** Asks who looks at the page. */
export async function readSession(): Promise<string> {
  session.value = await call('getSession')
  return session.value.csrf
}

/** A value that pages of other sites cannot read: every call but GET has it. */
async function markOf(): Promise<string> {
  mark ??= readSession()
  return await mark.catch((problem: unknown) => {
    mark = null
    throw problem
  })
}

/** As fetch, of what is no GET. A gateway that has started again since the page was opened has another mark. */
export async function fetchMarked(url: string, init: RequestInit): Promise<Response> {
  for (let isAgain = false; ; isAgain = true) {
    const headers = { 'content-type': 'application/json', 'x-weir-csrf': await markOf() }
    const response = await fetch(url, { ...init, headers })
    if (response.status !== 403 || isAgain) return response
    const { code } = failureOf(403, await response.clone().text())
    if (code !== 'CSRF') return response
    mark = null
  }
}

const ROLES = ['see', 'test', 'change'] as const

/** Why the operation is refused to who looks at the page; null: it is not. */
export function whyNot(id: OperationId): string | null {
  const { role } = OPERATIONS[id]
  const own = session.value?.role ?? role
  return ROLES.indexOf(own) >= ROLES.indexOf(role) ? null : `This needs the role ${role}; yours is ${own}.`
}

/** Where an operation is, for calls and for links. */
export function urlOf<Id extends OperationId>(id: Id, { names = {}, query = {} }: Input<Id> = {}): string {
  const values: Readonly<Record<string, string>> = names
  const path = OPERATIONS[id].path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries<string | readonly string[] | undefined>(query)) {
    for (const one of value === undefined ? [] : [value].flat()) params.append(name, one)
  }
  const text = params.toString()
  return text === '' ? API_PATH + path : `${API_PATH}${path}?${text}`
}

/** Of an answer that is none of the API's, its text counts: a proxy in between says something, too. */
export function failureOf(status: number, text: string): ApiFailure {
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string; field?: string } }
    return new ApiFailure(status, error.code, error.message, error.field ?? null)
  } catch {
    return new ApiFailure(status, 'UNKNOWN', text.trim().slice(0, 200) || `the answer was ${status}`)
  }
}
